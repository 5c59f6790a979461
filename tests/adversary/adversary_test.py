"""Every printed proof of some hundred hostile inputs holds, and of those that were once false; the judges see a lie."""

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb

import adversary
import known
from cases import OPTIMIZERS, Case, case
from dual import ACTIVATIONS, mu, of_derivative, of_values
from exact import precision
from guarantees import FORMULAS, constants
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
    assert judged >= {"certify: lambda_min", "certify: row", "certify: norm_X", "certify: zero", "certify: impossible",
                      "fit: descent", "fit: exact network", "fit: existence", "fit: output_weights", "fit: misfit",
                      "fit: lambda_min", "fit: polished", "kernel: lambda_min", "memorize: every point",
                      "certify: separation", "certify: centre", "linear: max_norm", "linear: exact product",
                      "linear: s_least", "width: too few", "width: biased", "width: any_labels: signs",
                      "width: any_labels: worst labels", "width: any_labels: descent",
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
LIES = {
    "lambda_min": ({"lambda_min_verified": 1.001}, "certify: lambda_min"),
    "separation": ({"separation": 1.001}, "certify: separation"),
    "norm_X": ({"norm_X": 0.999}, "certify: norm_X"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_larger_claim_of_certify_is_false(lie):
    given = Case("certify", lie, POINTS, None, {"activation": "tanh"})
    answer = adversary.ask(given)
    changes, kind = LIES[lie]
    lying = altered(answer, **{name: getattr(answer, name) * factor for name, factor in changes.items()})
    assert verdicts(given, lying)[kind] is False


@pytest.mark.parametrize("outcome", ["zero", "impossible"])
def test_a_wrong_outcome_is_false(outcome):
    given = Case("certify", outcome, POINTS, [1.0, 2.0, 3.0, 4.0], {"activation": "relu"})
    assert verdicts(given, altered(adversary.ask(given), outcome=outcome))[f"certify: {outcome}"] is False


@pytest.mark.parametrize("activation", ["relu", "softplus"])
@pytest.mark.parametrize("name, factor", [("width", 0.97), ("step", 1.01), ("rate", 1.03), ("steps", 0.97),
                                          ("failure_probability", 0.99)])  # fmt: skip
def test_a_row_that_undercuts_its_theorem_is_false(activation, name, factor):
    given = Case("certify", name, POINTS, [1.0, -2.0, 3.0, 4.0], {"activation": activation, "all_bounds": True})
    answer = adversary.ask(given)
    tried = 0
    for row in answer.guarantees:
        if row.verified and getattr(row, name) is not None and "lambda_min" in row.lambda_from:
            lying = altered(answer, guarantees=[altered(row, **{name: getattr(row, name) * factor})])
            assert verdicts(given, lying)["certify: row"] is False, row
            tried += 1
    assert tried


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
    ("output_weights", {"radius": 1e-3}), ("lambda_min", {"output_layer": True, "lambda_min": 1.01}),
])  # fmt: skip
def test_a_larger_claim_of_fit_is_false(kind, changes):
    changes = dict(changes)
    features = changes.pop("output_layer", False) or kind == "output_weights"
    options = {**FIT, "optimizer": "output_layer"} if features else FIT
    given = Case("fit", kind, POINTS, [1.0, -0.5, 0.5, 0.25], options)
    answer = adversary.ask(given)
    certificate = answer.outputs[0].certificate
    assert certificate.holds
    lie = altered(certificate, **{name: getattr(certificate, name) * factor for name, factor in changes.items()})
    lying = altered(answer, outputs=[altered(answer.outputs[0], certificate=lie)])
    assert verdicts(given, answer)[f"fit: {kind}"] is True
    assert verdicts(given, lying)[f"fit: {kind}"] is False


@pytest.mark.parametrize("lie", ["rank", "width", "groups", "output_scale", "step", "steps", "norm_y"])
def test_a_larger_claim_of_width_is_false(lie):
    options = {"activation": "relu", "restarts": 0, "published": False}
    given = Case("width", lie, POINTS, [1.0, -0.5, 0.5, 0.25], options)
    answer = adversary.ask(given)
    any_labels = next(row for row in answer.rows if row.id == "any_labels")
    rows = [row for row in answer.rows if row.id not in ("these_labels", "any_labels")]
    assert all(v for v in verdicts(given, answer).values())
    if lie == "rank":
        kind, lying = "too few", altered(answer, rank=answer.rank - 1)
    elif lie == "width":
        kind, lying = "too few", altered(answer, rows=[altered(answer.rows[0], width=3), *answer.rows[1:]])
    elif lie == "groups":  # all points in one: three features have no room for it
        biased = altered(next(row for row in rows if row.id == "biased"), width=4)
        kind, lying = "biased", altered(answer, groups=[[0, 1, 2, 3]], rows=[rows[0], biased])
        lying = altered(lying, rows=[*lying.rows, altered(any_labels, id="these_labels", width=None), any_labels])
    elif lie == "norm_y":
        kind, lying = "any_labels: length", altered(answer, norm_y=answer.norm_y * 0.999)
    else:
        factor, kind = {"output_scale": (1e-3, "any_labels: worst labels"), "step": (100, "any_labels: descent"),
                        "steps": (0.3, "any_labels: descent")}[lie]
        lying = altered(answer, rows=[*rows, altered(any_labels, id="these_labels", width=None),
                                      altered(any_labels, **{lie: getattr(any_labels, lie) * factor})])
    assert verdicts(given, lying)[f"width: {kind}"] is False


def values_of(f):
    return np.vectorize(lambda z: float(f(arb(z))))


def by_hermite(f, rho):
    """E f(u) f(v) by Gauss and Hermite's rule in double, 180 nodes: exact to rounding for analytic f."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    weights /= weights.sum()
    second = rho * nodes[:, None] + np.sqrt(1 - rho * rho) * nodes
    return float(weights @ (values_of(f)(nodes)[:, None] * values_of(f)(second)) @ weights)


def by_angle(f, degree, rho):
    """The same for f that is homogeneous of a degree, 0 or 1, with a kink at 0: u = s cos t, v = s cos(t - angle) with
    E s^2 = 2, by Gauss and Legendre's rule between the kinks."""
    angle = np.arccos(rho)
    kinks = np.sort(np.array([0.5, 1.5, 0.5 + angle / np.pi, 1.5 + angle / np.pi, 2.5]) * np.pi)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    total = 0.0
    for a, b in itertools.pairwise(kinks):
        t = (a + b) / 2 + (b - a) / 2 * nodes
        total += (b - a) / 2 * float(weights @ (values_of(f)(np.cos(t)) * values_of(f)(np.cos(t - angle))))
    return total * 2**degree / (2 * np.pi)


@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_dual_activations_are_expectations(phi):
    for rho in (-0.9, 0.3, 0.75):
        with precision(100):
            r = arb(rho)
            sine = (1 - r * r).sqrt()
            found = float(of_derivative(phi, r, sine)), float(of_values(phi, r, sine))
            if phi in ("relu", "leaky_relu"):
                expected = by_angle(SLOPE[phi], 0, rho), by_angle(PHI[phi], 1, rho)
            else:
                expected = by_hermite(SLOPE[phi], rho), by_hermite(PHI[phi], rho)
            size = max(float(of_derivative(phi, arb(1), arb(0))), float(of_values(phi, arb(1), arb(0))))
        # Two sums of up to 180 terms, and recurrences of the weights and nodes, in double.
        assert np.allclose(found, expected, rtol=0, atol=4 * 180 * 2.0**-53 * size)


@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_squared_coefficients_are_those_of_the_dual(phi):
    """mu_0^2 to mu_3^2 by differences of h over s: what comes after them is below s^2 times the next ones."""
    with precision(200):
        s = arb(1) / 1024
        at = {k: of_derivative(phi, k * s, (1 - (k * s) ** 2).sqrt()) for k in range(-2, 3)}
        even = (at[1] + at[-1]) / 2
        odd, twice = (at[1] - at[-1]) / (2 * s), (at[2] - at[-2]) / (4 * s)
        found = [at[0], odd, (even - at[0]) / s**2, (twice - odd) / (3 * s**2)]
        for r, value in enumerate(found):
            assert abs(float(value) - float(mu(phi, r))) < 10 * float(s) ** 2, r


# ---- it knows everything that the library has ----


def test_every_activation_optimizer_and_theorem_is_judged():
    import zeroloss
    from zeroloss import _core

    assert set(ACTIVATIONS) == set(PHI) == set(SLOPE) == set(zeroloss.kernel.activation_names())
    for name in ACTIVATIONS:
        with precision(100):
            known = zeroloss.kernel.activation(name)
            for mine, theirs in zip(constants(name), (known.B, known.M)):
                assert theirs == float("inf") if mine is None else abs(float(mine) - theirs) < 2.0**-50, name  # doubles
    with pytest.raises(ValueError, match="optimizer must be one of") as refused:
        zeroloss.fit([[1.0]], [1.0], task="regression", optimizer="")
    assert set(OPTIMIZERS) == set(re.findall(r"\w+", str(refused.value).partition("one of")[2].partition(";")[0]))
    assert set(FORMULAS) == {theorem.id for theorem in _core.theorems()}
