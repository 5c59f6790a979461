"""corpus.py OUT [--only GLOB]: networks in ONNX as PyTorch, torchvision, Keras and scikit-learn write them.

With points: trained on the digits, iris and wine data where that takes a moment, random else; some labels are wrong.
Both exporters of PyTorch are asked, each for its own names and shapes; scikit-learn's networks stand behind every
scaler. A few cases are to be refused: forests, support vectors, transposed convolutions. Written as common.py says."""

import argparse
import contextlib
import fnmatch
import importlib.util
import io
import logging
import os
import sys
import tempfile
import warnings
from pathlib import Path

import common
import numpy as np
import onnx
import sklearn.datasets as known
import torch
import torchvision
from onnx import helper
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC
from torch import nn

SAMPLES, LARGE_SAMPLES = 40, 3
EPOCHS = 30


def digits(side=8):
    """Images of 1 x side x side from 0 to 1, and their classes."""
    X, y = known.load_digits(return_X_y=True)
    images = torch.tensor(X / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
    if side != 8:
        images = nn.functional.interpolate(images, side, mode="nearest")
    return images, torch.tensor(y)


def trained(net, X, y, epochs=EPOCHS):
    """In eval mode, after some steps of Adam; means and variances of batch norms are those of the data."""
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(X))[:512].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(X[rows]), y[rows]).backward()
            optimizer.step()
    return net.eval()


# ---- networks -----------------------------------------------------------------------------------------------------

ACTIVATIONS = {"relu": nn.ReLU, "leaky_relu": lambda: nn.LeakyReLU(0.07), "prelu": lambda: nn.PReLU(20), "elu": nn.ELU,
               "selu": nn.SELU, "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU(approximate="tanh"), "silu": nn.SiLU,
               "mish": nn.Mish, "hardswish": nn.Hardswish, "hardsigmoid": nn.Hardsigmoid, "softplus": nn.Softplus,
               "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "relu6": nn.ReLU6, "hardtanh": nn.Hardtanh,
               "celu": lambda: nn.CELU(0.7), "softsign": nn.Softsign}  # fmt: skip


def dense(activation):
    phi = ACTIVATIONS[activation]
    return nn.Sequential(nn.Linear(64, 20), phi(), nn.Linear(20, 20), phi(), nn.Linear(20, 10))


def batch_norm_dense():
    return nn.Sequential(nn.Linear(64, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(),
                         nn.BatchNorm1d(24), nn.Linear(24, 10))  # fmt: skip


def layer_norm_dense():
    return nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 24), nn.LayerNorm(24), nn.GELU(), nn.Linear(24, 10))


def batch_norm_filters():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6), nn.ReLU(),
                         nn.Conv2d(6, 8, 3, stride=2), nn.BatchNorm2d(8), nn.SiLU(), nn.Flatten(),
                         nn.Linear(8 * 9, 10))  # fmt: skip


def lenet():
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, padding=2),
                         nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 4, 40), nn.ReLU(),
                         nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 10))  # fmt: skip


def odd_filters():
    """Groups, dilation, strides, pads that differ from side to side."""
    return nn.Sequential(nn.ZeroPad2d((1, 0, 2, 1)), nn.Conv2d(1, 8, (3, 2), stride=(1, 2)), nn.ReLU(),
                         nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=4), nn.LeakyReLU(),
                         nn.Conv2d(8, 8, 3, padding="same", groups=8), nn.ReLU(), nn.Conv2d(8, 12, 1), nn.ReLU(),
                         nn.Flatten(), nn.LazyLinear(10))  # fmt: skip


def averages(count_include_pad):
    return nn.Sequential(nn.Conv2d(1, 6, 3), nn.Tanh(), nn.AvgPool2d(3, 2, 1, count_include_pad=count_include_pad),
                         nn.Conv2d(6, 8, 2), nn.ReLU(), nn.AvgPool2d(2, ceil_mode=True), nn.Flatten(),
                         nn.LazyLinear(10))  # fmt: skip


def transposed():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.ConvTranspose2d(4, 4, 2, stride=2), nn.Flatten(),
                         nn.LazyLinear(10))  # fmt: skip


def signals():
    """One axis: rows of the image one after another."""
    return nn.Sequential(nn.Conv1d(1, 6, 5, stride=2), nn.BatchNorm1d(6), nn.ReLU(), nn.MaxPool1d(2),
                         nn.Conv1d(6, 8, 3, groups=2), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(),
                         nn.Linear(8, 10))  # fmt: skip


def dropouts():
    return nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 30), nn.ReLU(), nn.Dropout(0.5), nn.Linear(30, 10))


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.short = nn.Conv2d(before, after, 1, stride) if stride > 1 or before != after else nn.Identity()

    def forward(self, x):
        h = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(h)) + self.short(x))


def resnet():
    return nn.Sequential(nn.Conv2d(1, 8, 3, 1, 1), Block(8, 8, 1), Block(8, 16, 2), nn.AdaptiveAvgPool2d(1),
                         nn.Flatten(), nn.Linear(16, 10))  # fmt: skip


class Clamps(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 24), nn.Linear(24, 24), nn.Linear(24, 10)])

    def forward(self, x):
        h = torch.clamp(self.layers[0](x - 0.5), -1, 1)
        h = torch.clamp(self.layers[1](h), min=-0.5) * 2
        return self.layers[2](torch.clamp(h, max=3.0) / 1.5)


class Mixer(nn.Module):
    """Patches of the image mixed with each other and within themselves, without attention."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(12), nn.LayerNorm(12)])
        self.embed, self.end = nn.Conv2d(1, 12, 2, 2), nn.Linear(12, 10)
        self.tokens = nn.Sequential(nn.Linear(16, 10), nn.GELU(), nn.Linear(10, 16))
        self.channels = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))

    def forward(self, x):
        h = self.embed(x).flatten(2).transpose(1, 2)
        h = h + self.tokens(self.norms[0](h).transpose(1, 2)).transpose(1, 2)
        h = h + self.channels(self.norms[1](h))
        return self.end(h.mean(1))


class Attention(nn.Module):
    """Patches of the image that look at each other: two blocks of a transformer, and a token for the class."""

    def __init__(self, norm_first):
        super().__init__()
        self.embed, self.end = nn.Conv2d(1, 12, 2, 2), nn.Linear(12, 10)
        self.token, self.place = nn.Parameter(torch.zeros(1, 1, 12)), nn.Parameter(torch.randn(1, 17, 12) / 4)
        block = nn.TransformerEncoderLayer(12, 3, 20, 0.1, "gelu", batch_first=True, norm_first=norm_first)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)

    def forward(self, x):
        h = self.embed(x).flatten(2).transpose(1, 2)
        h = torch.cat([self.token.expand(h.shape[0], -1, -1), h], 1) + self.place
        return self.end(self.blocks(h)[:, 0])


class Slices(nn.Module):
    """Parts of the input on ways of their own."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.end = nn.Linear(32, 12), nn.Linear(16, 12), nn.Linear(40, 10)

    def forward(self, x):
        left, right = x.chunk(2, 1)
        h = torch.cat([torch.relu(self.one(left)), torch.tanh(self.two(right[:, ::2])), x[:, 24:40]], 1)
        return self.end(h)


class Gated(nn.Module):
    """Products of what depends on the points, and a residual sum."""

    def __init__(self):
        super().__init__()
        self.first, self.gate, self.end = nn.Linear(64, 20), nn.Linear(64, 20), nn.Linear(20, 10)

    def forward(self, x):
        h = self.first(x)
        return self.end(h + torch.tanh(h) * torch.sigmoid(self.gate(x)))


class WithSoftmax(nn.Module):
    def __init__(self, logarithm):
        super().__init__()
        self.net, self.logarithm = dense("relu"), logarithm

    def forward(self, x):
        z = self.net(x)
        return torch.log_softmax(z, 1) if self.logarithm else torch.softmax(z, 1)


def networks():
    """Name, kind, network and the shape of a point."""
    for name in ACTIVATIONS:
        yield f"mlp_{name}", "mlp", dense(name), None
    yield "mlp_batch_norm", "mlp, normalized", batch_norm_dense(), None
    yield "mlp_layer_norm", "mlp, normalized", layer_norm_dense(), None
    yield "mlp_dropout", "mlp", dropouts(), None
    yield "mlp_clamps", "mlp", Clamps(), None
    yield "mlp_slices", "mlp, branched", Slices(), None
    yield "mlp_gated", "mlp, branched", Gated(), None
    yield "mlp_softmax", "mlp", WithSoftmax(False), None
    yield "mlp_log_softmax", "mlp", WithSoftmax(True), None
    image = [1, 8, 8]
    yield "cnn_batch_norm", "cnn", batch_norm_filters(), image
    yield "cnn_lenet", "cnn", lenet(), image
    yield "cnn_odd", "cnn", odd_filters(), image
    yield "cnn_averages", "cnn", averages(False), image
    yield "cnn_averages_of_pads", "cnn", averages(True), image
    yield "cnn_resnet", "cnn", resnet(), image
    yield "cnn_signals", "cnn", signals(), [1, 64]
    yield "cnn_mixer", "cnn", Mixer(), image
    yield "attention_norm_first", "attention", Attention(True), image
    yield "attention_norm_last", "attention", Attention(False), image
    yield "refused_transposed", "refused", transposed(), image


@contextlib.contextmanager
def quiet():
    """The exporters' notes go nowhere."""
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            yield


def exported(net, example, dynamo, opset=None):
    """The model as PyTorch writes it, with any number of samples."""
    target = io.BytesIO()
    with quiet():
        if dynamo:
            program = torch.onnx.export(net, (example,), dynamo=True, input_names=["x"], output_names=["y"],
                                        dynamic_shapes=({0: torch.export.Dim("n")},), opset_version=opset,
                                        verbose=False)  # fmt: skip
            return program.model_proto
        torch.onnx.export(net, (example,), target, dynamo=False, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, opset_version=opset or 17)  # fmt: skip
    return onnx.load_from_string(target.getvalue())


def before_the_end(model, name=None):
    """The tensor before the functions that only order or scale what is compared."""
    name = name or model.graph.output[0].name
    makers = {output: node for node in model.graph.node for output in node.output}
    while name in makers and makers[name].op_type in ("Softmax", "LogSoftmax", "Identity", "Cast"):
        name = makers[name].input[0]
    return name


def put(out, name, kind, model, X, shape, **facts):
    """X as 2-d doubles; labels from ONNX Runtime."""
    r = np.random.default_rng(len(name))
    logits = before_the_end(model)
    scores = common.logits_of(model, logits, X, shape)
    opset = next(s.version for s in model.opset_import if s.domain in ("", "ai.onnx"))
    common.write(out, name, model, X, common.labels(scores, r), shape=shape, logits=logits, kind=kind, opset=opset,
                 names=list(range(scores.shape[1])), **facts)  # fmt: skip
    return name


def from_torch(out, wanted):
    images, y = digits()
    for name, kind, net, shape in networks():
        if not any(wanted(f"{name}_{how}") for how in ("script", "dynamo")):
            continue
        torch.manual_seed(0)
        points = images.reshape(-1, *shape) if shape else images.flatten(1)
        trained(net, points, y)
        for how in ("script", "dynamo"):
            if not wanted(f"{name}_{how}"):
                continue
            with attempting(f"{name}_{how}"):
                opset = {"script": 11 + len(name) % 7, "dynamo": None}[how]  # one of many versions
                model = exported(net, points[:2], how == "dynamo", max(opset, 14) if opset else None)
                X = common.float32s(points[:SAMPLES].flatten(1).numpy())
                yield put(out, f"{name}_{how}", kind, model, X, shape, refused=kind == "refused")


def from_torchvision(out, wanted):
    shape = [3, 64, 64]
    r = np.random.default_rng(7)
    X = common.float32s(r.normal(size=(LARGE_SAMPLES, 3 * 64 * 64)))
    for name in ("resnet18", "vgg11", "mobilenet_v2"):
        for how in ("script", "dynamo"):
            if wanted(f"large_{name}_{how}"):
                torch.manual_seed(0)
                net = getattr(torchvision.models, name)(weights=None)
                if name == "vgg11":  # 2 x 2 positions, which 7 x 7 cannot be made of
                    net.avgpool, net.classifier[0] = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 4096)
                batch = torch.tensor(X, dtype=torch.float32).reshape(-1, *shape)
                with torch.no_grad():  # statistics that do not vanish or grow from layer to layer
                    net.train()
                    net(batch)
                net.eval()
                with attempting(f"large_{name}_{how}"):
                    model = exported(net, batch[:2], how == "dynamo")
                    yield put(out, f"large_{name}_{how}", "torchvision", model, X, shape)


# ---- Keras --------------------------------------------------------------------------------------------------------


def from_keras(out, wanted):
    """Channels last, so transpositions and casts are around everything; on PyTorch, if there is a Keras."""
    names = [name for name in ("keras_mlp", "keras_cnn", "keras_residual") if wanted(name)]
    os.environ["KERAS_BACKEND"] = "torch"
    if not names or importlib.util.find_spec("keras") is None:
        return
    with quiet():
        import keras
    of = keras.layers
    images, y = digits()
    for name in names:
        keras.utils.set_random_seed(0)
        shape = [64] if name == "keras_mlp" else [8, 8, 1]
        points = images.reshape(-1, *shape).numpy()
        x = keras.Input(shape)
        if name == "keras_mlp":
            h = of.BatchNormalization()(of.Dense(24, activation="relu")(x))
            h = of.Dropout(0.3)(of.Dense(20, activation="gelu")(h))
        elif name == "keras_cnn":
            h = of.Conv2D(6, 3, padding="same", activation="relu")(x)
            h = of.MaxPooling2D()(of.BatchNormalization()(h))
            h = of.Flatten()(of.DepthwiseConv2D(2, activation="elu")(of.ZeroPadding2D(((1, 0), (0, 1)))(h)))
        else:
            h = of.Conv2D(8, 3, strides=2, padding="same", activation="swish")(x)
            h = of.Add()([h, of.Conv2D(8, 3, padding="same")(of.BatchNormalization()(h))])
            h = of.GlobalAveragePooling2D()(of.LeakyReLU()(of.AveragePooling2D(2, 1)(h)))
        net = keras.Model(x, of.Dense(10, activation="softmax")(h))
        net.compile("adam", "sparse_categorical_crossentropy")
        with attempting(name), tempfile.TemporaryDirectory() as folder:
            with quiet():
                net.fit(points[:600], y[:600].numpy(), epochs=4, verbose=0)
                net.export(Path(folder) / "net.onnx", format="onnx", verbose=False)
            model = onnx.load(Path(folder) / "net.onnx")
            X = common.float32s(points[:SAMPLES].reshape(SAMPLES, -1))
            yield put(out, name, "keras", model, X, shape)


# ---- scikit-learn -------------------------------------------------------------------------------------------------

SCALERS = {"alone": lambda d: [], "standard": lambda d: [StandardScaler()], "min_max": lambda d: [MinMaxScaler()],
           "max_abs": lambda d: [MaxAbsScaler()], "robust": lambda d: [RobustScaler()],
           "imputer": lambda d: [SimpleImputer()], "pca": lambda d: [PCA(d - 1)],
           "whitened": lambda d: [StandardScaler(), PCA(d - 2, whiten=True)],
           "columns": lambda d: [ColumnTransformer([("a", StandardScaler(), list(range(0, d, 2))),
                                                    ("b", MinMaxScaler(), list(range(1, d - 1, 2)))],
                                                   remainder="passthrough")]}  # fmt: skip


def classifiers():
    for scaler, of in SCALERS.items():
        for data, names in (("iris", None), ("wine", ["c", "a", "b"]), ("binary", None)):
            small = MLPClassifier((9, 7), activation="relu" if data == "iris" else "tanh", max_iter=150, random_state=0)
            yield f"skl_mlp_{scaler}_{data}", "scikit-learn mlp", of, small, data, names
    for activation in ("logistic", "identity"):
        small = MLPClassifier((9,), activation=activation, max_iter=150, random_state=0)
        yield f"skl_mlp_{activation}_iris", "scikit-learn mlp", SCALERS["standard"], small, "iris", None
    for data, names in (("iris", None), ("wine", ["c", "a", "b"]), ("binary", None), ("binary", ["no", "yes"])):
        name = f"skl_logistic_{data}" + ("_names" if names and data == "binary" else "")
        yield name, "scikit-learn linear", SCALERS["standard"], LogisticRegression(), data, names
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    yield "refused_forest", "refused", SCALERS["alone"], forest, "iris", None
    yield "refused_svc", "refused", SCALERS["standard"], SVC(random_state=0), "iris", None


def regressors():
    for scaler, of in SCALERS.items():
        small = MLPRegressor(hidden_layer_sizes=(12,), max_iter=200, random_state=0)
        yield f"skl_regressor_{scaler}", "scikit-learn mlp, numbers", of, small
    yield "skl_least_squares", "scikit-learn linear, numbers", SCALERS["alone"], LinearRegression()
    yield "skl_ridge", "scikit-learn linear, numbers", SCALERS["standard"], Ridge()


def logits_in(model):
    """Of a classifier of skl2onnx: what its Softmax, or the Sigmoid of its one output, is of."""
    for node in model.graph.node:
        if node.op_type == "LinearClassifier":
            return "scores of " + node.output[1]
    (last,) = [node for node in model.graph.node if node.op_type in ("Softmax", "Sigmoid")][-1:]
    return last.input[0]


def to_onnx(pipeline, X, zipmap, opset):
    from skl2onnx import to_onnx as convert

    options = None if zipmap is None else {id(pipeline.steps[-1][1]): {"zipmap": zipmap}}
    with quiet():
        return convert(pipeline, X[:1].astype(np.float32), options=options, target_opset=opset)


def from_sklearn(out, wanted):
    r = np.random.default_rng(5)
    iris, wine = known.load_iris(return_X_y=True), known.load_wine(return_X_y=True)
    binary = iris[0], (iris[1] == 1).astype(int)
    for number, (name, kind, scalers, last, data, names) in enumerate(classifiers()):
        if not wanted(name):
            continue
        X, y = {"iris": iris, "wine": wine, "binary": binary}[data]
        X = common.float32s(X)
        pipeline = make_pipeline(*scalers(X.shape[1]), last)
        with quiet():
            pipeline.fit(X, np.array(names)[y] if names else y)
        with attempting(name):
            zipmap = None if kind == "refused" else bool(number % 2)
            model = to_onnx(pipeline, X, zipmap, {"": [14, 17, 21][number % 3], "ai.onnx.ml": 3})
            order = [c if isinstance(c, str) else int(c) for c in pipeline.classes_]
            rows = r.permutation(len(X))[:SAMPLES]
            facts = {"kind": kind, "names": order, "named": True}
            if kind == "refused":
                facts |= {"refused": True}
                own = np.searchsorted(pipeline.classes_, pipeline.predict(X[rows]))
                scores = np.eye(len(order))[own]
            else:
                facts["logits"] = logits_in(model)
                scores = common.logits_of(model, facts["logits"], X[rows], None)
            common.write(out, name, model, X[rows], common.labels(scores, r), opset=opset_of(model), **facts)
            yield name
    X, y = known.load_diabetes(return_X_y=True)
    X, y = common.float32s(X), y / 100
    for number, (name, kind, scalers, last) in enumerate(regressors()):
        if not wanted(name):
            continue
        pipeline = make_pipeline(*scalers(X.shape[1]), last)
        with quiet():
            pipeline.fit(X, y)
        with attempting(name):
            model = to_onnx(pipeline, X, None, {"": [14, 17, 21][number % 3], "ai.onnx.ml": 3})
            facts = {"kind": kind, "logits": model.graph.output[0].name, "opset": opset_of(model)}
            common.write(out, name, model, X[:SAMPLES], y[:SAMPLES], **facts)
            yield name


def opset_of(model):
    return next((s.version for s in model.opset_import if s.domain in ("", "ai.onnx")), None)


# ---- by hand ------------------------------------------------------------------------------------------------------


def from_helper(out, wanted):
    """What no exporter here writes."""
    if wanted("refused_loop"):
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Tanh", ["h"], ["t"])],
                                 "body", [helper.make_tensor_value_info("i", 7, []),
                                          helper.make_tensor_value_info("c", 9, []),
                                          helper.make_tensor_value_info("h", 1, ["n", 4])],
                                 [helper.make_tensor_value_info("d", 9, []),
                                  helper.make_tensor_value_info("t", 1, ["n", 4])])  # fmt: skip
        constants = [helper.make_tensor("trips", 7, [], [2]), helper.make_tensor("go", 9, [], [True])]
        graph = helper.make_graph([helper.make_node("Loop", ["trips", "go", "x"], ["y"], body=body)], "loop",
                                  [helper.make_tensor_value_info("x", 1, ["n", 4])],
                                  [helper.make_tensor_value_info("y", 1, ["n", 4])], constants)  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        X = common.float32s(np.random.default_rng(3).normal(size=(SAMPLES, 4)))
        yield put(out, "refused_loop", "refused", model, X, None, refused=True)


class attempting(contextlib.suppress):
    """An exporter that fails costs its case, and says so."""

    def __init__(self, name):
        super().__init__(Exception)
        self.name = name

    def __exit__(self, kind, error, trace):
        if kind is not None and issubclass(kind, Exception):
            print(f"not exported: {self.name}: {str(error).strip().splitlines()[:1]}", file=sys.stderr)
        return super().__exit__(kind, error, trace)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="*", help="names of cases; large_* are torchvision's")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    wanted = lambda name: fnmatch.fnmatch(name, given.only)
    written = []
    for source in (from_sklearn, from_helper, from_torch, from_keras, from_torchvision):
        written += source(given.out, wanted)
    print(f"{len(written)} cases")


if __name__ == "__main__":
    main()
