"""make.py: the ONNX files of this folder, as PyTorch and scikit-learn write them, with points and what they compute.

NAME.kernel.csv is J J^T of the points in all weights, by autograd in float64.

Needs torch, onnx, onnxscript, onnxruntime, scikit-learn and skl2onnx. For each NAME.onnx: NAME.csv has five points a
line, then the outputs before Softmax and the like, computed by the library that made the network, in float64.
"""
import pathlib
import warnings

import numpy as np
import onnx
import skl2onnx
import torch
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

HERE = pathlib.Path(__file__).parent
D, POINTS = 5, 6


class Residual(nn.Module):
    """x -> Linear -> blocks h + U phi(W h) -> Linear."""

    def __init__(self, phi, project=True, scale=1.0):
        super().__init__()
        self.embed = nn.Linear(D, 7)
        self.inner = nn.ModuleList(nn.Linear(7, 9 if project else 7) for _ in range(3))
        self.outer = nn.ModuleList(nn.Linear(9, 7) if project else nn.Identity() for _ in range(3))
        self.out = nn.Linear(7, 3)
        self.phi, self.scale = phi, scale

    def forward(self, x):
        h = self.embed(x)
        for inner, outer in zip(self.inner, self.outer):
            branch = outer(self.phi(inner(h)))
            h = h + (branch if self.scale == 1 else self.scale * branch)
        return self.out(h)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.linspace(-1, 1, D))
        self.net = nn.Sequential(nn.Linear(D, 6), nn.Tanh(), nn.Linear(6, 2))

    def forward(self, x):
        return self.net((x - self.mean) / 4)


class Gelu(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(D, 6), nn.Linear(6, 6, bias=False), nn.Linear(6, 1)

    def forward(self, x):
        return self.c(nn.functional.gelu(self.b(nn.functional.gelu(self.a(x)))))


def mlp(*phis, outputs=3, bias=True, tail=()):
    layers, before = [], D
    for k, phi in enumerate(phis):
        layers += [nn.Linear(before, 6 + k, bias=bias), phi]
        before = 6 + k
    return nn.Sequential(*layers, nn.Linear(before, outputs, bias=bias), *tail)


def networks():
    yield "relu", mlp(nn.ReLU(), nn.ReLU()), 0
    yield "mixed", mlp(nn.Tanh(), nn.LeakyReLU(0.25), nn.Softplus(), nn.Sigmoid(), bias=False), 0
    yield "flatten", nn.Sequential(nn.Flatten(), nn.Dropout(0.3), *mlp(nn.SiLU(), nn.ReLU())), 0
    yield "softmax", mlp(nn.ReLU(), tail=[nn.Softmax(dim=1)]), 1
    yield "logit", mlp(nn.Tanh(), outputs=1, tail=[nn.Sigmoid()]), 1
    yield "gelu", Gelu(), 0
    yield "linear", nn.Sequential(nn.Linear(D, 4), nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)), 0
    yield "residual", Residual(nn.ReLU()), 0
    yield "residual_identity", Residual(nn.Tanh(), project=False), 0
    yield "residual_scaled", Residual(nn.SiLU(), scale=0.25), 0
    yield "scaled", Scaled(), 0


def write(name, X, outputs):
    np.savetxt(HERE / f"{name}.csv", np.hstack([X, outputs]), delimiter=",", fmt="%.17g")


def forget_the_source(path):
    """The exporter writes where on its machine the lines were that made a node."""
    model = onnx.load(path)
    for node in model.graph.node:
        node.ClearField("doc_string")
        del node.metadata_props[:]
    onnx.save(model, path)


def tangent_kernel(network, X):
    """J J^T, rows in the order point, output."""
    y, weights = network(X), list(network.parameters())
    rows = [torch.autograd.grad(one, weights, retain_graph=True) for one in y.reshape(-1)]
    J = torch.stack([torch.cat([gradient.reshape(-1) for gradient in row]) for row in rows])
    return (J @ J.T).numpy()


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    X = torch.randn(POINTS, D, dtype=torch.float64).float()  # the same numbers for both precisions
    for name, network, dropped in networks():
        network.eval()
        for kind in ("script", "dynamo"):
            for double in (False, True):
                if kind == "dynamo" and (double or name == "mixed"):  # it has softplus as z above 20: another function
                    continue
                full = f"{name}_{kind}{'_double' if double else ''}"
                network = network.double() if double else network.float()
                options = {"dynamo": True} if kind == "dynamo" else {"dynamo": False, "opset_version": 17}
                points = X.double() if double else X
                names = {"input_names": ["x"], "output_names": ["y"]}
                if kind == "dynamo":
                    options["external_data"] = False
                torch.onnx.export(network, (points,), HERE / f"{full}.onnx", **names, **options)
                forget_the_source(HERE / f"{full}.onnx")
                exact = network.double()
                if dropped:
                    exact = exact[:-1]
                write(full, X.double().numpy(), exact(X.double()).detach().numpy())
                if double:
                    kernel = tangent_kernel(exact, X.double())
                    np.savetxt(HERE / f"{full}.kernel.csv", kernel, delimiter=",", fmt="%.17g")
    rng = np.random.default_rng(0)
    P = rng.normal(size=(60, D)).astype(np.float32).astype(np.float64)
    three, two, y = np.arange(60) % 3, np.arange(60) % 2, P[:, 0] - P[:, 1] ** 2
    regressor = MLPRegressor(hidden_layer_sizes=(6, 6), activation="tanh", max_iter=20, random_state=0)
    classifier = MLPClassifier((6,), max_iter=20, random_state=0)
    models = {
        "sklearn_three": MLPClassifier((6, 7), activation="relu", max_iter=20, random_state=0).fit(P, three),
        "sklearn_two": MLPClassifier((6,), activation="logistic", max_iter=20, random_state=0).fit(P, two),
        "sklearn_numbers": regressor.fit(P, y),
        "sklearn_scaled": make_pipeline(StandardScaler(), classifier).fit(P, three),
    }
    for name, model in models.items():
        kind = skl2onnx.common.data_types.DoubleTensorType if name == "sklearn_numbers" else \
            skl2onnx.common.data_types.FloatTensorType
        onnx.save(skl2onnx.to_onnx(model, initial_types=[("x", kind([None, D]))]), HERE / f"{name}.onnx")
        last = model[-1] if name == "sklearn_scaled" else model
        points = P[:POINTS]
        h = model[0].transform(points) if name == "sklearn_scaled" else points
        for k, (W, b) in enumerate(zip(last.coefs_, last.intercepts_)):
            h = h @ W + b
            if k + 1 < len(last.coefs_):
                h = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh, "logistic": lambda z: 1 / (1 + np.exp(-z))}[
                    last.activation](h)
        write(name, points, h)


if __name__ == "__main__":
    main()
