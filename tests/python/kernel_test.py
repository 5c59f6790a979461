"""Kernels beside NumPy, quadrature and closed forms."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeroloss
import zeroloss.kernel as zk

NAMES = zk.activation_names()


def gauss_expectation(f, rho, nodes=200):
    """E f(a) f(b), (a, b) standard normal with correlation rho: a product Gauss-Hermite rule."""
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / w.sum()
    other = rho * z[:, None] + np.sqrt(1 - rho**2) * z[None, :]
    return float(w @ (f(z)[:, None] * f(other)) @ w)


@pytest.mark.parametrize("name", [name for name in NAMES if np.isfinite(zk.activation(name).M)])
@pytest.mark.parametrize("derivative", [False, True])
def test_dual_activations_are_expectations(name, derivative):
    phi = zk.activation(name)
    dual = zk.dual_activation(name, derivative)
    f = phi.dphi if derivative else phi.phi
    assert dual.verified
    for rho in (-0.9, -0.3, 0.0, 0.5, 0.8):
        # Smooth activations: 200 nodes integrate tanh', whose poles are nearest, to 1e-7.
        assert dual(rho) == pytest.approx(gauss_expectation(f, rho), abs=2e-7)


def test_leaky_relu_is_a_line_and_relu():
    rho, leak = np.linspace(-1, 1, 201), 0.01
    for derivative, line in ((True, leak), (False, leak * rho)):
        relu, leaky = (zk.dual_activation(name, derivative)(rho) for name in ("relu", "leaky_relu"))
        np.testing.assert_allclose(leaky, line + (1 - leak) ** 2 * relu, atol=1e-15)


def test_relu_has_its_closed_forms():
    rho = np.linspace(-1, 1, 201)
    theta = np.arccos(rho)
    np.testing.assert_allclose(zk.dual_activation("relu", True)(rho), (np.pi - theta) / (2 * np.pi), atol=1e-15)
    np.testing.assert_allclose(
        zk.dual_activation("relu")(rho), (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi), atol=1e-15
    )
    assert isinstance(zk.dual_activation("relu")(0.5), float)
    assert zk.dual_activation("relu")([[0.5, 1.0]]).shape == (1, 2)


points = st.integers(0, 2**32 - 1).flatmap(
    lambda seed: st.tuples(st.just(seed), st.integers(1, 60), st.integers(1, 12), st.sampled_from(NAMES))
)


def layer_by_layer(name, layers, scale, rho):
    """rho_L and Theta_L as the papers define them, a = 0 for plain layers."""
    h_tilde, h = (zk.dual_activation(name, derivative) for derivative in (False, True))
    unit, theta, P = h_tilde(1.0), rho, rho
    for _ in range(layers):
        H, q = h_tilde(rho) / unit, h(rho) / unit
        if scale:
            s = scale**2
            P = (P * (1 + s * q) + s * rho * q + s * H) / (1 + s)
            rho = (rho + s * H) / (1 + s)
            theta = rho + P
        else:
            rho, theta = H, H + theta * q
        rho = np.clip(rho, -1, 1)
    return rho, theta


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers, scale", [(1, 0), (4, 0), (3, 1.0), (2, 0.3)])
def test_deep_kernels_are_composed(name, layers, scale):
    rho = np.linspace(-0.99, 0.99, 67)
    residual = {"residual": True, "scale": scale} if scale else {}
    for features, expected in zip((True, False), layer_by_layer(name, layers, scale, rho), strict=True):
        kernel = zk.deep(name, layers, features=features, **residual)
        assert kernel.verified and kernel.error < 1e-11 * kernel(1.0)
        np.testing.assert_allclose(kernel(rho), expected, rtol=0, atol=1e-13 * kernel(1.0))


def test_deep_gram_matrices_and_their_lambda_min():
    X = np.random.default_rng(3).normal(size=(60, 7))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kernel = zk.deep("relu", 5)
    K = zk.gram(X, kernel).K
    expected = layer_by_layer("relu", 5, 0, np.clip(X @ X.T, -1, 1))[1]
    np.testing.assert_allclose(K, expected, atol=1e-6)  # relu's dual is steep on the diagonal
    assert np.all(np.diag(K) == 6)
    found = zk.lambda_min(X, kernel)
    assert found.verified is not None
    with pytest.raises(ValueError, match="layers"):
        zk.deep("relu", 0)


@settings(max_examples=60, deadline=None)
@given(points)
def test_gram_matrices_are_the_kernel_of_the_inner_products(case):
    seed, n, d, name = case
    X = np.random.default_rng(seed).normal(size=(n, d))
    unit = zk.unit_rows(X)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=4e-16)
    for kernel in (zk.sigma(name), zk.sigma_features(name), zk.power(3)):
        result = zk.gram(X, kernel)
        np.testing.assert_array_equal(result.K, result.K.T)
        rho = np.clip(unit @ unit.T, -1, 1)
        np.fill_diagonal(rho, 1)
        # acos next to +-1 loses half the digits, in the oracle: 1e-8 covers sqrt(2 d u).
        np.testing.assert_allclose(result.K, kernel(rho), rtol=0, atol=1e-8)
        assert np.linalg.eigvalsh(result.K)[0] > -1e-12 * n * max(1.0, abs(kernel(1.0)))
        cut = n // 3
        np.testing.assert_allclose(
            zk.cross_gram(X[:cut], X[cut:], kernel) if cut else np.empty((0, n)), result.K[:cut, cut:], atol=1e-8
        )


def test_scale_and_order_of_points_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 7))
    order = rng.permutation(50)
    K = zk.gram(X, "gelu").K
    np.testing.assert_allclose(zk.gram(4 * X, "gelu").K, K, rtol=0, atol=0)  # powers of two: the same bits
    np.testing.assert_allclose(zk.gram(X[order], "gelu").K, K[np.ix_(order, order)], rtol=0, atol=1e-14)


def test_lambda_min_is_numpy_s_and_its_proof_lies_below():
    X = np.random.default_rng(0).normal(size=(120, 10))
    for name in ("relu", "gelu", "tanh"):
        found = zk.lambda_min(X, name)
        values = np.linalg.eigvalsh(zk.gram(X, name).K)
        assert found.lowest.value == pytest.approx(values[0], abs=1e-12 * values[-1])
        assert found.verified.holds and values[0] * (1 - 1e-5) < found.verified.lambda_min < values[0]
        residual = zk.gram(X, name).K @ found.lowest.vector - found.lowest.value * found.lowest.vector
        # `residual` is relative and of the inverse, so here it counts lambda_max times.
        assert np.linalg.norm(residual) <= 1.01 * values[-1] * found.lowest.residual + 1e-13


def test_a_user_s_activation_is_computed_but_never_verified():
    mine = zk.Activation("mine", np.tanh, lambda z: 1 / np.cosh(z) ** 2, B=1.0, M=0.77, dphi_parity="even")
    X = np.random.default_rng(0).normal(size=(40, 6))
    dual = zk.dual_activation(mine, True)
    assert not dual.verified
    rho = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(dual(rho), zk.dual_activation("tanh", True)(rho), atol=1e-12)
    found = zk.lambda_min(X, zk.sigma(mine))
    assert not found.verified.holds
    assert found.lowest.value == pytest.approx(zk.lambda_min(X, "tanh").lowest.value, rel=1e-6)
    assert "computed, not verified" in repr(found)


def test_a_user_s_errors_come_back():
    def broken(z):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        zk.dual_activation(zk.Activation("broken", broken, broken))
    with pytest.raises(ValueError, match="dphi_parity"):
        zk.Activation("x", np.tanh, np.tanh, dphi_parity="both")
    with pytest.raises(ValueError, match="swish2"):
        zk.activation("swish2")
    with pytest.raises(ValueError, match="features"):
        zk.cross_gram(np.ones((2, 3)), np.ones((2, 4)))


def test_rows_that_are_not_normalised_have_to_be_of_length_one():
    """Entries are k(<x_i, x_j>) of unit vectors: a proof about anything else would be false."""
    X = np.array([[0.1, 0.0], [0.0999, 0.004]])
    words = "X: record 0 has length 0.1.*must have length 1"
    for call in (zk.gram, zk.lambda_min, lambda X, normalize: zk.cross_gram(X, zk.unit_rows(X), normalize=normalize)):
        with pytest.raises(zeroloss.DataError, match=words):
            call(X, normalize=False)
    with pytest.raises(zeroloss.DataError, match="record 1 has length"):
        zk.lambda_min([[1.0, 0.0], [0.0, 1 + 2e-12]], normalize=False)
    unit = zk.unit_rows(X)
    assert zk.lambda_min(unit, normalize=False).verified.lambda_min == zk.lambda_min(X).verified.lambda_min
    np.testing.assert_array_equal(zk.gram(unit * (1 + 1e-13), normalize=False).K.diagonal(), 0.5)


def test_correlations_beyond_one_are_refused_and_shapes_kept():
    for f in (zk.dual_activation("relu"), zk.sigma("gelu"), zk.power(2)):
        for rho in (1.5, -1 - 1e-8, np.nan, [0.5, 2.0]):
            with pytest.raises(ValueError, match=r"rho must be in \[-1, 1\]; got"):
                f(rho)
        assert f(1 + 1e-12) == pytest.approx(f(1.0), abs=1e-11)  # an inner product's rounding
        for shape in ((), (1,), (2, 3), (0,)):
            assert f(np.full(shape, 0.5)).shape == shape
    assert zk.activation("relu").phi(np.array(2.0)).shape == ()


def test_activations_copy_and_pickle():
    mine = zk.Activation("mine", np.tanh, dtanh, B=1.0, M=0.77, d2phi=np.sin, dphi_parity="even")
    for twin in (copy.copy(mine), copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert twin is not mine
        assert (twin.name, twin.B, twin.M, twin.tabulated) == ("mine", 1.0, 0.77, False)
        assert twin.__reduce__()[1] == ("mine", np.tanh, dtanh)
        assert twin.__reduce__()[0].keywords == {"B": 1.0, "M": 0.77, "d2phi": np.sin, "dphi_parity": "even"}
        assert twin.phi(0.3) == np.tanh(0.3)
    bare = copy.deepcopy(zk.Activation("bare", lambda z: z, lambda z: 1.0))
    assert np.inf == bare.M and bare.dphi(2.0) == 1.0
    for name in NAMES:
        twin = pickle.loads(pickle.dumps(zk.activation(name)))
        assert twin.tabulated and twin.name == name
        assert zk.dual_activation(twin, True).verified


def dtanh(z):
    return 1 / np.cosh(z) ** 2
