#!/usr/bin/env python3
"""What happens to a command of several processes when one of them dies, has no memory, or is given what nobody can use:
all end within ten seconds, with one message of ours and one exit code, and a sweep goes on from its store.

    faults.py ZEROLOSS [WORK]
"""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 10
HANGS = 300  # what takes longer has hung; an idle machine needs 5, a busy one has taken 50
MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
ENVIRONMENT = {**os.environ, **MPI}
program = Path(sys.argv[1]).resolve()
failures = []


def start(processes, *command, wrapper=None):
    before = [str(wrapper)] if wrapper else []
    return subprocess.Popen(
        ["mpirun", "-n", str(processes), *before, str(program), *command], env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ours(stderr):
    """Messages of the program, not of mpirun."""
    return [line for line in stderr.splitlines() if line.startswith("zeroloss: ")]


def expect(what, holds, detail=""):
    print("ok  " if holds else "FAIL", what, flush=True)
    if not holds:
        failures.append(what)
        print(detail, flush=True)


def processes_of(run):
    """Of our program, by rank."""
    found = {}
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and Path(os.readlink(folder / "exe")) == program:
                values = dict(v.split("=", 1) for v in (folder / "environ").read_text().split("\0") if "=" in v)
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == run.pid:
                    found[int(values["OMPI_COMM_WORLD_RANK"])] = int(folder.name)
        except (OSError, KeyError, ValueError):
            continue
    return found


def all_of(run, processes):
    """Once all are there; fewer if the run has ended. One that executes itself anew is not there for a moment."""
    deadline = time.monotonic() + 60
    while True:
        found = processes_of(run)
        if len(found) == processes or run.poll() is not None or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def ended(run, what):
    began = time.monotonic()
    try:
        _, error = run.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        run.kill()
        _, error = run.communicate()
        expect(f"{what}: ends within {SECONDS} s", False, error)
        return None
    left = processes_of(run)
    expect(f"{what}: ends in {time.monotonic() - began:.1f} s, exit code {run.returncode}, {len(ours(error))} messages",
           run.returncode != 0 and len(ours(error)) <= 1 and not left, error)  # fmt: skip
    return error


def whole(processes, *command):
    began = time.monotonic()
    run = start(processes, *command)
    _, error = run.communicate(timeout=120)
    expect(f"{' '.join(command[:2])} of {processes}: done", run.returncode == 0, error)
    return time.monotonic() - began


def killed(work):
    """Each process in turn, in whatever phase it is."""
    commands = {
        "factor": ("certify", "sphere:n=2500,d=30,y=normal", "--method", "factor"),
        "tail": ("certify", "sphere:n=20000,d=60", "--method", "tail", "--passes", "3"),
        "fit": ("fit", "digits", "--n", "1000", "--width", "1000", "--max-steps", "100"),
    }
    for name, command in commands.items():
        seconds = whole(3, *command)
        moments = (0.15, 0.35, 0.5, 0.65, 0.8)
        kills = sum(killed_at(part * seconds, k % 3, name, command) for k, part in enumerate(moments))
        expect(f"{name}: killed at {kills} of {len(moments)} moments, of which 3 have to be hit", kills >= 3)


def killed_at(seconds, rank, name, command):
    """Whether it was there to be killed: at times it is quicker, or not there yet."""
    for _ in range(3):
        run = start(3, *command)
        time.sleep(seconds)
        alive = processes_of(run)
        if len(alive) == 3:
            os.kill(alive[rank], signal.SIGKILL)
            ended(run, f"{name}: process {rank} killed after {seconds:.1f} s")
            return True
        run.communicate()
    return False


def rows(folder):
    with sqlite3.connect(folder / "trials.db") as store:
        return [row[:-1] for row in store.execute("SELECT * FROM trials ORDER BY cell, trial")]  # but seconds


def sweep_goes_on(work):
    command = (
        "sweep", "sphere:n=60,y=normal", "--d", "10", "--width", "8:40:8", "--trials", "30", "--max-steps", "4000",
    )  # fmt: skip
    whole(1, *command, "--out", str(work / "alone"))
    for _ in range(5):  # on a fast machine it may be over before
        shutil.rmtree(work / "killed", ignore_errors=True)
        run = start(3, *command, "--out", str(work / "killed"))
        all_of(run, 3)
        time.sleep(0.3)
        alive = all_of(run, 3)
        if len(alive) == 3:
            os.kill(alive[random.randrange(3)], signal.SIGKILL)
            ended(run, "sweep: a process killed")
            break
        run.communicate()
    else:
        expect("sweep: its processes are found while it runs", False)
    if not (work / "killed").exists():
        whole(3, *command, "--out", str(work / "killed"))
    expect("sweep: goes on, and has the rows of a sweep of one process", rows(work / "killed") == rows(work / "alone"))


def limited(work):
    """Process 1 has no memory for its part, or none at all, and then enough. (The tables of a sanitizer never have.)"""
    sanitized = b"__asan_init" in program.read_bytes()
    wrapper = work / "limited.sh"
    for kilobytes in range(300_000, 3_000_001, 100_000):
        wrapper.write_text(f'#!/bin/bash\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && ulimit -v {kilobytes}\nexec "$@"\n')
        wrapper.chmod(0o755)
        run = start(2, "certify", "sphere:n=6000,d=10", "--method", "factor", wrapper=wrapper)
        try:
            _, error = run.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            run.kill()
            _, error = run.communicate()
            expect(f"{kilobytes} kB for process 1: ends", False, error)
            break
        if run.returncode == 0:
            expect(f"{kilobytes} kB for process 1 are enough", True)
            break
        said = ours(error)
        expect(f"{kilobytes} kB for process 1: exit code {run.returncode}, {said[0] if said else 'mpirun says why'}",
               len(said) <= 1 and "terminate called" not in error and run.returncode != 0, error)  # fmt: skip
    else:
        expect(f"{kilobytes} kB for process 1, the most that was tried, are enough", sanitized)


def refused(work):
    """What one process can say is said once, by process 0, before anybody is asked."""
    for arguments, code in ((("certify", "nowhere.csv"), 2), (("certify", "digits", "--block", "0"), 2),
                            (("sweep", "digits", "--width", "0"), 2), (("certify", "digits", "--wrong"), 2),
                            (("fit", "digits", "--width", "-1"), 2)):  # fmt: skip
        began = time.monotonic()
        run = start(3, *arguments)
        _, error = run.communicate(timeout=HANGS)
        quick = time.monotonic() - began < SECONDS
        expect(f"{' '.join(arguments)}: exit code {run.returncode}, {ours(error)}",
               run.returncode == code and len(ours(error)) == 1 and quick, error)  # fmt: skip


def others_need_no_file(work):
    """Process 0 reads; another may be where the file is not."""
    table = work / "table.csv"
    generator = random.Random(1)
    table.write_text("\n".join(",".join(f"{generator.gauss(0, 1):.6f}" for _ in range(5)) for _ in range(50)) + "\n")
    wrapper = work / "elsewhere.sh"
    wrapper.write_text('#!/bin/bash\n[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd / || cd "$(dirname "$0")"\nexec "$@"\n')
    wrapper.chmod(0o755)
    run = start(2, "certify", "table.csv", "--method", "factor", wrapper=wrapper)
    out, error = run.communicate(timeout=HANGS)
    expect("a file that only process 0 sees", run.returncode == 0 and "50 points" in out, error)


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        for test in (refused, others_need_no_file, limited, sweep_goes_on, killed):
            test(work)
    print(f"{len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
