"""Every printed proof of some hundred hostile inputs holds, and of those that were once false; the judges see a lie."""

from types import SimpleNamespace

import numpy as np
import pytest
from flint import arb

import adversary
import known
from cases import Case, case
from dual import ACTIVATIONS, of_derivative, of_values
from exact import precision
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
                      "linear: s_least"}  # fmt: skip


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
@pytest.mark.parametrize("name, factor", [("width", 0.99), ("step", 1.01), ("rate", 1.03), ("steps", 0.97),
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


@pytest.mark.parametrize("phi", ACTIVATIONS)
def test_dual_activations_are_expectations(phi):
    """Against Gauss and Hermite's rule in double, 180 nodes: exact to rounding for analytic phi, in closed form for
    relu."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    weights /= weights.sum()
    for rho in (-0.9, 0.3, 0.75):
        with precision(100):
            r = arb(rho)
            sine = (1 - r * r).sqrt()
            found = float(of_derivative(phi, r, sine)), float(of_values(phi, r, sine))
        angle = np.arccos(rho)
        expected = (np.pi - angle) / (2 * np.pi), (np.sin(angle) + (np.pi - angle) * rho) / (2 * np.pi)
        if phi != "relu":
            second = rho * nodes[:, None] + np.sqrt(1 - rho * rho) * nodes
            expected = []
            for f in (SLOPE[phi], PHI[phi]):
                values = np.vectorize(lambda z, f=f: float(f(arb(z))))
                expected.append(float(weights @ (values(nodes)[:, None] * values(second)) @ weights))
        assert np.allclose(found, expected, rtol=0, atol=1e-13)
