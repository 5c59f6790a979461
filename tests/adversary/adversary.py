#!/usr/bin/env python3
"""Draws hostile inputs, asks the library for its proofs, and judges each in exact or interval arithmetic of its own.

    python tests/adversary/adversary.py --count 1000 --seed 1 [--only certify] [--jobs 2]
    python tests/adversary/adversary.py --seed 1 --case 77        # one case again, with all that was judged
    python tests/adversary/adversary.py --known

The exit status is 1 if a proof is false, the library crashed or hung, or an error was not a clear one. Statements that
are neither proved nor refuted are counted as open, and those of existence are listed."""

import argparse
import importlib.util
import io
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from dataclasses import dataclass, field

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import host
import judge_claims
import known
from cases import KINDS, case

HANG_S, LOST_S = 20, 120  # of processor time, so that a busy machine is not taken for a hang
SILENT_S = 600  # of the clock: then a process is lost


@dataclass
class Report:
    case: object
    refusal: str = ""  # a clear error of the library
    finding: str = ""  # a crash, a hang, an error that is not clear
    verdicts: list = field(default_factory=list)
    seconds: float = 0

    @property
    def false(self):
        return [v for v in self.verdicts if v.holds is False]

    @property
    def open(self):
        return [v for v in self.verdicts if v.holds is None]

    @property
    def bad(self):
        return bool(self.finding or self.false)


class Hang(BaseException):
    pass


def in_columns(array):
    """An npy file in Fortran order. numpy.save says C order where both are the same; others say what they have."""
    import numpy as np

    file = io.BytesIO()
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": True, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + array.tobytes(order="F")


def ask(given):
    """The library's answer."""
    import numpy as np

    import zeroloss

    X, y, options = np.array(given.X, order="F" if given.order else "C"), given.y, dict(given.options)
    if y is not None and given.kind != "linear":
        options["task"] = "classification" if given.classes() else "regression"
    if given.kind == "linear":
        return zeroloss.linear.factorize(X, **options)
    if given.kind == "kernel":
        what, which = options.pop("kernel")
        return zeroloss.kernel.lambda_min(X, getattr(zeroloss.kernel, what)(which), **options)
    if given.kind in ("graph", "conv"):
        from judge_graph import ask_about_file

        options.pop("features", None)
        return ask_about_file(X, y, options)
    if given.kind == "prove":
        of = options.pop("network")
        if "names" in of:
            return of_state_dict(of, X, y, options)
        layers = [zeroloss.Layer(np.array(W), np.array(b), phi) for W, b, phi in of["layers"]]
        return zeroloss.prove(zeroloss.DeepNetwork(layers, np.array(of["V"]), np.array(of["c"])), X, y, **options)
    if given.order == "file":
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/points.npz"
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr("X.npy", in_columns(X))
                if y is not None:
                    archive.writestr("y.npy", in_columns(np.array(y)[:, None]))
            return getattr(zeroloss, given.kind)(file, **options)
    return getattr(zeroloss, given.kind)(X, y, **options)


def of_state_dict(network, X, y, options):
    """prove of a file with the weights, which says neither in which order they stand nor what is between them."""
    import tempfile

    import numpy as np
    from safetensors.numpy import save_file

    import zeroloss

    weights = [(W, b) for W, b, _ in network["layers"]] + [(network["V"], network["c"])]
    if network["layout"]:
        options["layout"] = network["names"]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "state.safetensors")
        save_file({f"{name}.{role}": np.array(part) for name, both in zip(network["names"], weights)
                   for role, part in zip(("weight", "bias"), both)}, file)  # fmt: skip
        activation = ",".join(phi for _, _, phi in network["layers"])
        return zeroloss.prove(file, X, y, activation=activation, **options)


def judge_of(kind):
    return __import__(f"judge_{kind}").judge


def examine(given):
    """One case: asked, answered, judged."""
    import warnings

    import zeroloss

    def ring(*_):
        raise Hang()

    report = Report(given)
    began = time.monotonic()
    signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with host.taken(given.german()):
                answer = ask(given)
    except (zeroloss.DataError, ValueError, zeroloss.ResourceError) as error:
        report.refusal = str(error)
        if not report.refusal.strip():
            report.finding = f"{type(error).__name__} without a word"
    except Hang:
        report.finding = f"no answer within {HANG_S} s"
    except Exception as error:
        report.finding = f"{type(error).__name__}: {error}"
    else:
        signal.setitimer(signal.ITIMER_PROF, LOST_S)
        try:
            report.verdicts = judge_of(given.kind)(given, answer)
            if hasattr(answer, "save"):
                report.verdicts += judge_claims.judge(given, answer)
        except Hang:
            report.finding = f"the judge needs more than {LOST_S} s"
        except Exception:
            report.finding = f"the judge failed: {traceback.format_exc()}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    report.seconds = time.monotonic() - began
    return report


# ---- many cases, in processes of their own: a crash costs one case ----


def work(cases, pipe):
    for given in cases:
        pipe.send(("begin", given))
        pipe.send(("done", examine(given)))
    pipe.close()


def examine_all(cases, jobs=1):
    """Reports, as they come."""
    host.prepare()
    context = multiprocessing.get_context("fork")
    queues = [list(cases[k::jobs]) for k in range(jobs)]
    running = {}

    def start(k):
        if queues[k]:
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=work, args=(queues[k], theirs), daemon=True)
            process.start()
            theirs.close()
            running[mine] = (k, process)

    for k in range(jobs):
        start(k)
    while running:
        ready = multiprocessing.connection.wait(list(running), timeout=SILENT_S)
        for pipe in ready or list(running):
            k, process = running[pipe]
            try:
                if not ready:
                    process.kill()
                    raise EOFError
                what, value = pipe.recv()
            except EOFError:
                del running[pipe]
                process.join()
                if queues[k]:  # it died over the first that is left
                    died = f"the process died: exit {process.exitcode}"
                    lost = died if ready else "no answer, and no signal reaches it"
                    yield Report(queues[k].pop(0), finding=lost)
                    start(k)
                continue
            if what == "done":
                queues[k].pop(0)
                yield value


# ---- what is printed ----


def of_existence(verdict):
    return "exact" in verdict.kind or "existence" in verdict.kind


def describe(report, everything=False):
    given = report.case
    where = ", in the German locale" if given.german() else ""
    lines = [f"case {given.number} ({given.kind}: {given.how}{where})"]
    if report.finding:
        lines.append(f"  {report.finding}")
    if report.refusal and everything:
        lines.append(f"  refused: {report.refusal}")
    shown = report.verdicts if everything else report.false + [v for v in report.open if of_existence(v)]
    for v in shown:
        lines.append(f"  {'true' if v.holds else 'FALSE' if v.holds is False else 'open'}  {v.kind}: {v.detail}")
    lines.append(f"  {given.call()}")
    return "\n".join(lines)


class Summary:
    def __init__(self):
        self.cases, self.refused, self.findings, self.proofs = Counter(), Counter(), Counter(), {}

    def add(self, report):
        kind = report.case.kind
        self.cases[kind] += 1
        self.refused[kind] += bool(report.refusal)
        self.findings[kind] += bool(report.finding)
        for v in report.verdicts:
            self.proofs.setdefault(v.kind, Counter())[v.holds] += 1

    def text(self):
        lines = [f"{'':<48}{'cases':>8}{'refused':>9}{'errors':>8}"]
        for kind in sorted(self.cases):
            lines.append(f"{kind:<48}{self.cases[kind]:>8}{self.refused[kind]:>9}{self.findings[kind]:>8}")
        lines.append(f"{'':<48}{'printed':>8}{'judged':>9}{'open':>8}{'false':>8}")
        for kind in sorted(self.proofs):
            c = self.proofs[kind]
            lines.append(f"{kind:<48}{c.total():>8}{c[True] + c[False]:>9}{c[None]:>8}{c[False]:>8}")
        return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--known", action="store_true", help="the list of known.py alone")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if importlib.util.find_spec("zeroloss") is None:
        sys.exit("adversary: no package zeroloss here; see CONTRIBUTING.md")
    one = options.case is not None
    if options.known:
        cases = known.cases()
    else:
        numbers = [options.case] if one else range(options.count)
        cases = [case(number, options.seed, options.only) for number in numbers]
    summary, bad, began = Summary(), 0, time.monotonic()
    for report in examine_all(cases, options.jobs):
        summary.add(report)
        bad += report.bad
        if report.bad or one or any(map(of_existence, report.open)):
            print(describe(report, one or options.known), flush=True)
    took = time.monotonic() - began
    print(f"\n{summary.text()}\n{len(cases)} cases in {took:.1f} s, {bad} of them with findings")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
