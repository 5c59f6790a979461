"""Kernels of infinitely wide networks: dual activations, Gram matrices, their smallest eigenvalue with its proof."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import Activation, Dual, Gram, Kernel, LambdaMin
from .api import frames
from .api.arrays import points
from .api.data import read_dataset
from .api.progress import Show, limited, shown

__all__ = ["Activation", "Dual", "Gram", "Kernel", "LambdaMin", "activation", "activation_names", "cross_gram", "deep",
           "dual_activation", "gram", "lambda_min", "power", "sigma", "sigma_features", "unit_rows"]  # fmt: skip

AnyActivation = str | Activation
AnyKernel = str | Kernel


def activation_names() -> list[str]:
    """The activations that are known by name."""
    return _core.activation_names()


def _activation(name: AnyActivation) -> Activation:
    if isinstance(name, (str, Activation)):
        return name if isinstance(name, Activation) else _core.activation(name)
    raise TypeError(f"activation has to be a name or an Activation; got {name!r}")


def activation(name: AnyActivation) -> Activation:
    """The activation of that name, one of :func:`activation_names`.

    Your own is ``Activation(name, phi, dphi, B=sup |phi'|, M=sup |phi''|)``; ValueError for an unknown name.
    """
    return _activation(name)


def dual_activation(activation: AnyActivation, derivative: bool = False) -> Dual:
    """rho -> E[f(a) f(b)], (a, b) standard normal with correlation rho.

    Parameters
    ----------
    activation : str or Activation
        Your own functions are called some ten thousand times, with numbers.
    derivative : bool
        f = phi' (the kernel Sigma is rho times it), otherwise f = phi.

    Returns
    -------
    Dual
        Called with numbers in [-1, 1]. ``error`` is a proven bound where ``verified``, else an estimate: your own
        activations are computed, never verified.
    """
    return _core.dual_activation(_activation(activation), derivative)


def sigma(activation: AnyActivation = "relu") -> Kernel:
    """Sigma = rho h(rho), h the dual of phi': J J^T of the infinitely wide network, its neural tangent kernel."""
    return _core.sigma(_activation(activation))


def sigma_features(activation: AnyActivation = "relu") -> Kernel:
    """Sigma~ = h~(rho), the dual of phi: phi phi^T of the infinitely wide network."""
    return _core.sigma_features(_activation(activation))


def deep(
    activation: AnyActivation = "relu",
    layers: int = 2,
    *,
    residual: bool = False,
    scale: float = 1.0,
    features: bool = False,
) -> Kernel:
    """The tangent kernel of an infinitely wide network of many layers without biases, E[phi(g)^2] scaled to 1.

    Parameters
    ----------
    activation : str or Activation
        Your own functions are computed, never verified.
    layers : int
        Hidden layers, or blocks of a residual network: 1 to 1,000.
    residual : bool
        (h + scale U phi(W h))/sqrt(1 + scale^2) in place of phi(W h), behind an embedding layer.
    scale : float
        Of the residual branches, > 0.
    features : bool
        The inner products of the last hidden layer instead (NNGP), k(1) = 1: its weights alone are trained.

    Returns
    -------
    Kernel
        Of J J^T with the weights of all layers trained (NTK). One plain layer: (Sigma + Sigma~)/Sigma~(1), and not
        Sigma, of which the hidden layer alone is trained. ``error`` bounds what an entry is off by.
    """
    return _core.deep_kernel(_activation(activation), layers, residual, scale, features)


def power(r: int) -> Kernel:
    """rho^r, r >= 1: Hadamard powers of the Gram matrix X X^T."""
    return _core.power(r)


def _points(function: str, X: npt.ArrayLike, name: str = "X") -> npt.NDArray[np.float64]:
    """An array as it is; the columns of a data frame as certify has them."""
    return read_dataset(X, target="none").points if frames.is_frame(X) else points(function, X, name)


def unit_rows(X: npt.ArrayLike, *, center: bool = False) -> npt.NDArray[np.float64]:
    """The points divided by their lengths, as the command does it; DataError names zero rows.

    With ``center`` the mean point is subtracted first. The columns of a data frame are those of its csv: categories
    as indicators, one scale, a constant.
    """
    return _core.unit_rows(_points("unit_rows", X), center)


def _kernel(kernel: AnyKernel) -> Kernel:
    if isinstance(kernel, (str, Kernel)):
        return kernel if isinstance(kernel, Kernel) else sigma(kernel)
    raise TypeError(f"kernel has to be a Kernel or the name of an activation; got {kernel!r}")


def gram(
    X: npt.ArrayLike,
    kernel: AnyKernel = "relu",
    *,
    center: bool = False,
    normalize: bool = True,
    progress: Show = False,
    threads: int = 0,
) -> Gram:
    """The Gram matrix K_ij = k(<x_i, x_j>) of the rows of X.

    Parameters
    ----------
    X : array, n x d, or data frame
        The columns of a frame are those of its csv: categories as indicators, one scale, a constant.
    kernel : Kernel or str
        The name of an activation stands for its Sigma.
    center, normalize : bool
        Subtract the mean point; divide rows by their lengths. If not, rows off 1 by more than 1e-12 are an error.
    progress : bool or callable
        True: bars, if tqdm is there. A callable gets every ProgressReport.
    threads : int
        Threads of the processor; 0 = as many as :func:`thread_count` says. Small work takes one.

    Returns
    -------
    Gram
        K with a proven bound of its error, the closest pairs and the separation of the points. No entry depends on
        the number of threads.

    Raises
    ------
    DataError, ResourceError, KeyboardInterrupt
        Points that cannot be used; a matrix that does not fit into memory; Ctrl-C.
    """
    with limited(threads), shown(progress) as report:
        return _core.gram(_points("gram", X), _kernel(kernel), center, normalize, report)


def cross_gram(
    X: npt.ArrayLike,
    Z: npt.ArrayLike,
    kernel: AnyKernel = "relu",
    *,
    normalize: bool = True,
    progress: Show = False,
    threads: int = 0,
) -> npt.NDArray[np.float64]:
    """k(<x_i, z_j>) for the rows of X (n x d) and Z (m x d): n x m. Parameters as for :func:`gram`.

    Of two data frames the columns of Z become numbers as those of X do.
    """
    name = "cross_gram"
    if frames.is_frame(X) and frames.is_frame(Z):
        read = read_dataset(X, target="none")
        X, Z = read.points, _core.table_like(read, frames.frame(Z), "Z").points
    with limited(threads), shown(progress) as report:
        return _core.cross_gram(_points(name, X), _points(name, Z, "Z"), _kernel(kernel), normalize, report)


def lambda_min(
    X: npt.ArrayLike,
    kernel: AnyKernel = "relu",
    *,
    center: bool = False,
    normalize: bool = True,
    progress: Show = False,
    threads: int = 0,
) -> LambdaMin:
    """The smallest eigenvalue of a Gram matrix, computed and proven. Parameters and errors as for :func:`gram`.

    Returns
    -------
    LambdaMin
        ``verified.holds``: the kernel of the exactly normalised rows has lambda_min >= ``verified.lambda_min`` > 0,
        rounding included. ``lowest`` has the computed value and its vector. A user's activation is never verified.
    """
    with limited(threads), shown(progress) as report:
        return _core.lambda_min(_points("lambda_min", X), _kernel(kernel), center, normalize, report)
