#!/usr/bin/env python3
"""quoted.py ZEROLOSS [--slow]: what the pages show of a command is what the command prints.

Every line of README.md and docs that begins with `$ zeroloss` is run, and the text below it compared: words as they
are, numbers to two per cent, and to a factor of two where rounding or the course of a training makes them. Two or three
dots stand for what is left out, as does the end. Seconds and bytes are those of the machine that the page was written
on. --slow: those that take long or need data that do not ship (ZEROLOSS_SHARED_DATA). Exits with 1 where something
differs, or nothing was there to compare."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]
#: Also behind a pipe, variables, mpirun; without a comment, and up to the next program.
COMMAND_LINE = re.compile(r"    (?:\$ )?(?:.*[|;(] ?|mpirun .*?)?(?:(?:do )?(?:\w+=\S+ )*)"
                          r"(zeroloss [a-z].*?)(?: +#.*| [|&>;].*|[;)].*|)$")
SLOW = re.compile(r"prove examples/digits.onnx|sweep sphere:n=100|cifar-10-batches-bin")
FILES = re.compile(r"\.csv")  #: that a page writes before: tests/python/docs_test.py runs these
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?")
CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
MEASURED = re.compile(r"\s*(?:s|GB|MB)\b")  #: behind a number of the machine
#: Lines whose numbers are rounding errors, or come from the course of a training.
LOOSE = re.compile(r"rounding|within|misfit|margin|product|found|fitted exactly|not at |least gradient norm")


def commands(page):
    """The command lines of a page, as a shell takes them apart: those that stand in code, with what stands below those
    that begin with a $."""
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines):
        if not (line.startswith("    ") and "zeroloss " in line) or (number and lines[number - 1].endswith("\\")):
            continue
        text, below = line, number + 1
        while text.endswith("\\"):
            text, below = text[:-1] + lines[below].strip(), below + 1
        said = COMMAND_LINE.match(text)
        if not said or " .." in said[1]:
            continue
        shown = []
        while line.startswith("    $") and below < len(lines) and (lines[below].startswith("    ") or not lines[below]):
            shown.append(lines[below].removeprefix("    "))
            below += 1
        yield shlex.split(said[1])[1:], "\n".join(shown).strip()


def _value(text):
    return float(text.replace(",", ""))


def _near(shown, said, loose):
    a, b = _value(shown), _value(said)
    if a == b:
        return True
    if loose or max(abs(a), abs(b)) < 1e-8:
        return a * b > 0 and 0.5 <= a / b <= 2
    return abs(a - b) <= 0.02 * max(abs(a), abs(b)) + 0.5 * 10.0 ** -_digits(shown)


def _digits(number):
    """How many stand behind the point, as the number is written."""
    mantissa, _, exponent = number.partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0) if "." in mantissa or exponent else 0


def difference(shown, said):
    """None where `said` has what a page shows, else what is wrong."""
    pattern, lines = [], []
    for line in shown.splitlines():
        if re.fullmatch(r" *\.{2,3}", line):
            pattern.append(r"(?:.*?)")
            continue
        at = 0
        for number in NUMBER.finditer(line):
            pattern.append(_words(line[at : number.start()]) + "(" + NUMBER.pattern + ")")
            lines.append((line, number))
            at = number.end()
        pattern.append(_words(line[at:]) + r"\s*")
    found = re.match("".join(pattern), said, re.DOTALL)
    if not found:
        return "other words"
    for (line, number), value in zip(lines, found.groups()):
        if not MEASURED.match(line, number.end()) and not _near(number[0], value, LOOSE.search(line)):
            return f"{number[0]}, and it is {value}: {line.strip()}"
    return None


def _words(text):
    """A pattern in which blanks are any number of them."""
    return r"\s*".join(map(re.escape, re.split(r"\s+", text)))


def run(program, arguments, folder):
    done = subprocess.run([*program, *arguments], cwd=folder, capture_output=True, text=True)
    said = done.stdout.replace(" ".join(map(str, program)), "zeroloss")  # which is in nobody's PATH here
    return done.returncode, said, done.stderr


def judge(program, arguments, shown, folder):
    """None, or what is wrong with what a page shows of a command."""
    code, said, error = run(program, arguments, folder)
    if code != 0:
        return error
    wrong = difference(shown, said)
    return wrong and f"{wrong}\nthe page shows:\n{shown}\nit is:\n{said}"


def prepare(arguments, folder):
    """Whether the data of a command are there."""
    (folder / "examples").symlink_to(ROOT / "examples")
    if "cifar-10-batches-bin" not in arguments:
        return True
    data = os.environ.get("ZEROLOSS_SHARED_DATA")
    if not data:
        return False
    made = subprocess.run([sys.executable, f"{data}/unpack.py", "cifar-10", folder], stdout=subprocess.DEVNULL)
    (folder / "cifar-10-batches-bin" / "batches.meta.txt").write_text("\n".join(CIFAR) + "\n")  # as in the archive
    return made.returncode == 0


def main(program, slow):
    wrong, count, skipped = [], 0, 0
    for page in PAGES:
        for arguments, shown in commands(page):
            line, place = shlex.join(arguments), page.relative_to(ROOT)
            if not shown or FILES.search(line) or bool(SLOW.search(line)) != slow:
                continue
            with tempfile.TemporaryDirectory() as folder:
                if not prepare(arguments, Path(folder)):
                    print(f"skip {place}: {line}", flush=True)
                    skipped += 1
                    continue
                found = judge([program], arguments, shown, folder)
            print(f"{'FAIL' if found else 'ok  '} {place}: {line}", *filter(None, [found]), flush=True)
            wrong += [place] if found else []
            count += 1
    if count + skipped == 0:
        sys.exit("no output is shown on any page")
    sys.exit(f"{len(wrong)} of {count} outputs are other ones than the pages show" if wrong else 0)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), "--slow" in sys.argv[2:])
