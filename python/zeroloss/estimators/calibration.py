"""Probabilities from outputs, by what the outputs of left-out points turned out to be worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from .points import Array


def columns(scores: Array) -> Array:
    """One column a class: of two classes 0 and the one output."""
    return scores if scores.ndim == 2 else np.column_stack([np.zeros(len(scores)), scores])


def temperature(scores: Array, index: npt.NDArray[np.intp], weights: Array | None) -> float:
    """The factor a > 0 for which softmax(a scores) has the largest likelihood of the classes `index`.

    Labels are smoothed as Platt does it, (n_k + 1)/(n_k + c) for the own one of c classes, so that perfect outputs of
    few points are not taken for certainty.
    """
    F = columns(scores)
    n, c = F.shape
    of_class = np.bincount(index, minlength=c)[index].astype(np.float64)
    targets = np.repeat((1 / (of_class + c))[:, None], c, axis=1)
    targets[np.arange(n), index] = (of_class + 1) / (of_class + c)
    rows = np.full(n, 1 / n) if weights is None else weights / weights.sum()

    def loss(log_a: float) -> float:
        return -float(rows @ (targets * log_softmax(np.exp(log_a) * F, axis=1)).sum(axis=1))

    unit = float(np.abs(F).max()) or 1.0
    found = minimize_scalar(loss, bounds=(np.log(1e-3 / unit), np.log(1e4 / unit)), method="bounded")
    return float(np.exp(found.x))


def probabilities(scores: Array, a: float) -> Array:
    """n x c, rows that sum to 1; the largest is that of the largest output."""
    made: Array = softmax(a * columns(scores), axis=1)
    return made
