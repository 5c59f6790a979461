"""Kernels beside NumPy, quadrature and closed forms."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeroloss
import zeroloss.kernel as zk
from bounds import U, backward_error, entry_error, gamma, row_error

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
        expected = gauss_expectation(f, rho)
        cut_off = abs(expected - gauss_expectation(f, rho, 100))
        # Two sums, recurrences of two weights, and 16 u of each phi.
        rounding = gamma(4 * 200 + 32) * dual(1.0)
        assert dual(rho) == pytest.approx(expected, rel=0, abs=cut_off + rounding + dual.error)


def test_leaky_relu_is_a_line_and_relu():
    rho, leak = np.linspace(-1, 1, 201), 0.01
    for derivative, line in ((True, leak), (False, leak * rho)):
        relu, leaky = (zk.dual_activation(name, derivative) for name in ("relu", "leaky_relu"))
        off = relu.error + leaky.error + 4 * U  # two products, a square and a sum, of at most 1
        np.testing.assert_allclose(leaky(rho), line + (1 - leak) ** 2 * relu(rho), rtol=0, atol=off)


def test_relu_has_its_closed_forms():
    rho = np.linspace(-1, 1, 201)
    theta = np.arccos(rho)
    h, h_tilde = zk.dual_activation("relu", True), zk.dual_activation("relu")
    # NumPy's arccos, sin and cos are within 4 ulp: 6 u and 16 u here, of numbers up to pi, over 2 pi.
    np.testing.assert_allclose(h(rho), (np.pi - theta) / (2 * np.pi), rtol=0, atol=h.error + 6 * U)
    expected = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / (2 * np.pi)
    np.testing.assert_allclose(h_tilde(rho), expected, rtol=0, atol=h_tilde.error + 16 * U)
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
        assert kernel.verified and kernel.error < 2**11 * U * kernel(1.0)  # 128 u, and 70 u or so a layer, are of use
        np.testing.assert_allclose(kernel(rho), expected, rtol=0, atol=2 * kernel.error)  # the layers' own are less


def test_deep_gram_matrices_and_their_lambda_min():
    X = np.random.default_rng(3).normal(size=(60, 7))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kernel = zk.deep("relu", 5)
    K = zk.gram(X, kernel).K
    rho = np.clip(X @ X.T, -1, 1)
    expected = layer_by_layer("relu", 5, 0, rho)[1]
    apart = ~np.eye(60, dtype=bool)  # relu's dual is steep on the diagonal
    assert (np.abs(K - expected) <= entry_error(kernel, rho, gamma(2 * 7) + 2 * row_error(7)))[apart].all()
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
    lengths = np.linalg.norm(unit, axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=0, atol=row_error(d) + gamma(d / 2 + 1))
    for kernel in (zk.sigma(name), zk.sigma_features(name), zk.power(3)):
        result = zk.gram(X, kernel)
        np.testing.assert_array_equal(result.K, result.K.T)
        rho = np.clip(unit @ unit.T, -1, 1)
        np.fill_diagonal(rho, 1)
        off = entry_error(kernel, rho, gamma(2 * d) + 2 * row_error(d))  # two dot products, and rows of length almost 1
        assert (np.abs(result.K - kernel(rho)) <= off).all()
        assert np.linalg.eigvalsh(result.K)[0] >= -backward_error(n) * np.linalg.norm(result.K, 2) - result.entry_error
        cut = n // 3
        if cut:
            assert (np.abs(zk.cross_gram(X[:cut], X[cut:], kernel) - result.K[:cut, cut:]) <= off[:cut, cut:]).all()


def test_scale_and_order_of_points_do_not_matter():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 7))
    order = rng.permutation(50)
    K = zk.gram(X, "gelu").K
    np.testing.assert_allclose(zk.gram(4 * X, "gelu").K, K, rtol=0, atol=0)  # powers of two: the same bits
    unit = zk.unit_rows(X)
    off = entry_error(zk.sigma("gelu"), unit @ unit.T, gamma(2 * 7))[np.ix_(order, order)]
    assert (np.abs(zk.gram(X[order], "gelu").K - K[np.ix_(order, order)]) <= off).all()


def test_lambda_min_is_numpy_s_and_its_proof_lies_below():
    X = np.random.default_rng(0).normal(size=(120, 10))
    for name in ("relu", "gelu", "tanh"):
        found = zk.lambda_min(X, name)
        values = np.linalg.eigvalsh(zk.gram(X, name).K)
        off = 2 * backward_error(120) * values[-1] + found.lowest.residual * values[0]
        assert found.lowest.value == pytest.approx(values[0], rel=0, abs=off)
        # The first gap to the computed value is a loss or 1e-7 of it, and is doubled until the proof succeeds.
        assert found.verified.holds and found.verified.lambda_min < values[0] + off
        assert found.verified.lambda_min > values[0] * (1 - 8e-7) - 8 * found.verified.loss - off
        residual = zk.gram(X, name).K @ found.lowest.vector - found.lowest.value * found.lowest.vector
        # `residual` is relative and of the inverse, so here it counts lambda_max times.
        assert np.linalg.norm(residual) <= values[-1] * (found.lowest.residual + backward_error(120))


def test_a_user_s_activation_is_computed_but_never_verified():
    mine = zk.Activation("mine", np.tanh, lambda z: 1 / np.cosh(z) ** 2, B=1.0, M=0.77, dphi_parity="even")
    X = np.random.default_rng(0).normal(size=(40, 6))
    dual = zk.dual_activation(mine, True)
    assert not dual.verified
    rho = np.linspace(-1, 1, 21)
    ours = zk.dual_activation("tanh", True)
    np.testing.assert_allclose(dual(rho), ours(rho), rtol=0, atol=dual.error + ours.error)
    found = zk.lambda_min(X, zk.sigma(mine))
    assert not found.verified.holds
    values = np.linalg.eigvalsh(zk.gram(X, "tanh").K)
    off = 2 * backward_error(40) * values[-1] + 40 * (dual.error + ours.error) + found.lowest.residual * values[0]
    assert found.lowest.value == pytest.approx(values[0], rel=0, abs=off)
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
        assert f(1 + 1e-12) == pytest.approx(f(1.0), rel=0, abs=2e-12)  # an inner product's rounding: |f'| <= 2
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
