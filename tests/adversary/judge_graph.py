"""prove, of networks in ONNX files: what is said of labels and targets is true of the file, node by node, and what is
said of polished.onnx is true of that."""

import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import onnx_file
from exact import precision
from run_graph import distance, told
from verdict import Verdict


def ask_about_file(X, y, options):
    """What is proved of the graph that is drawn, and polished.onnx with what is said of that."""
    import zeroloss

    with tempfile.TemporaryDirectory() as folder:
        file, run = Path(folder) / "drawn.onnx", Path(folder) / "run"
        onnx_file.write(file, options.pop("graph"))
        answer = zeroloss.prove(file, X, y, **options)
        answer.save(run)
        written = json.loads((run / "result.json").read_text())["written"]
        polished = run / "polished.onnx"
        return SimpleNamespace(networks=list(answer.networks), written=written and SimpleNamespace(**written),
                               polished=polished.read_bytes() if polished.exists() else None)  # fmt: skip


def judge(case, result):
    given = result.networks[0]
    with precision(200):
        said = [told(case.options["graph"], point) for point in case.X]
        verdicts = [labels(case, given, said) if case.classes() else targets(case, given, said)]
    if result.polished is not None:
        verdicts.append(polished(case, result))
    return verdicts


def labels(case, proved, said, kind="graph: labels"):
    wrong, undecided = set(proved.wrong_samples), set(proved.undecided_samples)
    true = {i: label == case.y[i] for i, label in enumerate(said) if label is not None and i not in undecided}
    lies = [i for i in true if true[i] == (i in wrong)]
    return Verdict(kind, not lies, f"called right: {[i for i in lies if i not in wrong]}; called wrong: "
                                   f"{[i for i in lies if i in wrong]}")  # fmt: skip


def targets(case, proved, said):
    off = [distance(ball, target) for ball, target in zip(said, case.y)]
    beyond = [i for i, error in enumerate(off) if error > proved.largest_error]
    sure = all(error <= proved.largest_error for error in off)
    detail = f"every target within {proved.largest_error}; further: {beyond}"
    return Verdict("graph: targets", False if beyond else True if sure else None, detail)


def polished(case, result):
    """ONNX Runtime's answers, in the file's own type: to within its rounding."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(result.polished, options, providers=["CPUExecutionProvider"])
    graph = case.options["graph"]
    (answer,) = session.run(None, {"x": np.array(case.X).astype(graph.points)})
    written = result.written or result.networks[1]  # of a graph that is what is in the file
    if not case.classes():
        scale = 1 + np.abs(result.networks[1].outputs).max()
        within = np.inf if written.largest_error is None else written.largest_error
        off = np.abs(np.asarray(answer, float).ravel() - np.array(case.y)).max()
        rounding = 2**11 * 2.0**-24 * scale  # of float32: far more than sums here have terms
        return Verdict("graph: polished.onnx", bool(off <= within + rounding),
                       f"every target within {within}, and {off}")  # fmt: skip
    if isinstance(answer, list):
        answer = [max(row, key=row.get) for row in answer]
    outputs = np.sort(result.networks[1].outputs, axis=1)
    gaps = np.abs(outputs[:, 0]) if outputs.shape[1] == 1 else outputs[:, -1] - outputs[:, -2]
    close = gaps < 1e-3 * (1 + np.abs(outputs).max())  # what float32 may decide is not judged
    said = [None if near else str(label) for near, label in zip(close, np.ravel(answer).tolist())]
    return labels(case, written, said, "graph: polished.onnx")
