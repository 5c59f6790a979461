#!/usr/bin/env python3
"""Builds the documentation site: make_site.py [--zeroloss PROGRAM] [--out FOLDER]. MkDocs is that of its Python.

The pages are those of the tree, where they lie in the tree, so that a link is right here and there; those of the
commands are made from the manual pages that the program prints of itself, and each tutorial leads to itself as a
notebook. A link to nowhere, a page that no menu has
and a command that mkdocs.yml does not list end it with an error."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import notebooks

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests"))

from format import tracked  # noqa: E402
from links import ELSEWHERE, links  # noqa: E402

sys.path.remove(str(ROOT / "tests"))  # whose folder torch would be taken for a package

#: Pages that the search prefers: whoever types a message wants to know what to do. Others mention its words more often.
PREFERRED = {"docs/troubleshooting.md": 20, "docs/guide/": 4}
#: What is copied whole; of the rest, what a page leads to.
FOLDERS = ("docs/", "bench/", "experiments/", "examples/")
ESCAPES = {r"\-": "-", r"\(aq": "'", r"\(ha": "^", r"\(ti": "~", r"\(ga": "`", r"\&": "", r"\e": "\\"}
FONT = {r"\fB": "**", r"\fI": "*"}


def plain(text):
    """Without what roff escapes."""
    return re.sub(r"\\(?:\(\w\w|[-&e])", lambda escape: ESCAPES[escape[0]], text)


def marked(text):
    """A line of roff as Markdown: its fonts, and no sign that means something there."""
    said, font = "", ""
    for part in re.split(r"(\\f[BIR])", text):
        if part.startswith("\\f"):
            font = FONT.get(part, "")
        elif part:
            said += font + re.sub(r"([\\`*_{}\[\]#])", r"\\\1", plain(part)).replace("<", "&lt;") + font
    return said


def markdown(page):
    """A manual page, as `zeroloss man` prints it, below a heading."""
    said, code, lines = [], False, page.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if code:
            code = line != ".fi"
            said.append(f"    {plain(line)}" if code else "")
        elif line.startswith(".SH "):
            said += ["", f"### {plain(line[4:]).capitalize()}", ""]
        elif line == ".nf":
            code = True
            said.append("")
        elif line == ".TP":
            said += ["", marked(lines[at]), f":   {marked(lines[at + 1])}"]
            at += 2
        elif line == ".br":
            said[-1] += "<br>"
        elif not line.startswith(".TH "):
            said.append(("    " if said and said[-1].endswith("<br>") else "") + marked(line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(said)).strip() + "\n"


def manual(zeroloss, *command):
    run = subprocess.run([zeroloss, "man", *command], capture_output=True, text=True, check=True)
    return run.stdout


def parts(page):
    """The commands that a manual page lists as its own."""
    return re.findall(r"^\\fBzeroloss\\-(?:\w+\\-)*(\w+)\\fR\(1\)$", page, re.MULTILINE)


def command_pages(zeroloss):
    """A page for each command, those of its parts below; and that of the program."""
    whole = manual(zeroloss)
    yield "README", f"# zeroloss\n\n{linked(markdown(whole))}"
    for name in parts(whole):
        own = manual(zeroloss, name)
        text = f"# {name}\n\n{markdown(own)}"
        for part in parts(own):
            text += f"\n## {name} {part}\n\n{markdown(manual(zeroloss, name, part))}"
        yield name, text


def linked(text):
    return re.sub(r"^\*\*zeroloss-(\w+)\*\*\(1\)$", r"[zeroloss \1](\1.md)", text, flags=re.MULTILINE)


def with_notebook(page, name):
    """The page with a link to its notebook below its heading."""
    return re.sub(r"^(# .*\n)", rf"\1\n[This page as a Jupyter notebook]({name}.ipynb)\n", page, count=1,
                  flags=re.MULTILINE)


def stage(pages, zeroloss):
    """Puts together what the site is made of."""
    shutil.rmtree(pages, ignore_errors=True)
    wanted = [name for name in tracked(ROOT, "*") if name.startswith(FOLDERS)]
    wanted += [page.name for page in ROOT.glob("*.md")]
    for name in wanted:  # grows on the way
        target = pages / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        for start, factor in PREFERRED.items():
            if name.startswith(start):
                target.write_text(f"---\nsearch:\n  boost: {factor}\n---\n{target.read_text(encoding='utf-8')}",
                                  encoding="utf-8")
        for _, link in links(target.read_text(encoding="utf-8")) if name.endswith(".md") else ():
            path = ((ROOT / name).parent / link.partition("#")[0]).resolve()
            if not ELSEWHERE.match(link) and path.is_file() and (more := str(path.relative_to(ROOT))) not in wanted:
                wanted.append(more)
    notebooks.write(pages / notebooks.TUTORIALS.relative_to(ROOT))
    for page in notebooks.pages():
        target = pages / page.relative_to(ROOT)
        target.write_text(with_notebook(target.read_text(encoding="utf-8"), page.stem), encoding="utf-8")
    (pages / "commands").mkdir()
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name, text in command_pages(zeroloss):
        (pages / "commands" / f"{name}.md").write_text(text, encoding="utf-8")
        if f" commands/{name}.md" not in listed:
            sys.exit(f"make_site: mkdocs.yml does not list commands/{name}.md")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--zeroloss", type=Path, default=ROOT / "build/release/bin/zeroloss")
    parser.add_argument("--out", type=Path, default=ROOT / "build/docs")
    options = parser.parse_args()
    stage(options.out / "pages", options.zeroloss)
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (options.out / "mkdocs.yml").write_text(f"{config}\ndocs_dir: pages\nsite_dir: site\n", encoding="utf-8")
    # Not --quiet, with which no warning is one.
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict",
                            "--config-file", options.out / "mkdocs.yml"],
                           env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})  # fmt: skip
    if built.returncode == 0:
        print(options.out / "site" / "index.html")
    sys.exit(built.returncode)


if __name__ == "__main__":
    main()
