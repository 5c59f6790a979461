"""What a user may give as seed becomes the integer that the library's streams begin with."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.random import BitGenerator, Generator, RandomState, SeedSequence

#: As NumPy takes them; :func:`zeroloss.read_dataset` says what each means.
Seed = int | np.integer[Any] | Generator | BitGenerator | RandomState | SeedSequence | None

_END = 2**53


def seed_of(function: str, seed: Seed) -> int:
    """An integer itself; a fresh one of None; the next of a generator; always the same of a SeedSequence.

    ValueError for an integer outside [0, 2^53), TypeError for anything else.
    """
    if isinstance(seed, RandomState):
        return int(seed.randint(_END, dtype=np.int64))
    if seed is None or isinstance(seed, (Generator, BitGenerator, SeedSequence)):
        return int(np.random.default_rng(seed).integers(_END))
    try:
        number = operator.index(seed)
    except TypeError:
        raise TypeError(f"{function}: seed has to be an integer, None, or a Generator, BitGenerator, RandomState or "
                        f"SeedSequence of NumPy; got {seed!r}") from None  # fmt: skip
    if not 0 <= number < _END:
        raise ValueError(f"{function}: seed must be in [0, 2^53); got {number}")
    return number
