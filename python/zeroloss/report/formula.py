"""Formulas: the part of LaTeX in which the theorems are stated, as text and as MathML."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

TOKEN = re.compile(r"\\[A-Za-z]+|\d[\d.]*|\s+|.")
GREEK = {"beta": "β", "delta": "δ", "eta": "η", "theta": "θ", "lambda": "λ", "mu": "μ", "nu": "ν", "pi": "π",
         "rho": "ρ", "tau": "τ", "phi": "φ", "Phi": "Φ", "Omega": "Ω"}  # fmt: skip
FUNCTIONS = {"det", "ln", "log", "max", "min"}
OPERATORS = {  # as text and as a sign
    **{sign: (sign, sign) for sign in "+=<>/,"},
    "-": ("-", "−"),
    r"\le": ("<=", "≤"),
    r"\ge": (">=", "≥"),
    r"\cdot": ("*", "·"),
    r"\cdots": ("...", "⋯"),
    r"\circ": ("o", "∘"),
}
THIN = '<mspace width="0.17em"/>'
FENCES = {"(": (")", "(", ")"), "[": ("]", "[", "]"), r"\lVert": (r"\rVert", "‖", "‖")}


class Formula(NamedTuple):
    """Both forms. `parts` is how many things stand side by side in it, `sums` whether one of them is + or -."""

    text: str
    mathml: str
    parts: int = 1
    sums: bool = False


def formula(latex: str) -> Formula:
    """Text such as ``||r_k|| <= (1 - eta lambda/2)^(k/2) ||r_0||``, spaced as the LaTeX is, and what stands inside
    ``<math>``. Raises ValueError for what is not known here."""
    return _row(TOKEN.findall(latex)[::-1], None)


def _row(tokens: list[str], end: str | None) -> Formula:
    """What stands before `end`, which is taken away too; tokens are taken from the back."""
    text, mathml, parts, sums = "", "", 0, False
    while tokens and tokens[-1] != end:
        token = tokens[-1]
        if token.isspace() or token == r"\quad":
            text += "" if text.endswith(" ") else " "
            mathml += '<mspace width="1em"/>' if token == r"\quad" else ""
            tokens.pop()
            continue
        part = _scripts(_atom(tokens), tokens)
        if token[1:] in FUNCTIONS:
            part = part._replace(mathml=_apart(part.mathml, parts > 0, tokens))
        text, mathml, parts, sums = text + part.text, mathml + part.mathml, parts + 1, sums or token in "+-"
    if end and not tokens:
        raise ValueError(f"a formula ends without {end}")
    if end:
        tokens.pop()
    return Formula(text.strip(), mathml if parts == 1 else f"<mrow>{mathml}</mrow>", parts, sums)


def _apart(function: str, follows: bool, tokens: list[str]) -> str:
    """A function with a thin space to what stands before and after it, where that is no bracket or end."""
    after = next((token for token in reversed(tokens) if not token.isspace()), "}")
    return THIN * follows + function + THIN * (after not in (*FENCES, *OPERATORS, "}", ")", "]"))


def _atom(tokens: list[str]) -> Formula:
    if not tokens:
        raise ValueError("a formula ends where something must follow")
    token = tokens.pop()
    name = token.removeprefix("\\")
    if token == "{":
        return _row(tokens, "}")
    if token in FENCES:
        end, left, right = FENCES[token]
        inner = _row(tokens, end)
        text = f"{left}{inner.text}{right}".replace("‖", "||")
        as_high = "" if "<mfrac>" in inner.mathml else ' stretchy="false"'  # an exponent alone is no reason to grow
        return Formula(text, f"<mrow><mo{as_high}>{left}</mo>{inner.mathml}<mo{as_high}>{right}</mo></mrow>")
    if token in OPERATORS:
        text, sign = OPERATORS[token]
        tight = ' lspace="0" rspace="0"' if token == "/" else ""
        return Formula(text, f"<mo{tight}>{html.escape(sign)}</mo>")
    if token == r"\frac":
        above, below = _atom(tokens), _atom(tokens)
        over = f"({above.text})" if above.sums else above.text
        return Formula(f"{over}/{_one(below)}", f"<mfrac>{above.mathml}{below.mathml}</mfrac>")
    if token in (r"\sqrt", r"\tilde"):
        inner = _atom(tokens)
        if token == r"\sqrt":
            return Formula(f"sqrt({inner.text})", f"<msqrt>{inner.mathml}</msqrt>")
        return Formula(f"{_one(inner)}~", f'<mover accent="true">{inner.mathml}<mo>~</mo></mover>')
    if name != token and name in GREEK:
        return Formula(name, f"<mi>{GREEK[name]}</mi>")
    if token.isascii() and token[0].isdigit():
        return Formula(token, f"<mn>{token}</mn>")
    if (name != token and name in FUNCTIONS) or (token.isascii() and token.isalpha()):
        return Formula(name, f"<mi>{name}</mi>")
    raise ValueError(f"{token} is not known in a formula")


def _scripts(base: Formula, tokens: list[str]) -> Formula:
    """With what is written below and above it."""
    text, below, above = base.text, "", ""
    while tokens and tokens[-1] in ("_", "^", "'"):
        kind = tokens.pop()
        if kind == "'":
            text, above = text + kind, above + "<mo>′</mo>"
            continue
        part = _atom(tokens)
        text += kind + _one(part)
        below, above = (part.mathml, above) if kind == "_" else (below, above + part.mathml)
    if not below and not above:
        return base
    name = "msub" if not above else "msup" if not below else "msubsup"
    scripts = "".join(f"<mrow>{part}</mrow>" for part in (below, above) if part)
    return Formula(text, f"<{name}>{base.mathml}{scripts}</{name}>")


def _one(part: Formula) -> str:
    return part.text if part.parts == 1 else f"({part.text})"
