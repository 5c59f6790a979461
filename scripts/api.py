#!/usr/bin/env python3
"""Writes docs/api.md from the docstrings of the installed package: scripts/api.py > docs/api.md"""

import inspect
import re

import zeroloss
import zeroloss.estimators
import zeroloss.figures
import zeroloss.kernel
import zeroloss.linear
from zeroloss import _core

HEAD = """# Reference of the Python package

Made by `scripts/api.py` from the docstrings; the [tutorials](guide/README.md) show how things are used.
"""


def heading(text, level):
    return f"{'#' * level} {text}\n"


def fenced(text):
    return f"```\n{text.rstrip()}\n```\n"


def signature(name, function):
    """One line, or a line a parameter where that is too long."""
    described = inspect.signature(function)
    parts = []
    for p in described.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not any(part.startswith("*") for part in parts):
            parts.append("*")
        part = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        part += f": {p.annotation.replace('npt.', '')}" if p.annotation is not p.empty else ""
        parts.append(part + (f" = {p.default!r}" if p.default is not p.empty else ""))
    empty = described.return_annotation is described.empty
    result = "" if empty or described.return_annotation is None else f" -> {described.return_annotation}"
    result = result.replace("npt.", "")
    line = f"{name}({', '.join(parts)}){result}"
    return line if len(line) <= 100 else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){result}"


def head_of(name, described):
    return f"{heading(f'`{name}`', 3)}\n```python\n{signature(name, described)}\n```\n\n"


def of_function(name, function):
    return head_of(name, function) + fenced(inspect.getdoc(function))


def of_method(kind, name):
    return of_function(f"{kind.__name__}.{name}", getattr(kind, name)).replace("(self, ", "(")


def of_class(name, kind):
    """A bound class: its fields, then its methods."""
    text = f"{heading(f'`{name}`', 3)}\n{inspect.getdoc(kind) or ''}\n\n"
    fields = [(k, v) for k, v in vars(kind).items() if isinstance(v, property) and not k.startswith("_")]
    methods = [k for k, v in vars(kind).items() if callable(v) and (k == "__call__" or not k.startswith("_"))]
    if fields:
        text += "| field | |\n|---|---|\n"
        text += "".join(f"| `{k}` | {' '.join((v.__doc__ or '').split()).replace('|', chr(92) + '|')} |\n"
                        for k, v in fields)
    for k in methods:
        text += f"\n{fenced(inspect.getdoc(getattr(kind, k)))}"
    return text


def of_estimator(name, kind):
    methods = "".join(
        f"- `{signature(k, v).replace('self, ', '')}`: {' '.join(inspect.getdoc(v).split())}\n"
        for k in ("fit", "predict", "decision_function", "predict_proba", "fit_predict", "fit_resample", "audit")
        if inspect.isfunction(v := getattr(kind, k, None))
    )
    return f"{head_of(name, kind)}{fenced(inspect.getdoc(kind))}\n{methods}"


def main():
    functions = [n for n in zeroloss.__all__ if inspect.isfunction(getattr(zeroloss, n))]
    parts = [HEAD, heading("Functions", 2)]
    parts += [of_function(f"zeroloss.{n}", getattr(zeroloss, n)) for n in functions]
    for module in (zeroloss.linear, zeroloss.kernel):
        parts += [heading(f"`{module.__name__}`", 2), inspect.getdoc(module) + "\n"]
        parts += [
            of_function(f"{module.__name__}.{n}", getattr(module, n))
            for n in module.__all__
            if inspect.isfunction(getattr(module, n))
        ]
    parts += [heading("`zeroloss.estimators`", 2), inspect.getdoc(zeroloss.estimators) + "\n"]
    parts += [of_estimator(n, getattr(zeroloss.estimators, n)) for n in zeroloss.estimators.__all__]
    figures = zeroloss.figures
    parts += [heading("`zeroloss.figures`", 2), inspect.getdoc(figures) + "\n"]
    parts += [of_function("zeroloss.figures.of", figures.of)]
    parts += [of_method(kind, "save") for kind in (figures.Figures, figures.Figure)]
    parts += [heading("Results and their parts", 2)]
    hidden = re.compile("Options$|^SweepAxes$|Error$|^Frame$|^Describe[rd]$")
    parts += [
        of_class(n, kind)
        for n, kind in sorted(vars(_core).items())
        if isinstance(kind, type) and not hidden.search(n)
    ]
    print("\n".join(part.rstrip("\n") + "\n" for part in parts), end="")


if __name__ == "__main__":
    main()
