"""prove of PyTorch's modules, where PyTorch is."""

import copy

import numpy as np
import pytest

import zeroloss
from bounds import gamma
from rounding import assert_close
from zeroloss.api import networks
from zeroloss.api.networks import network_of

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.utils import prune  # noqa: E402

RNG = np.random.default_rng(5)


class Blocks(nn.Module):
    """Scaling, plain and residual layers, functions instead of modules."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 9), nn.Linear(9, 20)
        self.c, self.d, self.v = nn.Linear(20, 9, bias=False), nn.Linear(9, 9), nn.Linear(9, 3)
        self.register_buffer("mean", torch.randn(6))
        self.register_buffer("std", torch.rand(6) + 0.5)

    def forward(self, x):
        h = self.a(((x - self.mean) / self.std).view(x.size(0), -1))
        h = h + 0.5 * self.c(torch.tanh(self.b(h)))
        h = F.leaky_relu(self.d(h), 0.2) + h
        return self.v(F.dropout(h, 0.5, False))


MODULES = {
    "tanh": lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 9), nn.Tanh(),
                                  nn.Linear(9, 3)),
    "no bias": lambda: nn.Sequential(nn.Linear(6, 9, bias=False), nn.ReLU(), nn.Linear(9, 1, bias=False)),
    "two in a row": lambda: nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 9), nn.GELU(), nn.Dropout(), nn.Linear(9, 2)),
    "others": lambda: nn.Sequential(nn.Linear(6, 9), nn.SiLU(), nn.Linear(9, 9), nn.Softplus(), nn.Linear(9, 9),
                                    nn.LeakyReLU(0.3), nn.Linear(9, 9), nn.Sigmoid(), nn.Linear(9, 2)),
    "blocks": Blocks,
}  # fmt: skip


class Convolutional(nn.Module):
    """Convolutions, a normalisation and pooling in front of a linear map."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 7, 3), nn.SiLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        return self.head(self.features(x))


def test_other_modules_are_graphs():
    pytest.importorskip("onnx")
    module = Convolutional()
    with torch.no_grad():
        module(torch.randn(50, 2, 8, 8))
    module.eval()
    X, y = RNG.normal(size=(20, 2, 8, 8)), np.arange(20) % 3
    with torch.no_grad():
        outputs = copy.deepcopy(module).double()(torch.from_numpy(X)).numpy()
    right = np.sum(outputs.argmax(axis=1) == y)
    for data, asked in ((X, {}), (torch.from_numpy(X), {}), (X.reshape(20, -1), {"shape": (2, 8, 8)})):
        answer = zeroloss.prove(module, data, y, **asked)
        assert answer.networks[0].right == right
        off = np.abs(answer.networks[0].outputs - outputs)
        assert (off <= answer.networks[0].output_errors + 2.0**-53 * 1000 * np.abs(outputs).max()).all()
    normalised = nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Tanh(), nn.Linear(9, 3)).eval()
    answer = zeroloss.prove(normalised, RNG.normal(size=(12, 6)), np.arange(12) % 3, polish=True)
    assert answer.polished is not None  # it is a network of layers once more
    with pytest.raises(ValueError, match=r"a sample of 128 .*`shape` says others"):
        zeroloss.prove(module, X.reshape(20, -1), y)


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_what_they_compute(name):
    module = MODULES[name]().double().eval()
    X = RNG.normal(size=(20, 6))
    read = network_of("prove", module)[0].network
    with torch.no_grad():
        outputs = module(torch.from_numpy(X)).numpy()
    assert_close(read(X), outputs, read, X)
    y = np.arange(20) % max(outputs.shape[1], 2)
    chosen = np.argmax(outputs, axis=1) if outputs.shape[1] > 1 else outputs[:, 0] > 0
    result = zeroloss.prove(module, torch.from_numpy(X), torch.from_numpy(y), polish=True)
    assert result.networks[0].right == np.sum(chosen == y)
    assert result.polished is not None


def as_layers(module):
    return networks.assembled(networks._parts("prove", module))


class Odd(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.a, self.b, self.how = nn.Linear(6, 6), nn.Linear(6, 6), how

    def forward(self, x):
        return self.how(self, x)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Linear(9, 2)), "BatchNorm1d is not read: fold it"),
        (nn.Sequential(nn.Linear(6, 9), nn.LayerNorm(9), nn.Linear(9, 2)), "LayerNorm is neither a linear map nor"),
        (nn.Sequential(nn.Linear(6, 9), nn.GELU(approximate="tanh"), nn.Linear(9, 2)), "approximate"),
        (nn.Sequential(nn.Linear(6, 9), nn.ReLU()), "does not end with a linear map"),
        (nn.Sequential(nn.ReLU(), nn.Linear(6, 9), nn.Linear(9, 9)), "relu does not stand behind a linear map"),
        (nn.Linear(6, 2), "no hidden layer"),
        (nn.Sequential(nn.Linear(6, 9), nn.Softmax(-1), nn.Linear(9, 2)), "behind a Softmax"),
        (nn.Sequential(nn.Linear(6, 9), nn.Softplus(beta=2), nn.Linear(9, 2)), "beta"),
        (Odd(lambda m, x: m.b(torch.relu(m.a(torch.tanh(m.a(x)))))), "share a weight"),
        (Odd(lambda m, x: m.b(x if x.sum() > 0 else -x)), "cannot follow"),
        (Odd(lambda m, x: m.a(x) + m.b(x)), "a sum that is not"),
        (Odd(lambda m, x: m.b(torch.relu(m.a(x) + 1))), "a constant is added behind"),
        (Odd(lambda m, x: 2 * m.b(torch.relu(m.a(x)))), "outputs are multiplied"),
        (Odd(lambda m, x: m.b(torch.relu(m.a(x)).view(-1, 3))), "view behind a layer"),
        (Odd(lambda m, x: (m.a(x), x)), "something else than one value"),
        (Odd(lambda m, x: m.b(torch.relu(2 * m.a(x)))), "behind a product"),
    ],
)
def test_other_modules_are_no_networks_of_layers(module, words):
    with pytest.raises(ValueError, match=words):
        as_layers(module)


def normed(norm):
    """Of two layers, the first with parametrised weights and away from where training mode had them."""
    module = nn.Sequential(norm(nn.Linear(6, 9)), nn.Tanh(), norm(nn.Linear(9, 2)))
    module(torch.ones(1, 6))  # hooks leave weights that have a gradient
    with torch.no_grad():
        for weight in module.parameters():
            weight += 0.1  # as a step does: what the last call computed is not what the next one does
    return module


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


def parametrised(layer):
    nn.utils.parametrize.register_parametrization(layer, "bias", Doubled())
    return nn.utils.parametrizations.orthogonal(layer)


NORMS = {
    "weight_norm": nn.utils.parametrizations.weight_norm,
    "spectral_norm": nn.utils.parametrizations.spectral_norm,
    "weight_norm by hooks": nn.utils.weight_norm,
    "spectral_norm by hooks": nn.utils.spectral_norm,
    "pruned": lambda layer: prune.l1_unstructured(prune.random_unstructured(layer, "weight", 0.3), "bias", 0.5),
    "several": parametrised,
}


@pytest.mark.filterwarnings("ignore:.*deprecated:FutureWarning")
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", NORMS)
def test_parametrised_weights_are_those_of_eval(name, training):
    module = normed(NORMS[name]).double().train(training)
    X, y = RNG.normal(size=(9, 6)), np.arange(9) % 2
    before = {key: value.clone() for key, value in module.state_dict().items()}
    answer, read = zeroloss.prove(module, X, y), network_of("prove", module)[0].network
    assert module.training == training
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
    with torch.no_grad():
        outputs = module.eval()(torch.from_numpy(X)).numpy()
    assert_close(read(X), outputs, read, X)
    assert answer.networks[0].right == np.sum(outputs.argmax(axis=1) == y)
    assert "note: parametrised weights are read as the numbers that eval() computes" in str(answer)


@pytest.mark.parametrize("norm", [nn.Identity(), nn.utils.parametrizations.weight_norm])
@pytest.mark.parametrize("wrap", ["parallel", "averaged", "compiled", "both"])
def test_what_a_wrapper_calls_is_read(wrap, norm):
    module, X, y = normed(norm).double().eval(), RNG.normal(size=(9, 6)), np.arange(9) % 2
    wrapped = module if wrap == "compiled" else nn.DataParallel(module)
    if wrap == "averaged":
        wrapped = torch.optim.swa_utils.AveragedModel(module)
    if wrap in ("compiled", "both"):
        pytest.importorskip("sympy")  # which PyTorch's compiler needs
        wrapped = torch.compile(wrapped)
    read = network_of("prove", wrapped)[0].network
    with torch.no_grad():
        assert_close(read(X), module(torch.from_numpy(X)).numpy(), read, X)
    assert zeroloss.prove(wrapped, X, y).n == 9
    wrapped.register_forward_hook(lambda inner, given, out: -out)
    with pytest.raises(ValueError, match="has forward hooks"):
        zeroloss.prove(wrapped, X, y)


@pytest.mark.filterwarnings("ignore:.*:FutureWarning")
def test_torchscript_is_refused():
    scripted = torch.jit.script(normed(nn.Identity()))
    for module, name in ((scripted, "it"), (nn.Sequential(scripted), "0")):
        with pytest.raises(ValueError, match=f"{name} is TorchScript: give the module that it was made of"):
            zeroloss.prove(module, np.eye(6), np.arange(6) % 2)


def test_what_messages_advise_is_read(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch")
    module = nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 2)).double()
    X, y = RNG.normal(size=(9, 6)), np.arange(9) % 2
    module(torch.from_numpy(X))
    module.eval()
    with torch.no_grad():
        outputs = module(torch.from_numpy(X)).numpy()
    folded = nn.Sequential(nn.utils.fusion.fuse_linear_bn_eval(module[0], module[1]), *module[2:])
    read = network_of("prove", folded)[0].network
    assert_close(read(X), outputs, read, X)
    torch.save(folded.state_dict(), tmp_path / "m.pt")
    with pytest.raises(zeroloss.DataError, match=r"named as a pickle, .* safetensors\.torch\.save_file\(torch\.load"):
        zeroloss.prove(tmp_path / "m.pt", X, y, activation="relu")
    safetensors.save_file(torch.load(tmp_path / "m.pt", weights_only=True), tmp_path / "m.safetensors")
    answer = zeroloss.prove(tmp_path / "m.safetensors", X, y, activation="relu")
    assert answer.networks[0].right == np.sum(outputs.argmax(axis=1) == y)


def hooked():
    module = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))
    module[0].register_forward_hook(lambda inner, given, out: -out)
    return module


def replaced():
    module = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))
    module.forward = lambda x: -nn.Sequential.forward(module, x)
    return module


def overwritten(m, x):
    h = m.a(x)
    F.relu(h, inplace=True)
    return m.b(torch.tanh(h))


def overwritten_by_position(m, x):
    h = m.a(x)
    return m.b(F.relu(h, True)) + h


def overwritten_by_another_name(m, x):
    h = m.a(x)
    same = h.contiguous()
    return m.b(torch.tanh_(h)) + same


def overwritten_by_a_keyword(m, x):
    h = m.a(x)
    return m.b(F.relu(input=h, inplace=True)) + h


@pytest.mark.parametrize(
    ("module", "words"),
    [(hooked(), "forward hooks"), (replaced(), "was replaced"), (Odd(overwritten), "overwritten in place"),
     (Odd(overwritten_by_position), "overwritten in place"), (Odd(overwritten_by_a_keyword), "overwritten in place"),
     (Odd(overwritten_by_another_name), "overwritten in place"),
     (Odd(lambda m, x: m.b(F.dropout(torch.tanh(m.a(x)), 0.5))), "training=True"),
     (Odd(lambda m, x: m.b(torch.dropout(torch.tanh(m.a(x)), 0.5, True))), "training=True"),
     (nn.Sequential(nn.Linear(6, 9), nn.Softplus(threshold=1), nn.Linear(9, 2)), "threshold"),
     (Odd(lambda m, x: m.b(F.softplus(m.a(x), 1, 0.5))), "threshold=0.5"),
     (Odd(lambda m, x: m.b(F.softplus(m.a(x), 2))), "beta=2"),
     (Odd(lambda m, x: m.b(F.softplus(m.a(x), threshold=0.5))), "threshold=0.5"),
     (Odd(lambda m, x: m.b(F.gelu(m.a(x), approximate="tanh"))), "approximate"),
     (Odd(lambda m, x: m.b(torch.tanh(m.a(x))).softmax(0)), "over dimension 0"),
     (Odd(lambda m, x: F.softmax(m.b(torch.tanh(m.a(x))), 1, dtype=torch.float16)), "dtype"),
     (Odd(lambda m, x: m.b(torch.tanh(m.a(torch.flatten(x))))), "flatten of other dimensions"),
     (nn.Sequential(nn.Flatten(0), nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2)), "Flatten of other dimensions"),
     (Odd(lambda m, x: m.b(torch.tanh(m.a(x), out=torch.empty(6, 6)))), "tanh with out="),
     (Odd(lambda m, x: m.b(torch.tanh(m.a(x.T)))), "Linear of something else")],
)  # fmt: skip
def test_what_tracing_does_not_see_is_refused(module, words):
    with pytest.raises(ValueError, match=words):
        as_layers(module)


def test_a_module_that_goes_another_way_at_some_point_is_refused():
    pytest.importorskip("onnx")
    module = Odd(lambda m, x: m.b(x if x.max() < 90 else -x))
    X = np.concatenate([RNG.uniform(size=(99, 6)), np.full((1, 6), 99)])
    with pytest.raises(ValueError, match="was not read as it is: its outputs for sample 99"):
        zeroloss.prove(module, X[:, None].reshape(100, 6), np.arange(100) % 6)


class Fickle(nn.Module):
    """Other weights from its second call on, which tracing is not."""

    def __init__(self):
        super().__init__()
        self.calls, self.net = 0, nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))

    def forward(self, x):
        self.calls += 1
        return self.net(x) if self.calls < 2 else self.net(-x)


def test_what_the_module_computes_is_compared():
    with pytest.raises(ValueError, match="was not read as it is: its outputs for sample"):
        zeroloss.prove(Fickle(), np.eye(6), np.arange(6) % 2)


def test_one_that_cannot_be_run_in_double_is_compared_in_its_own_precision():
    module = Odd(lambda m, x: m.b(torch.relu(m.a(x.float()))))
    answer = zeroloss.prove(module, np.eye(6), np.arange(6))
    assert "note: float() is left out: the points are not rounded to float32" in str(answer)

    class Other(nn.Module):  # its outputs differ from what tracing sees
        def __init__(self):
            super().__init__()
            self.calls, self.net = 0, nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))

        def forward(self, x):
            self.calls += 1
            return self.net(x.float() if self.calls < 2 else -x.float())

    with pytest.raises(ValueError, match="was not read as it is: its outputs for sample"):
        zeroloss.prove(Other(), np.eye(6), np.arange(6) % 2)


class Refusing(nn.Module):
    """Runs when it is traced and never again."""

    def __init__(self):
        super().__init__()
        self.calls, self.net = 0, nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))

    def forward(self, x):
        self.calls += 1
        if self.calls > 1:
            raise RuntimeError("only once")
        return self.net(x)


def test_one_that_cannot_be_run_is_not_taken_for_what_was_read():
    with pytest.raises(ValueError, match=r"Refusing cannot be run on these points, .*: only once"):
        zeroloss.prove(Refusing(), np.eye(6), np.arange(6) % 2)


@pytest.mark.parametrize(
    "how",
    [
        lambda m, x: m.b(F.leaky_relu(m.a(x), 0.3)),
        lambda m, x: m.b(F.leaky_relu(m.a(x), 0.3, True)),
        lambda m, x: m.b(F.leaky_relu(input=m.a(x), negative_slope=0.3)),
        lambda m, x: m.b(F.softplus(m.a(x), 1, 20)),
        lambda m, x: m.b(torch.dropout(F.silu(m.a(x), True), 0.5, False)),
        lambda m, x: m.b(F.gelu(m.a(torch.flatten(x, 1)), approximate="none")),
        lambda m, x: F.linear(F.relu(F.linear(x, weight=m.a.weight, bias=m.a.bias)), m.b.weight),
        lambda m, x: m.b(F.dropout(torch.relu_(m.a(x).contiguous()), 0.5, False, True)),
    ],
)
def test_arguments_count_however_they_are_given(how):
    module = Odd(how).double()
    X = RNG.normal(size=(9, 6))
    with torch.no_grad():
        expected = module(torch.from_numpy(X)).numpy()
    read = network_of("prove", module)[0].network
    assert_close(read(X), expected, read, X)


def test_precisions_that_are_not_read_are_refused_and_the_others_told():
    X, y = np.ones((2, 3)), np.array([0, 1])

    def network(*kinds):
        return nn.Sequential(nn.Linear(3, 4).to(kinds[0]), nn.ReLU(), nn.Linear(4, 2).to(kinds[-1]))

    with pytest.raises(ValueError, match=r"weights are of torch\.bfloat16; .* call \.float\(\)"):
        as_layers(network(torch.bfloat16))
    assert "in float32" in str(zeroloss.prove(network(torch.float32), X, y, class_names=range(2)))
    assert "in float32" not in str(zeroloss.prove(network(torch.float64), X, y, class_names=range(2)))


def test_values_may_be_overwritten_where_nobody_looks_again():
    module = nn.Sequential(nn.Linear(6, 9), nn.ReLU(inplace=True), nn.Linear(9, 2)).double()
    X = RNG.normal(size=(5, 6))
    with torch.no_grad():
        expected = module(torch.from_numpy(X)).numpy()
    read = network_of("prove", module)[0].network
    assert_close(read(X), expected, read, X)


class Random(nn.Module):
    """One to five layers, plain and residual, with and without biases."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        self.phis = {"tanh": torch.tanh, "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid,
                     "sin": torch.sin, "erf": torch.erf, "leaky": lambda z: F.leaky_relu(z, 0.3)}  # fmt: skip
        self.blocks, self.plan, p = nn.ModuleList(), [], 5
        for _ in range(rng.integers(1, 6)):
            m, residual = int(rng.integers(3, 12)), rng.random() < 0.4
            self.blocks.append(nn.Linear(p, m, bias=bool(rng.random() < 0.7)))
            self.blocks.append(nn.Linear(m, p, bias=bool(rng.random() < 0.7)) if residual else nn.Identity())
            self.plan.append((str(rng.choice(list(self.phis))), residual, float(rng.uniform(0.2, 1))))
            p = p if residual else m
        self.last = nn.Linear(p, int(rng.integers(1, 5)), bias=bool(rng.random() < 0.7))

    def forward(self, h):
        for k, (name, residual, scale) in enumerate(self.plan):
            a = self.phis[name](self.blocks[2 * k](h))
            h = h + scale * self.blocks[2 * k + 1](a) if residual else a
        return self.last(h)


@pytest.mark.parametrize("seed", range(20))
def test_outputs_gradients_and_kernels_are_those_of_autograd(seed):
    module = Random(seed).double()
    X = RNG.normal(size=(7, 5))
    network = network_of("prove", module)[0].network
    outputs = module(torch.from_numpy(X))
    parameters = [p for p in module.parameters() if p.requires_grad]
    rows = []
    for value in outputs.reshape(-1):
        gradients = torch.autograd.grad(value, parameters, retain_graph=True)
        rows.append(np.concatenate([gradient.reshape(-1).numpy() for gradient in gradients]))
    J = np.array(rows)
    expected = outputs.detach().numpy()
    assert_close(network(X), expected, network, X)
    kernel = network.tangent_kernel(X)
    off = gamma(2 * 20 * (12 + 16)) * 10  # 20 maps of up to 12 terms, there and back, and what they magnify
    np.testing.assert_allclose(kernel, J @ J.T, rtol=0, atol=off * np.abs(kernel).max())


@pytest.mark.parametrize("end, name", [(torch.sigmoid, "Sigmoid"), (lambda z: torch.softmax(z, -1), "softmax")])
def test_what_is_behind_the_outputs_is_of_classes_alone(end, name):
    class Ending(nn.Sequential):
        def forward(self, x):
            return end(super().forward(x))

    module = Ending(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 1 if name == "Sigmoid" else 2)).double().eval()
    X, numbers = RNG.normal(size=(12, 6)), RNG.normal(size=12)
    assert network_of("prove", module)[0].network.behind == f"{name} of the module"
    assert zeroloss.prove(module, X, np.arange(12) % 2).n == 12
    with pytest.raises(zeroloss.DataError, match=f"targets are numbers, .* {name} of the module"):
        zeroloss.prove(module, X, numbers, task="regression")
