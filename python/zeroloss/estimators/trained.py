"""What the estimators of trained networks share: how they train, and what they say of it."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from .._core import STATUSES, FitResult
from ..api.fit import fit as train
from .points import Array, OnSphere, seed_of


class TwoLayer(OnSphere):
    """A trained network of finite width, with what is proved about it."""

    def __init__(
        self,
        width: int = 1024,
        activation: str = "relu",
        scaling: str = "ntk",
        optimizer: str = "gauss_newton",
        step: float | str = "auto",
        batch: int = 1,
        max_steps: int = 100_000,
        max_seconds: float = 0.0,
        patience: int | None = None,
        tolerance: float = 0.0,
        center: bool = True,
        bias: float = 1.0,
        random_state: Any = 0,
    ):
        self.width = width
        self.activation = activation
        self.scaling = scaling
        self.optimizer = optimizer
        self.step = step
        self.batch = batch
        self.max_steps = max_steps
        self.max_seconds = max_seconds
        self.patience = patience
        self.tolerance = tolerance
        self.center = center
        self.bias = bias
        self.random_state = random_state

    def _train(
        self, X: Array, targets: list[npt.NDArray[Any]], task: Literal["regression", "classification"], **options: Any
    ) -> list[FitResult]:
        """A run for each of the targets, all from the same seed, which share max_seconds."""
        points, self._seed = self._learn_points(X), seed_of(self.random_state)
        if "max_seconds" in options:
            options["max_seconds"] /= len(targets)
        runs = [train(points, y, task=task, **self._common(), **options) for y in targets]
        worst = max(runs, key=lambda run: STATUSES.index(run.status))
        if worst.status not in ("certified", "converged"):
            impossible = any(run.conflicts for run in runs)
            said = worst.conclusion + ("" if impossible else hint(X, options))
            warnings.warn(said, ConvergenceWarning, stacklevel=3)
        self.status_ = worst.status
        self.relative_misfit_ = max(run.relative_misfit for run in runs)
        self.certified_ = all(run.certificate.holds for run in runs)
        self.radius_ = max(run.certificate.radius for run in runs) if self.certified_ else None
        self.n_iter_ = max(1, *(run.steps for run in runs))
        return runs

    def _common(self) -> dict[str, Any]:
        return {"activation": self.activation, "width": self.width, "certify_every": 0, "seed": self._seed}

    def _options(self) -> dict[str, Any]:
        usual = 100 if self.optimizer == "gauss_newton" else 10_000
        return {"scaling": self.scaling, "optimizer": self.optimizer, "step": self.step, "batch": self.batch,
                "max_steps": self.max_steps, "max_seconds": self.max_seconds, "tolerance": self.tolerance,
                "patience": usual if self.patience is None else self.patience}  # fmt: skip


def hint(X: Array, options: dict[str, Any]) -> str:
    """What may help training that did not converge."""
    spread = np.ptp(X, axis=0)
    if (spread > 0).any() and spread.max() > 100 * spread[spread > 0].min():
        return "\ncolumns differ a hundredfold in scale: put a StandardScaler before it in a pipeline"
    if options["optimizer"] == "output_layer":
        return f"\nmore hidden units than the {len(X)} points are needed: raise width"
    return f"\noptimizer='output_layer' reaches zero loss with more hidden units than the {len(X)} points"


PARAMETERS = """
    Parameters
    ----------
    width, activation, scaling, optimizer, step, batch, max_steps, max_seconds, tolerance
        As for :func:`zeroloss.fit`, but the optimizer is gauss_newton by default, the quickest to zero loss.
    patience : int or None, default=None
        Training ends as stalled after so many steps without a misfit lower by a hundredth; 0 = it goes on; None = 100
        steps of gauss_newton, 10,000 of others.
    center : bool, default=True
        Subtract the mean point.
    bias : float, default=1.0
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean
        square length; 0 = none, then only directions count.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.fit`.

    Attributes
    ----------
    network_ : {network}
        On points as unit vectors. {networks}
    status_ : str
        certified, converged, stalled, budget_spent or diverged; of the last three a ConvergenceWarning tells. Of
        several networks the worst, as are the next four.
    certified_ : bool
        It is proved that an exact solution lies within `radius_` of these weights.
    radius_ : float or None
    relative_misfit_ : float
    n_iter_ : int
        Steps.
    mean_, bias_ : what points are transformed with.
    {more}
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
"""
