"""Estimators in scikit-learn's form. They need scikit-learn: ``pip install scikit-learn scipy``.

Networks see points as unit vectors. Here a point is centred, gets a constant coordinate and is divided by its length,
so that its distance from the mean still counts. Scaling of single features is the business of a pipeline, but for data
frames: their columns become numbers as those of their csv do, categories, missing cells and scales included.
"""

from .auditor import LabelAuditor
from .memorizer import MemorizingClassifier
from .ntk import NTKClassifier, NTKRegressor
from .patches import PatchFeatures
from .random_features import RandomFeatureRegressor
from .two_layer import TwoLayerClassifier, TwoLayerRegressor

__all__ = [
    "LabelAuditor",
    "MemorizingClassifier",
    "NTKClassifier",
    "NTKRegressor",
    "PatchFeatures",
    "RandomFeatureRegressor",
    "TwoLayerClassifier",
    "TwoLayerRegressor",
]
