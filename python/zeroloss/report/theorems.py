"""What the theorems say, of those that a run folder names by their id."""

from __future__ import annotations

from .. import _core
from .elements import Content, Html, tag
from .formula import formula


def statement(theorem: object) -> Content:
    """Its formulas, a line each; None for an id that is not known."""
    for one in _core.theorems():
        if one.id == theorem:
            lines = [_line(latex) for latex in one.statement.split("\n")]
            return tag("div", lines, class_="scroll", tabindex=0, role="region", aria_label=f"theorem {one.number}")
    return None


def _line(latex: str) -> Html:
    read = formula(latex)
    return tag("math", Html(read.mathml), display="block", alttext=read.text)
