"""Formulas: the LaTeX of the theorems as text and as MathML."""

import xml.etree.ElementTree as ET

import pytest

from zeroloss import _core
from zeroloss.report.formula import formula


@pytest.mark.parametrize("latex, text", [
    (r"\lVert r_k \rVert \le (1 - \eta \lambda/2)^{k/2} \lVert r_0 \rVert",
     "||r_k|| <= (1 - eta lambda/2)^(k/2) ||r_0||"),
    (r"m > \frac{512 n^5 (\lVert y \rVert^2 + n/2)}{\pi p'^3 \lambda^4}, \quad p' = p/3",
     "m > 512 n^5 (||y||^2 + n/2)/(pi p'^3 lambda^4), p' = p/3"),
    (r"\frac{a + b}{c}", "(a + b)/c"),
    (r"\frac{(a + b) c}{(d)}", "(a + b) c/(d)"),
    (r"x_{i + 1}^2", "x_(i + 1)^2"),
    (r"\lambda_{\min}(\Phi \Phi^T) \ge \sqrt{n - 1}", "lambda_min(Phi Phi^T) >= sqrt(n - 1)"),
    (r"\tilde{\lambda}", "lambda~"),
    (r"1152 \cdot 200^3", "1152 * 200^3"),
    (r"m = \Omega(\frac{n^6}{\lambda^4 p^3})", "m = Omega(n^6/(lambda^4 p^3))"),
    (r"E[\phi(g)^2] \ge 0.341", "E[phi(g)^2] >= 0.341"),
])
def test_text(latex, text):
    assert formula(latex).text == text


def test_mathml():
    assert formula(r"a < \frac{1}{2} x_0^2").mathml == (
        "<mrow><mi>a</mi><mo>&lt;</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>"
        "<msubsup><mi>x</mi><mrow><mn>0</mn></mrow><mrow><mn>2</mn></mrow></msubsup></mrow>"
    )
    low = '<mo stretchy="false">{}</mo>'.format
    assert formula(r"\lVert X \rVert").mathml == f"<mrow>{low('‖')}<mi>X</mi>{low('‖')}</mrow>"
    assert "stretchy" in formula("(x^2)").mathml and "stretchy" not in formula(r"(\frac{x}{2})").mathml


def test_functions_stand_apart():
    thin = '<mspace width="0.17em"/>'
    assert formula(r"n \ln n").mathml == f"<mrow><mi>n</mi>{thin}<mi>ln</mi>{thin}<mi>n</mi></mrow>"
    assert thin not in formula(r"\lambda_{\min}").mathml + formula(r"\log(x)").mathml


@pytest.mark.parametrize("latex", [r"\foo", r"\frac{1}", "{a", "(a", "a)", "a}", "a_", "é", "a & b"])
def test_what_is_not_known_is_refused(latex):
    with pytest.raises(ValueError):
        formula(latex)


def test_every_theorem_can_be_read():
    theorems = _core.theorems()
    assert len({one.id for one in theorems}) == len(theorems) == 12
    for one in theorems:
        lines = one.statement.split("\n")
        assert len(lines) >= 2
        for line in [*lines, one.printed or "x"]:
            found = formula(line)
            assert found.text and "\\" not in found.text and "{" not in found.text
            assert ET.fromstring(f"<math>{found.mathml}</math>").itertext()
    step = next(one for one in theorems if one.id == "dzps_4_1")
    assert "eta = 1/(3 ||X||^2)" in [formula(line).text for line in step.statement.split("\n")]
