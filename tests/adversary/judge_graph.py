"""prove, of networks in ONNX files: what is said of labels and targets is true of the file, node by node, and what is
said of polished.onnx is true of that."""

import tempfile
from pathlib import Path

import numpy as np

from exact import precision
from run_graph import distance, told
from verdict import Verdict


def judge(case, result):
    graph = case.options["graph"]
    with precision(200):
        said = [told(graph, point) for point in case.X]
        verdicts = [labels(case, result.networks[0], said) if case.classes() else targets(case, result.networks[0], said)]
    if len(result.networks) > 1:
        verdicts.append(polished(case, result))
    return verdicts


def labels(case, proved, said, kind="prove: labels"):
    unsure = set(proved.wrong_samples)
    true = {i: label == case.y[i] for i, label in enumerate(said) if label is not None}
    false = [i for i in true if i not in unsure and not true[i]]
    right = [i for i in unsure if true.get(i)]
    lie = len(right) > proved.undecided
    return Verdict(kind, not (false or lie), f"called right: {false}; called wrong, and right: {right}")


def targets(case, proved, said):
    off = [distance(ball, target) for ball, target in zip(said, case.y)]
    beyond = [i for i, error in enumerate(off) if error > proved.largest_error]
    sure = all(error <= proved.largest_error for error in off)
    detail = f"every target within {proved.largest_error}; further: {beyond}"
    return Verdict("prove: targets", False if beyond else True if sure else None, detail)


def polished(case, result):
    """ONNX Runtime's answers, in the file's own type: to within its rounding."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "run")
        file = str(Path(folder) / "run" / "polished.onnx")
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    graph = case.options["graph"]
    (answer,) = session.run(None, {"x": np.array(case.X).astype(graph.points)})
    written = result.written
    if not case.classes():
        scale = 1 + np.abs(result.networks[1].outputs).max()
        off = np.abs(np.asarray(answer, float).ravel() - np.array(case.y)).max()
        return Verdict("prove: polished.onnx", bool(off <= written.largest_error + 1e-4 * scale),
                       f"every target within {written.largest_error}, and {off}")  # fmt: skip
    if isinstance(answer, list):
        answer = [max(row, key=row.get) for row in answer]
    outputs = np.sort(result.networks[1].outputs, axis=1)
    gaps = np.abs(outputs[:, 0]) if outputs.shape[1] == 1 else outputs[:, -1] - outputs[:, -2]
    close = gaps < 1e-3 * (1 + np.abs(outputs).max())
    said = [None if near else str(label) for near, label in zip(close, np.ravel(answer).tolist())]
    return labels(case, written, said, "prove: polished.onnx")
