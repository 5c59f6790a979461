"""Networks that are written down instead of trained."""

from __future__ import annotations

from typing import Any, Literal

import numpy.typing as npt

from ..api.memorize import memorize
from .pickled import Pickled
from .points import Array, learned, seed_of, seen
from .targets import OneVersusRest


class MemorizingClassifier(OneVersusRest, Pickled):
    """A residual network that is right at every training point, written down and verified, not trained.

    It knows its points and nothing else: on new ones it guesses. Points that are equal must have equal labels.

    Parameters
    ----------
    construction, hidden, precision, margin
        As for :func:`zeroloss.memorize`.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.memorize`.

    Attributes
    ----------
    network_ : Memorizer
    min_margin_ : float
    classes_ : array of the labels.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    """

    def __init__(
        self,
        construction: Literal["norm_ordered", "paper", "integer"] = "norm_ordered",
        hidden: int | None = None,
        precision: Literal["float64", "float32"] = "float64",
        margin: float | None = None,
        random_state: Any = 0,
    ):
        self.construction = construction
        self.hidden = hidden
        self.precision = precision
        self.margin = margin
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> MemorizingClassifier:
        """Builds the network for points X, n x d, and n labels y. ValueError if it is not right at all of them."""
        data, labels = learned(self, X, y, one_scale=False)
        built = memorize(data, self._learn_classes(labels), task="classification", construction=self.construction,
                         hidden=self.hidden, precision=self.precision, margin=self.margin,
                         seed=seed_of(self.random_state))  # fmt: skip
        if built.network is None or built.status != "memorized":
            raise ValueError(built.conclusion)
        self.network_ = built.network
        self.min_margin_ = built.min_margin
        return self

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """Outputs at points X: their difference for two classes, positive for the second; else one a class."""
        points = seen(self, X)
        outputs = self.network_(points)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs
