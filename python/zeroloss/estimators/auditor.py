"""Labels that are wrong, in scikit-learn's form."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags, _safe_indexing, assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from .._core import AuditResult, Dataset
from ..api import frames
from ..api.arrays import targets
from ..api.audit import audit
from ..api.data import read_dataset
from .pickled import Pickled
from .points import Array, seed_of

FEWEST = 4  # samples


class LabelAuditor(Pickled):
    """Which labels are wrong: what :func:`zeroloss.audit` says of the training data, and of others by them.

    It predicts every sample from all others and leaves data as they are; there is no `predict` for new points, which
    :class:`NTKClassifier` has. At the end of a pipeline it judges what the steps before it make of the points.

    Parameters
    ----------
    activation, scale, image_features, ridge, inducing, reasons, bootstrap
        As for :func:`zeroloss.audit`. Its scales are its own: it needs no StandardScaler before it.
    task : {"auto", "classification", "regression"}, default="auto"
        auto: texts, truth values and few different integers are classes.
    random_state : int, RandomState or None, default=0
        An integer is the seed of :func:`zeroloss.audit`.

    Attributes
    ----------
    scores_ : array of shape (n,)
        Probability that the label is right, in [0, 1].
    predicted_ : array of shape (n,)
        Class, or number of a regression, that the other samples predict.
    confidence_ : array of shape (n,), or None
        How often labels agree with predictions like this one; None of a regression.
    issues_ : array of row numbers
        Labels to look at, worst first: as many as are expected to be wrong, and all that are more likely wrong than
        right.
    is_issue_ : array of shape (n,), bool
    noise_rate_ : float
        Estimated fraction of wrong labels.
    noise_interval_ : (low, high)
        Its 95 % interval.
    result_ : AuditResult
        All of it: classes that are mistaken for others, near duplicates, outliers, samples for and against each issue.
    classes_ : array of the labels, or None of a regression.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    """

    def __init__(
        self,
        activation: str = "auto",
        scale: Literal["auto", "columns", "common", "given"] = "auto",
        ridge: float | None = None,
        inducing: int = 0,
        reasons: int = 3,
        bootstrap: int = 200,
        task: Literal["auto", "classification", "regression"] = "auto",
        random_state: Any = 0,
        image_features: Literal["auto", "pixels", "patches", "both"] = "auto",
    ):
        self.activation = activation
        self.scale = scale
        self.image_features = image_features
        self.ridge = ridge
        self.inducing = inducing
        self.reasons = reasons
        self.bootstrap = bootstrap
        self.task = task
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> LabelAuditor:
        """Audits n labels y of points X, n x d, or of images, n x height x width [x colours]: n^3 multiply-adds. Keeps
        the data, for `audit`."""
        self._data, labels = self._read(X, y)
        self._seed = seed_of(self.random_state)
        classes = self._data.task == "classification"
        if classes:
            check_classification_targets(labels)
        result = self.result_ = audit(self._data, **self._options())
        if classes:
            names, index = np.unique(labels, return_inverse=True)
            named = dict(zip(result.given, index))
            self.predicted_: npt.NDArray[Any] = names[[named[name] for name in result.predicted]]
            self.classes_: npt.NDArray[Any] | None = names
        else:
            self.predicted_, self.classes_ = np.array(result.predicted, dtype=np.float64), None
        self.scores_: Array = np.array(result.scores)
        self.confidence_: Array | None = np.array(result.confidence) if classes else None
        self.issues_ = np.array([issue.position for issue in result.issues], dtype=np.intp)
        self.is_issue_ = np.zeros(result.n, dtype=bool)
        self.is_issue_[self.issues_] = True
        self.noise_rate_ = result.noise_rate.value
        self.noise_interval_ = (result.noise_rate.low, result.noise_rate.high)
        return self

    def fit_predict(self, X: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.int_]:
        """-1 for each label in `issues_`, +1 for all others, as outlier detectors say it."""
        return np.where(self.fit(X, y).is_issue_, -1, 1)

    def fit_resample(self, X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Any, Any]:
        """X and y without the labels that are more likely wrong than right.

        For pipelines of imbalanced-learn, which call it on training data alone: a test set that lacks what a model
        contradicts makes every model look better than it is.
        """
        self.fit(X, y)
        kept = np.flatnonzero(~(self.is_issue_ & (self.scores_ < 0.5)))
        return _safe_indexing(X, kept), _safe_indexing(y, kept)

    def audit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> AuditResult:
        """What the training data say of the labels y of other points X.

        Its `twins` are pairs of one of these and a training sample. Takes as long as `fit`. DataError for a class that
        was not trained on.
        """
        check_is_fitted(self)
        if not frames.is_frame(X):
            X, y = validate_data(self, X, y, dtype=np.float64, allow_nd=True, reset=False)
        else:
            validate_data(self, X, skip_check_array=True, reset=False)
        return audit(self._data, test=(X, y), **self._options())

    def _read(self, X: Any, y: Any) -> tuple[Dataset, npt.NDArray[Any]]:
        """The data, and the labels as an array."""
        if not frames.is_frame(X):
            X, y = validate_data(self, X, y, dtype=np.float64, allow_nd=True, ensure_min_samples=FEWEST)
        else:
            validate_data(self, X, skip_check_array=True)
            y = column_or_1d(frames.series(y), warn=True)
            check_consistent_length(X, y)
            assert_all_finite(y, input_name="y")
        targets("LabelAuditor", y, len(y))  # none is missing
        data = read_dataset(X, y, task=self.task)
        if data.n != len(y):
            raise ValueError(f"of {len(y)} labels of the data frame {len(y) - data.n} read as missing, NA or empty")
        return data, y

    def _options(self) -> dict[str, Any]:
        return {"activation": self.activation, "scale": self.scale, "image_features": self.image_features,
                "ridge": self.ridge, "inducing": self.inducing, "reasons": self.reasons, "bootstrap": self.bootstrap,
                "seed": self._seed}  # fmt: skip

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
