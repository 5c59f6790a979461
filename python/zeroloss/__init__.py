"""Neural networks that reach zero training loss, and the proof that they do.

    import zeroloss
    answer = zeroloss.certify("digits", classes=["3", "8"])   # before training: can it be fitted, how wide?
    run = zeroloss.fit(X, y, optimizer="gauss_newton")        # train, and prove that an exact solution is near
    print(run)                                                # what the command `zeroloss fit` prints

Each function is the command of its name: the options are keywords of the same names, and what comes out is the same to
the last bit, with the same OPENBLAS_CORETYPE (the command sets it itself where OpenBLAS does not know the processor;
here a RuntimeWarning says so once). Results have named fields, print as the command's text, and ``save`` writes the
command's run folder. ``to_frame`` gives their tables to pandas. They pickle, as datasets, networks and activations do;
``save`` and ``to_dict`` are for other programs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from . import _waiting as _waiting  # first
from . import kernel, linear
from ._core import (
    AuditResult,
    BackendError,
    CertifyResult,
    DataError,
    Dataset,
    DeepNetwork,
    FitResult,
    GraphNetwork,
    InfluenceResult,
    KernelNetwork,
    Layer,
    Memorizer,
    MemorizeResult,
    Network,
    ProgressReport,
    ProveResult,
    ResourceError,
    SweepResult,
    TangentKernel,
    TangentLambdaMin,
    WidthResult,
    blas_info,
    set_thread_count,
    simd_target,
    thread_count,
)
from ._core import version as __version__
from .api.audit import audit, audit_each
from .api.certify import certify
from .api.data import read_dataset
from .api.describe import Description, describe
from .api.fit import fit
from .api.influence import influence
from .api.memorize import memorize
from .api.predict import Prediction, load, predict
from .api.prove import prove
from .api.shown import give_lines
from .api.sweep import sweep
from .api.width import width

give_lines()

_MODULES = ("estimators", "figures", "report")
_ESTIMATORS = ("LabelAuditor", "MemorizingClassifier", "NTKClassifier", "NTKRegressor", "PatchFeatures",
               "RandomFeatureRegressor", "TwoLayerClassifier", "TwoLayerRegressor")  # fmt: skip

__all__ = [
    "AuditResult",
    "BackendError",
    "CertifyResult",
    "DataError",
    "Dataset",
    "DeepNetwork",
    "Description",
    "FitResult",
    "GraphNetwork",
    "InfluenceResult",
    "KernelNetwork",
    "Layer",
    "MemorizeResult",
    "Memorizer",
    "Network",
    "Prediction",
    "ProgressReport",
    "ProveResult",
    "ResourceError",
    "SweepResult",
    "TangentKernel",
    "TangentLambdaMin",
    "WidthResult",
    "__version__",
    "audit",
    "audit_each",
    "blas_info",
    "certify",
    "describe",
    "fit",
    "influence",
    "kernel",
    "linear",
    "load",
    "memorize",
    "predict",
    "prove",
    "read_dataset",
    "set_thread_count",
    "simd_target",
    "sweep",
    "thread_count",
    "width",
]


if TYPE_CHECKING:  # no __getattr__ there, which would know every name
    from . import estimators as estimators
    from . import figures as figures
    from . import report as report
    from .estimators import LabelAuditor as LabelAuditor
    from .estimators import MemorizingClassifier as MemorizingClassifier
    from .estimators import NTKClassifier as NTKClassifier
    from .estimators import NTKRegressor as NTKRegressor
    from .estimators import PatchFeatures as PatchFeatures
    from .estimators import RandomFeatureRegressor as RandomFeatureRegressor
    from .estimators import TwoLayerClassifier as TwoLayerClassifier
    from .estimators import TwoLayerRegressor as TwoLayerRegressor
else:

    def __getattr__(name: str) -> object:
        """Modules and estimators that are imported when they are asked for: those need scikit-learn."""
        if name in _MODULES:
            return import_module(f"zeroloss.{name}")
        if name in _ESTIMATORS:
            return getattr(import_module("zeroloss.estimators"), name)
        raise AttributeError(f"module 'zeroloss' has no attribute {name!r}")
