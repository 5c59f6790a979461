"""What the pages say is so: their Python runs and prints what stands below it, on the page and in the notebook that is
made of it, and their commands are understood.

What these print is compared by tests/quoted.py, but for those about files that the Python of a page has written."""

import contextlib
import doctest
import importlib.util
import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from run_folders import COMMAND

sys.path.append(str(Path(__file__).resolve().parents[2] / "scripts"))
import notebooks

ROOT = Path(__file__).resolve().parents[2]
#: By its file: in a path of modules its folder would bring tests/torch, which is no LibTorch.
_spec = importlib.util.spec_from_file_location("quoted", ROOT / "tests" / "quoted.py")
quoted = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quoted)

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"audit": ["sklearn", "pandas"], "estimators": ["sklearn"], "prove": ["sklearn"], "sweep": ["vl_convert"],
         "python": ["sklearn", "pandas", "vl_convert"]}
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "README.md",
         *(ROOT / "docs" / name for name in ("guide/python.md", "coming-from.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, tmp_path, monkeypatch):
    for needed in NEEDS.get(page.stem, []):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in notebooks.notebook(page)["cells"] if cell["cell_type"] == "code"]
    assert BLOCK.findall(page.read_text()) == list(blocks_of(cells)) != []
    names = {"__name__": page.stem}
    for source, shown in map(code_of, cells):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(source, str(page), "exec"), names)
        printed = out.getvalue()
        same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
        assert same, f"the page says:\n{shown}\nit is:\n{printed}"
    for arguments, shown in quoted.commands(page):  # about files that the page has written
        if shown and quoted.FILES.search(shlex.join(arguments)):
            wrong = quoted.judge(COMMAND, arguments, shown, tmp_path)
            assert not wrong, wrong


def code_of(cell):
    """What a cell of a notebook runs, and what it says that this prints."""
    return "".join(cell["source"]), "".join(line for output in cell["outputs"] for line in output["text"])


def blocks_of(cells):
    """The blocks of the page that became these cells."""
    for source, shown in map(code_of, cells):
        yield "python", f"{source}\n"
        if shown:
            yield "text", shown


def test_every_tutorial_is_a_notebook(tmp_path):
    notebooks.write(tmp_path / "made")
    assert len(notebooks.pages()) > 5
    for page in notebooks.pages():
        read = json.loads((tmp_path / "made" / f"{page.stem}.ipynb").read_text(encoding="utf-8"))
        assert read == notebooks.notebook(page) and (read["nbformat"], read["nbformat_minor"]) == (4, 5)
        assert len({cell["id"] for cell in read["cells"]}) == len(read["cells"])
        text = "".join("".join(cell["source"]) for cell in read["cells"] if cell["cell_type"] == "markdown")
        assert text.startswith(page.read_text().partition("\n")[0])
        for link in re.findall(r"\]\(([^()\s]+)\)", text):  # to what lies beside it, or to the web
            assert link.startswith("https://") or (tmp_path / "made" / link).is_file(), (page, link)


def test_words_and_code_of_a_page_are_all_in_its_notebook(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\nprint(1)\n\nx = 2\n```\n\nbetween\n\n```text\n1\n```\n\n```sh\nls\n```\n")
    cells = notebooks.notebook(page)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "markdown", "markdown"]
    assert cells[1]["source"] == ["print(1)\n", "\n", "x = 2"]
    assert cells[1]["outputs"] == [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}]
    assert ["".join(cell["source"]) for cell in cells[2:]] == ["between", "```sh\nls\n```"]
    for text in ("```text\n1\n```\n", "```python\nprint(1)\n```\n```text\n1\n```\n```text\n1\n```\n"):
        page.write_text(text)
        with pytest.raises(ValueError, match="nothing prints this"):
            notebooks.notebook(page)


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


def test_what_each_command_can_use_is_up_to_date():
    """The table of docs/guide/resources.md is what helps and signatures say."""
    made = subprocess.run([sys.executable, ROOT / "scripts" / "resources.py", "--check", *COMMAND],
                          capture_output=True, text=True)  # fmt: skip
    if made.returncode == 77:
        pytest.skip("a wheel has no conv")
    assert made.returncode == 0, made.stderr
