"""judge.py ZEROLOSS CORPUS [--execution float32] [--strict]: is what `zeroloss prove` says of networks in files true?

CORPUS is a folder that corpus.py or random_graphs.py has written; ZEROLOSS is the command, or - to only compare the
references. Every sample that is called right or wrong is looked up in the graph's outputs, which are computed in 80 bit
floats, node by node, twice with sums in other orders: what these differ by, a hundred times, is what is not judged. So
are the outputs in outputs.csv with their errors, the margin and the largest error. With --execution float32 labels have
to be so in ONNX Runtime too, with and without its optimizations, and in runs in the file's own types whose sums have
random orders. A note that gelu with a rounded root of 2 is taken for gelu allows both readings. Where ONNX Runtime is
not near the reference nothing is judged, and that fails too.

Exit code 1 if a statement is false, a case crashes or takes too long, one that is to be refused is not, or, with
--strict, one that is not to be refused is. --plant flips labels that are compared with the statements: it has to
fail."""

import argparse
import collections
import csv
import fnmatch
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import common
import numpy as np
import onnx
from evaluate import LONG, Run

DOUBT = 100  # times what two orders of sums differ by
GRAIN = LONG(2) ** -56  # of the largest output: 2^8 roundings of an 80 bit float
NEAR = 1e-4  # of the largest output: how far ONNX Runtime may be from the reference, or SPREAD times as far as
SPREAD = 10  # runs in the file's types and random orders are


@dataclass
class Case:
    folder: Path
    name: str
    facts: dict = field(default_factory=dict)

    def __post_init__(self):
        self.facts = json.loads((self.folder / f"{self.name}.json").read_text())
        with np.load(self.folder / f"{self.name}.npz") as arrays:
            self.X, self.y = arrays["X"], arrays["y"]
        self.classes = self.facts["names"] is not None

    @property
    def file(self):
        return self.folder / f"{self.name}.onnx"

    def load(self):
        return onnx.load(self.file)

    def write_points(self, path):
        """The table that zeroloss reads: x0, x1, .. and label, a class's name or a number."""
        names = [str(name) for name in self.facts["names"]] if self.classes else None
        with path.open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow([*(f"x{i}" for i in range(self.X.shape[1])), "label"])
            for x, y in zip(self.X, self.y):
                table.writerow([*map(repr, x.tolist()), names[y] if self.classes else repr(float(y))])


@dataclass
class Reference:
    """Outputs at all samples: between low and high, with numbers rounded at casts or not, and as notes say it."""

    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, case, model, notes=()):
        runs = []
        readings = ["gelu"] * any("root of 2" in note for note in notes) + ["real", "rounded"]
        for arithmetic in readings:
            both = []
            for seed in (1, 2):
                run = Run(model, case.X, arithmetic, np.random.default_rng(seed), case.facts["shape"])
                both.append(run.value(case.facts["logits"]).reshape(len(case.X), -1))
            doubt = DOUBT * np.abs(both[0] - both[1]) + GRAIN * np.abs(both[0]).max(initial=0)
            runs.append((both[0] - doubt, both[0] + doubt))
            if arithmetic == "real" and not run.rounds:
                break
        return cls(np.minimum.reduce([r[0] for r in runs]), np.maximum.reduce([r[1] for r in runs]))

    def middle(self):
        return (self.low + self.high) / 2

    def margins(self, y):
        """Bounds of how much the output of its class exceeds all others; of one output its sign decides."""
        rows = np.arange(len(y))
        if self.low.shape[1] == 1:
            low, high = self.low[:, 0], self.high[:, 0]
            return np.where(y == 1, low, -high), np.where(y == 1, high, -low)
        low, high = self.low.copy(), self.high.copy()
        own_low, own_high = low[rows, y], high[rows, y]
        low[rows, y] = high[rows, y] = -np.inf
        return own_low - high.max(1), own_high - low.max(1)


def exact_margins(outputs, y):
    low, high = Reference(outputs, outputs).margins(y)
    assert np.array_equal(low, high)
    return low


@dataclass
class Verdict:
    outcome: str  # read | refused | crashed | accepted | doubtful
    message: str = ""
    false: list = field(default_factory=list)
    right: int = 0
    wrong: int = 0
    undecided: int = 0
    unjudged: int = 0  # statements on samples that the reference does not decide


def ask(zeroloss, case, options, limit):
    """What zeroloss answers: its exit code, its JSON or message, its outputs with errors, or None."""
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder) / "points.csv", Path(folder) / "run"
        case.write_points(data)
        command = [zeroloss, "prove", str(case.file.resolve()), str(data), "--json", "--features", "all", "--target",
                   "label", "--out", str(run), *options]  # fmt: skip
        command += ["--task", "classification" if case.classes else "regression"]
        if case.classes and not case.facts["named"]:
            command += ["--class-names", ",".join(str(name) for name in case.facts["names"])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return "slow", f"{limit} seconds and no answer", None
        if done.returncode != 0:
            return done.returncode, (done.stderr or done.stdout).strip(), None
        outputs = run / "outputs.csv"
        table = np.genfromtxt(outputs, delimiter=",", skip_header=1, ndmin=2) if outputs.exists() else None
        return 0, json.loads(done.stdout), table


def runs_in_float32(case, model, orders):
    """Names and outputs of executions in the types of the file."""
    shape, logits = case.facts["shape"], case.facts["logits"]
    for optimized in (True, False):
        name = "onnxruntime" if optimized else "onnxruntime without optimizations"
        yield name, common.logits_of(model, logits, case.X, shape, optimized)
    for seed in range(orders):
        run = Run(model, case.X, "file", np.random.default_rng(seed), shape)
        yield f"order {seed}", np.asarray(run.value(logits)).reshape(len(case.X), -1)


def differs(case, model, reference):
    """Is ONNX Runtime far from the reference? Then one of the two does not compute the graph."""
    off = lambda outputs: float(np.maximum(reference.low - outputs, outputs - reference.high).max(initial=0) / scale)
    scale = 1e-300 + max(np.abs(reference.low).max(), np.abs(reference.high).max())  # not 0
    shape, logits = case.facts["shape"], case.facts["logits"]
    distance = off(common.logits_of(model, logits, case.X, shape).astype(LONG))
    if distance <= NEAR:
        return None
    spread = 0
    for seed in range(3):
        run = Run(model, case.X, "file", np.random.default_rng(seed), shape)
        spread = max(spread, off(np.asarray(run.value(logits)).reshape(len(case.X), -1)))
    return None if distance <= SPREAD * spread else f"ONNX Runtime is off by {distance:.3g} of the outputs"


def judge(zeroloss, case, given):
    float32 = given.execution == "float32"
    options = ["--execution", "float32"] if float32 and given.has_execution else []
    answer, table = None, None
    if zeroloss != "-":
        code, answer, table = ask(zeroloss, case, options, given.limit)
        if code == "slow" or (code != 0 and (code < 0 or code > 3)):
            return Verdict("crashed", f"exit code {code}: {answer}")
        if code != 0:
            return Verdict("refused", answer.splitlines()[-1] if answer else f"exit code {code}")
    if case.facts["refused"]:
        return Verdict("refused" if answer is None else "accepted", "" if answer is None else answer["conclusion"])
    model = case.load()
    reference = Reference.of(case, model, answer["notes"] if answer else ())
    if off := differs(case, model, reference):
        return Verdict("doubtful", off)
    verdict = Verdict("read")
    if answer is None:
        return verdict
    y = case.y.copy()
    if given.plant and case.classes:
        y = (y + 1) % len(case.facts["names"])
    network = answer["networks"][0]
    check_outputs(verdict, reference, table)
    if case.classes:
        executions = list(runs_in_float32(case, model, given.orders)) if float32 else []
        labels = answer.get("executed") or network
        check_labels(verdict, labels, reference, y, executions, float32 and not answer.get("executed"))
    check_errors(verdict, case, network, reference, y)
    return verdict


def check_labels(verdict, network, reference, y, executions, single):
    wrong, undecided = set(network["wrong_samples"]), set(network["undecided_samples"])
    verdict.right, verdict.wrong, verdict.undecided = network["right"], network["wrong"], network["undecided"]
    counts = verdict.right, verdict.wrong, verdict.undecided
    if (len(wrong), len(undecided)) != counts[1:] or wrong & undecided or sum(counts) != len(y):
        verdict.false.append("{} right + {} wrong + {} undecided".format(*counts) + f" of {len(y)}, not as listed")
    low, high = reference.margins(y)
    others = [(name, exact_margins(outputs, y)) for name, outputs in executions]
    open_to_float32 = set(network["single_samples"]) if single else set()
    for i in sorted(set(range(len(y))) - undecided):
        is_wrong = i in wrong
        said = f"sample {i} is called {'wrong' if is_wrong else 'right'}, and its margin is"
        if low[i] >= 0 if is_wrong else high[i] <= 0:
            verdict.false.append(f"{said} {float((low[i] + high[i]) / 2):.6g}")
        elif not (high[i] < 0 if is_wrong else low[i] > 0):
            verdict.unjudged += 1
        if i in open_to_float32:
            continue
        for name, margins in others:
            if not (margins[i] < 0 if is_wrong else margins[i] > 0):
                verdict.false.append(f"{said} {float(margins[i]):.6g} in {name}")
    if network.get("margin") is not None and network["margin"] > high.min():
        verdict.false.append(f"margin {network['margin']!r}, and the least is {float(high.min()):.17g}")


def check_outputs(verdict, reference, table):
    """outputs.csv: sample, then each output and what it may be off by."""
    if table is None or table.shape[1] != 1 + 2 * reference.low.shape[1]:
        return
    outputs, errors = table[:, 1::2].astype(LONG), table[:, 2::2].astype(LONG)
    beyond = (outputs - errors > reference.high) | (outputs + errors < reference.low)
    for i, k in np.argwhere(beyond)[:3]:
        said = f"output {k} of sample {i} is {float(outputs[i, k])!r} +- {float(errors[i, k])!r}"
        verdict.false.append(f"{said}, and it is {float(reference.middle()[i, k]):.17g}")


def check_errors(verdict, case, network, reference, y):
    """largest_error and misfit are upper bounds; classes have targets -1 and 1."""
    if case.classes:
        width = reference.low.shape[1]
        own = np.arange(width) == y[:, None] if width > 1 else (y == 1)[:, None]
        targets = np.where(own, LONG(1), LONG(-1))
    else:
        targets = y.astype(LONG).reshape(len(y), -1)
    if targets.shape != reference.low.shape:
        return
    least = np.maximum(np.maximum(reference.low - targets, targets - reference.high), 0)
    for name, bound in (("largest_error", least.max()), ("misfit", np.sqrt((least**2).sum()))):
        if network.get(name) is not None and network[name] < bound:
            verdict.false.append(f"{name} {network[name]!r}, and it is {float(bound):.17g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--execution", choices=["real", "float32"], default="real")
    parser.add_argument("--strict", action="store_true", help="a case may only be refused if it says so")
    parser.add_argument("--plant", action="store_true", help="flip the labels that statements are compared with")
    parser.add_argument("--only", default="*", help="names of cases, as a shell matches them")
    parser.add_argument("--orders", type=int, default=4, help="runs with sums in random orders")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a case")
    parser.add_argument("--quiet", action="store_true", help="only cases that fail, and the counts")
    given = parser.parse_args()
    given.has_execution = given.zeroloss != "-" and "--execution" in subprocess.run(
        [given.zeroloss, "prove", "--help"], capture_output=True, text=True, check=False).stdout  # fmt: skip
    names = sorted(p.stem for p in given.corpus.glob("*.json") if fnmatch.fnmatch(p.stem, given.only))
    if not names:
        sys.exit(f"{given.corpus}: no cases")
    counts, kinds, failed = collections.Counter(), collections.defaultdict(collections.Counter), 0
    reasons = collections.Counter()
    for name in names:
        case = Case(given.corpus, name)
        verdict = judge(given.zeroloss, case, given)
        refused_for_nothing = verdict.outcome == "refused" and not case.facts["refused"]
        fails = bool(verdict.false) or verdict.outcome in ("crashed", "accepted", "doubtful")
        fails = fails or (given.strict and refused_for_nothing)
        failed += fails
        for of in (counts, kinds[case.facts["kind"]]):
            of.update({verdict.outcome: 1, "false statements": len(verdict.false), "right": verdict.right,
                       "wrong": verdict.wrong, "undecided": verdict.undecided, "not judged": verdict.unjudged})
        if refused_for_nothing:
            reasons[re.sub(r"\d+", "#", verdict.message.split(".onnx: ")[-1])] += 1
        if fails or not given.quiet:
            detail = f"{verdict.right} right, {verdict.wrong} wrong, {verdict.undecided} undecided"
            print(f"{'FAIL ' if fails else ''}{name}: {verdict.outcome}, {verdict.message or detail}", flush=True)
            for statement in verdict.false[:5]:
                print(f"    false: {statement}")
    show = lambda of: ", ".join(f"{count} {what}" for what, count in sorted(of.items()) if count)
    print()
    for kind, of in sorted(kinds.items()):
        print(f"{kind:>24}: {show(of)}")
    for reason, count in reasons.most_common(10):
        print(f"{count:>5} refused: {reason[:150]}")
    print(f"{len(names)} cases: {show(counts)}; {failed} fail")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
