"""The command `data info`: what is in data, before anything else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from .. import _core
from .._core import Dataset
from .data import Data, Read, dataset
from .options import call
from .seed import Seed, seed_of

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Description:
    """What there is to know of data. Prints as the command `data info`.

    Attributes
    ----------
    next : str
        The call that follows from it, with the target that is proposed.
    """

    next: str
    _text: str = field(repr=False)
    _facts: dict[str, Any] = field(repr=False)

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Of a table: column (its number), name, type, range or frequent values, missing, distinct and role of each."""
        return list(self._facts["columns"] or [])

    @property
    def proposed_target(self) -> str | None:
        """What to say as target, where a table has none and its last column looks like classes."""
        target: str | None = self._facts["proposed_target"]
        return target

    def to_dict(self) -> dict[str, Any]:
        """What the command prints with --json."""
        return {**self._facts, "next": {**self._facts["next"], "command": self.next}}

    def __str__(self) -> str:
        return f"{self._text}\nnext: {self._facts['next']['why']}\n  {self.next}\n"


def describe(data: Data, y: npt.ArrayLike | None = None, *, seed: Seed = 0, **read: Unpack[Read]) -> Description:
    """What is in data: shape, columns with their types, ranges and roles, task, classes, duplicates.

    Parameters
    ----------
    data, y, seed, **read
        As for :func:`read_dataset`.

    Returns
    -------
    Description
        Prints as the command ``data info``; ``to_dict()`` is its JSON. Of a table ``columns`` has what is known of
        each, ``proposed_target`` what to say as target if it has none, ``next`` the call that follows.
    """
    seed = seed_of("describe", seed)
    describer = _core.Describer()
    if isinstance(data, Dataset):
        subject, made = dataset("describe", data, y, read, seed)[1], describer.of(data)
    else:
        found: tuple[Any, str] = dataset("describe", data, y, read, seed, describer)
        made, subject = found
    facts = json.loads(made.json)
    proposed = facts["proposed_target"]
    options = {**read, **({"target": proposed} if proposed else {}), **({"seed": seed} if seed else {})}
    return Description(call("certify", subject, options), made.text, facts)
