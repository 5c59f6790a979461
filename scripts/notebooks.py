#!/usr/bin/env python3
"""Writes the tutorials as Jupyter notebooks: notebooks.py [FOLDER], docs/tutorials/NAME.md as NAME.ipynb of it
[build/notebooks].

Blocks of Python become cells to run, with the text block that follows as their output; all else is text. As on the
page, dots stand in an output for what differs from machine to machine. A link to another tutorial leads to its
notebook; pages and files that a notebook does not come with are named by their path."""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TUTORIALS = ROOT / "docs" / "tutorials"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\[\]]+)\]\(([^()\s#]+)(?:#[^()\s]*)?\)")


def pages():
    return sorted(TUTORIALS.glob("*.md"))


def notebook(page):
    """The page as a notebook of format 4.5. ValueError for an output that no code prints."""
    text, at, cells = page.read_text(encoding="utf-8"), 0, []
    for block in BLOCK.finditer(text):
        _add_text(cells, text[at : block.start()], page)
        at = block.end()
        kind, content = block.groups()
        if kind == "python":
            cells.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [],
                          "source": _lines(content.rstrip("\n"))})  # fmt: skip
            continue
        code = next((cell for cell in reversed(cells) if cell["cell_type"] == "code"), None)
        if code is None or code["outputs"]:
            raise ValueError(f"{page}: nothing prints this:\n{content}")
        code["outputs"].append({"name": "stdout", "output_type": "stream", "text": _lines(content)})
    _add_text(cells, text[at:], page)
    cells = [{"id": f"{page.stem}-{k}", **cell} for k, cell in enumerate(cells, 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}, "nbformat": 4,
            "nbformat_minor": 5}  # fmt: skip


def _add_text(cells, text, page):
    if text := text.strip("\n"):
        said = LINK.sub(lambda link: _linked(link[0], link[1], link[2], page), text)
        cells.append({"cell_type": "markdown", "metadata": {}, "source": _lines(said)})


def _linked(whole, text, target, page):
    path = (page.parent / target).resolve()
    if not path.is_file():  # elsewhere, or no link
        return whole
    if path in pages():
        return f"[{text}]({path.stem}.ipynb)"
    name = str(path.relative_to(ROOT))
    return name if text == name else f"{text} ({name})"


def _lines(text):
    return text.splitlines(keepends=True)


def write(folder):
    """All notebooks into the folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        said = json.dumps(notebook(page), indent=1, ensure_ascii=False)
        (folder / f"{page.stem}.ipynb").write_text(f"{said}\n", encoding="utf-8")


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "notebooks"
    write(folder)
    print(folder)


if __name__ == "__main__":
    main()
