#!/usr/bin/env python3
"""What commands do at the edge of what data can be: one point, one feature, 100,000 of them, equal points, huge labels.

    limits.py ZEROLOSS [--quick] [--only LIMIT].. [--work FOLDER] [--mnist FOLDER] [--write docs/reliability.md]

Each must work or say why not: exit code 0, or 1 to 3 and one message of ours. Prints a line for each limit and command,
with time and largest memory; exits with 1 where something else was seen. Rows of several calls with one --work come
together into one table. The million lines are read by pandas too where this Python has it."""

import argparse
import importlib.util
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from table import write_table

SECONDS = 300
PANDAS = "import pandas, sys; print('rows and columns:', pandas.read_csv(sys.argv[1]).shape)"


def measured(command):
    """Exit code, stdout, stderr, seconds, MB at most."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace")  # fmt: skip
    late = threading.Timer(SECONDS, process.kill)
    late.start()
    parts = {}
    reader = threading.Thread(target=lambda: parts.update(error=process.stderr.read()))
    reader.start()
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    late.cancel()
    reader.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, out, parts["error"], time.monotonic() - began, usage.ru_maxrss / 1024


class Tables:
    """Files that are made when they are first asked for, by a process of their own: what this one holds would count as
    the largest memory of all that it starts later."""

    def __init__(self, folder, mnist):
        self.folder, self.mnist, self.random = folder, mnist, random.Random()

    def path(self, name):
        path = self.folder / f"{name}.csv"
        if not path.exists():
            maker = multiprocessing.Process(target=self.make, args=(name, path))
            maker.start()
            maker.join()
        return path

    def make(self, name, path):
        self.random = random.Random(name)
        path.write_text("\n".join(getattr(self, name)()) + "\n")

    def rows(self, n, d, label, scale=1.0):
        gauss = self.random.gauss
        return [",".join([*(f"{gauss(0, scale):.6g}" for _ in range(d)), label(i)]) for i in range(n)]

    def one_point(self):
        return self.rows(1, 3, lambda i: "1.5")

    def one_feature(self):
        return self.rows(20, 1, lambda i: str(i % 2))

    def wide(self):
        return self.rows(20, 100_000, lambda i: str(i % 2))

    def equal(self):
        return [self.rows(1, 5, lambda i: "1")[0]] * 200 + self.rows(50, 5, lambda i: str(i % 2))

    def conflicting(self):
        point = self.rows(1, 5, lambda i: "")[0]
        return [f"{point}{i % 2}" for i in range(200)] + self.rows(50, 5, lambda i: str(i % 2))

    def huge_labels(self):
        return self.rows(50, 5, lambda i: f"{self.random.gauss(0, 1):.6f}e300")

    def denormals(self):
        return self.rows(50, 5, lambda i: str(i % 2), scale=1e-310)

    def denormal_labels(self):
        return self.rows(50, 5, lambda i: f"{self.random.gauss(0, 1):.6f}e-310")

    def classes(self):
        return self.rows(20_000, 4, lambda i: f"c{i % 10_000}")

    def million(self):
        return ["a,b,c,d,e,f,g,h,kind,price", *(
            row.rsplit(",", 1)[0] + f",{'xyz'[i % 3]},{i * 0.001:.3f}" for i, row in
            enumerate(self.rows(1_000_000, 8, lambda i: "")))]  # fmt: skip


def usual(table, *more):
    data = (table, "--target", "-1")
    return [("data", "info", *data), ("certify", *data, *more), ("fit", *data, "--max-steps", "200", *more),
            ("memorize", *data, *more), ("audit", *data, *more)]  # fmt: skip


LIMITS = {
    "one-point": ("n = 1", usual("one_point"), True),
    "one-feature": ("d = 1", usual("one_feature"), True),
    "one-unit": ("m = 1", [("fit", "one_feature", "--target", "-1", "--width", "1", "--max-steps", "200"),
                           ("sweep", "sphere:n=5,y=normal", "--d", "2", "--width", "1", "--trials", "2")], True),
    "wide": ("d = 100,000, n = 20", usual("wide"), False),
    "equal": ("200 equal points with one label, 50 others", usual("equal"), True),
    "conflicting": ("200 equal points with two labels, 50 others", usual("conflicting"), True),
    "huge-labels": ("labels of 1e300", usual("huge_labels"), True),
    "denormals": ("points of 1e-310", usual("denormals"), True),
    "denormal-labels": ("labels of 1e-310", usual("denormal_labels"), True),
    "classes": ("10,000 classes of 2 points", [
        ("data", "info", "classes", "--target", "-1"), ("certify", "classes", "--target", "-1", "--n", "2000"),
        ("certify", "classes", "--target", "-1", "--method", "tail"),
        ("memorize", "classes", "--target", "-1"), ("audit", "classes", "--target", "-1")], False),
    "many-points": ("n = 60,000, batches of 128 (MNIST)", [
        ("fit", "mnist", "--width", "64", "--optimizer", "sgd", "--batch", "128", "--precision", "float32", "--step",
         "0.01", "--max-steps", "500"), ("memorize", "mnist", "--precision", "float32")], False),
    "million": ("a csv of 1,000,000 lines and 10 columns", [
        ("data", "info", "million"), ("certify", "million", "--target", "price", "--n", "1000"),
        ("pandas.read_csv", "million")], False),
}  # fmt: skip


def seen(code, out, error):
    """What the command says, in a line, and whether that is an answer or a reason."""
    ours = [line for line in error.splitlines() if line.startswith("zeroloss: ")]
    lines = [line for line in out.splitlines() if line.strip()]
    if code == 0 and lines:
        said = [line for line in lines if not line.lstrip().startswith("categories:")]
        answer = said[1] if len(said) > 1 and ": " in said[0] and not said[1].startswith("column ") else said[0]
        return f"works: {answer.strip()[:110]}", True
    if code in (1, 2, 3) and (len(ours) == 1 or (code == 1 and lines)):
        return f"exit {code}: {(ours[0][10:] if ours else lines[0])[:160]}", True
    return f"**exit {code}**: {error.strip()[-160:]}", False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--quick", action="store_true", help="small tables alone")
    parser.add_argument("--only", action="append", default=[], metavar="LIMIT")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's files")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    if unknown := [name for name in options.only if name not in LIMITS]:
        parser.error(f"--only {unknown[0]} is none of {', '.join(LIMITS)}")
    failures, tried = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        root = (options.work or Path(folder)).resolve()
        root.mkdir(parents=True, exist_ok=True)
        tables = Tables(root, options.mnist)
        rows_file = root / "limits.json"
        rows = json.loads(rows_file.read_text()) if rows_file.exists() else {}
        for name, (text, commands, small) in LIMITS.items():
            if (options.only and name not in options.only) or (options.quick and not small):
                continue
            if name == "many-points" and options.mnist is None:
                print(f"--   {name}: without --mnist")
                continue
            for words in commands:
                path = options.mnist if words[1] == "mnist" else None
                made = {w for w in words if hasattr(Tables, w) and w not in ("path", "make", "rows")}
                full = [str(tables.path(w)) if w in made else w for w in words]
                full = [str(path) if w == "mnist" else w for w in full]
                if words[0] == "pandas.read_csv":
                    if importlib.util.find_spec("pandas") is None:
                        print(f"--   {name}: no pandas in {sys.executable}")
                        continue
                    command = [sys.executable, "-c", PANDAS, full[1]]
                else:
                    command = [str(options.program.resolve()), *full]
                code, out, error, seconds, megabytes = measured(command)
                said, good = seen(code, out, error)
                failures, tried = failures + (not good), tried + 1
                shown = " ".join(w for w in words if not w.startswith("/"))
                said = said.replace(f"{root}/", "").replace("|", "/")
                rows[f"{name}: {shown}"] = [text, f"`{shown}`", f"{seconds:.2f} s", f"{megabytes:,.0f} MB", said]
                rows_file.write_text(json.dumps(rows, indent=1))
                print(f"{'ok  ' if good else 'FAIL'} {name}: {shown}: {said} ({seconds:.2f} s, {megabytes:,.0f} MB)",
                      flush=True)  # fmt: skip
        if options.write:
            order = {name: place for place, name in enumerate(LIMITS)}
            listed = sorted(rows.items(), key=lambda item: order[item[0].split(":")[0]])
            head = ("limit", "command", "time", "memory", "seen")
            write_table(options.write, "limits", head, [row for _, row in listed])
    print(f"{failures} failures of {tried}")
    sys.exit(1 if failures or not tried else 0)


if __name__ == "__main__":
    main()
