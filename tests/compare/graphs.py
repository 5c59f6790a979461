#!/usr/bin/env python3
"""Asks `zeroloss prove` about networks in files and ONNX Runtime about the same files, and compares every answer.

    python tests/compare/graphs.py build/release/bin/zeroloss FOLDER..

A FOLDER holds NAME.onnx with NAME.npz or NAME_OTHER.npz (X, and y: labels or targets); where there is none, the .npz
whose name NAME begins with, or else all of the folder. Each is asked about as it is, for half of its samples, and
polished: then polished.onnx is run too. A .safetensors file is listed: ONNX Runtime does not know it.

An answer is false where it calls a label right (wrong) that the file gives otherwise, where an output is another,
where the file is further from a target than "every target within" says, and where the file has no answer at all: ONNX
Runtime does not load it, or it takes integers and the points are none. The file answers in float32 or float64: samples
whose two largest outputs are closer than its rounding contradict nothing. The exit status is 1 if an answer is false.
It needs numpy and onnxruntime (tests/requirements.txt)."""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnxruntime

TYPES = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(float16)": np.float16,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}  # fmt: skip
#: What the rounding of a network in a file may amount to, relative to its largest output.
ROUNDING = {"tensor(double)": 1e-10, "tensor(float)": 1e-4, "tensor(float16)": 1e-1}


class NoAnswer(Exception):
    """Of the file at these points."""


@dataclass
class File:
    """What ONNX Runtime makes of a file: labels, if some output is one, and numbers."""

    labels: list | None
    numbers: np.ndarray | None
    rounding: float


def run(path, X):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NoAnswer(f"ONNX Runtime does not load it: {str(error).splitlines()[0][:80]}") from error
    entries = session.get_inputs()
    if len(entries) != 1 or entries[0].type not in TYPES:
        raise NoAnswer("not one input of numbers")
    entry = entries[0]
    points = X.astype(TYPES[entry.type])
    if points.dtype.kind in "ib" and (points != X).any():
        raise NoAnswer("it takes integers, and the points are none")
    shape = [size if isinstance(size, int) else -1 for size in entry.shape]
    batch = shape[0] if len(shape) > 1 and shape[0] > 0 else 1 if len(shape) == 1 else len(X)
    if len(shape) != 1:
        inner = [size if size > 0 else 1 for size in shape[1:]]
        if -1 in shape[1:]:
            inner[shape[1:].index(-1)] = -1
        points = points.reshape(len(X), *inner)
    answers = []
    try:
        for start in range(0, len(X), batch):
            part = points[start : start + batch]
            answers.append(session.run(None, {entry.name: part[0] if len(shape) == 1 else part}))
    except Exception as error:
        raise NoAnswer(f"ONNX Runtime does not run it: {str(error).splitlines()[0][:80]}") from error
    labels = numbers = None
    for place, output in enumerate(session.get_outputs()):
        values = [answer[place] for answer in answers]
        if output.type.startswith("seq"):  # of maps, from names to scores
            names = [max(row, key=row.get) for value in values for row in value]
            labels = labels or names
            continue
        values = np.concatenate([np.asarray(value).reshape(-1) for value in values]).reshape(len(X), -1)
        if values.dtype.kind == "f":
            numbers = values.astype(np.float64) if numbers is None else numbers
        elif values.shape[1] == 1:
            labels = values[:, 0].tolist()
    first = session.get_outputs()[0].type
    return File(labels, numbers, max(ROUNDING.get(entry.type, 1e-4), ROUNDING.get(first, 0)))


def labels_of(file, y):
    """The file's label of each sample, as the data write it; None where no more is known than numbers of outputs."""
    if file.labels is not None:
        return [str(int(label)) if isinstance(label, (bool, float, np.floating)) else str(label)
                for label in file.labels]  # fmt: skip
    if file.numbers is None:
        return None
    classes = sorted(set(y.tolist()))
    single = file.numbers.shape[1] == 1
    output = file.numbers[:, 0] > 0 if single else file.numbers.argmax(1)
    count = 2 if single else file.numbers.shape[1]
    names = classes if len(classes) == count else list(range(count))
    return [str(names[int(k)]) for k in output]


@dataclass
class Answer:
    said: str
    false: list = field(default_factory=list)  # sentences
    compared: int = 0


def outputs_of(folder, n):
    """Outputs f and their errors, of the last network."""
    rows = np.loadtxt(folder / "outputs.csv", delimiter=",", skiprows=1, ndmin=2)
    assert len(rows) == n
    return rows[:, 0].astype(int), rows[:, 1::2]


def compare_labels(proved, samples, close, given, said):
    """Sentences about labels of a proved network that the file gives otherwise, and how many were compared."""
    undecided = set(proved.get("undecided_samples", []))
    wrong_ones = set(proved["wrong_samples"])
    unsure = wrong_ones | undecided
    true = {i: given[i] == said[i] for i in samples if i not in close}
    false = [f"sample {i} is called right, and the file says {said[i]}, not {given[i]}"
             for i in true if i not in unsure and not true[i]]  # fmt: skip
    wrong = [i for i in wrong_ones if true.get(i)]
    if len(wrong) > (0 if "undecided_samples" in proved else proved["undecided"]):
        false.append(f"{proved['wrong']} labels are called wrong; the file gives {len(wrong)} of these, as {wrong[0]}")
    return false, len(true)


def compare(proved, file, samples, f, y):
    """Of what was proved, the sentences that are false of the file."""
    if proved["right"] + proved["wrong"] + proved["undecided"] == 0:
        if file.numbers is None or file.numbers.shape[1] != 1:
            return ["targets of a file without one number a sample"], 0
        off = np.abs(file.numbers[samples, 0] - y[samples])
        slack = file.rounding * (1 + np.abs(y[samples]).max())
        within = np.inf if proved["largest_error"] is None else proved["largest_error"]
        worst = int(off.argmax())
        apart = np.abs(file.numbers[samples, 0] - f[:, 0])
        i = int(apart.argmax())
        if apart[i] > file.rounding * (1 + np.abs(f).max()):
            return [f"output {f[i, 0]:.6g} of sample {samples[i]}; the file gives "
                    f"{file.numbers[samples[i], 0]:.6g}"], len(samples)  # fmt: skip
        return ([f"every target within {within:.3g}; the file is {off[worst]:.3g} off at sample {samples[worst]}"]
                if off[worst] > within + slack else []), len(samples)  # fmt: skip
    said = labels_of(file, y)
    if said is None:
        return ["labels of a file that gives none"], 0
    top = np.sort(f, axis=1)
    gap = np.abs(f[:, 0]) if f.shape[1] == 1 else top[:, -1] - top[:, -2]
    close = {int(i) for i, g, row in zip(samples, gap, f) if not g > file.rounding * (1 + np.abs(row).max())}
    return compare_labels(proved, samples.tolist(), close, [str(label) for label in y.tolist()], said)


def ask(zeroloss, model, data, more):
    """The folder that prove writes, or why it writes none."""
    folder = Path(tempfile.mkdtemp()) / "run"
    command = [zeroloss, "prove", str(model), str(data), "--out", str(folder), *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode < 0 or done.returncode > 128:
        return None, f"CRASH {done.returncode}"
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
    return folder, json.loads((folder / "result.json").read_text())["conclusion"].splitlines()[-1]


def judge(zeroloss, model, data, more):
    folder, said = ask(zeroloss, model, data, more)
    answer = Answer(said)
    if folder is None:
        answer.false = [said] if said.startswith("CRASH") else []
        return answer, False
    result = json.loads((folder / "result.json").read_text())
    arrays = np.load(data)
    X, y = np.asarray(arrays["X"], float), arrays["y"]
    X = X.reshape(len(X), -1)
    samples, f = outputs_of(folder, result["n"])
    try:
        if "--polish" not in more:
            answer.false, answer.compared = compare(result["networks"][-1], run(model, X), samples, f, y)
        elif (folder / "polished.onnx").exists():
            proved = result["written"] or result["networks"][-1]
            answer.false, answer.compared = compare(proved, run(folder / "polished.onnx", X), samples, f, y)
    except NoAnswer as error:
        answer.false = [f"an answer, although {error}"]
    return answer, True


def data_of(model):
    folder, name = model.parent, model.stem
    own = sorted([*folder.glob(f"{name}.npz"), *folder.glob(f"{name}_*.npz")])
    if own:
        return own
    all_ = sorted(folder.glob("*.npz"))
    begins = [path for path in all_ if name.startswith(path.stem)]
    return [max(begins, key=lambda path: len(path.stem))] if begins else all_


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zeroloss")
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args()
    count = {"answers": 0, "refused": 0, "false": 0, "samples": 0}
    for folder in options.folders:
        for model in sorted([*folder.glob("*.onnx"), *folder.glob("*.safetensors")]):
            if model.suffix != ".onnx":
                print(f"{folder.name}/{model.name}: not a file of ONNX Runtime")
                continue
            for data in data_of(model):
                n = len(np.load(data)["X"])
                for kind, more in {"": [], "half": ["--n", str((n * 7 + 11) // 12)], "polished": ["--polish"]}.items():
                    answer, answered = judge(options.zeroloss, model, data, more)
                    count["answers" if answered else "refused"] += 1
                    count["samples"] += answer.compared
                    count["false"] += bool(answer.false)
                    mark = "FALSE" if answer.false else "true" if answered and answer.compared else "-"
                    print(f"{mark:<6}{folder.name}/{model.name} {data.name} {kind}\n      said: {answer.said[:300]}")
                    for sentence in answer.false[:2]:
                        print(f"      file: {sentence}")
    print(f"{count['answers']} answers, {count['refused']} refusals, {count['samples']} labels and targets compared; "
          f"{count['false']} answers are false of their file")  # fmt: skip
    return 1 if count["false"] else 0


if __name__ == "__main__":
    sys.exit(main())
