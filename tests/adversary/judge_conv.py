"""prove, of convolutional networks in ONNX files: outputs, labels and what the last layer can do, in balls."""

from flint import arb, arb_mat

import spectrum
from exact import precision, rational
from network import frobenius
from run_conv import ConvRun
from verdict import Verdict

BITS = 300


def judge(case, result):
    graph, features = case.options["graph"], case.options["features"]
    p, names = result.networks[0], case.options["class_names"]
    verdicts = []
    with precision(BITS):
        runs = [ConvRun(graph, point) for point in case.X]
        for i, run in enumerate(runs):
            off = [abs(t - arb(float(s))) for t, s in zip(run.output, p.outputs[i])]
            bounds = [float(e) for e in p.output_errors[i]]
            wrong, within = any(a > e for a, e in zip(off, bounds)), all(a <= e for a, e in zip(off, bounds))
            holds = False if wrong else True if within else None
            verdicts.append(Verdict("conv: output", holds, f"sample {i}: off by {[a.str(5) for a in off]}, {bounds}"))
            if i not in p.undecided_samples:
                own = names.index(case.y[i])
                least = min((run.output[own] - f for k, f in enumerate(run.output) if k != own), key=float)
                right = i not in p.wrong_samples
                holds = (least > 0) if right else (least < 0)
                fails = (least <= 0) if right else (least >= 0)
                verdicts.append(Verdict("conv: label", True if holds else False if fails else None,
                                        f"sample {i} {'right' if right else 'wrong'}: {least.str(10)}"))  # fmt: skip
        verdicts += last_layer(case, p.certificate, runs, features)
    return verdicts


def target(names, k, label):
    return 1 if names[k] == label else -1


def last_layer(case, c, runs, features):
    """lambda_min of its features, and how far the nearest weights and biases with the targets are. Equal points are one
    row, times the root of their count."""
    if not c.exists:
        return
    first = {tuple(x): i for i, x in reversed(list(enumerate(case.X)))}
    clash = any(y != case.y[first[tuple(x)]] for x, y in zip(case.X, case.y))
    yield Verdict("conv: no conflict", not clash, "equal points have equal labels where a network is exact")
    count = {i: case.X.count(case.X[i]) for i in first.values()}
    rows = [(arb(count[i]).sqrt(), runs[i], case.y[i]) for i in sorted(count)]
    gemm = case.options["graph"].nodes[-1]
    alpha = arb(rational(gemm.attributes.get("alpha", 1.0)))
    Z = arb_mat([[by * alpha * v for v in run.values[features][1]] + [by] for by, run, _ in rows])
    gram = Z * Z.transpose()
    yield Verdict("conv: lambda_min", spectrum.at_least(lambda: gram.tolist(), c.lambda_min, bits=(BITS,)),
                  f">= {c.lambda_min!r}")  # fmt: skip
    names = case.options["class_names"]
    R = arb_mat([[by * (f - target(names, k, y)) for k, f in enumerate(run.output)] for by, run, y in rows])
    try:
        distance = frobenius(Z.transpose() * gram.solve(R))
    except ZeroDivisionError:
        yield Verdict("conv: exact last layer", None, "its features are dependent, or nearly")
        return
    holds = True if distance <= c.radius else False if distance > c.radius else None
    yield Verdict("conv: exact last layer", holds, f"within {c.radius!r}, exact {distance.str(8)}")
