#!/usr/bin/env python3
"""Whether each entry of docs/troubleshooting.md begins a text of the sources; exits with 1 and names those that do not.

An entry is a line of a list that begins with messages in backticks, up to a colon. A text is a literal of C++, or of
Python, with those that follow it at once: two dots for what is filled in. What begins with such, the name of a file
for instance, is compared without it."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\w+|\S""", re.DOTALL)
PLACEHOLDER = re.compile(r"%(?:\.?\d*)?l*[dsgufi]|\{[^{}]*\}")
HEAD = re.compile(r"^ *- ((?:(`+)(?:(?!\2).|\n)+?\2,?\s*)+):\s", re.MULTILINE)
CODE = re.compile(r"(`+)\s?((?:(?!\1).|\n)+?)\s?\1(?!`)")


def literal(token):
    if token.startswith('R"'):
        return token[3:-2]
    return re.sub(r"\\(.)", lambda escaped: {"n": "\n", "t": " "}.get(escaped[1], escaped[1]), token[1:-1])


def of_cpp(source):
    """Its literals; those that follow each other are one."""
    whole = ""
    for token in (found[0] for found in TOKEN.finditer(source)):
        if token.startswith(('"', 'R"')):
            whole += literal(token)
        elif not token.startswith(("//", "/*")):
            yield whole
            whole = ""
    yield whole


def of_python(node):
    """Those in a Python expression; what an f-string fills in is in braces."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for part in ast.iter_child_nodes(node):
            yield from of_python(part)


def readable(text):
    """As a user sees it, in one line; advice between backticks as the page has it."""
    text = text.replace("{{", "\0").replace("}}", "\1")
    text = PLACEHOLDER.sub("..", text).replace("\0", "{").replace("\1", "}")
    return re.sub(r"\s+", " ", text).replace("`", "").removeprefix("..").strip(" :;,")


def texts():
    """All texts of the sources."""
    found = set()
    for top in ("apps", "src", "include", "python"):
        for file in (ROOT / top).rglob("*.[ch]pp"):
            found.update(map(readable, of_cpp(file.read_text(encoding="utf-8"))))
    for file in (ROOT / "python" / "zeroloss").rglob("*.py"):
        found.update(map(readable, of_python(ast.parse(file.read_text(encoding="utf-8")))))
    return found


def entries(page):
    """The messages that the page says something about."""
    return [readable(code[2]) for head in HEAD.finditer(page) for code in CODE.finditer(head[1])]


def unknown(page):
    known = texts()
    return [entry for entry in entries(page) if not any(text.startswith(entry) for text in known)]


if __name__ == "__main__":
    if wrong := unknown(PAGE.read_text(encoding="utf-8")):
        sys.exit("docs/troubleshooting.md: no message begins with\n  " + "\n  ".join(wrong))
