#!/usr/bin/env python3
"""What commands do when the machine fails: disks, locks, memory, signals, power, clocks, damaged files.

    faults.py ZEROLOSS [--quick] [--only FAULT[/COMMAND]].. [--work FOLDER] [--mnist FOLDER]
              [--write docs/reliability.md]

Each run with a fault must end with a documented exit code and one message of ours, leave nothing half-written under a
name that a reader would take for whole and no temporary file, and go on to what a run without faults makes, to the bit.
Prints a line for each fault and command; exits with 1 where something else was seen or nothing could be tried, with 77
where there is no strace. What takes root or a mount is skipped without, and says so.
Rows of several calls with one --work come together into one table."""

import argparse
import contextlib
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import traces
from cases import (
    BY_NAME,
    CASES,
    DATA_GET,
    ENVIRONMENT,
    Reference,
    clear,
    count,
    finished,
    make_inputs,
    names_of,
    run,
    serve,
)
from table import write_table

DATA, MACHINE = 2, 3  # exit codes
WRITES = ("write", "pwrite64", "openat", "mkdir", "ftruncate")
KEEPS = (*WRITES, "fsync", "fdatasync", "rename", "close", "unlink")
READS = ("read", "pread64", "openat")


class Trial:
    """One fault on one command: what was seen, counted, and what should not have been."""

    def __init__(self, work, case):
        self.work, self.case = work, case
        self.seen, self.wrong = Counter(), []
        self.skipped = ""  # why it cannot be tried here
        self.folder = work.root / "run"

    def command(self, resume=False):
        return self.case.command(self.work.program, self.work.inputs, self.folder, resume)

    def judge(self, outcome, how, allowed=(DATA, MACHINE), killed=False):
        """Of a run that met a fault, and of what goes on from there. `how` repeats it."""
        code, _, error = outcome
        out = self.folder / self.case.out
        partial = out.with_name(out.name + ".partial")
        ours = [line for line in error.splitlines() if line.startswith("zeroloss: ")]
        wrong = []
        there = self.reference.is_there(self.case, self.folder)
        if code == 0:
            if not there:
                wrong.append("exit code 0 without an answer")
        elif code not in allowed:
            wrong.append(f"exit code {code}: {error[-300:]}")
        elif code < 128 and len(ours) != 1:
            wrong.append(f"{len(ours)} messages: {error[-300:]}")
        if out.exists() and (fault := self.reference.faults_of(self.case, self.folder)):
            wrong.append(fault)
        left = [name for name in names_of(self.folder) if name.endswith(".tmp")]
        if partial.exists() and self.case.resume is None and not killed:
            left.append(partial.name)
        if left and not killed:
            wrong.append(f"left behind: {', '.join(left)}")
        label = "done" if code == 0 else f"exit {code}"
        if not there:
            if self.case.resume is None:
                shutil.rmtree(partial, ignore_errors=True)
            again = run(self.command(resume=True))
            if again[0] != 0:
                wrong.append(f"it does not go on: exit code {again[0]}: {again[2][-300:]}")
            elif fault := self.reference.faults_of(self.case, self.folder):
                wrong.append(f"gone on: {fault}")
            if left := [name for name in names_of(self.folder / self.case.out) if name.endswith(".tmp")]:
                wrong.append(f"left behind after it went on: {', '.join(left)}")
        self.count(label, wrong, how)

    def count(self, label, wrong, how):
        self.seen[label] += 1
        for fault in wrong:
            self.wrong.append(fault)
            print(f"FAIL {self.case.name}: {fault}\n     {how}", flush=True)

    @property
    def reference(self):
        return self.work.reference(self.case)


class Work:
    def __init__(self, program, root, quick):
        self.program, self.root, self.quick = program, root, quick
        self.inputs, self.random = root / "inputs", random.Random(1)
        self.references, self.failures = {}, 0
        self.rows_file = root / "rows.json"
        self.rows = json.loads(self.rows_file.read_text()) if self.rows_file.exists() else {}
        if not self.inputs.exists():
            make_inputs(program, self.inputs)

    def reference(self, case):
        if case.name not in self.references:
            self.references[case.name] = Reference(case, self.program, self.inputs, self.root / "reference")
        return self.references[case.name]

    def chosen(self, fault, cases, asked):
        """conv takes a second to load: what is quick tries it where its files are its own."""
        for case in cases:
            slow = self.quick and case.name == "conv" and fault not in ("power", "damage")
            if [fault] in asked or [fault, case.name] in asked or not (asked or slow):
                yield case

    def most(self, full, quick):
        return quick if self.quick else full

    def try_all(self, fault, text, expected, body, cases):
        for case in cases:
            began = time.monotonic()
            trial = Trial(self, case)
            self.reference(case)  # made before anything fails
            body(self, trial)
            self.report(fault, text, expected, trial, time.monotonic() - began)

    def report(self, fault, text, expected, trial, seconds):
        name = f"{fault}/{trial.case.name}"
        if trial.skipped:
            print(f"skip {name}: {trial.skipped}", flush=True)
            return
        seen = ", ".join(f"{label}: {count}" for label, count in sorted(trial.seen.items()))
        if not trial.seen:
            seen = "no run met the fault"
            trial.wrong.append(seen)
        if trial.wrong:
            self.failures += len(trial.wrong)
            seen += f"; **not as expected: {len(trial.wrong)}**"
        self.rows[name] = {"fault": text, "command": trial.case.name, "expected": expected,
                           "runs": sum(trial.seen.values()), "seen": seen}  # fmt: skip
        self.rows_file.write_text(json.dumps(self.rows, indent=1))
        print(f"{'FAIL' if trial.wrong else 'ok  '} {name}: {seen} ({seconds:.0f} s)", flush=True)


# ---- system calls that fail ----


def fails(names, errors, where):
    """Every such call of the command on files in `where` fails, one in each run."""

    def body(work, trial):
        log = work.root / "calls"
        for name in names:
            clear(trial.folder)
            place = str(where(work, trial))
            calls = [call for call in traces.recorded(trial.command(), log, (name,))
                     if any(place in file for file in call.files)]  # fmt: skip
            numbers = {c.number: c for c in calls}
            most = work.most(4 if trial.case.name == "conv" else 12, 2)  # its program takes a second to load
            for call in traces.spread(numbers.values(), most):
                for error in errors:
                    clear(trial.folder)
                    command = traces.failing(trial.command(), log, call, error)
                    outcome = run(command)
                    if traces.hit(log):
                        trial.judge(outcome, " ".join(map(str, command)))

    return body


def locks(work, trial):
    fails(("flock", "fcntl"), ("ENOLCK",), lambda work, trial: trial.folder)(work, trial)


# ---- what the machine gives ----


def full_disk(work, trial):
    """A disk of so many kB."""
    if os.geteuid() != 0:
        trial.skipped = "a disk of a given size takes root"
        return
    sizes = range(4, 400, work.most(16, 100))
    for kilobytes in sizes:
        clear(trial.folder)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", trial.folder]
        mounted = subprocess.run(mount, capture_output=True, text=True)
        if mounted.returncode != 0:
            trial.skipped = mounted.stderr.strip()
            return
        try:
            outcome = run(trial.command())
            subprocess.run(["mount", "-o", "remount,size=100m", trial.folder], check=True)
            trial.judge(outcome, f"a disk of {kilobytes} kB: {' '.join(trial.command())}")
        finally:
            subprocess.run(["umount", trial.folder], check=True)


def limited(what, values, allowed=(DATA, MACHINE)):
    def body(work, trial):
        chosen = values if not work.quick else values[:: max(1, len(values) // 4)]
        for value in chosen:
            clear(trial.folder)
            limit = lambda v=value: resource.setrlimit(what, (v, v))
            outcome = run(trial.command(), preexec_fn=limit)
            if outcome[0] == 127:
                trial.seen["the loader fails"] += 1  # before there is a program
                continue
            trial.judge(outcome, f"limit {what} of {value}: {' '.join(trial.command())}", allowed)

    return body


def read_only(work, trial):
    clear(trial.folder)
    trial.folder.chmod(0o555)
    options = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    code, _, error = run(trial.command(), **options)
    trial.folder.chmod(0o755)
    left = names_of(trial.folder)
    good = code == MACHINE and error.count("zeroloss: ") == 1 and not left
    trial.count(f"exit {code}", [] if good else [f"exit code {code}, {left}: {error}"], "a folder of others")


def answer_fails(work, trial):
    """Whoever reads the answer has no room for it."""
    clear(trial.folder)
    with open("/dev/full", "w") as full:
        process = subprocess.Popen(trial.command(), env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True)
        trial.judge(finished(process), f"{' '.join(trial.command())} > /dev/full", allowed=(MACHINE,))


# ---- signals ----


def signals(work, trial):
    clear(trial.folder)
    began = time.monotonic()
    run(trial.command())
    whole = time.monotonic() - began
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
    for k in range(work.most(200, 4)):
        clear(trial.folder)
        stop, seconds = stops[k % 4], work.random.uniform(0, 1.1 * whole)
        process = subprocess.Popen(trial.command(), env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)  # fmt: skip
        time.sleep(seconds)
        process.send_signal(stop)
        outcome = finished(process)
        trial.judge(outcome, f"{stop.name} after {seconds:.3f} s: {' '.join(trial.command())}", (128 + stop,),
                    killed=stop == signal.SIGKILL or len(outcome[2]) == 0)  # fmt: skip


# ---- a power cut ----


def power(work, trial):
    """Bytes are flushed before a file gets its name; the name before another one is given; at the end nothing waits."""
    clear(trial.folder)
    log = work.root / "calls"
    calls = traces.recorded(trial.command(), log, (*KEEPS, "renameat", "renameat2"))
    wrong, dirty, names = [], set(), set()  # files with unflushed bytes; folders with unflushed names
    renamed = 0
    for call in calls:
        files = [path for path in map(Path, call.files) if path.is_relative_to(trial.folder)]
        if not files or " = -1" in call.text:
            continue
        if call.name in ("write", "pwrite64", "ftruncate"):
            dirty.add(files[0])
        elif call.name in ("fsync", "fdatasync"):
            dirty.discard(files[0])
            names.discard(files[0])
        elif call.name == "openat" and "O_CREAT" in call.text:
            if not files[-1].name.endswith((".tmp", ".part", "-shm")):
                names.add(files[-1].parent)
        elif call.name == "mkdir":
            names.add(files[0].parent)
        elif call.name == "unlink":
            dirty.discard(files[0])
        elif call.name.startswith("rename"):
            renamed += 1
            source, target = files[0], files[-1]
            if names - {source}:
                wrong.append(f"names in {', '.join(p.name for p in names)} wait for another rename")
            wrong += [f"{path.name} is renamed before it is flushed" for path in dirty
                      if path == source or path.is_relative_to(source)]  # fmt: skip
            dirty = {target / p.relative_to(source) if p.is_relative_to(source) else p for p in dirty}
            if any(path.is_relative_to(source) for path in names):
                wrong.append(f"names in {source.name} are not flushed before it is renamed")
            names = {p for p in names if not p.is_relative_to(source)} | {target.parent}
    wrong += [f"at the end {path.name} is not flushed" for path in dirty if path.exists()]
    wrong += [f"at the end the names in {path.name} are not flushed" for path in names if path.exists()]
    if not renamed:
        wrong.append("nothing gets its name by being renamed")
    label = "all flushed in time" if not wrong else f"{renamed} renamed"
    trial.count(label, wrong, f"strace of {' '.join(trial.command())}")


# ---- damaged files ----


def stopped(work, trial, ready):
    """The command, killed once `ready` says that there is something to go on from."""
    clear(trial.folder)
    for _ in range(50):
        process = subprocess.Popen(trial.command(), env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)  # fmt: skip
        while process.poll() is None and not ready():
            time.sleep(0.002)
        process.kill()
        process.wait()
        if ready() and not (trial.folder / trial.case.out).exists():
            return
        clear(trial.folder)
    raise RuntimeError(f"{trial.case.name}: never stopped halfway")


def damaged(work, trial):
    """What a stopped run goes on from, with one bit turned or its end cut off: refused, or it did not matter."""
    name = "trials.db" if trial.case.name == "sweep" else "checkpoint.safetensors"
    path = trial.folder / "run.partial" / name

    stopped(work, trial, (lambda: path.exists() and count(path, "trials") > 3) if name == "trials.db" else path.exists)
    if name == "trials.db":  # as it is an hour later, in one file
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute("UPDATE workers SET heartbeat = heartbeat - 3600")
            store.commit()
            store.execute("PRAGMA journal_mode = DELETE")
    whole = path.read_bytes()
    kept = work.root / "stopped"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(trial.folder, kept)

    def goes_on(data, how):
        shutil.rmtree(trial.folder)
        shutil.copytree(kept, trial.folder)
        path.write_bytes(data)
        code, _, error = run(trial.command(resume=True))
        wrong = []
        if code == 0:
            if fault := trial.reference.faults_of(trial.case, trial.folder):
                wrong.append(f"trained on: {fault}")
        elif code != DATA or error.count("zeroloss: ") != 1:
            wrong.append(f"exit code {code}: {error[-300:]}")
        trial.count("the same result" if code == 0 else f"exit {code}", wrong, how)

    header = int.from_bytes(whole[:8], "little") if name != "trials.db" else 4096
    for k in range(work.most(100, 4)):
        at = work.random.randrange(min(len(whole), header + 8) if k % 2 else len(whole))
        bit = work.random.randrange(8)
        turned = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
        goes_on(turned, f"{name}: bit {bit} of byte {at} turned")
    for k in range(work.most(25, 2)):
        at = work.random.randrange(len(whole)) if k else 0
        goes_on(whole[:at], f"{name}: the first {at} bytes of {len(whole)}")


def changed_input(work, trial):
    """The table becomes shorter, or another one, while it is read."""
    big = work.root / "big.csv"
    table = (work.inputs / "table.csv").read_text()
    rows = [line.split(",") for line in table.splitlines()]
    clear(trial.folder)
    command = [str(big) if word.endswith("table.csv") else word for word in trial.command()]
    command += ["--n", "40"] if trial.case.name != "predict" else []
    text = "\n".join(",".join(f"{float(x) + i * 1e-3:.6f}" for x in row[:-1]) + "," + row[-1]
                     for i in range(4000) for row in rows) + "\n"  # fmt: skip
    big.write_text(text)
    began = time.monotonic()
    assert run(command)[0] == 0, command
    whole = time.monotonic() - began
    for k in range(work.most(25, 2)):
        clear(trial.folder)
        big.unlink()
        big.write_text(text)
        other = work.root / "other.csv"
        other.write_text(table)
        process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(work.random.uniform(0, whole))
        if k % 2:
            os.truncate(big, work.random.randrange(len(text)))
        else:
            os.replace(other, big)
        code, _, error = finished(process)
        ours = [line for line in error.splitlines() if line.startswith("zeroloss: ")]
        good = code == 0 or (code == DATA and len(ours) == 1)
        trial.count(f"exit {code}", [] if good else [f"exit code {code}: {error[-300:]}"],
                    f"{'truncated' if k % 2 else 'replaced'} while {' '.join(command)}")  # fmt: skip


# ---- clocks, neighbours ----


def clock_back(work, trial):
    """A power cut ended the sweep and set the clock back by an hour."""
    path = trial.folder / "run.partial" / "trials.db"

    for k in range(work.most(5, 1)):
        stopped(work, trial, lambda: path.exists() and count(path, "claims") > 0)
        with contextlib.closing(sqlite3.connect(path)) as store:
            store.execute("UPDATE workers SET heartbeat = heartbeat + 3600, boot = 'before the power cut', closing = ?",
                          (k % 2,))  # fmt: skip
            store.commit()
        trial.judge(run(trial.command(), seconds=120), "heartbeats of another boot, an hour ahead", allowed=())


def two_at_once(work, trial):
    for _ in range(work.most(20, 2)):
        clear(trial.folder)
        both = []
        for _ in range(2):
            both.append(subprocess.Popen(trial.command(), env=ENVIRONMENT, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))  # fmt: skip
            time.sleep(work.random.uniform(0, 0.05))
        outcomes = [finished(process) for process in both]
        codes = sorted(outcome[0] for outcome in outcomes)
        wrong = [] if codes in ([0, 0], [0, DATA]) else [f"exit codes {codes}: {[o[2][-300:] for o in outcomes]}"]
        for code, _, error in outcomes:
            if code == DATA and error.count("zeroloss: ") != 1:
                wrong.append(f"messages: {error[-300:]}")
        if fault := trial.reference.faults_of(trial.case, trial.folder):
            wrong.append(fault)
        if (trial.folder / "run.partial").exists():
            wrong.append("run.partial is left behind")
        trial.count(f"exit {codes[0]} and {codes[1]}", wrong, f"twice at once: {' '.join(trial.command())}")


MEGABYTE = 1 << 20
WHOLE = "exit 3 or done, one message; nothing half-written; what is run again gives the same bits"
RUNS = [case for case in CASES if case.out == "run"]
LONG = [BY_NAME[name] for name in ("certify", "fit", "sweep", "memorize", "conv")]
SMALL = [case for case in CASES if case.name != "conv"]
FAULTS = {
    "disk-full": ("no space at the k-th write, creation or enlargement (strace, ENOSPC)", WHOLE,
                  fails(WRITES, ("ENOSPC",), lambda work, trial: trial.folder), CASES),
    "disk-error": ("the k-th write, flush, rename, close, creation or removal fails (strace, EIO)", WHOLE,
                   fails(KEEPS, ("EIO",), lambda work, trial: trial.folder), CASES),
    "read-error": ("the k-th read or opening of an input fails (strace, EIO)",
                   "exit 2 or 3 and one message, no answer from a part; or the same bits",
                   fails(READS, ("EIO",), lambda work, trial: work.inputs), [c for c in CASES if c.name != "sweep"]),
    "small-disk": ("a disk of 4 to 400 kB (tmpfs), then one with room", WHOLE, full_disk, CASES),
    "read-only": ("a folder that belongs to others", "exit 3, one message, nothing there", read_only, CASES),
    "answer": ("no space for the printed answer (/dev/full)", "exit 3, one message; the run folder is whole",
               answer_fails, CASES),
    "file-size": ("no file beyond 0 to 64 kB (ulimit -f)", WHOLE,
                  limited(resource.RLIMIT_FSIZE, [*range(0, 16384, 1024), *range(16384, 65537, 8192)]), CASES),
    "open-files": ("3 to 40 open files (ulimit -n)", WHOLE, limited(resource.RLIMIT_NOFILE, list(range(3, 41))), SMALL),
    "memory": ("an address space of 100 MB to 2 GB (ulimit -v)", WHOLE,
               limited(resource.RLIMIT_AS, [m * MEGABYTE for m in range(100, 2001, 100)]), CASES),
    "locks": ("locks that fail, as on some network disks (strace, ENOLCK)", WHOLE, locks,
              [BY_NAME[n] for n in ("fit", "sweep", "memorize", "conv")]),
    "signals": ("SIGINT, SIGTERM, SIGHUP, SIGKILL at random moments",
                "128 + signal or done; what is run again gives the same bits", signals, LONG),
    "power": ("a power cut (order of writes, flushes and renames, by strace)",
              "bytes are flushed before a rename, names before the end", power, CASES),
    "damage": ("a checkpoint or store with a bit turned or its end cut off, resumed",
               "exit 2 and one message, or the same bits", damaged, [BY_NAME[n] for n in ("fit", "sweep", "conv")]),
    "changed-input": ("a table of 240,000 lines cut or replaced while it is read",
                      "exit 2 and one message, or an answer",
                      changed_input, [BY_NAME[n] for n in ("certify", "memorize", "predict")]),
    "clock": ("a power cut, and the clock an hour back", "goes on at once, to the same rows", clock_back,
              [BY_NAME["sweep"]]),
    "two": ("two processes with one --out at once", "one is refused by a message, or they share the work",
            two_at_once, RUNS),
}  # fmt: skip

FETCHED = ("disk-full", "disk-error", "file-size", "locks", "signals", "power")  # that data get is tried with


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--quick", action="store_true", help="a few of each")
    parser.add_argument("--only", action="append", default=[], metavar="FAULT[/COMMAND]")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's files, for data get")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    if shutil.which("strace") is None:
        print("no strace: run scripts/setup.sh full", file=sys.stderr)
        sys.exit(77)
    # What nohup or a shell's & ignores would be ignored by the commands too.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        root = (options.work or Path(folder)).resolve()
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o755)
        work = Work(options.program.resolve(), root, options.quick)
        asked = [part.split("/") for part in options.only]
        if options.mnist:
            serve(options.mnist.resolve())
        known = {fault: [*cases, DATA_GET] if options.mnist and fault in FETCHED else cases
                 for fault, (_, _, _, cases) in FAULTS.items()}  # fmt: skip
        for part in asked:
            if part[0] not in known or part[1:] not in ([], *([case.name] for case in known[part[0]])):
                parser.error(f"--only {'/'.join(part)} is none of {', '.join(known)}, or of their commands"
                             f"{'' if options.mnist else ' (data get takes --mnist)'}")  # fmt: skip
        for fault, (text, expected, body, _) in FAULTS.items():
            work.try_all(fault, text, expected, body, work.chosen(fault, known[fault], asked))
        if options.write:
            head = ("fault", "command", "expected", "runs", "seen", "repeat")
            rows = [[*row.values(), f"`--only {shlex.quote(name)}`"] for name, row in ordered(work.rows)]
            write_table(options.write, "faults", head, rows)
    print(f"{work.failures} failures")
    sys.exit(1 if work.failures else 0)


def ordered(rows):
    names = [f"{fault}/{case.name}" for fault, (_, _, _, cases) in FAULTS.items()
             for case in (*cases, DATA_GET)]  # fmt: skip
    for name in names:
        if name in rows:
            row = rows[name]
            yield name, {k: row[k] for k in ("fault", "command", "expected", "runs", "seen")}


if __name__ == "__main__":
    main()
