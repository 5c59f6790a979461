#!/usr/bin/env python3
"""Writes the table of docs/guide/resources.md: scripts/resources.py [--check] [PROGRAM ..]

A command has what its --help names, and processes where its source hands the group of them on; a function of Python has
the keywords of its signature, and a run folder where its result has save(). With --check nothing is written, and the
exit code is 1 where the table is another one; 77 where PROGRAM has no conv."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import zeroloss
import zeroloss.estimators
import zeroloss.linear
from zeroloss import _core

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide" / "resources.md"
TABLE = re.compile(r"(?<=<!-- Below: scripts/resources.py -->\n).*?(?=<!-- Above: scripts/resources.py -->)", re.DOTALL)

COLUMNS = ["threads", "GPU", "processes", "points by blocks", "without n x n", "progress", "goes on", "run folder",
           "claims"]  # fmt: skip
#: A command, and what Python has of it.
ROWS: dict[str, list[str]] = {
    "certify": ["certify"],
    "width": ["width"],
    "audit": ["audit"],
    "influence": ["influence"],
    "fit": ["fit"],
    "prove": ["prove"],
    "sweep": ["sweep"],
    "linear": ["linear.train", "linear.factorize"],
    "memorize": ["memorize"],
    "conv train": [],
    "conv eval": [],
    "predict": ["predict"],
    "export": [],
    "data info": ["describe"],
    "data get": [],
    "": ["estimators.NTKClassifier", "estimators.LabelAuditor", "estimators.TwoLayerClassifier"],
}
#: The options that are meant by a column, and those whose choices have to have a word for it.
OPTIONS = {"threads": ["threads"], "GPU": ["device"], "processes": ["comm"], "points by blocks": ["stream"],
           "without n x n": ["method", "solver", "inducing", "inducing_points"], "progress": ["progress"],
           "goes on": ["checkpoint", "resume", "store"], "run folder": ["out"]}  # fmt: skip
CHOICE = {"method": "tail", "solver": "cg"}
#: Where a command is that is no file of its own.
SOURCES = {"data get": "src/download/download.cpp"}
#: How a source hands on the processes beside it.
GROUP = {r"session\.(?:group\b|engine\()": "`mpirun`", r"process_of_environment\(\)": "`torchrun`"}


def options_of(program, *command):
    """The options of its help, each with what is said of it."""
    done = subprocess.run([*program, *command, "--help"], capture_output=True, text=True)
    if "zeroloss-torch: cannot be started" in done.stderr:
        sys.exit(77)
    if done.returncode != 0:
        sys.exit(done.stderr)
    parts = re.split(r"^  (?:-\w,)?--([a-z][a-z-]*)", done.stdout, flags=re.MULTILINE)
    return {name.replace("-", "_"): said for name, said in zip(parts[1::2], parts[2::2])}


def named(column, has, written):
    """The options of `has` that are meant by it, as one writes them."""
    meant = [name for name in OPTIONS[column] if name in has and CHOICE.get(name, "") in has[name]]
    return ", ".join(f"`{written(name, CHOICE.get(name))}`" for name in meant)


def of_command(program, command, common):
    own = options_of(program, *command.split())
    cells = {column: named(column, {**common, **own}, lambda name, choice: f"--{name.replace('_', '-')}" +
                           (f" {choice}" if choice else "")) for column in OPTIONS}  # fmt: skip
    source = ROOT / SOURCES.get(command, f"apps/zeroloss/{command.replace(' ', '_')}.cpp")
    text = source.read_text(encoding="utf-8") if source.exists() else ""
    cells["processes"] = ", ".join(how for pattern, how in GROUP.items() if re.search(pattern, text))
    cells["progress"] = "shown" if "quiet" in common else ""
    if "goes on with" in own.get("out", "") or "run again to continue" in text:
        cells["goes on"] = "the same command"
    if own.get("out", "").lstrip().startswith("FILE"):
        cells["run folder"] = "a file: `--out`"
    cells["claims"] = "yes" if (ROOT / "src" / "present" / f"claims_{command}.cpp").exists() else ""
    return cells


def of_python(name, command):
    thing = zeroloss
    for part in name.split("."):
        thing = getattr(thing, part)
    signature = inspect.signature(thing)
    has = {key: str(parameter.annotation) for key, parameter in signature.parameters.items()}
    if inspect.isclass(thing):  # an estimator says its choices in words
        has["solver"] = inspect.getdoc(thing) if "solver" in has else ""
    cells = {column: named(column, has, lambda key, choice: f'{key}="{choice}"' if choice else f"{key}=")
             for column in OPTIONS}  # fmt: skip
    result = getattr(_core, str(signature.return_annotation).split(".")[-1], None)
    if not inspect.isclass(thing) and hasattr(result, "save"):
        cells["run folder"] = "`.save()`"
        cells["claims"] = "yes" if (ROOT / "src" / "present" / f"claims_{command}.cpp").exists() else ""
    return cells


def table(program):
    lines = ["| | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]

    def add(name, cells):
        lines.append(f"| `{name}` | " + " | ".join(cells.get(column) or "-" for column in COLUMNS) + " |")

    common = options_of(program)
    for command, functions in ROWS.items():
        if command:
            add(command, of_command(program, command, common))
        for name in functions:
            add(f"zeroloss.{name}", of_python(name, command))
    return "\n".join(lines) + "\n"


def main():
    check = "--check" in sys.argv[1:]
    program = [word for word in sys.argv[1:] if word != "--check"] or [ROOT / "build/release/bin/zeroloss"]
    page = PAGE.read_text(encoding="utf-8")
    made = TABLE.sub(lambda _: table(program), page)
    if check and made != page:
        sys.exit("docs/guide/resources.md: the table is another one; run scripts/resources.py")
    if not check:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
