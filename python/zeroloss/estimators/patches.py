"""Images as what typical patches of them are where, in scikit-learn's form."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from .._core import DataError
from .pickled import Pickled
from .points import Array, seed_of

IMAGE_FEATURES = ("auto", "pixels", "patches")
LEAST = 16  # pixels: images are as wide and as high as that


class PatchFeatures(TransformerMixin, Pickled):
    """Features of images without training: how much of some typical patches of 6 x 6 pixels is where.

    Patches are drawn from the images, each brought to mean 0 and one contrast, and whitened; some of them are filters.
    Of a filter's responses everywhere the positive and the negative parts beyond 1/4 are averaged over each of 3 x 3
    parts of the image, and the roots of these means are features (Coates, Lee and Ng, AISTATS 2011). Columns are not
    brought to one scale: put a StandardScaler behind it. Images whose shorter side has 64 pixels or more are shrunk to
    32 to 63 first.

    Parameters
    ----------
    filters : int, default=256
        Fewer where images have not as many patches with contrast.
    mirror : bool, default=False
        Take the mean of an image's features and those of its mirror image: of photographs, not of letters.
    shape : tuple of int, optional
        Of an image, where X is n x d: (height, width), or with 1, 3 or 4 colours behind or before these two.
    random_state : int, RandomState or None, default=0
        Of the patches that are drawn.

    Attributes
    ----------
    filters_ : array of shape (36 colours, filters)
        Weights of a patch's pixels, whitening included.
    shape_ : tuple, of an image.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.
    """

    def __init__(self, filters: int = 256, mirror: bool = False, shape: Any = None, random_state: Any = 0):
        self.filters = filters
        self.mirror = mirror
        self.shape = shape
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: Any = None) -> PatchFeatures:
        """Draws 20,000 patches of images X, n x height x width [x colours], of any range: numbers in [0, 1] are taken
        as 255 levels, others in [0, 255] as they are, and else as levels between the least and the largest."""
        if not isinstance(self.filters, (int, np.integer)) or self.filters < 1 or self.filters >= 2**31:
            raise ValueError(f"filters must be a whole number >= 1; got {self.filters!r}")
        if not isinstance(self.mirror, (bool, np.bool_)):
            raise ValueError(f"mirror must be True or False; got {self.mirror!r}")
        images = validate_data(self, X, dtype=np.float64, allow_nd=True)
        self.shape_ = self._said() if images.ndim == 2 else images.shape[1:]
        rows = self._rows(images)
        seed = seed_of(self.random_state)
        weights, shift, grey, least, levels = _core.patch_filters(rows, self.shape_, self.filters, seed)
        self.filters_, self._shift, self._levels = weights, shift, (grey, least, levels)
        return self

    def transform(self, X: npt.ArrayLike) -> Array:
        """18 features a filter, >= 0: n x (18 filters)."""
        check_is_fitted(self)
        rows = self._rows(validate_data(self, X, dtype=np.float64, allow_nd=True, reset=False))
        grey, least, levels = self._levels
        made: Array = _core.patch_features(
            rows, self.shape_, self.filters_, self._shift, grey, least, levels, self.mirror
        )
        return made

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns."""
        check_is_fitted(self)
        count = 18 * self.filters_.shape[1]
        return np.array([f"patchfeatures{k}" for k in range(count)], dtype=object)

    def _said(self) -> tuple[int, ...]:
        """The sizes of an image, as `shape` has them."""
        sizes = np.asarray(() if self.shape is None else self.shape)
        if self.shape is not None and (sizes.ndim != 1 or sizes.dtype.kind not in "iu"):
            raise ValueError(f"shape must be (height, width) or have colours too; got {self.shape!r}")
        return tuple(int(size) for size in sizes)

    def _rows(self, images: Array) -> Array:
        height, width, planes, _ = _core.picture_of_sizes(self.shape_)
        said = " x ".join(map(str, self.shape_)) or "rows of numbers: say shape=(height, width) or with colours"
        if height == 0:
            raise ValueError(f"an image is height x width, or has 1, 3 or 4 colours behind or before these: got {said}")
        if images.ndim > 2 and images.shape[1:] != self.shape_:
            raise ValueError(f"images are {' x '.join(map(str, images.shape[1:]))}; they were {said}")
        rows = np.ascontiguousarray(images.reshape(len(images), -1))
        if rows.shape[1] != height * width * planes:
            raise ValueError(f"X has {rows.shape[1]} features, but an image is {said}")
        return rows


class Images:
    """How an estimator sees images: as their pixels or as features of patches, columns of these to deviation 1."""

    def __init__(self, patches: PatchFeatures | None = None):
        self.patches = patches
        self.name = "pixels" if patches is None else "mirrored patches" if patches.mirror else "patches"
        self._shape: tuple[int, ...] | None = None
        self._spread: Array | None = None

    def rows(self, images: Array) -> Array:
        """n x d; shape and deviations are those of the first images."""
        self._shape = self._shape or images.shape[1:]
        if images.shape[1:] != self._shape:
            raise ValueError(
                f"images are {' x '.join(map(str, images.shape[1:]))}; they were {' x '.join(map(str, self._shape))}"
            )
        if self.patches is None:
            return images.reshape(len(images), -1)
        features = self.patches.transform(images)
        if self._spread is None:
            spread = features.std(axis=0)
            self._spread = np.where(spread > 0, spread, 1.0)
        return features / self._spread


def kinds_of_images(images: Array, how: str) -> list[Images]:
    """What an estimator may choose from: `how` is auto, pixels or patches."""
    height, width, *_ = _core.picture_of_sizes(images.shape[1:])
    small = min(height, width) < LEAST
    if how == "pixels" or (how == "auto" and small):
        return [Images()]
    plain = PatchFeatures().fit(images)
    if not plain.filters_.size:
        if how == "patches":
            raise DataError("image_features=patches: the images have no contrast")
        return [Images()]
    mirrored = copy(plain)
    mirrored.mirror = True
    return [*([Images()] if how == "auto" else []), Images(plain), Images(mirrored)]
