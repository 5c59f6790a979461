"""More points than a kernel can be stored for: a sum of kernels at a few of them, found from all."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core, kernel
from .points import Array

EXACT = 20_000  # points up to which "auto" stores the kernel: 1.5 n^2 doubles are 4.8 GB
CG = 70_000  # up to which it solves by conjugate gradients: 2 n^2 bytes are 9.8 GB
AUTO = 4_000  # inducing points beyond
HELD_OUT = 2_000  # points that are not fitted, or a fifth of the others if that is less

Rows = npt.NDArray[np.intp]


class Choice(NamedTuple):
    """Which points do what: drawn without regard to order, the same for the same number of them."""

    inducing: Rows
    held_out: Rows
    fitted: Rows


def number_of(wanted: Any, n: int) -> int:
    """Inducing points for n points; 0: the kernel of all of them."""
    if wanted is None:
        return 0
    if wanted == "auto" and isinstance(wanted, str):
        return AUTO if n > EXACT else 0
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)) or wanted < 1:
        raise ValueError(f"inducing_points must be auto, None or an integer >= 1; got {wanted!r}")
    return int(wanted) if wanted < n else 0


def chosen(n: int, m: int) -> Choice:
    order = np.random.default_rng(0).permutation(n)
    left_out = min(HELD_OUT, (n - m) // 5)
    held_out = np.sort(order[m : m + left_out])
    return Choice(order[:m], held_out, np.sort(np.delete(order, np.s_[m : m + left_out])))


def solve(
    points: Array, Y: Array, weights: Array | None, choice: Choice, sigma: kernel.Kernel, ridge: float
) -> tuple[Array, Array]:
    """Coefficients of the kernels at the inducing points, and the residuals of those that were held out."""
    if ridge <= 0:
        raise ValueError("inducing points need a ridge > 0: 0 interpolates, which the kernel of all points can")
    some, of_some = points[choice.fitted], None if weights is None else weights[choice.fitted]
    inducing = points[choice.inducing]
    coefficients, _, _ = _core.solve_inducing(
        some, inducing, sigma, ridge * float(sigma(1.0)), np.ascontiguousarray(Y[choice.fitted]), of_some)  # fmt: skip
    values = kernel.cross_gram(points[choice.held_out], inducing, sigma, normalize=False) @ coefficients
    residuals: Array = Y[choice.held_out] - values
    return coefficients, residuals
