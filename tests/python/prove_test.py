"""prove: networks of PyTorch and scikit-learn, of arrays and of files."""

import json
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import zeroloss
from bounds import U
from rounding import assert_close, rounding
from zeroloss.api.networks import network_of
from zeroloss.api.sklearn_network import as_made

sys.path.append(str(Path(__file__).resolve().parents[1] / "adversary"))
import onnx_file

EXPORTED = Path(__file__).resolve().parents[1] / "deep" / "exported"
DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits.onnx"
RNG = np.random.default_rng(4)


def drawn(d=4, width=30, outputs=1, depth=2, activation="tanh"):
    """A network of plain layers."""
    layers, p = [], d
    for _ in range(depth):
        layers.append(zeroloss.Layer(RNG.normal(size=(width, p)) / np.sqrt(p), RNG.normal(size=width), activation))
        p = width
    return zeroloss.DeepNetwork(layers, RNG.normal(size=(outputs, p)) / np.sqrt(p), np.zeros(outputs))


def points(n=12, d=4, classes=2):
    return RNG.normal(size=(n, d)), np.arange(n) % classes


def forward(network, X):
    """What a network says, in NumPy."""
    phi = {"tanh": np.tanh, "relu": lambda z: np.maximum(z, 0), "identity": lambda z: z,
           "sigmoid": lambda z: 1 / (1 + np.exp(-z))}  # fmt: skip
    h = X - network.shift if network.shift.size else X
    h = h * network.factor if network.factor.size else h
    for layer in network.layers:
        a = phi[layer.activation](h @ layer.W.T + (layer.b if layer.b.size else 0))
        if layer.residual:
            a = a @ layer.U.T if layer.U.size else a
            a = h + layer.scale * (a + (layer.bU if layer.bU.size else 0))
        h = a
    return h @ network.V.T + (network.c if network.c.size else 0)


def test_a_network_of_arrays_is_what_they_say():
    plain = drawn(outputs=3)
    first = zeroloss.Layer(RNG.normal(size=(5, 4)), activation="identity")
    block = zeroloss.Layer(RNG.normal(size=(7, 5)), RNG.normal(size=7), "relu", residual=True,
                           U=RNG.normal(size=(5, 7)), bU=RNG.normal(size=5), scale=0.5)  # fmt: skip
    residual = zeroloss.DeepNetwork([first, block], RNG.normal(size=(2, 5)), shift=RNG.normal(size=4),
                                    factor=RNG.uniform(1, 2, 4))  # fmt: skip
    X, _ = points()
    for network in (plain, residual):
        assert_close(network(X), forward(network, X), network, X)
        twin = pickle.loads(pickle.dumps(network))
        np.testing.assert_array_equal(twin(X), network(X))
    assert repr(residual) == ("<network of a layer of 5 identity units, a layer of 7 relu residual units, 2 outputs, "
                              "112 weights>")  # fmt: skip
    assert (residual.d, residual.depth, residual.parameters, residual.task) == (4, 2, 112, "none")
    with pytest.raises(ValueError, match="read-only"):
        plain.layers[0].W[0, 0] = 1
    with pytest.raises(ValueError, match="layer 2: W takes 5 numbers, before it are 4"):
        zeroloss.DeepNetwork([zeroloss.Layer(np.ones((4, 3))), zeroloss.Layer(np.ones((4, 5)))], np.ones((1, 4)))
    with pytest.raises(ValueError, match="task must be"):
        zeroloss.DeepNetwork([first], np.ones((1, 5)), task="ranking")


@pytest.mark.parametrize("activation", ["tanh", "relu", "leaky_relu", "sin"])
def test_onnx_runtime_says_the_same(activation, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = RNG.normal(size=(20, 6))
    layers = [zeroloss.Layer(RNG.normal(size=(9, 7)), None, activation, 0.3, scale=0.3),
              zeroloss.Layer(RNG.normal(size=(8, 9)), RNG.normal(size=8), activation, 0.3, residual=True,
                             U=RNG.normal(size=(9, 8)), scale=0.7)]  # fmt: skip
    network = zeroloss.DeepNetwork(layers, RNG.normal(size=(2, 9)), constant=0.4, unit=True, shift=RNG.normal(size=6))
    network.export_onnx(tmp_path / "network.onnx")
    said = onnxruntime.InferenceSession(tmp_path / "network.onnx").run(None, {"x": X})[0]
    assert_close(said, network(X), network, X)


def test_the_tangent_kernel_is_that_of_differences():
    network, (X, _) = drawn(d=3, width=5, outputs=2), points(n=4, d=3)
    J, eps = [], 1e-6
    arrays = [(layer.W.copy(), layer.b.copy()) for layer in network.layers] + [(network.V.copy(), network.c.copy())]
    names = [layer.activation for layer in network.layers]

    def f(arrays):
        layers = [zeroloss.Layer(W, b, name) for (W, b), name in zip(arrays, names)]
        return zeroloss.DeepNetwork(layers, *arrays[-1])(X).ravel()

    for pair in arrays:
        for array in pair:
            for place in np.ndindex(array.shape):
                kept = array[place]
                array[place] = kept + eps
                up = f(arrays)
                array[place] = kept - eps
                J.append((up - f(arrays)) / (2 * eps))
                array[place] = kept
    J = np.array(J).T
    # An entry is off by the outputs' errors over eps, and as much again for what is cut off, some eps^2.
    off = rounding(network, X).max() / eps * np.sqrt(J.shape[1]) * 2 * np.linalg.norm(J, axis=1).max()
    np.testing.assert_allclose(network.tangent_kernel(X), J @ J.T, rtol=0, atol=off)
    hidden = J[:, : -network.V.size - network.c.size]
    np.testing.assert_allclose(network.tangent_kernel(X, layers="hidden"), hidden @ hidden.T, rtol=0, atol=off)
    with pytest.raises(ValueError, match="layers= must be"):
        network.tangent_kernel(X, layers="some")


def exported_kernels():
    """Files of PyTorch with J J^T of their points in all weights, by its autograd."""
    return sorted(file.name.removesuffix(".kernel.csv") for file in EXPORTED.glob("*.kernel.csv"))


@pytest.mark.parametrize("name", exported_kernels())
def test_what_is_given_is_a_network(name, tmp_path):
    lines = np.loadtxt(EXPORTED / f"{name}.csv", delimiter=",")
    X, f = lines[:, :5], lines[:, 5:]
    classes = max(f.shape[1], 2)
    y = np.arange(len(X)) % classes
    answer = zeroloss.prove(EXPORTED / f"{name}.onnx", X, y, class_names=range(classes))
    given = answer.given
    assert isinstance(given, zeroloss.DeepNetwork)
    assert_close(given.outputs(X), f, given, X)
    np.testing.assert_array_equal(given.outputs(X), given(X))
    assert np.abs(answer.networks[0].outputs - f).max() <= 2 * rounding(given, X).max()
    expected = np.loadtxt(EXPORTED / f"{name}.kernel.csv", delimiter=",")
    K = given.tangent_kernel(X)
    # Autograd's products and ours: of as many terms as there are weights, a few roundings in each factor.
    off = 8 * (given.parameters + 100) * U * np.trace(expected)
    np.testing.assert_allclose(K, expected, rtol=0, atol=off)
    operator = given.tangent_operator(X)
    assert operator.shape == K.shape and operator.dtype == np.float64
    np.testing.assert_allclose(operator @ np.eye(len(K)), expected, rtol=0, atol=off)
    np.testing.assert_allclose(operator.diagonal(), np.diag(expected), rtol=0, atol=off)
    v = RNG.normal(size=len(K))
    np.testing.assert_allclose(operator.matvec(v), expected @ v, rtol=0, atol=off * np.linalg.norm(v))
    for rows in (0, 1, given.V.shape[0], 7, 100):
        np.testing.assert_array_equal(np.vstack(list(given.tangent_kernel_strips(X, rows=rows))), K)
    operator.save(tmp_path / "ntk.npy", rows=3)
    saved = np.load(tmp_path / "ntk.npy", mmap_mode="r")
    np.testing.assert_array_equal(saved, K)
    assert [file.name for file in tmp_path.iterdir()] == ["ntk.npy"]
    for ending in ("onnx", "safetensors"):
        given.export(tmp_path / f"given.{ending}")
        assert_close(zeroloss.load(tmp_path / f"given.{ending}")(X), given(X), given, X)


def test_strips_products_and_files_say_what_does_not_fit(tmp_path):
    network, (X, _) = drawn(outputs=2), points(n=4)
    operator = network.tangent_operator(X, layers="hidden")
    np.testing.assert_array_equal(np.vstack(list(operator.strips())), network.tangent_kernel(X, layers="hidden"))
    assert repr(operator) == "<tangent kernel of 4 x 2 outputs, 8 x 8>"
    assert (operator @ np.ones((8, 3))).shape == (8, 3)
    scipy = pytest.importorskip("scipy.sparse.linalg")
    assert scipy.aslinearoperator(operator).matvec(np.ones(8)).shape == (8,)
    with pytest.raises(ValueError, match=r"is 8 x 8; got an array of \(3,\)"):
        operator @ np.ones(3)
    with pytest.raises(ValueError, match="rows must be at least 0; got -1"):
        operator.strips(rows=-1)
    with pytest.raises(ValueError, match="rows of points 0 to 3; got 2 from 3 on"):
        operator.rows(3, 2)
    with pytest.raises(ValueError, match=r"must end with \.npy"):
        operator.save(tmp_path / "ntk.npz")
    with pytest.raises(ValueError, match=r"must end with \.onnx or \.safetensors"):
        network.export(tmp_path / "network.pt")
    assert not list(tmp_path.iterdir())


def test_lambda_min_of_given_weights_is_proved():
    network, (X, _) = drawn(outputs=2, width=40), points(n=10)
    values = np.linalg.eigvalsh(network.tangent_kernel(X))
    found = network.lambda_min(X)
    assert found.verified and not found.reason
    # A goal: what the proof gives away is 1e-5 of it, and some units of the largest.
    assert 0.999 * values[0] < found.lambda_min <= values[0] + 1000 * U * values[-1]
    assert found.estimate == pytest.approx(values[0], rel=1e-5)  # Lanczos goes on to 1e-6
    assert repr(found).startswith("<lambda_min >= ")
    few = drawn(d=2, width=2, depth=1)
    singular = few.lambda_min(RNG.normal(size=(30, 2)))
    assert not singular.verified and singular.estimate == 0 and "30 rows and 9 columns" in singular.reason
    assert "an estimate" in repr(singular)


def test_what_is_given_is_a_graph_where_it_is_no_network_of_layers(tmp_path):
    W = RNG.normal(size=(2, 1, 3, 3))
    nodes = [onnx_file.Node("Reshape", ["x", "image"], "i"), onnx_file.Node("Conv", ["i", "W"], "c"),
             onnx_file.Node("Relu", ["c"], "r"), onnx_file.Node("Flatten", ["r"], "y")]  # fmt: skip
    constants = {"image": ("int64", [4], [-1, 1, 3, 3]), "W": ("float64", W.shape, W.ravel())}
    file = tmp_path / "conv.onnx"
    onnx_file.write(file, onnx_file.Graph("float64", 9, constants, nodes, {"y": "float64"}))
    X, y = points(n=6, d=9)
    expected = np.maximum(X @ W.reshape(2, 9).T, 0)
    answer = zeroloss.prove(file, X, y)
    for given in (answer.given, zeroloss.load(file)):
        assert isinstance(given, zeroloss.GraphNetwork) and "Conv" in given.not_layers
        f, error = given.verified_outputs(X)
        off = 20 * U * (np.abs(X) @ np.abs(W.reshape(2, 9)).T)  # of sums of nine products, there and here
        assert (np.abs(f - expected) <= error + off).all() and (error <= 10 * off).all()
        np.testing.assert_array_equal(given.outputs(X), f)
        np.testing.assert_array_equal(given(X), f)
        for function in (given.tangent_kernel, given.tangent_operator, given.tangent_kernel_strips, given.lambda_min):
            with pytest.raises(ValueError, match=r"needs a network of layers, and .*conv\.onnx is none: .*Conv"):
                function(X)
        given.export(tmp_path / "copy.onnx")
        assert (tmp_path / "copy.onnx").read_bytes() == file.read_bytes()
        np.testing.assert_array_equal(zeroloss.predict(given, X).outputs, f)
    with pytest.raises(zeroloss.DataError, match="its graph is not there"):
        pickle.loads(pickle.dumps(answer)).given.outputs(X)


@pytest.mark.parametrize("what", ["minus itself", "twice", "and its tanh", "and a skip", "behind a skip"])
def test_a_product_that_is_taken_twice_is_no_last_layer(tmp_path, what):
    (X, _), V = points(n=5, d=9), RNG.normal(size=(9, 2))
    nodes = [onnx_file.Node("Sin", ["x"], "s"), onnx_file.Node("Mul", ["s", "x"], "f"),
             onnx_file.Node("MatMul", ["f", "V"], "m")]  # fmt: skip
    constants = {"V": ("float64", V.shape, V.ravel())}
    other = {"minus itself": "Neg", "twice": "Identity", "and its tanh": "Tanh"}
    if (skip := what.endswith("a skip")):  # the other summand is no constant, and may stay as it is
        constants["U"] = ("float64", V.shape, V.ravel() / 2)
        nodes += [onnx_file.Node("MatMul", ["x", "U"], "p"), onnx_file.Node("Tanh", ["p"], "o"),
                  onnx_file.Node("Add", ["m", "o"] if what == "and a skip" else ["o", "m"], "y")]  # fmt: skip
    else:
        nodes += [onnx_file.Node(other[what], ["m"], "o"), onnx_file.Node("Add", ["m", "o"], "y")]
    file = tmp_path / "twice.onnx"
    onnx_file.write(file, onnx_file.Graph("float64", 9, constants, nodes, {"y": "float64"}))
    answer = zeroloss.prove(file, X, np.arange(5) % 2, polish=True)
    assert len(answer.networks) == (2 if skip else 1)
    assert answer.networks[-1].certificate.exists == skip
    assert answer.networks[-1].sharpening == 0  # outputs are not multiplied as the weights are
    answer.save(tmp_path / "run")
    assert (tmp_path / "run" / "polished.onnx").exists() == skip


@pytest.mark.parametrize(("how", "kind"), [("turned", "float32"), ("beside", "float64"), ("alone", "float64"),
                                           ("multiplied", "float32"), ("subtracted", "float64")])
def test_the_last_layer_of_a_graph_is_polished_in_closed_form(tmp_path, how, kind):
    X, K, y = np.float32(RNG.normal(size=(12, 9))).astype(float), 3, np.arange(12) % 3
    W, V, c = (RNG.normal(size=size).astype(kind).astype(float) for size in ((8, 1, 2, 2), (32, K), K))
    nodes = [onnx_file.Node("Reshape", ["x", "image"], "i"), onnx_file.Node("Conv", ["i", "W"], "c"),
             onnx_file.Node("Tanh", ["c"], "t"), onnx_file.Node("Flatten", ["t"], "f")]  # fmt: skip
    if how == "turned":
        nodes.append(onnx_file.Node("Gemm", ["f", "V", "c_"], "y", {"transB": 1}))
    elif how == "multiplied":
        nodes += [onnx_file.Node("Gemm", ["f", "V", "c_"], "g", {"alpha": 0.75, "beta": 2.5}),
                  onnx_file.Node("Mul", ["g", "two"], "m"), onnx_file.Node("Identity", ["m"], "k"),
                  onnx_file.Node("Reshape", ["k", "row"], "y")]  # fmt: skip
    elif how == "subtracted":
        nodes += [onnx_file.Node("MatMul", ["f", "V"], "m"), onnx_file.Node("Sub", ["c_", "m"], "s"),
                  onnx_file.Node("Neg", ["s"], "y")]  # fmt: skip
    elif how == "beside":
        nodes += [onnx_file.Node("MatMul", ["f", "V"], "m"), onnx_file.Node("Add", ["c_", "m"], "y")]
    else:
        nodes.append(onnx_file.Node("MatMul", ["f", "V"], "y"))
    held = V.T if how == "turned" else V
    constants = {"image": ("int64", [4], [-1, 1, 3, 3]), "W": (kind, W.shape, W.ravel()),
                 "V": (kind, held.shape, held.ravel()), "c_": (kind, [K], c), "two": (kind, [1], [-2.0]),
                 "row": ("int64", [2], [-1, K])}  # fmt: skip
    scale, scale_of_bias = {"multiplied": (-1.5, -5), "subtracted": (1, -1)}.get(how, (1, 1))
    file = tmp_path / "conv.onnx"
    onnx_file.write(file, onnx_file.Graph(kind, 9, constants, nodes, {"y": kind}))
    given, polished = (answer := zeroloss.prove(file, X, y, polish=True, layers="last1")).networks
    assert polished.right == 12 and polished.certificate.exists and given.certificate.exists
    # The least change by numpy: features by the windows of each image.
    windows = np.stack([X.reshape(-1, 3, 3)[:, i : i + 2, j : j + 2].reshape(-1, 4) for i in (0, 1) for j in (0, 1)])
    Z = scale * np.tanh(np.einsum("wnp,kp->nkw", windows, W.reshape(8, 4))).reshape(12, 32)
    Y = 2.0 * (y[:, None] == np.arange(K)) - 1
    F = Z @ V
    if how != "alone":
        Z, F = np.hstack([Z, np.full((12, 1), scale_of_bias)]), F + scale_of_bias * c
    change = np.linalg.pinv(Z) @ (Y - F)
    u, condition = np.finfo(kind).eps / 2, np.linalg.cond(Z) ** 2
    moved = np.linalg.norm(V) + np.linalg.norm(change) + np.linalg.norm(c)
    # Its numbers are rounded, and the distance up by 1e-9; Z Z^T loses the square of the condition.
    assert abs(answer.distance - np.linalg.norm(change)) <= (u + 2e-9 + 100 * U * condition) * moved
    # A goal: the proof gives away a thousandth.
    radius = np.linalg.norm(F - Y) / np.linalg.norm(Z, -2)
    assert radius * (1 - 1e-9) <= given.certificate.radius <= 1.001 * radius
    off = u * np.linalg.norm(Z) * moved + 200 * U * (np.linalg.norm(Z) * moved + np.linalg.norm(Y))
    assert polished.misfit <= off
    assert polished.certificate.radius <= 1.001 * polished.misfit / np.linalg.norm(Z, -2)
    # Files of it are read again, and other programs run them.
    answer.polished.export(tmp_path / "polished.onnx")
    answer.save(tmp_path / "run")
    np.testing.assert_array_equal(zeroloss.predict(answer, X).outputs, answer.polished(X))
    written = (tmp_path / "run" / "polished.onnx").read_bytes()
    assert written == (tmp_path / "polished.onnx").read_bytes() != file.read_bytes()
    again = zeroloss.prove(tmp_path / "polished.onnx", X, y).networks[0]
    assert (again.right, again.misfit) == (12, polished.misfit)
    if kind == "float32":  # in which onnxruntime has convolutions
        session = pytest.importorskip("onnxruntime").InferenceSession(tmp_path / "polished.onnx")
        said = session.run(None, {"x": np.float32(X)})[0]
        sums = (np.abs(Z) @ np.abs(change) + np.abs(Z[:, :32]) @ np.abs(V)).max() + np.abs(scale_of_bias * c).max()
        assert np.abs(said - Y).max() <= off + 100 * u * sums  # sums of 33 products, features to some units
    with pytest.raises(ValueError, match="whose last layer was moved"):
        answer.polished.export(file)
    with pytest.raises(zeroloss.DataError, match="pickled without graphs"):
        assert pickle.loads(pickle.dumps(answer)).polished
    if kind == "float32":
        executed = zeroloss.prove(file, X, y, polish=True, execution="float32").executed
        assert executed.right == 12 and zeroloss.prove(file, X, y, execution="float32").executed.right < 12
    few = zeroloss.prove(file, RNG.normal(size=(40, 9)), np.arange(40) % K, polish=True)
    assert len(few.networks) == 1 and any("not polished" in said for said in few.remarks)
    with pytest.raises(ValueError, match=r"layers='all' is for networks of layers, and .*conv\.onnx is none"):
        zeroloss.prove(file, X, y, layers="all")


@pytest.mark.parametrize("order", [["w", "d"], ["d", "w"]])
@pytest.mark.parametrize("op", ["Add", "Sub"])
def test_the_last_layer_with_the_most_features_moves(tmp_path, order, op):
    H, V, W = (RNG.normal(size=size) for size in ((3, 40), (40, 2), (3, 2)))
    nodes = [onnx_file.Node("MatMul", ["x", "H"], "h"), onnx_file.Node("Mul", ["h", "h"], "f"),
             onnx_file.Node("MatMul", ["f", "V"], "d"), onnx_file.Node("MatMul", ["x", "W"], "w"),
             onnx_file.Node(op, order, "s"), onnx_file.Node("Identity", ["constant"], "c"),
             onnx_file.Node("MatMul", ["c", "T"], "t"), onnx_file.Node("Add", ["t", "s"], "y")]  # fmt: skip
    constants = {name: ("float64", value.shape, value.ravel()) for name, value in (("H", H), ("V", V), ("W", W))}
    constants |= {"constant": ("float64", [1, 1], [2.0]), "T": ("float64", [1, 2], [0.5, 1.0])}
    file = tmp_path / "wide_and_deep.onnx"
    onnx_file.write(file, onnx_file.Graph("float64", 3, constants, nodes, {"y": "float64"}))
    X, y = RNG.normal(size=(6, 3)), np.arange(6) % 2
    answer = zeroloss.prove(file, X, y, polish=True)
    assert answer.networks[-1].which == "polished" and answer.networks[-1].right == 6
    s = np.linalg.svd((X @ H) ** 2, compute_uv=False)
    goal = 1e-3  # what the proof gives away
    found = answer.networks[0].certificate.lambda_min
    assert found == pytest.approx(s[-1] ** 2, rel=goal + 100 * U * (s[0] / s[-1]) ** 2)


def test_the_constant_that_fits_counts_as_a_feature(tmp_path):
    A, V, b = (RNG.normal(size=size) for size in ((3, 6), (6, 2), (2,)))
    nodes = [onnx_file.Node("MatMul", ["x", "A"], "a"), onnx_file.Node("Sin", ["a"], "s"),
             onnx_file.Node("Mul", ["a", "s"], "f"), onnx_file.Node("Gemm", ["f", "V", "one"], "m"),
             onnx_file.Node("Add", ["m", "b"], "y")]  # fmt: skip
    constants = {name: ("float64", value.shape, value.ravel()) for name, value in (("A", A), ("V", V), ("b", b))}
    constants["one"] = ("float64", [1], [1.0])
    file = tmp_path / "two.onnx"
    onnx_file.write(file, onnx_file.Graph("float64", 3, constants, nodes, {"y": "float64"}))
    answer = zeroloss.prove(file, RNG.normal(size=(7, 3)), np.arange(7) % 2, polish=True)
    assert answer.networks[-1].which == "polished" and answer.networks[-1].right == 7
    assert answer.networks[-1].sharpening == 0  # the other constant is not multiplied


def test_a_linear_model_is_its_own_last_layer(tmp_path):
    W, b = RNG.normal(size=(5, 3)), RNG.normal(size=3)
    file = tmp_path / "linear.onnx"
    constants = {"W": ("float64", W.shape, W.ravel()), "b": ("float64", [3], b)}
    onnx_file.write(file, onnx_file.Graph("float64", 5, constants, [onnx_file.Node("Gemm", ["x", "W", "b"], "y")],
                                          {"y": "float64"}))  # fmt: skip
    X, y = RNG.normal(size=(6, 5)), np.arange(6) % 3
    answer = zeroloss.prove(file, X, y, polish=True)
    given, polished = answer.networks
    Z, Y = np.hstack([X, np.ones((6, 1))]), 2.0 * (y[:, None] == np.arange(3)) - 1
    change, condition = np.linalg.solve(Z, Y - X @ W - b), np.linalg.cond(Z) ** 2
    assert answer.distance == pytest.approx(np.linalg.norm(change), rel=2e-9 + 100 * U * condition)
    assert polished.right == 6 and polished.misfit < 100 * U * condition * (np.linalg.norm(Z) + 1)
    # A goal: the proof gives away a thousandth.
    assert given.certificate.radius == pytest.approx(
        np.linalg.norm(Y - X @ W - b) / np.linalg.norm(Z, -2), rel=1e-3 + 100 * U * condition
    )
    many = zeroloss.prove(file, RNG.normal(size=(20, 5)), np.arange(20) % 3)
    assert "can have almost no labels of 20 points, since it has 6 features" in many.networks[0].certificate.reason


def test_a_probability_is_decided_at_a_half_or_where_it_is_said(tmp_path):
    W, (X, y) = RNG.normal(size=(1, 1, 3, 3)), points(n=40, d=9)
    score = X @ W.ravel()
    p = 1 / (1 + np.exp(-score))
    constants = {"image": ("int64", [4], [-1, 1, 3, 3]), "W": ("float64", W.shape, W.ravel()),
                 "one": ("float64", [1], [1.0])}  # fmt: skip
    nodes = [onnx_file.Node("Reshape", ["x", "image"], "i"), onnx_file.Node("Conv", ["i", "W"], "c"),
             onnx_file.Node("Flatten", ["c"], "s"), onnx_file.Node("Sigmoid", ["s"], "p")]  # fmt: skip
    known, hidden = tmp_path / "known.onnx", tmp_path / "hidden.onnx"
    onnx_file.write(known, onnx_file.Graph("float64", 9, constants, nodes, {"p": "float64"}))
    nodes = [*nodes, onnx_file.Node("Mul", ["p", "one"], "y")]
    onnx_file.write(hidden, onnx_file.Graph("float64", 9, constants, nodes, {"y": "float64"}))
    answer = zeroloss.prove(known, X, y)
    assert answer.networks[0].right == np.sum((p > 0.5) == y)
    assert any("end with a sigmoid: a sample is taken for 1 where that exceeds 0.5" in said for said in answer.remarks)
    assert zeroloss.prove(known, X, y, threshold=0.7).networks[0].right == np.sum((p > 0.7) == y)
    answer = zeroloss.prove(hidden, X, y)
    assert answer.networks[0].right == np.sum(y == 1)
    assert any("no output is below 0" in said and "threshold=0.5" in said for said in answer.remarks)
    answer = zeroloss.prove(hidden, X, y, threshold=0.5)
    assert answer.networks[0].right == np.sum((p > 0.5) == y)
    assert not any("no output is below 0" in said for said in answer.remarks)


@pytest.mark.parametrize("d", [2, None])
def test_predictions_of_a_graph_are_called_what_its_file_calls_them(tmp_path, d):
    nodes = [onnx_file.Node("Mul", ["x", "x"], "s"),
             onnx_file.Node("ArgMax", ["s"], "k", {"axis": 1, "keepdims": 0}),
             onnx_file.Node("ArrayFeatureExtractor", ["names", "k"], "label")]  # fmt: skip
    constants = {"names": ("text", [2], ["dog", "cat"])}
    file = tmp_path / "names.onnx"
    onnx_file.write(file, onnx_file.Graph("float64", d, constants, nodes, {"label": "text", "s": "float64"}))
    X = np.array([[2.0, 1], [1, 2], [3, 0], [0, 1]])
    answer = zeroloss.predict(file, X, ["dog", "cat", "dog", "cat"])
    assert list(answer.predictions) == ["dog", "cat", "dog", "cat"] and answer.error == 0


def test_outputs_that_nobody_names_are_compared_in_the_order_of_the_data(tmp_path):
    file, probability = tmp_path / "nobody.onnx", tmp_path / "probability.onnx"
    nodes = [onnx_file.Node("Mul", ["x", "x"], "y")]
    onnx_file.write(file, onnx_file.Graph("float64", 2, {}, nodes, {"y": "float64"}))
    X, y = np.array([[2.0, 1], [1, 2], [3, 0]]), ["a", "b", "b"]
    answer = zeroloss.predict(file, X, y)
    assert list(answer.predictions) == ["a", "b", "a"] and answer.error == pytest.approx(1 / 3)
    assert any("outputs 0 to 1 are a, b: the order of the classes of" in said for said in answer.notes)
    assert zeroloss.predict(file, X, y, class_names=["b", "a"]).error == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="class_names= names 3 classes for 2 outputs"):
        zeroloss.predict(file, X, y, class_names=["b", "a", "c"])
    few = zeroloss.predict(file, X, ["a", "b", "c"])
    assert few.error is None and any("labels are not compared with" in said for said in few.notes)
    nodes = [onnx_file.Node("Mul", ["x", "x"], "s"), onnx_file.Node("Sigmoid", ["s"], "y")]
    onnx_file.write(probability, onnx_file.Graph("float64", 1, {}, nodes, {"y": "float64"}))
    chance = zeroloss.predict(probability, X[:, :1], [0.5, 0.25, 0.125], task="regression")
    assert chance.error is None and any("the output is what stands before" in said for said in chance.notes)


def test_files_of_other_programs_are_loaded(tmp_path):
    network = zeroloss.load(DIGITS)
    assert isinstance(network, zeroloss.DeepNetwork) and network.V.shape == (10, 256)
    data = zeroloss.read_dataset("digits", n=50)
    said = zeroloss.predict(DIGITS, data.X / 16)
    np.testing.assert_array_equal(said.outputs, network(data.X / 16))
    with pytest.raises(zeroloss.DataError, match=r"absent\.onnx: no such file"):
        zeroloss.load("absent.onnx")
    (tmp_path / "model.pt").write_bytes(b"no")
    with pytest.raises(zeroloss.DataError, match="is named as a pickle"):
        zeroloss.load(tmp_path / "model.pt")
    safetensors = pytest.importorskip("safetensors.numpy")
    W, V = RNG.normal(size=(5, 4)), RNG.normal(size=(2, 5))
    safetensors.save_file({"fc1.weight": W, "fc2.weight": V}, tmp_path / "state.safetensors")
    with pytest.raises(ValueError, match="activation"):
        zeroloss.load(tmp_path / "state.safetensors")
    X, _ = points()
    state = zeroloss.load(tmp_path / "state.safetensors", activation="tanh")
    assert_close(state(X), np.tanh(X @ W.T) @ V.T, state, X)


def test_a_threshold_decides_labels_of_a_single_output():
    network, (X, y) = drawn(), points(n=30)
    f = network(X)[:, 0]
    answer = zeroloss.prove(network, X, y, threshold=0.25)
    assert answer.networks[0].right == np.sum((f > 0.25) == y)
    with pytest.raises(ValueError, match="threshold= is for a single output"):
        zeroloss.prove(drawn(outputs=2), X, y, threshold=0.25)


def test_a_polished_network_is_exact_where_it_is_said(tmp_path):
    network, (X, y) = drawn(outputs=3, width=80), points(classes=3)
    result = zeroloss.prove(network, X, y, polish=True)
    given, polished = result.networks
    assert (given.which, polished.which) == ("given", "polished")
    assert polished.right == len(X) and polished.certificate.exists
    Y = 2.0 * (y[:, None] == np.arange(3)) - 1
    assert np.linalg.norm(result.polished(X) - Y) <= polished.misfit <= 1e-9  # of a bound: far below labels
    assert list(result.to_frame().which) == ["given", "polished"]
    said = zeroloss.predict(result, X, [str(label) for label in y])
    assert list(said.predictions) == [str(label) for label in y] and said.error == 0
    result.save(tmp_path / "run")
    np.testing.assert_array_equal(zeroloss.load(tmp_path / "run")(X), result.polished(X))
    again = zeroloss.prove(tmp_path / "run", X, y)
    assert again.networks[0].certificate.exists and again.polished is None
    command = json.loads((tmp_path / "run" / "manifest.json").read_text())["command"]
    assert command == ["zeroloss.prove(network, X, y, polish=True)"]
    with pytest.raises(ValueError, match="no polished network; its `given`"):
        zeroloss.predict(again, X)
    zeroloss.load(tmp_path / "run").export_onnx(tmp_path / "polished.onnx")
    assert zeroloss.prove(tmp_path / "polished.onnx", X, y).networks[0].certificate.exists


def test_pickles_keep_the_whole_mean():
    X = 1e10 + RNG.normal(size=(12, 3))
    network = zeroloss.fit(X, RNG.normal(size=12), center=True, depth=2, width=30, activation="tanh",
                           optimizer="gauss_newton", seed=1).network  # fmt: skip
    assert network.shift_low.any()
    twin = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(twin.shift_low, network.shift_low)
    np.testing.assert_array_equal(twin(X), network(X))
    again = zeroloss.DeepNetwork(network.layers, network.V, shift=network.shift, shift_low=network.shift_low,
                                 factor=network.factor, constant=network.constant, unit=network.unit)  # fmt: skip
    np.testing.assert_array_equal(again(X), network(X))


def test_results_pickle_with_the_graph_they_came_from(tmp_path):
    data = zeroloss.read_dataset("digits", n=20)
    result = zeroloss.prove(DIGITS, data, divide=16.0, polish=True)
    twin = pickle.loads(pickle.dumps(result))
    assert str(twin) == str(result) and twin.to_dict() == result.to_dict()
    for name, one in (("one", result), ("other", twin)):
        one.save(tmp_path / name)
    for file in ("model.safetensors", "polished.onnx"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()
    told = [json.loads((tmp_path / name / "result.json").read_text()) for name in ("one", "other")]
    assert all(one.pop("seconds") > 0 for one in told)  # with those of judging what was written
    assert told[0] == told[1]


def test_fewer_classes_than_outputs_have_to_be_named():
    network, (X, y) = drawn(outputs=5), points(classes=3)
    right = int(np.sum(np.argmax(network(X), axis=1) == y))
    numbered = zeroloss.prove(network, X, y)  # 0 among them: they count from 0
    assert numbered.networks[0].right == right
    assert "outputs 0 to 4 are 0, 1, 2, 3, 4: the labels of X, y (0, 1, 2) are such numbers" in numbered.remarks[0]
    for labels, asked in ((y + 1, r"range\(5\)"), ([f"class {label}" for label in y], "")):
        said = rf"3 classes .*, but the network has 5 outputs .* class_names={asked}"
        with pytest.raises(zeroloss.DataError, match=said):
            zeroloss.prove(network, X, labels)
    for names in (range(5), np.arange(5.0), ["0..4"], "01234"[:5]):
        if isinstance(names, str):
            with pytest.raises(TypeError, match="class_names has to be a list"):
                zeroloss.prove(network, X, y, class_names=names)
            continue
        result = zeroloss.prove(network, X, y, class_names=names)
        assert result.networks[0].right == right and not result.remarks
    one = zeroloss.prove(network, X[:1], y[:1], class_names=range(5))
    assert one.networks[0].right == int(np.argmax(network(X[:1])) == y[0])


def test_a_data_set_knows_the_classes_of_its_source():
    network, (X, _) = drawn(outputs=3), points(classes=3)
    y = np.repeat([1, 2, 3], 4)
    right = np.argmax(network(X), axis=1) + 1 == y
    for read, kept in (({}, slice(None)), ({"n": 8}, slice(8)), ({"classes": [2, 3]}, slice(4, None))):
        data = pickle.loads(pickle.dumps(zeroloss.read_dataset(X, y, **read)))
        assert data.source_classes == ["1", "2", "3"]
        result = zeroloss.prove(network, data)
        assert result.networks[0].right == int(np.sum(right[kept]))
        assert "outputs 0 to 2 are 1, 2, 3" in result.remarks[0]


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_networks_of_scikit_learn(activation, classes):
    networks = pytest.importorskip("sklearn.neural_network")
    X, y = points(n=30, classes=classes or 2)
    kind = networks.MLPClassifier if classes else networks.MLPRegressor
    model = kind(hidden_layer_sizes=(20, 15), activation=activation, max_iter=5, random_state=0)
    with pytest.warns(UserWarning):  # it has not converged
        model.fit(X, y if classes else y + X[:, 0])
    read = network_of("prove", model)[0].network
    assert_close(read(X), forward(read, X), read, X)
    if classes == 0:
        assert_close(read(X), model.predict(X)[:, None], read, X)
        result = zeroloss.prove(model, X, y + X[:, 0])
    else:
        log_odds = model.predict_log_proba(X)
        expected = log_odds[:, 1:] - log_odds[:, :1]
        outputs = read(X)
        off = 2 * rounding(read, X).max() + 8 * U / np.exp(log_odds).min()  # their logarithms are of sums to 1
        np.testing.assert_allclose(outputs[:, -expected.shape[1] :] - (outputs[:, :1] if classes > 2 else 0), expected,
                                   rtol=0, atol=off)  # fmt: skip
        result = zeroloss.prove(model, X, y)
        assert result.networks[0].right == int(np.sum(model.predict(X) == y))
        with pytest.raises(zeroloss.DataError, match="class 'x' is none of those"):
            zeroloss.prove(model, X, [("x", "1", "2")[label] for label in y])
    assert result.n == 30


def test_several_targets_are_those_of_the_outputs():
    pytest.importorskip("sklearn")
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.preprocessing import StandardScaler

    X, _ = points(n=30)
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 2, np.round(X[:, 2])])
    small = {"hidden_layer_sizes": (60,), "activation": "tanh", "solver": "lbfgs", "max_iter": 30, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has not converged
        model = MLPRegressor(**small).fit(X, Y)
        scaled = TransformedTargetRegressor(MLPRegressor(**small), transformer=StandardScaler()).fit(X, Y)
    result = zeroloss.prove(model, X, Y, polish=True)
    read = network_of("prove", model)[0].network
    largest = np.abs(model.predict(X) - Y).max()
    up = 2.0**-28  # bounds are rounded up by 2^-30 of themselves, some times
    assert abs(result.networks[0].largest_error - largest) <= 3 * rounding(read, X).max() + up * largest
    assert result.networks[-1].certificate.exists
    np.testing.assert_allclose(result.polished(X), Y, rtol=0, atol=2 * result.networks[-1].largest_error)
    result = zeroloss.prove(scaled, X, Y)
    read = network_of("prove", scaled)[0].network
    wanted = StandardScaler().fit_transform(Y)
    largest = np.abs(read(X) - wanted).max()
    off = 3 * rounding(read, X).max() + 200 * U * np.abs(wanted).max()  # a scaler rounds a mean of 30, a deviation
    assert abs(result.networks[0].largest_error - largest) <= off + up * largest
    pandas = pytest.importorskip("pandas")
    frame = zeroloss.prove(model, X, pandas.DataFrame(Y, columns=["u", "v", "w"]))
    assert frame.networks[0].largest_error == zeroloss.prove(model, X, Y).networks[0].largest_error
    with pytest.raises(zeroloss.DataError, match="2 numbers a sample, but the network has 3 outputs"):
        zeroloss.prove(model, X, Y[:, :2])
    for one in (Y[:, 0], Y[:, :1]):
        with pytest.raises(zeroloss.DataError, match="one number a sample, but the network has 3 outputs"):
            zeroloss.prove(model, X, one)
    with pytest.raises(ValueError, match="y has no columns"):
        zeroloss.prove(model, X, Y[:, :0])
    with pytest.raises(ValueError, match="y has several columns"):
        zeroloss.prove(model, X, Y, task="classification")


def test_scalers_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    X, _ = points(n=30)
    X = 3 * X + 100
    y = np.sin(X[:, 0])
    small = {"hidden_layer_sizes": (9,), "solver": "lbfgs", "max_iter": 4000, "random_state": 0}
    for scaler in (StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), MaxAbsScaler(),
                   MinMaxScaler(), MinMaxScaler((-1, 3)), RobustScaler(), RobustScaler(with_centering=False),
                   RobustScaler(with_scaling=False), "passthrough"):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(scaler, MLPRegressor(**small)).fit(X, y)
        read, name, subject = network_of("prove", model)
        assert_close(read.network(X), model.predict(X)[:, None], read.network, X)
        assert (name, subject) == ("Pipeline", "model")
    last = MLPRegressor(**small)
    for kind in (np.float32, np.float64):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it has not converged
            adam = MLPRegressor(hidden_layer_sizes=(9,), max_iter=2)
            model = make_pipeline(MaxAbsScaler(), StandardScaler(), adam).fit(X.astype(kind), y.astype(kind))
        assert ("in float32" in str(zeroloss.prove(model, X.astype(kind), y))) == (kind == np.float32)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(StandardScaler(), last).fit(frame, y)
    zeroloss.prove(model, frame, y)
    with pytest.raises(ValueError, match="columns of the data are not those"):
        zeroloss.prove(model, frame[list("dcba")], y)
    counts = MLPRegressor(hidden_layer_sizes=(9,), loss="poisson", max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three steps: which minimum a fit finds, or overflows before, is the machine's
        counts.fit((X - 100) / 3, y + 2)
    with pytest.raises(ValueError, match="go through exp"):
        zeroloss.prove(counts, X, y)
    with pytest.raises(ValueError, match="it is not fitted"):
        zeroloss.prove(MLPRegressor(), X, y)


def pipelines():
    """Names of steps that scikit-learn applies, what is before an MLP, and the points."""
    from sklearn.compose import ColumnTransformer
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

    X = 3 * RNG.normal(size=(40, 3)) + 5
    holes = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    kinds = np.hstack([X, RNG.integers(3, size=(40, 1))])
    columns = ColumnTransformer([("number", make_pipeline(SimpleImputer(), StandardScaler()), [0, 2]),
                                 ("kind", OneHotEncoder(), [3])], sparse_threshold=1)  # fmt: skip
    yield "PCA", lambda mlp: make_pipeline(PCA(2), mlp), X
    yield "MinMaxScaler", lambda mlp: make_pipeline(MinMaxScaler(clip=True), mlp), X
    yield "SimpleImputer", lambda mlp: make_pipeline(SimpleImputer(), StandardScaler(), mlp), holes
    yield "FunctionTransformer, RobustScaler, PCA", lambda mlp: Pipeline(
        [("first", make_pipeline(FunctionTransformer(np.tanh), RobustScaler(), "passthrough")), ("none", "passthrough"),
         ("second", make_pipeline(PCA(), StandardScaler(), mlp))]), X  # fmt: skip
    yield "ColumnTransformer", lambda mlp: make_pipeline(columns, mlp), kinds
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(kinds, columns=list("abcd"))
    framed = ColumnTransformer([("number", SimpleImputer(), ["a", "c"]), ("kind", OneHotEncoder(sparse_output=False),
                                ["d"])]).set_output(transform="pandas")  # fmt: skip
    yield "ColumnTransformer", lambda mlp: make_pipeline(framed, MinMaxScaler(), mlp), table
    search = {"mlp__max_iter": [2, 3]}
    yield "PCA", lambda mlp: GridSearchCV(Pipeline([("pca", PCA()), ("mlp", mlp)]), search, cv=2), X
    yield "PCA", lambda mlp: make_pipeline(
        PCA(), RandomizedSearchCV(mlp, {"max_iter": [2, 3]}, n_iter=1, cv=2)), X  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # they have not converged
@pytest.mark.parametrize("kind", ["MLPClassifier", "MLPRegressor"])
def test_pipelines_of_scikit_learn_are_what_they_predict(kind):
    networks = pytest.importorskip("sklearn.neural_network")
    y = RNG.choice(["no", "yes", "so so"], size=40) if kind == "MLPClassifier" else RNG.normal(size=40)
    for steps, made, X in pipelines():
        model = made(getattr(networks, kind)(hidden_layer_sizes=(9,), max_iter=3, random_state=0)).fit(X, y)
        answer = zeroloss.prove(model, X, y)
        assert f"note: proved for the points as the pipeline made them: {steps}\n" in str(answer)
        outputs, predicted = answer.networks[0].outputs, model.predict(X)
        if kind == "MLPClassifier":
            assert answer.networks[0].right == np.sum(predicted == y)
            assert network_of("prove", model)[0].network.class_names == list(model.classes_)
            np.testing.assert_array_equal(model.classes_[outputs.argmax(axis=1)], predicted)
        else:
            network, points = network_of("prove", model)[0].network, as_made("prove", model, X, y)[0]
            assert_close(outputs, predicted[:, None], network, points)
        with pytest.raises(TypeError, match=f"scikit-learn applies {steps} before the network: give X and y"):
            zeroloss.prove(model, "points.csv")
        with pytest.raises(ValueError, match="cannot be applied to the data: "):
            zeroloss.prove(model, X[:, :1] if isinstance(X, np.ndarray) else X[["a"]], y)


@pytest.mark.filterwarnings("ignore")  # they have not converged
def test_targets_that_scikit_learn_transforms():
    pytest.importorskip("sklearn")
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, z = RNG.normal(size=(30, 3)), RNG.uniform(1, 100, size=30)
    mlp = MLPRegressor(hidden_layer_sizes=(9,), max_iter=3, random_state=0)
    whole = TransformedTargetRegressor(make_pipeline(StandardScaler(), mlp), transformer=StandardScaler())
    last = TransformedTargetRegressor(mlp, transformer=StandardScaler())
    for model in (whole, make_pipeline(StandardScaler(), last)):
        answer = zeroloss.prove(model.fit(X, z), X, z)
        assert "note: proved for the targets as they were transformed: StandardScaler\n" in str(answer)
        target = model if model is whole else model[-1]
        network = network_of("prove", model)[0].network
        expected = target.transformer_.transform(model.predict(X)[:, None])
        off = rounding(network, X) + 8 * U * (np.abs(expected) + z.mean() / z.std())  # there and back
        assert (np.abs(answer.networks[0].outputs - expected) <= off).all()
        alone = zeroloss.prove(network, X, target.transformer_.transform(z[:, None])[:, 0])
        assert answer.networks[0].misfit == alone.networks[0].misfit


@pytest.mark.filterwarnings("ignore")  # they have not converged
def test_estimators_that_are_no_networks_are_refused_by_name():
    pytest.importorskip("sklearn")
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = points(n=20)
    mlp = MLPClassifier((5,), max_iter=2, random_state=0).fit(X, y)
    for model, words in (
        (RandomForestClassifier(2).fit(X, y), "TreeEnsembleClassifier.*forests and boosted trees are no networks"),
        (make_pipeline(StandardScaler(), PCA()), "a PCA is neither .*; skl2onnx cannot write it: "),
        (GridSearchCV(MLPClassifier(), {}), "the GridSearchCV has no best_estimator_: it is not fitted"),
        (make_pipeline(StandardScaler(), mlp), "its StandardScaler is not fitted"),
        (make_pipeline(PCA(), mlp), "PCA cannot be applied to the data: This PCA instance is not fitted yet"),
        (Pipeline([("none", "passthrough")]), "it is empty"),
    ):
        with pytest.raises(ValueError, match=words):
            zeroloss.prove(model, X, y)


def test_estimators_without_hidden_layers_are_graphs():
    pytest.importorskip("skl2onnx")
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(30, 6)), rng.integers(3, size=30)
    for model in (LogisticRegression(C=0.1), make_pipeline(StandardScaler(), PCA(4), LogisticRegression())):
        model.fit(X, y)
        answer = zeroloss.prove(model, X, y)
        assert answer.networks[0].right == np.sum(model.predict(X) == y)
        assert 0 < answer.networks[0].right < 30
        # Its numbers are doubles, of which the file keeps all, or floats.
        scores = model.decision_function(X)
        np.testing.assert_allclose(answer.networks[0].outputs, scores, rtol=0, atol=6e-8 * 20 * np.abs(scores).max())
        assert "is proved as the graph that skl2onnx writes of it" in str(answer)
    z = rng.normal(size=30)
    ridge = Ridge().fit(X, z)
    answer = zeroloss.prove(ridge, X, z, task="regression")
    largest = np.abs(ridge.predict(X) - z).max()
    assert largest <= answer.networks[0].largest_error <= largest * (1 + 1e-6)


def test_what_would_read_another_estimator_is_named(monkeypatch):
    pytest.importorskip("sklearn")
    from sklearn.linear_model import Ridge

    from zeroloss.api import exported

    X, y = points(n=20)
    monkeypatch.setattr(exported.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"Ridge has no hidden layer; .* pip install onnx skl2onnx"):
        zeroloss.prove(Ridge().fit(X, y), X, y)


def test_one_hot_targets_are_classes():
    network, (X, y) = drawn(outputs=3), points(classes=3)
    right = int(np.sum(np.argmax(network(X), axis=1) == y))
    Y = np.eye(3)[y]
    for given in (Y, Y.astype(bool), Y.astype(int).tolist()):
        assert zeroloss.prove(network, X, given).networks[0].right == right
    named = zeroloss.prove(network, X[:1], Y[:1], class_names=["a", "b", "c"])
    assert named.networks[0].right == int(np.argmax(network(X[:1])) == y[0])
    sign = drawn()
    answer = zeroloss.prove(sign, X, np.eye(2)[y % 2], class_names=["below", "above"])
    assert answer.networks[0].right == np.sum((sign(X)[:, 0] > 0) == y % 2)
    with pytest.raises(ValueError, match=r"y has a column for each of 4 classes; the outputs are \['0', '1', '2'\]"):
        zeroloss.prove(network, X, np.eye(4)[y])
    for numbers in (2 * Y, Y + Y[::-1]):  # are not one-hot
        found = zeroloss.prove(network, X, numbers).networks[0].largest_error
        largest = np.abs(network(X) - numbers).max()
        assert abs(found - largest) <= 3 * rounding(network, X).max() + 2.0**-28 * largest
    column, flat = zeroloss.prove(network, X, Y[:, :1]), zeroloss.prove(network, X, Y[:, 0])
    assert column.networks[0].right == flat.networks[0].right


@pytest.mark.parametrize(("ending", "advice"), [("pt", "save_file"), ("PTH", r"torch\.onnx\.export"),
                                                ("joblib", r"prove\(joblib\.load\("), ("pkl", "if you trust it"),
                                                ("pickle", "joblib")])  # fmt: skip
def test_pickles_are_not_opened(ending, advice, tmp_path):
    X, y = points()
    with pytest.raises(zeroloss.DataError, match="no such file"):
        zeroloss.prove(tmp_path / f"model.{ending}", X, y)
    (tmp_path / f"model.{ending}").write_bytes(pickle.dumps([1]))
    with pytest.raises(zeroloss.DataError, match=rf"model\.{ending} is named as a pickle, .*{advice}"):
        zeroloss.prove(tmp_path / f"model.{ending}", X, y)


def test_what_is_no_network_is_refused():
    X, y = points()
    with pytest.raises(TypeError, match=r"model has to be a path, .* got list"):
        zeroloss.prove([1, 2], X, y)
    with pytest.raises(ValueError, match="activation is for a file with a state_dict"):
        zeroloss.prove(drawn(), X, y, activation="relu")
    with pytest.raises(zeroloss.DataError, match=r"absent\.onnx: no such file"):
        zeroloss.prove("absent.onnx", X, y)
    with pytest.raises(zeroloss.DataError, match="points have 3 features, the network takes 4"):
        zeroloss.prove(drawn(), X[:, :3], y)
    with pytest.raises(ValueError, match="divide"):
        zeroloss.prove(drawn(), X, y, divide=0.0)


def test_what_fit_trained_is_proved_with_its_columns():
    pandas = pytest.importorskip("pandas")
    X, _ = points(n=24)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.insert(0, "kind", ["red", "green", "blue"] * 8)  # the target is not the last column
    for options in (
        {"depth": 2, "activation": "tanh", "widths": [40, 30], "layers": [1, 2]},
        {"width": 200, "activation": "tanh"},
    ):
        run = zeroloss.fit(frame, target="kind", optimizer="gauss_newton", **options)
        answer = zeroloss.prove(run, frame)
        assert answer.networks[0].right == 24
        assert answer.networks[0].certificate.exists
        one = zeroloss.prove(run.network, frame[:1])  # one sample, of one class
        assert one.n == 1 and one.outputs == 3 and one.networks[0].right == 1
    with pytest.raises(zeroloss.DataError, match="'pink' is none of those"):
        zeroloss.prove(run, frame.assign(kind="pink"))


def test_a_state_dict_in_an_order_that_is_said(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(3)
    W = {name: rng.normal(size=(4, 4)) for name in ("hidden", "input", "output")}
    safetensors.save_file({f"{name}.weight": matrix for name, matrix in W.items()}, tmp_path / "state.safetensors")
    X = rng.normal(size=(7, 4))
    f = np.tanh(np.tanh(X @ W["input"].T) @ W["hidden"].T) @ W["output"].T
    state, labels = tmp_path / "state.safetensors", f.argmax(axis=1)
    asked = {"activation": "tanh", "class_names": range(4)}
    with pytest.raises(ValueError, match=r"hidden, input, output do not number the layers one by one: .* with layout"):
        zeroloss.prove(state, X, labels, **asked)
    order = ["input", "hidden", "output"]
    answer = zeroloss.prove(state, X, labels, **asked, layout=order)
    assert answer.networks[0].right == 7
    chain = "its layers were taken in this order, by the layout: tanh(input) -> tanh(hidden) -> output"
    assert f"note: {chain}\n" in str(answer) and chain in repr(answer) and chain in answer.to_dict()["notes"]
    (tmp_path / "order.json").write_text(json.dumps(order))
    again = zeroloss.prove(state, X, labels, **asked, layout=tmp_path / "order.json")
    assert again.networks[0].margin == answer.networks[0].margin
    with pytest.raises(ValueError, match="layout: it says nothing of 'hidden'"):
        zeroloss.prove(state, X, labels, **asked, layout=("input", "output"))


def test_a_described_state_dict(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    rng = np.random.default_rng(0)
    state = {"in.weight": rng.normal(size=(5, 4)), "block.0.weight": rng.normal(size=(6, 5)),
             "block.1.weight": rng.normal(size=(5, 6)), "out.weight": rng.normal(size=(1, 5))}  # fmt: skip
    safetensors.save_file(state, tmp_path / "state.safetensors")
    X, _ = points(n=10)
    layout = {"layers": [{"W": "in", "activation": "identity"},
                         {"W": "block.0", "U": "block.1", "activation": "tanh", "residual": True}],
              "output": "out", "shift": np.ones(4)}  # fmt: skip
    h = (X - 1) @ state["in.weight"].T
    h += np.tanh(h @ state["block.0.weight"].T) @ state["block.1.weight"].T
    f = h @ state["out.weight"].T
    targets = rng.normal(size=10)
    answer = zeroloss.prove(tmp_path / "state.safetensors", X, targets, layout=layout)
    first, block, U = (state[name] for name in ("in.weight", "block.0.weight", "block.1.weight"))
    layers = [zeroloss.Layer(first, None, "identity"), zeroloss.Layer(block, None, "tanh", residual=True, U=U)]
    assert_close(answer.networks[0].outputs, f, zeroloss.DeepNetwork(layers, state["out.weight"], shift=np.ones(4)), X)
    (tmp_path / "layout.json").write_text(json.dumps({**layout, "shift": [1, 1, 1, 1]}))
    again = zeroloss.prove(tmp_path / "state.safetensors", X, targets, layout=tmp_path / "layout.json")
    np.testing.assert_array_equal(again.networks[0].outputs, answer.networks[0].outputs)
    with pytest.raises(ValueError, match=r"says nothing of 'block\.1'"):
        zeroloss.prove(
            tmp_path / "state.safetensors",
            X,
            targets,
            layout={
                **layout,
                "layers": [layout["layers"][0], {"W": "block.0", "activation": "relu", "residual": True}],
            },
        )
    with pytest.raises(ValueError, match="layout is for a file"):
        zeroloss.prove(drawn(), X, targets, layout=layout)
