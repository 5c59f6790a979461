"""What the pages say is so: their Python runs, and prints what stands below it."""

import contextlib
import doctest
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"audit": ["sklearn", "pandas"], "estimators": ["sklearn"], "prove": ["sklearn"]}
PAGES = [*sorted((ROOT / "docs" / "tutorials").glob("*.md")), ROOT / "README.md"]


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


def test_the_reference_is_up_to_date():
    """docs/api.md is what scripts/api.py makes of the docstrings."""
    made = subprocess.run([sys.executable, str(ROOT / "scripts" / "api.py")], capture_output=True, text=True,
                          check=True)
    assert made.stdout == (ROOT / "docs" / "api.md").read_text(), "run scripts/api.py > docs/api.md"
