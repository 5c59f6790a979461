#!/usr/bin/env python3
"""links.py SOURCE_TREE: every relative link of a page leads to a file of the tree, and every anchor to a heading.

Anchors are those that GitHub makes of headings. Code is not looked at. Prints what leads nowhere and exits with 1."""

import re
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote

from format import tracked

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\]\([^)]*\)|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")  # within a link too
HTML = re.compile(r"<(?:a|img)\s[^>]*(?:href|src)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")


def prose(text):
    """Its lines outside of code, with their numbers; code within a line is taken out."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = mark[1] if fence is None else None
        elif fence is None and not line.startswith("    "):
            yield number, line


def anchor(heading):
    """As GitHub does it: words in small letters, spaces as hyphens, other signs left out."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(text):
    found = {}
    for _, line in prose(text):
        if title := HEADING.match(line):
            name = anchor(title[1])
            found[name] = found.get(name, -1) + 1
            yield name if not found[name] else f"{name}-{found[name]}"
        yield from re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line)


def links(text):
    """Each with the number of its line. A link may be broken over two lines, and prose is read as one text."""
    lines = list(prose(text))
    joined, at = "", []
    for number, line in lines:
        at.append((len(joined), number))
        joined += line + "\n"
    joined = re.sub(r"(`+)(?!`)(.*?)(?<!`)\1(?!`)", lambda code: "`" * len(code[0]), joined)
    found = {match.span(1): match for kind in (LINK, IMAGE, HTML) for match in kind.finditer(joined)}
    for _, match in sorted(found.items()):
        yield max(number for start, number in at if start <= match.start()), match[1]


def problems(root, name):
    page = root / name
    text = page.read_text(encoding="utf-8")
    for number, link in links(text):
        if ELSEWHERE.match(link):
            continue
        path, _, wanted = unquote(link).partition("#")
        target = (page.parent / path).resolve() if path else page.resolve()
        if not target.exists() or not target.is_relative_to(root):
            yield f"{name}:{number}: no file {link}"
        elif wanted and (target.suffix != ".md" or wanted not in anchors(target.read_text(encoding="utf-8"))):
            yield f"{name}:{number}: no heading {link}"


def check_itself():
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        (root / "other.md").write_text("# A `b`: c-d, 2 <= 3\n\n## Again\n\n```\n# none\n```\n\n## Again\n")
        text = ("[a](other.md#a-b-c-d-2--3) [b](other.md#again-1) [c](#here)\n[d](https://x.org/y.md) `[e](none.md)`\n"
                "[![f](no.svg)](none.md)\n\n# Here\n\n    [g](none.md)\n[h\ni](other.md#none) [j](other.md#again-2)\n")
        (root / "page.md").write_text(text)
        found = [problem.split(":", 1)[1] for problem in problems(root, "page.md")]
        assert found == ["3: no file no.svg", "3: no file none.md", "8: no heading other.md#none",
                         "9: no heading other.md#again-2"], found


def main():
    check_itself()
    root = Path(sys.argv[1]).resolve()
    pages = tracked(root, "*.md")
    bad = [problem for name in pages for problem in problems(root, name)]
    print(*bad, sep="\n", end="\n" if bad else "")
    sys.exit(1 if bad or not pages else 0)


if __name__ == "__main__":
    main()
