"""make.py: writes the graphs beside it, NAME.onnx, with what they compute, NAME.csv.

Drawn by tests/adversary/graphs/random_graphs.py, and chosen so that each operator that is drawn and each operator set
is there several times. Lines of NAME.csv begin with what they hold, of one sample after the other: x, its numbers;
real, the outputs in real numbers, by tests/adversary/graphs/evaluate.py in 80 bit floats; doubt, what these may be off
by, a hundred times what two orders of sums differ by and 2^-56 of the largest; runtime and plain, those of ONNX
Runtime, with and without its optimizations. Needs what random_graphs.py needs; scripts/setup.sh installs none of it:

    python -m venv /tmp/graphs && /tmp/graphs/bin/pip install numpy scipy onnx onnxruntime python-flint
    /tmp/graphs/bin/python tests/graph/files/make.py

Other versions of these packages draw other graphs."""

import collections
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "adversary" / "graphs"))

import common  # noqa: E402
import random_graphs  # noqa: E402
from evaluate import LONG, Run  # noqa: E402

COUNT, DRAWN, SEED, SAMPLES = 64, 600, 2026, 3
BYTES = 5000  # of a graph, at most
#: Behind these the outputs are what stands before.
LEFT_OUT = {"Softmax", "LogSoftmax", "Sigmoid"}


def cases():
    """Graphs that are small, with their points and facts."""
    for k in range(DRAWN):
        case = random_graphs.drawn([SEED, k])
        if case is None or isinstance(case, str):
            continue
        model, X, _, facts = case
        last = {name: node.op_type for node in model.graph.node for name in node.output}[facts["logits"]]
        if last not in LEFT_OUT and len(model.SerializeToString()) <= BYTES:
            yield model, X[:SAMPLES], facts


def chosen(all_cases):
    """Again and again the one whose operators and operator set are rarest among those that were taken."""
    seen, rest = collections.Counter(), list(all_cases)
    for _ in range(COUNT):
        def gain(case):
            return sum(0.2 ** seen[op] for op in case[2]["ops"]) + 3 * 0.2 ** seen[case[2]["opset"]]
        best = max(range(len(rest)), key=lambda k: gain(rest[k]))
        case = rest.pop(best)
        seen.update([*case[2]["ops"], case[2]["opset"]])
        yield case
    print(dict(sorted(seen.items(), key=str)))


def digits(values):
    return ",".join(np.format_float_scientific(v, unique=True) for v in np.ravel(values))


def main():
    for file in [*HERE.glob("*.onnx"), *HERE.glob("*.csv")]:
        file.unlink()
    for k, (model, X, facts) in enumerate(chosen(cases())):
        shape, logits = facts["shape"], facts["logits"]
        first, second = (Run(model, X, "real", np.random.default_rng(seed), shape).value(logits).astype(LONG)
                         for seed in (1, 2))
        largest = np.abs(first).max(1, keepdims=True)
        doubt = 100 * np.abs(first - second) + LONG(2) ** -56 * largest
        runtime, plain = (common.logits_of(model, logits, X, shape, optimized).astype(np.float64)
                          for optimized in (True, False))
        name = f"graph_{k:02}"
        (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())
        lines = [f"{word},{digits(values[i])}" for i in range(len(X))
                 for word, values in (("x", X), ("real", first), ("doubt", doubt.astype(np.float32)),
                                      ("runtime", runtime), ("plain", plain))]
        (HERE / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
