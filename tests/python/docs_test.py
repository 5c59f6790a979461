"""What the pages say is so: their Python runs and prints what stands below it, and their commands are understood.

What these print is compared by tests/quoted.py, but for those about files that the Python of a page has written."""

import contextlib
import doctest
import importlib.util
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from run_folders import COMMAND

ROOT = Path(__file__).resolve().parents[2]
#: By its file: in a path of modules its folder would bring tests/torch, which is no LibTorch.
_spec = importlib.util.spec_from_file_location("quoted", ROOT / "tests" / "quoted.py")
quoted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quoted)

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"audit": ["sklearn", "pandas"], "estimators": ["sklearn"], "prove": ["sklearn"]}
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "README.md",
         *(ROOT / "docs" / name for name in ("guide/python.md", "coming-from.md"))]


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
    for arguments, shown in quoted.commands(page):  # about files that the page has written
        if shown and quoted.FILES.search(shlex.join(arguments)):
            wrong = quoted.judge(COMMAND, arguments, shown, tmp_path)
            assert not wrong, wrong


@pytest.mark.parametrize("page", [page for page in quoted.PAGES if any(quoted.commands(page))],
                         ids=lambda page: page.stem)
def test_commands_are_understood(page, tmp_path):
    """Every option of every command line on the pages is there, and takes the value that it gets."""
    code, _, error = quoted.run(COMMAND, ["conv", "train", "--help"], tmp_path)
    absent = "zeroloss-torch: cannot be started: No such file" in error  # of a wheel
    assert code == 0 or absent, error
    for arguments, _ in quoted.commands(page):
        if arguments[0] in ("report", "check") or (absent and (arguments[0] == "conv" or "--device" in arguments)):
            continue  # reports, of the Python package, and the checker have options of their own
        code, _, error = quoted.run(COMMAND, [*arguments, "--print-config"], tmp_path)
        assert code == 0, (shlex.join(arguments), error)
    assert not list(tmp_path.iterdir())


def test_the_reference_is_up_to_date():
    """docs/api.md is what scripts/api.py makes of the docstrings."""
    made = subprocess.run([sys.executable, str(ROOT / "scripts" / "api.py")], capture_output=True, text=True,
                          check=True)
    assert made.stdout == (ROOT / "docs" / "api.md").read_text(), "run scripts/api.py > docs/api.md"
