"""Mathematics in the words of a page: formulas of the theorems, and what commands write as plain text: names, signs,
numbers with an exponent."""

from __future__ import annotations

import re
from decimal import Decimal

from .elements import Content, Html, power, tag, text
from .formula import formula

#: What commands write, and its LaTeX; longer ones come first.
WRITTEN = {
    "mu_1^2 lambda_min(G o G)": r"\mu_1^2 \lambda_{\min}(G \circ G)",
    "theta/(8 pi n)": r"\theta/(8 \pi n)",
    "n ln n + r^2": r"n \ln n + r^2",
    "lambda_min(Phi Phi^T)": r"\lambda_{\min}(\Phi \Phi^T)",
    "lambda_min(J J^T)": r"\lambda_{\min}(J J^T)",
    "||product - R||": r"\lVert A_L \cdots A_1 - R \rVert",
    "||r||/||y||": r"\lVert r \rVert/\lVert y \rVert",
    "1/||y||^2": r"1/\lVert y \rVert^2",
    "||y||^2": r"\lVert y \rVert^2",
    "||A_i||": r"\lVert A_i \rVert",
    "lambda_min": r"\lambda_{\min}",
    "lambda_max": r"\lambda_{\max}",
    "lambda~": r"\tilde{\lambda}",
    "det R < 0": r"\det R < 0",
    "A = 0": "A = 0",
    "m d = n": "m d = n",
    "e(R)": "e(R)",
    "a/3": "a/3",
}
SIGNS = {">=": "≥", "<=": "≤"}
NAMES = "|".join(rf"(?<!\w){re.escape(name)}(?!\w|\.\d)" for name in WRITTEN)
NUMBER = r"(?<![\w.=:,])-?\d(?:\.\d+)?e[+-]?\d+(?![\w.]*\w)"
READ = re.compile(rf"({NAMES}|{NUMBER}|[<>]=)([.,;:)]*(?=\s|$))?")
OPTION = re.compile(r"--[\w-]+[ =]$")  # what it is set to is typed as it stands


def tex(latex: str, display: str | None = None) -> Html:
    """Set as mathematics; read aloud and copied as text."""
    read = formula(latex)
    return tag("math", Html(read.mathml), display=display, alttext=read.text)


def worded(words: Content) -> Content:
    """Text with its mathematics set as such; anything else as it is."""
    if not isinstance(words, str) or isinstance(words, Html):
        return words
    parts: list[Content] = []
    at = 0
    for found in READ.finditer(words):
        if OPTION.search(words, 0, found.start()):
            continue
        read, after = _read(found[1]), found[2] or ""
        # Nothing is torn apart where a line ends, nor from the comma that follows.
        shown = read if not isinstance(read, Html) else tag("span", read, after, class_="whole")
        parts += [words[at : found.start()], shown, "" if isinstance(read, Html) else after]
        at = found.end()
    return text([*parts, words[at:]]) if parts else words


def _read(written: str) -> str:
    if written in WRITTEN:
        return tex(WRITTEN[written])
    return SIGNS.get(written) or _number(written)


def _number(written: str) -> str:
    """With all of its digits: they may be those of a bound."""
    mantissa, _, exponent = written.partition("e")
    if -4 <= int(exponent) < 7:
        return f"{Decimal(written):,f}".replace("-", "−")
    return power(mantissa.replace("-", "−"), int(exponent))
