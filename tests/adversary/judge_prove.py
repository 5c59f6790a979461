"""prove: every label that is called right or wrong, and every bound of an output, in balls; classes by their names.

Which output a class has is settled here from all labels that were given, or from the names that were: never from the
samples that `n` and `classes` keep."""

from flint import arb

from exact import precision
from network import PHI
from verdict import Verdict

BITS = 4000  # products of doubles of any size


def outputs(network, x):
    h = [arb(float(t)) for t in x]
    for W, b, phi in network["layers"]:
        h = [PHI[phi](z) for z in affine(W, h, b)]
    return affine(network["V"], h, network["c"])


def affine(W, h, b):
    return [sum((arb(float(w)) * t for w, t in zip(row, h)), arb(float(shift))) for row, shift in zip(W, b)]


def kept(case):
    chosen = case.options.get("classes")
    rows = [i for i, label in enumerate(case.y) if chosen is None or label in chosen]
    return rows[: case.options.get("n", 0) or None]


def margin(f, own):
    if len(f) == 1:
        return f[0] if own == 1 else -f[0]
    least = None
    for k, other in enumerate(f):
        if k != own:
            least = f[own] - other if least is None else least.min(f[own] - other)
    return least


def judge(case, result):
    rows, network = kept(case), case.options["network"]
    names = case.options.get("class_names", case.classes())
    p = result.networks[0]
    verdicts = [Verdict("prove: samples", p.right + p.wrong + p.undecided == len(rows) == result.n
                        and p.wrong == len(p.wrong_samples) and p.undecided == len(p.undecided_samples),
                        f"{p.right} + {p.wrong} + {p.undecided} of {len(rows)}")]  # fmt: skip
    if "names" in network:  # an answer without an order is a guess, and the order that was taken is said
        chain = " -> ".join([*(f"{phi}({name})" for name, (_, _, phi) in zip(network["names"], network["layers"])),
                             network["names"][-1]])  # fmt: skip
        known = network["layout"] or network["numbered"]
        verdicts.append(Verdict("prove: order", known and chain in repr(result) and chain in str(result),
                                f"{network['names']}, layout {network['layout']}"))  # fmt: skip
    with precision(BITS):
        for place, i in enumerate(rows):
            f = outputs(network, case.X[i])
            if i not in p.undecided_samples:
                least, right = margin(f, names.index(case.y[i])), i not in p.wrong_samples
                holds = (least > 0) if right else (least < 0)
                fails = (least <= 0) if right else (least >= 0)
                verdicts.append(Verdict("prove: label", True if holds else False if fails else None,
                                        f"sample {i} {'right' if right else 'wrong'}: {least.str(10)}"))  # fmt: skip
            off = [abs(t - arb(float(s))) for t, s in zip(f, result.networks[0].outputs[place])]
            bound = [float(e) for e in p.output_errors[place]]
            verdicts.append(Verdict("prove: output", all(a <= e for a, e in zip(off, bound)) or None
                                    if not any(a > e for a, e in zip(off, bound)) else False,
                                    f"sample {i}: off by {[a.str(5) for a in off]}, at most {bound}"))  # fmt: skip
    return verdicts
