"""A case of the judge: NAME.onnx, NAME.npz with points X and labels y, NAME.json with what judge.py has to know.

The fields of NAME.json: shape (of a point, null for a plain vector), refused (whether zeroloss is to refuse it), logits
(the tensor before a final Softmax or ArgMax), names (of classes, in the order of the outputs; null of numbers), named
(whether the file names them), kind (a word to count by), opset.

judge.py and random_graphs.py need numpy, scipy, onnx, onnxruntime and python-flint; corpus.py also torch, torchvision,
onnxscript, scikit-learn and skl2onnx, and writes Keras's networks where there is a keras."""

import json

import numpy as np
import onnx
import onnxruntime

WRONG = 0.15  # of labels


def session(model, logits=None, optimized=True):
    """ONNX Runtime on one thread, for a model as it is or for one tensor of it."""
    if logits is not None:
        model = exposing(model, logits)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def exposing(model, logits):
    """A copy with this tensor as its only output."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    if logits.startswith("scores of "):
        logits = logits.removeprefix("scores of ")
        (node,) = [n for n in copy.graph.node if logits in n.output]
        for attribute in node.attribute:
            if attribute.name == "post_transform":
                attribute.s = b"NONE"
    typed = [o for o in copy.graph.output if o.name == logits]
    del copy.graph.output[:]
    copy.graph.output.extend(typed or [onnx.ValueInfoProto(name=logits)])
    needed, nodes = {logits}, []
    for node in reversed(copy.graph.node):
        if needed & set(node.output):
            nodes.append(node)
            needed |= set(node.input)
    del copy.graph.node[:]
    copy.graph.node.extend(reversed(nodes))
    return copy


def fed(session, X, shape):
    (given,) = session.get_inputs()
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}[given.type]
    X = np.asarray(X).astype(kind)
    return {given.name: X.reshape(len(X), *shape) if shape else X}


def logits_of(model, logits, X, shape, optimized=True):
    one = session(model, logits, optimized)
    (out,) = one.run(None, fed(one, X, shape))
    return out.reshape(len(X), -1)


def float32s(X):
    """Doubles that float32 holds."""
    return np.asarray(X).astype(np.float32).astype(np.float64)


def labels(scores, r):
    """The class of the largest output, of one its sign; wrong ones for a few samples."""
    count = max(2, scores.shape[1])
    y = scores.argmax(1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    moved = r.random(len(y)) < WRONG
    return np.where(moved, (y + r.integers(1, count, len(y))) % count, y)


def write(folder, name, model, X, y, **facts):
    data = model if isinstance(model, bytes) else model.SerializeToString()
    (folder / f"{name}.onnx").write_bytes(data)
    np.savez_compressed(folder / f"{name}.npz", X=X, y=y)
    facts = {"shape": None, "refused": False, "logits": None, "names": None, "named": False} | facts
    (folder / f"{name}.json").write_text(json.dumps(facts) + "\n")
