"""The predictor of the infinitely wide network: kernel ridge regression, exact or on inducing points."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core, kernel
from . import inducing
from .points import Array, OnSphere
from .ridge import RidgePath

AUTO_RIDGE = tuple(float(f"{r:.3g}") for r in np.logspace(-6, 1, 15))
AUTO_ACTIVATION = ("relu", "erf", "sigmoid")  # from the roughest kernel to the smoothest
AUTO_DEPTH = (1, 2, 3, 5, 10)
AUTO_CG = 4000  # points, evenly spaced, that decide activation, depth and ridge where conjugate gradients solve
SOLVERS = ("auto", "exact", "cg", "inducing")
AUTO_POINTS = 2000  # of more, an even choice of so many decides which activation and depth are taken


class _Network(NamedTuple):
    """An infinitely wide one."""

    activation: Any
    depth: int


class _Found(NamedTuple):
    """What one network and ridge gave."""

    loss: float  # root mean square of the residuals
    network: _Network
    ridge: float
    coefficients: Array  # n x c
    residuals: Array  # of the left-out points, n x c


class ExactPredictor(OnSphere):
    """f(x) = k(x, X) (K + ridge k(1) I)^-1 y, K the tangent kernel of an infinitely wide network."""

    def __init__(
        self,
        activation: Any = "auto",
        ridge: Any = "auto",
        center: bool = True,
        bias: float = 1.0,
        inducing_points: Any = "auto",
        depth: Any = 1,
        residual: bool = False,
        solver: str = "auto",
    ):
        self.activation = activation
        self.ridge = ridge
        self.center = center
        self.bias = bias
        self.inducing_points = inducing_points
        self.depth = depth
        self.residual = residual
        self.solver = solver

    def _kernel_of(self, network: _Network) -> kernel.Kernel:
        """Sigma of one hidden layer, that of all layers of more."""
        if network.depth == 1 and not self.residual:
            return kernel.sigma(network.activation)
        return kernel.deep(network.activation, network.depth, residual=self.residual)

    def _networks(self) -> list[_Network]:
        return [_Network(activation, depth) for depth in self._depths() for activation in self._activations()]

    def _depths(self) -> list[int]:
        if isinstance(self.depth, str):
            if self.depth != "auto":
                raise ValueError(f"depth must be auto, a number >= 1 or several; got {self.depth!r}")
            return list(AUTO_DEPTH)
        depths = list(self.depth) if isinstance(self.depth, Iterable) else [self.depth]
        if not depths:
            raise ValueError("depth: one or several; got none")
        return [index(depth) for depth in depths]

    def _activations(self) -> list[Any]:
        if isinstance(self.activation, str):
            return list(AUTO_ACTIVATION) if self.activation == "auto" else [self.activation]
        several = isinstance(self.activation, Iterable)
        activations = list(self.activation) if several else [self.activation]
        if not activations or not all(isinstance(a, (str, kernel.Activation)) for a in activations):
            raise ValueError(f"activation must be a name, an Activation, or several; got {self.activation!r}")
        return activations

    def _ridges(self) -> list[float]:
        if isinstance(self.ridge, str):
            if self.ridge != "auto":
                raise ValueError(f"ridge must be auto, a number >= 0 or several; got {self.ridge!r}")
            return list(AUTO_RIDGE)
        ridges: list[float] = np.atleast_1d(np.asarray(self.ridge, dtype=np.float64)).tolist()
        if not ridges or min(ridges) < 0 or not np.isfinite(ridges).all():
            raise ValueError(f"ridge: one or several, finite and >= 0; got {self.ridge!r}")
        return ridges

    def _best(self, networks: list[_Network], points: Array, Y: Array, weights: Array | None) -> _Found:
        """The network and ridge with the least residuals of left-out points; of equal ones the first."""
        ridges = self._ridges()
        return min((self._found(one, ridges, points, Y, weights) for one in networks), key=lambda found: found.loss)

    def _found(self, network: _Network, ridges: list[float], points: Array, Y: Array, weights: Array | None) -> _Found:
        sigma = self._kernel_of(network)
        scale = float(sigma(1.0))
        path = RidgePath(points, sigma, weights, several=len(ridges) > 1)
        best: _Found | None = None
        for ridge in ridges:
            coefficients, residuals = path.solve(ridge * scale, Y)
            loss = float(np.sqrt(np.mean(np.average(residuals**2, axis=0, weights=weights))))
            if best is None or loss < best.loss:
                best = _Found(loss, network, ridge, coefficients, residuals)
        assert best is not None
        return best

    def _solve(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Learns from targets Y, n x c: the coefficients, and activation, depth and ridge if there is a choice. Returns
        the leave-one-out residuals; with inducing points those of the points that are held out."""
        networks = self._networks()
        points = kernel.unit_rows(self._learn_points(X, weights))
        n = len(Y)
        solver, m = self._solver_for(n)
        for name in ("_without_ridge", "_posterior"):
            self.__dict__.pop(name, None)  # of another fit
        self._fit_weights, self._verified = weights, False
        self.solution_error_: Array | None = None
        several = len(networks) > 1 and "auto" in (str(self.activation), str(self.depth))
        if several and n > AUTO_POINTS and solver != "cg":  # which chooses among these points in any case
            networks = [self._among(np.linspace(0, n - 1, AUTO_POINTS).astype(np.intp), networks, points, Y,
                                    weights).network]  # fmt: skip
        choice = inducing.chosen(n, m) if solver == "inducing" else None
        self.held_out_ = choice.held_out if choice else None
        if choice:
            found = self._among(choice.inducing, networks, points, Y, weights)
            self.X_fit_, sigma = points[choice.inducing], self._kernel_of(found.network)
            self.dual_coef_, residuals = inducing.solve(points, Y, weights, choice, sigma, found.ridge)
        elif solver == "cg":
            some = np.linspace(0, n - 1, min(n, AUTO_CG)).astype(np.intp)
            self.held_out_ = some if n > AUTO_CG else None
            found = self._among(some, networks, points, Y, weights)
            residuals, self.X_fit_ = found.residuals, points
            self.dual_coef_, _, said = _core.solve_conjugate_gradients(
                points, *self._equations(found, Y), weights, lambda_min=0.0 if found.ridge > 0 else 1.0)  # fmt: skip
            self._bounded_by(said, found.ridge)
        else:
            found = self._best(networks, points, Y, weights)
            self.X_fit_, self.dual_coef_, residuals = points, found.coefficients, found.residuals
            said = _core.predictor_bound(
                points, *self._equations(found, Y), np.ascontiguousarray(self.dual_coef_), weights,
                lambda_min=0.0 if found.ridge > 0 else 1.0)  # fmt: skip
            self._bounded_by(said, found.ridge)
        self.solver_ = solver
        (self.activation_, self.depth_), self.ridge_ = found.network, found.ridge
        self._kernel = self._kernel_of(found.network)
        return residuals

    def _solver_for(self, n: int) -> tuple[str, int]:
        """How n points are solved for, and with how many inducing points."""
        if self.solver not in SOLVERS:
            raise ValueError(f"solver must be auto, exact, cg or inducing; got {self.solver!r}")
        m = inducing.number_of(self.inducing_points, n)
        given = not (isinstance(self.inducing_points, str) or self.inducing_points is None)
        if self.solver == "inducing" and not m:
            m = 0 if given or n <= inducing.AUTO else inducing.AUTO
        if self.solver in ("exact", "cg"):
            if given:
                raise ValueError(f"solver {self.solver!r} takes all points: leave out inducing_points")
            return self.solver, 0
        if self.solver == "auto" and m and not given and n <= inducing.CG:
            return "cg", 0
        return ("inducing", m) if m else ("exact", 0)

    def _equations(self, found: _Found, Y: Array) -> tuple[kernel.Kernel, float, Array]:
        sigma = self._kernel_of(found.network)
        return sigma, found.ridge * float(sigma(1.0)), np.ascontiguousarray(Y)

    def _bounded_by(self, said: tuple[Array, float, bool], ridge: float) -> None:
        """Keeps what is proved of the coefficients: as if lambda_min were 1 where there is no ridge."""
        error, self.residual_norm_, self._verified = said
        if ridge > 0:
            self.solution_error_ = error
        else:
            self._without_ridge = error

    def _solution_error(self) -> Array:
        """c x c: what outputs, and differences of two, are off the exact predictor's at any point, proved."""
        if self.solution_error_ is None and hasattr(self, "_without_ridge"):
            least = kernel.lambda_min(self.X_fit_, self._kernel, normalize=False).verified
            scale = np.nextafter(1 / np.sqrt(least.lambda_min), np.inf) if least.holds else np.inf
            if self.solver_ == "cg":  # a part of that bound does not depend on lambda_min
                scale = max(1.0, scale)
            self.solution_error_ = self._without_ridge * scale * (1 + 1e-15)
        if self.solution_error_ is None:
            raise ValueError("return_bound: inducing points are another predictor than that of all points, and nothing "
                             "is proved of how far apart they are")  # fmt: skip
        if not self._verified:
            raise ValueError(f"return_bound: the kernel of {self.activation_} is computed, not verified")
        return self.solution_error_

    def _bounded(self, X: npt.ArrayLike) -> tuple[Array, Array]:
        """f at new points and what rounding may have made of it, m x c each."""
        values, rounding = _core.bounded_values(
            self._new_points(X), self.X_fit_, self._kernel, np.ascontiguousarray(self.dual_coef_))  # fmt: skip
        return np.ascontiguousarray(values), np.ascontiguousarray(rounding)

    def _std(self, X: npt.ArrayLike) -> Array:
        """Posterior standard deviation of f at new points, in units of a prior with covariance k."""
        if self.solver_ != "exact":
            raise ValueError(f"return_std is for solver='exact', whose factor says it; this is {self.solver_!r}")
        if not hasattr(self, "_posterior"):
            ridge = self.ridge_ * float(self._kernel(1.0))
            self._posterior = _core.Posterior(self.X_fit_, self._kernel, ridge, self._fit_weights)
        std: Array = np.sqrt(self._posterior.variance(self._new_points(X)))
        return std

    def _among(
        self, some: inducing.Rows, networks: list[_Network], points: Array, Y: Array, weights: Array | None
    ) -> _Found:
        """The best of a problem with some of the points alone."""
        return self._best(networks, points[some], Y[some], None if weights is None else weights[some])

    def _left_out(self, values: Any) -> Any:
        """Of the points that leave_one_out_* speak of."""
        return values if self.held_out_ is None or values is None else values[self.held_out_]

    def _values(self, X: npt.ArrayLike) -> Array:
        """f at new points, m x c, in pieces of some hundred MB."""
        Z = self._new_points(X)
        rows = max(1, 2**25 // len(self.X_fit_))
        pieces = [
            kernel.cross_gram(Z[i : i + rows], self.X_fit_, self._kernel, normalize=False) @ self.dual_coef_
            for i in range(0, len(Z), rows)
        ]
        return np.concatenate(pieces)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_kernel", "_posterior")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "activation_" in state:
            self._kernel = self._kernel_of(_Network(self.activation_, self.depth_))


PARAMETERS = """
    Parameters
    ----------
    activation : str, Activation, several, or "auto", default="auto"
        Of the hidden units; of several the one whose leave-one-out residuals have the least mean square is taken.
        auto: relu, erf and sigmoid; of more than 2,000 points, 2,000 evenly spaced ones decide between them.
    ridge : float, several, or "auto", default="auto"
        In units of the kernel's diagonal k(1): of several the one with the least residuals, in closed form from one
        tridiagonal matrix for each network. 0 interpolates. auto: 15 values from 1e-6 to 10.
    center : bool, default=True
        Subtract the mean point.
    bias : float, default=1.0
        A constant coordinate of every point before it is divided by its length, in units of the points' root mean
        square length; 0 = none, then only directions count.
    inducing_points : int, "auto" or None, default="auto"
        The predictor is a sum of kernels at so many points, drawn without regard to order, instead of at all; None: at
        all, whatever memory that takes. auto: at all up to 20,000, beyond at 4,000. With them, activation and ridge are
        chosen on the inducing points alone, up to 2,000 points are held out, and the ridge has to be positive.
    depth : int, several, or "auto", default=1
        Hidden layers, up to 1,000. One: the hidden layer alone is trained; more: the weights of all layers. Of several
        the one whose leave-one-out residuals have the least mean square is taken, with each activation. auto: 1, 2, 3,
        5 and 10.
    residual : bool, default=False
        Residual blocks behind an embedding layer, `depth` of them, in place of plain layers; all weights are trained.
    solver : {{"auto", "exact", "cg", "inducing"}}, default="auto"
        exact: a factor of the kernel. cg: conjugate gradients for the same equations, with activation, depth and ridge
        chosen by exact leave-one-out on 4,000 evenly spaced points; then one pass proves how far the answer is from the
        exact one. inducing: `inducing_points`. auto: exact up to 20,000 points, cg up to 70,000, inducing beyond, and
        where a number of inducing points is given.
{weight}
    Attributes
    ----------
    activation_, depth_, ridge_ : the ones in use.
    leave_one_out_error_ : float
        {error}.
    leave_one_out_predictions_ : array
        {predictions} at each training point, of all others; what sample_weight leaves out is not among them. With
        inducing points or cg: at those of `held_out_`.
    held_out_ : array of row numbers, or None
        inducing: points that were not fitted. cg: the 4,000 of which each was left out of a predictor of the others.
    solver_ : the one in use.
    solution_error_ : array of shape (outputs, outputs), or None
        What outputs (on the diagonal) and differences of two may be off those of the exact predictor at every point,
        proved, rounding included; None with inducing points, and without a ridge until a bound is asked for.
    X_fit_ : array of shape (n, d + 1) or (n, d)
        The training points as unit vectors, or the inducing ones.
    dual_coef_ : array of shape (n, outputs)
    mean_, bias_ : what points are transformed with.
{more}    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Notes
    -----
    Memory: 0.5 n^2 doubles with one ridge, 1.5 n^2 with several, and 2 n d. 2/3 n^3 multiply-adds with one ridge, four
    times that with several, for each network; Ctrl-C is heard within a second. cg: 4 n^2 bytes up to 30,000 points, 2
    n^2 beyond, and 16,000 n; some 100 times n^2 (outputs + d/50) multiply-adds. With m inducing points: 3 m^2 and 4 n
    d doubles, and some 20 to 40 times n m (d + 50) multiply-adds (conjugate gradients, preconditioned as in Falkon of
    Rudi, Carratino and Rosasco, 2017).

    A point is left out with its target. The mean point, the constant's length and a regression's mean target stay those
    of all points, so `leave_one_out_error_` is a little low: measured by up to 16 % at n = 5, 1 % at n = 50.
"""
