"""Mathematics in the words of a page: formulas of the theorems, and names that commands write as plain text."""

from __future__ import annotations

import re

from .elements import Content, Html, tag, text
from .formula import formula

#: What commands write, and its LaTeX; longer ones come first.
WRITTEN = {
    "mu_1^2 lambda_min(G o G)": r"\mu_1^2 \lambda_{\min}(G \circ G)",
    "delta/(100 n^2)": r"\delta/(100 n^2)",
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
NAMES = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w|\.\d)" for name in WRITTEN))


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
    for found in NAMES.finditer(words):
        parts += [words[at : found.start()], tex(WRITTEN[found[0]])]
        at = found.end()
    return text([*parts, words[at:]]) if parts else words
