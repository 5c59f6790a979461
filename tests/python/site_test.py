"""What scripts/make_site.py makes of manual pages."""

import re
import subprocess
import sys

import pytest

from run_folders import COMMAND, ROOT

sys.path.append(str(ROOT / "scripts"))
import make_site


def text_of(*arguments):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def program():
    return text_of("man")


def test_every_command_is_listed(program):
    listed = (ROOT / "mkdocs.yml").read_text()
    commands = make_site.parts(program)
    assert {"certify", "fit", "data", "man"} <= set(commands)
    assert all(f" commands/{name}.md" in listed for name in commands)


@pytest.mark.parametrize("command", ["certify", "fit", "audit", "linear", "data get"])
def test_every_option_is_on_the_page(command):
    page = make_site.markdown(text_of("man", *command.split()))
    said = re.sub(r"\\(.)", r"\1", page)
    options = set(re.findall(r"--[a-z][a-z-]+", text_of(*command.split(), "--help")))
    assert len(options) > 3
    assert all(option in said for option in options), said
    assert not re.search(r"\\f[BIR]|\\\(|^\.", page, re.MULTILINE), page


def test_tutorials_lead_to_their_notebooks():
    page = (ROOT / "docs" / "tutorials" / "certify.md").read_text()
    heading, rest = page.split("\n", 1)
    assert make_site.with_notebook(page, "certify") == (
        f"{heading}\n\n[This page as a Jupyter notebook](certify.ipynb)\n{rest}")


def test_pages_of_guides_and_rooms_are_in_the_menu():
    listed = (ROOT / "mkdocs.yml").read_text()
    pages = [page for pattern in ("docs/*.md", "docs/*/*.md", "src/*/README.md") for page in ROOT.glob(pattern)]
    assert len(pages) > 40
    assert not [name for page in pages if f" {(name := str(page.relative_to(ROOT)))}\n" not in listed]


def test_signs_stand_for_themselves():
    page = (".TH X\n.SH A_B\n.TP\n\\fB\\-\\-c\\fR \\fIA|B\\fR\n1 < x_i*2, \\(gan=1\\(ga\n.br\nOne of a, b\n"
            ".SH E\n.nf\nx \\-\\-c <y>\n\\&.z\n.fi\n")
    assert make_site.markdown(page) == (
        "### A_b\n\n**--c** *A|B*\n:   1 &lt; x\\_i\\*2, \\`n=1\\`<br>\n    One of a, b\n\n### E\n\n"
        "    x --c <y>\n    .z\n")
