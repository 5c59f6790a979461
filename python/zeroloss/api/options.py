"""Keywords become the library's structs, and calls become text again."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

Options = TypeVar("Options")


def _wanted(usual: object) -> str:
    """Of a field that has this value by default."""
    if isinstance(usual, list):
        return "has values of the wrong type"
    if usual is None or isinstance(usual, os.PathLike):
        return f"has to be a {'number' if usual is None else 'path'}"
    return f"has to be of type {type(usual).__name__}"


def filled(function: str, options: Options, given: Mapping[str, Any]) -> Options:
    """`options` with these fields. TypeError, naming the keyword, for a value of the wrong kind."""
    for name, value in given.items():
        if isinstance(value, np.generic):
            value = value.item()
        if not hasattr(options, name):
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        try:
            setattr(options, name, value)
        except TypeError:
            raise TypeError(f"{function}: {name} {_wanted(getattr(options, name))}; got {value!r}") from None
    return options


def step_text(function: str, step: float | str, name: str = "step") -> str:
    """A step or ridge as the library takes it: a number with all its digits, or a word."""
    if isinstance(step, str):
        return step
    if not isinstance(step, numbers.Real):
        raise TypeError(f"{function}: {name} has to be a number or a word; got {step!r}")
    return repr(float(step))


def with_commas(values: Any) -> Any:
    """Whole numbers, one or several, as the library has them: "512,256". All else stays as it is, for it to judge."""
    one = isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable)
    several = [values] if one else list(values)
    if not several or not all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in several):
        return values
    return ",".join(str(int(n)) for n in several)


class Written(str):
    """What stands in a call as it is: names of arrays."""

    __repr__ = str.__str__


def changed(options: Options, plain: Options, given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the keywords given, which `options` is filled with, those that differ from `plain`."""
    return {name: value for name, value in given.items() if getattr(options, name) != getattr(plain, name)}


def call(function: str, subject: str, given: Mapping[str, Any]) -> str:
    """A call as one would write it."""
    plain = {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in given.items()}
    return f"zeroloss.{function}({', '.join([subject, *(f'{name}={value!r}' for name, value in plain.items())])})"
