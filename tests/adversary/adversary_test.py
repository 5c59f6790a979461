"""Every printed proof of some hundred hostile inputs holds, and of those that were once false; the judges see a lie."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import adversary
import judge_claims
import known
from cases import OPTIMIZERS, Case, case
from network import PHI, SLOPE

COUNT, SEED, JOBS = 400, 20, 2


@pytest.fixture(scope="module")
def known_reports():
    return {report.case.number: report for report in adversary.examine_all(known.cases(), JOBS)}


@pytest.mark.parametrize("name", known.LIST)
def test_what_was_once_false_is_so_no_more(name, known_reports):
    report = known_reports[name]
    assert not report.bad, adversary.describe(report)


def test_drawn_inputs_get_true_proofs():
    summary = adversary.Summary()
    bad = []
    for report in adversary.examine_all([case(k, SEED) for k in range(COUNT)], JOBS):
        summary.add(report)
        bad += [report] if report.bad else []
    print(summary.text())
    assert not bad, f"{len(bad)} of {COUNT} cases of seed {SEED}:\n" + "\n".join(map(adversary.describe, bad[:10]))
    judged = {kind.split(" (")[0] for kind, count in summary.proofs.items() if count[True]}
    claims = {"certify": ["lambda_min", "separation", "equal_points", "antipodal", "conflict", "theorem", "too_few",
                          "descent"],
              "fit": ["conflict", "existence", "descent", "last_layer"], "width": ["too_few", "biased", "descent"],
              "linear": ["factorisation"], "prove": ["labels", "misfit"]}  # fmt: skip
    assert judged >= {f"{kind}: claim of {one}" for kind, ones in claims.items() for one in ones}
    assert judged >= {"certify: norm_X", "certify: zero", "certify: impossible", "certify: centre",
                      "fit: descent", "fit: exact network", "fit: misfit", "fit: predictor",
                      "fit: lambda_min", "fit: polished", "kernel: lambda_min", "memorize: every point",
                      "linear: s_least", "linear: words", "width: any_labels: descent",
                      "prove: label", "prove: output", "prove: samples", "prove: order",
                      "graph: labels", "graph: targets", "graph: polished.onnx",
                      "conv: output", "conv: label", "conv: lambda_min", "conv: exact last layer"}  # fmt: skip


# ---- the judges themselves ----


def altered(answer, **changes):
    """The answer with some fields changed."""
    fields = {name: getattr(answer, name) for name in dir(answer) if not name.startswith("_")}
    return SimpleNamespace(**{**fields, **changes})


def verdicts(given, answer):
    return {v.kind: v.holds for v in adversary.judge_of(given.kind)(given, answer)}


POINTS = [[3.0, 1.0, 0.5], [-1.0, 2.0, 0.25], [0.5, -1.0, 2.0], [1.0, 1.0, -3.0]]


def test_a_smaller_norm_of_certify_is_false():
    given = Case("certify", "norm_X", POINTS, None, {"activation": "tanh"})
    answer = adversary.ask(given)
    assert verdicts(given, altered(answer, norm_X=answer.norm_X * 0.999))["certify: norm_X"] is False


def test_a_larger_claim_is_false():
    """Of the folder that an answer writes."""
    given = Case("certify", "claims", POINTS, [1.0, -2.0, 3.0, 4.0], {"activation": "relu"})
    answer = adversary.ask(given)
    assert all(v.holds for v in judge_claims.judge(given, answer))

    class Lying:
        def save(self, run):
            answer.save(run)
            told = json.loads((run / "claims.json").read_text())
            for claim in told["claims"]:
                if "at_least" in claim:
                    claim["at_least"] = (float.fromhex(claim["at_least"]) * 1.001).hex()
            (run / "claims.json").write_text(json.dumps(told))

    said = {v.kind: v.holds for v in judge_claims.judge(given, Lying())}
    assert said["certify: claim of lambda_min"] is False and said["certify: claim of separation"] is False

    class Silent(Lying):
        def save(self, run):
            answer.save(run)
            (run / "claims.json").unlink()

    assert [v.holds for v in judge_claims.judge(given, Silent())] == [False]


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_a_larger_lambda_min_of_a_kernel_is_false(factor):
    given = Case("kernel", "lambda_min", POINTS, None, {"kernel": ["sigma_features", "gelu"], "center": False})
    answer = adversary.ask(given)
    told = altered(answer, verified=altered(answer.verified, lambda_min=answer.verified.lambda_min * factor))
    assert verdicts(given, told)["kernel: lambda_min"] is (factor < 1)


@pytest.mark.parametrize("outcome", ["zero", "impossible"])
def test_a_wrong_outcome_is_false(outcome):
    given = Case("certify", outcome, POINTS, [1.0, 2.0, 3.0, 4.0], {"activation": "relu"})
    assert verdicts(given, altered(adversary.ask(given), outcome=outcome))[f"certify: {outcome}"] is False


@pytest.mark.parametrize("classes", [False, True])
def test_a_false_word_of_a_file_is_false(classes):
    """A case whose labels or targets are those of the file, and the converse said of it."""
    given = next(one for one in (case(k, 0, "graph") for k in range(400))
                 if bool(one.classes()) is classes and one.how == "plain" and len(set(one.y)) > 1)  # fmt: skip
    given.options["polish"] = False
    kind, answer = "graph: labels" if classes else "graph: targets", adversary.ask(given)
    right = [i for i in range(len(given.y)) if i not in answer.networks[0].wrong_samples]
    said = SimpleNamespace(wrong_samples=right, undecided_samples=[], largest_error=-1e-3)
    assert verdicts(given, answer)[kind] is True
    assert verdicts(given, SimpleNamespace(networks=[said], polished=None))[kind] is False


def test_a_false_word_of_a_convolutional_graph_is_false():
    for k in range(100):
        given = case(k, 0, "conv")
        p = (answer := adversary.ask(given)).networks[0]
        if p.certificate.exists and not p.undecided_samples and p.certificate.radius > 0:
            break
    assert all(verdicts(given, answer).values())
    everybody = range(len(given.X))
    for kind, changes in (
        ("output", {"outputs": p.outputs + 1e-9 * (1 + np.abs(p.outputs).max())}),
        ("label", {"wrong_samples": [i for i in everybody if i not in p.wrong_samples]}),
        ("lambda_min", {"certificate": altered(p.certificate, lambda_min=p.certificate.lambda_min * 1.01)}),
        ("exact last layer", {"certificate": altered(p.certificate, radius=p.certificate.radius * 0.99)}),
    ):
        assert verdicts(given, SimpleNamespace(networks=[altered(p, **changes)]))[f"conv: {kind}"] is False, kind


FIT = {"activation": "softplus", "optimizer": "gauss_newton", "width": 24, "max_steps": 60}


@pytest.mark.parametrize("kind, changes", [
    ("misfit", {"misfit": 0.5}), ("lambda_min", {"lambda_min": 1.01}), ("norm_J", {"norm_J": 0.99}),
    ("descent", {"step": 100}), ("descent", {"rate": 100}), ("descent", {"radius": 1e-3}),
])  # fmt: skip
def test_a_larger_claim_of_fit_is_false(kind, changes):
    given = Case("fit", kind, POINTS, [1.0, -0.5, 0.5, 0.25], FIT)
    answer = adversary.ask(given)
    certificate = answer.outputs[0].certificate
    assert certificate.holds
    lie = altered(certificate, **{name: getattr(certificate, name) * factor for name, factor in changes.items()})
    lying = altered(answer, outputs=[altered(answer.outputs[0], certificate=lie)])
    assert verdicts(given, answer)[f"fit: {kind}"] is True
    assert verdicts(given, lying)[f"fit: {kind}"] is False


@pytest.mark.parametrize("solver", ["exact", "cg"])
def test_a_predictor_closer_than_it_is_is_false(solver):
    options = {"optimizer": "kernel", "activation": "relu", "ridge": "0.01", "solver": solver}
    given = Case("fit", solver, POINTS, [1.0, -0.5, 0.5, 0.25], options)
    answer = adversary.ask(given)
    assert answer.solution.verified
    lying = altered(answer, solution=altered(answer.solution, error=1e-30))
    assert verdicts(given, answer)["fit: predictor"] is True
    assert verdicts(given, lying)["fit: predictor"] is False


@pytest.mark.parametrize("lie", ["step", "steps", "norm_y"])
def test_a_larger_claim_of_width_is_false(lie):
    options = {"activation": "relu", "restarts": 0, "published": False}
    given = Case("width", lie, POINTS, [1.0, -0.5, 0.5, 0.25], options)
    answer = adversary.ask(given)
    any_labels = next(row for row in answer.rows if row.id == "any_labels")
    rows = [row for row in answer.rows if row.id not in ("these_labels", "any_labels")]
    assert all(v for v in verdicts(given, answer).values())
    if lie == "norm_y":
        kind, lying = "any_labels: length", altered(answer, norm_y=answer.norm_y * 0.999)
    else:
        factor, kind = {"step": 100, "steps": 0.3}[lie], "any_labels: descent"
        lying = altered(answer, rows=[*rows, altered(any_labels, id="these_labels", width=None),
                                      altered(any_labels, **{lie: getattr(any_labels, lie) * factor})])
    assert verdicts(given, lying)[f"width: {kind}"] is False


# ---- it knows everything that the library has ----


def test_every_activation_optimizer_and_theorem_is_judged():
    import zeroloss
    from zeroloss import _core

    assert set(PHI) == set(SLOPE) == set(zeroloss.kernel.activation_names())
    with pytest.raises(ValueError, match="optimizer must be one of") as refused:
        zeroloss.fit([[1.0]], [1.0], task="regression", optimizer="")
    assert set(OPTIMIZERS) == set(re.findall(r"\w+", str(refused.value).partition("one of")[2].partition(";")[0]))
    checker = (Path(__file__).resolve().parents[2] / "checker" / "theorem.cpp").read_text()
    assert all(f'"{theorem.id}"' in checker for theorem in _core.theorems())
