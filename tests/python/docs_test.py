"""What the pages say is so: their Python runs and prints what stands below it, and so do their commands."""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from run_folders import COMMAND

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"audit": ["sklearn", "pandas"], "estimators": ["sklearn"], "prove": ["sklearn"]}
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "README.md",
         *(ROOT / "docs" / name for name in ("guide/python.md", "coming-from.md"))]
ALL_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*/README.md"))]
#: Also behind a pipe, variables, mpirun; without a comment, and up to the next program.
COMMAND_LINE = re.compile(r"    (?:\$ )?(?:.*[|;(] ?|mpirun .*?)?(?:(?:do )?(?:\w+=\S+ )*)"
                          r"(zeroloss [a-z].*?)(?: +#.*| [|&>;].*|[;)].*|)$")
#: What takes minutes, or data that do not ship.
NOT_RUN = re.compile(r"--polish|cifar-10-batches-bin|sweep sphere:n=100|\.csv")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path, monkeypatch):
    for needed in NEEDS.get(page.stem, []):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text())
    assert any(kind == "python" for kind, _ in blocks)
    names, printed = {"__name__": page.stem}, None
    for kind, text in blocks:
        if kind == "text":
            assert printed is not None, f"nothing prints this:\n{text}"
            same = doctest.OutputChecker().check_output(text, printed, doctest.ELLIPSIS)
            assert same, f"the page says:\n{text}\nit is:\n{printed}"
            printed = None
            continue
        assert not printed, f"printed, but not on the page:\n{printed}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, str(page), "exec"), names)
        printed = out.getvalue()
    assert not printed, f"printed, but not on the page:\n{printed}"


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


def run(arguments, folder):
    return subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("page", [page for page in ALL_PAGES if any(commands(page))], ids=lambda page: page.stem)
def test_commands_are_understood(page, tmp_path):
    """Every option of every command line on the pages is there, and takes the value that it gets."""
    absent = run(["conv", "train", "--help"], tmp_path).returncode != 0  # without LibTorch
    for arguments, _ in commands(page):
        if arguments[0] == "report" or (absent and (arguments[0] == "conv" or "--device" in arguments)):
            continue  # the Python package has options of its own for reports
        done = run([*arguments, "--print-config"], tmp_path)
        assert done.returncode == 0, (shlex.join(arguments), done.stderr)
    assert not list(tmp_path.iterdir())


def without_numbers(text):
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.,]*(?:e[+-]\d+)?", "0", text)).strip()


def shown_commands():
    for page in ALL_PAGES:
        for arguments, shown in commands(page):
            if shown and not NOT_RUN.search(shlex.join(arguments)):
                yield pytest.param(arguments, shown, id=f"{page.stem}-{arguments[0]}")


@pytest.mark.parametrize("arguments, shown", list(shown_commands()))
def test_commands_print_what_is_shown(arguments, shown, tmp_path):
    """In these words; numbers are those of the machine that the page was written on. Two dots stand for what is left
    out, as does the end."""
    done = run(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    pattern = re.sub(r"(?m)^ *\.{2,3}$", "...", shown)
    said = done.stdout.replace(" ".join(map(str, COMMAND)), "zeroloss")  # which is in nobody's PATH here
    same = doctest.OutputChecker().check_output(without_numbers(pattern) + "...", without_numbers(said),
                                                doctest.ELLIPSIS)
    assert same, f"the page says:\n{shown}\nit is:\n{done.stdout}"


def test_the_reference_is_up_to_date():
    """docs/api.md is what scripts/api.py makes of the docstrings."""
    made = subprocess.run([sys.executable, str(ROOT / "scripts" / "api.py")], capture_output=True, text=True,
                          check=True)
    assert made.stdout == (ROOT / "docs" / "api.md").read_text(), "run scripts/api.py > docs/api.md"
