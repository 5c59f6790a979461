"""Modules of PyTorch as networks of layers: torch.fx follows their forward(), whatever it calls."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._core import DeepNetwork
from .networks import Linear, Numbers, Parts, Phi, Residual, Step

#: Modules, functions and methods by their names; the number of a leak, or how it is spelled.
_PHI = {"ReLU": "relu", "relu": "relu", "relu_": "relu", "Tanh": "tanh", "tanh": "tanh", "tanh_": "tanh",
        "Sigmoid": "sigmoid", "sigmoid": "sigmoid", "sigmoid_": "sigmoid", "GELU": "gelu", "gelu": "gelu",
        "SiLU": "silu", "silu": "silu", "Softplus": "softplus", "softplus": "softplus", "LeakyReLU": "leaky_relu",
        "leaky_relu": "leaky_relu", "erf": "erf", "sin": "sin"}  # fmt: skip
_SAME = {"Identity", "Dropout", "AlphaDropout", "dropout", "contiguous", "float", "double", "clone", "detach"}
_FLAT = {"Flatten", "flatten", "view", "reshape"}
_BEHIND = {"Softmax", "LogSoftmax", "softmax", "log_softmax"}  # of the outputs: they keep the largest the largest


@dataclass(frozen=True)
class _Chain:
    """A value of the graph: what was done with the input until it was it."""

    steps: tuple[Step, ...] = ()
    shift: Numbers | float | None = None
    factor: Numbers | float | None = None
    times: float = 1.0  # of a branch that is yet to be added
    behind: tuple[str, ...] = ()

    def then(self, step: Step) -> _Chain:
        if self.times != 1 or self.behind:
            raise ValueError(f"something stands behind a {'product' if self.times != 1 else self.behind[-1]}")
        return replace(self, steps=(*self.steps, step))


class _Size:
    """Of a value; what is taken of it, too."""


def _array(tensor: Any) -> Numbers:
    """In doubles, which hold float32, bfloat16 and float16 as they are; no copy of doubles on the processor."""
    return np.ascontiguousarray(tensor.detach().double().cpu().numpy())


def _sum(a: _Chain, b: _Chain) -> _Chain:
    """h + branch(h)."""
    h, branch = (a, b) if len(a.steps) < len(b.steps) else (b, a)
    inner = branch.steps[len(h.steps) :]
    common = all(x is y for x, y in zip(h.steps, branch.steps))
    shape = [type(step) for step in inner]
    if not common or h.times != 1 or h.behind or branch.behind or shape not in ([Linear, Phi], [Linear, Phi, Linear]):
        raise ValueError("a sum that is not h + U phi(W h + b)")
    first, phi, *second = inner
    assert isinstance(first, Linear) and isinstance(phi, Phi)
    made = Residual(first, phi, second[0] if second else None, branch.times)  # type: ignore[arg-type]
    return replace(h, steps=(*h.steps, made))


@dataclass
class _Reader:
    module: Any
    used: set[int] = field(default_factory=set)  # weights that have had their turn
    notes: list[str] = field(default_factory=list)

    def linear(self, chain: _Chain, W: Any, b: Any) -> _Chain:
        for tensor in (W, b):
            if tensor is None:
                continue
            if id(tensor) in self.used:
                raise ValueError("two layers share a weight")
            self.used.add(id(tensor))
        return chain.then(Linear(_array(W), None if b is None else _array(b)))

    def phi(self, chain: _Chain, name: str, options: dict[str, Any]) -> _Chain:
        if name == "gelu" and options.get("approximate", "none") != "none":
            raise ValueError(f"GELU(approximate={options['approximate']!r}); only 'none' is known")
        if name == "softplus" and options.get("beta", 1) != 1:
            raise ValueError(f"Softplus(beta={options['beta']}); only 1 is known")
        if name == "softplus" and options.get("threshold", 20) != 20:
            raise ValueError(f"Softplus(threshold={options['threshold']}); only 20 is known")
        if name == "softplus":
            self.note("softplus is taken for log(1 + e^z) everywhere: PyTorch has z itself beyond its threshold")
        return chain.then(Phi(name, float(options.get("negative_slope", 0.01))))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def called(self, name: str, chain: _Chain, options: dict[str, Any]) -> _Chain:
        """A module or function of one value."""
        if name in _PHI:
            return self.phi(chain, _PHI[name], options)
        if name in _BEHIND:
            if options.get("dim", -1) not in (-1, 1):
                raise ValueError(f"{name} over dimension {options['dim']}")
            return replace(chain, behind=(*chain.behind, name))
        if name in _SAME:
            if name == "dropout" and options.get("training", True):
                raise ValueError("dropout() with training=True: call eval() first, or give training=self.training")
            if "ropout" in name:
                self.note("Dropout is left out, as eval() does")
            return chain
        if name in _FLAT:
            if any(isinstance(step, (Linear, Residual)) for step in chain.steps):
                raise ValueError(f"{name} behind a layer")
            return chain
        raise ValueError(f"{name} is no activation that is known ({', '.join(sorted(set(_PHI.values())))})")

    def arithmetic(self, operation: Callable[..., Any], a: Any, b: Any) -> _Chain:
        """Sums of chains, and constants: a scaling of the input, or of a branch."""
        if operation is operator.add and isinstance(a, _Chain) and isinstance(b, _Chain):
            return _sum(a, b)
        if not isinstance(a, _Chain):
            if operation not in (operator.add, operator.mul):
                raise ValueError(f"{operation.__name__} of a constant and a value")
            a, b = b, a
        if isinstance(b, (_Chain, _Size)) or not isinstance(a, _Chain):
            raise ValueError(f"{operation.__name__} of two values")
        number: Any = _array(b).reshape(-1) if hasattr(b, "detach") else float(b)
        if np.size(number) == 1:
            number = float(np.reshape(number, ()) if np.ndim(number) == 0 else number[0])
        if operation in (operator.add, operator.sub):
            if a.steps or a.factor is not None or a.shift is not None:
                raise ValueError("a constant is added behind the first layer, or twice before it")
            return replace(a, shift=-number if operation is operator.add else number)
        if operation is operator.truediv:
            self.note("what is divided by a constant is multiplied by its rounded reciprocal")
            number = 1 / number
        if not a.steps:
            if a.factor is not None:
                raise ValueError("the input is multiplied twice")
            return replace(a, factor=number)
        if not isinstance(number, float):
            raise ValueError("a layer is multiplied by several numbers")
        return replace(a, times=a.times * number)

    def step(self, node: Any, seen: dict[Any, Any]) -> Any:
        """What a node of the graph is."""
        args = [seen.get(a, a) if hasattr(a, "graph") else a for a in node.args]
        options = {key: seen.get(a, a) if hasattr(a, "graph") else a for key, a in node.kwargs.items()}
        if node.op == "placeholder":
            if seen and not node.args:  # without a default
                raise ValueError("forward() takes several values")
            return args[0] if seen else _Chain()
        if node.op == "get_attr":
            return operator.attrgetter(node.target)(self.module)
        if node.op == "output":
            return args[0]
        if node.op == "call_module":
            inner = self.module.get_submodule(node.target)
            name = type(inner).__name__
            if name == "Linear":
                return self.linear(args[0], inner.weight, inner.bias)
            return self.called(name, args[0], {**vars(inner), **options})
        name = node.target if isinstance(node.target, str) else node.target.__name__
        if name in ("size", "getattr", "getitem"):  # x.size(0), x.shape[0]
            return _Size()
        if name == "linear":
            W, b = [*args[1:], options.get("bias")][:2] if len(args) > 1 else (options["weight"], options.get("bias"))
            return self.linear(args[0], W, b)
        plain = {"iadd": "add", "__iadd__": "add", "isub": "sub", "imul": "mul", "div": "truediv"}.get(name, name)
        if plain in ("add", "sub", "mul", "truediv") and len(args) == 2 and not options:
            return self.arithmetic(getattr(operator, plain), *args)
        if not isinstance(args[0] if args else options.get("input"), _Chain):
            raise ValueError(f"{name} of something else than the input")
        if name == "dropout":
            options |= dict(zip(("p", "training", "inplace"), args[1:]))
        if name in ("leaky_relu", "gelu", "softplus", "softmax", "log_softmax"):  # what may stand without its name
            names = {"leaky_relu": "negative_slope", "softplus": "beta"}.get(name, "dim")
            options |= dict(zip([names], args[1:]))
        return self.called(name, args[0] if args else options["input"], options)


def _traced(module: Any) -> Any:
    from torch.fx import symbolic_trace  # the module is the user's: so is PyTorch

    try:
        return symbolic_trace(module)
    except Exception as error:
        raise ValueError(f"torch.fx cannot follow its forward(): {error}") from error


def _check_hooks(module: Any) -> None:
    """What is called beside forward(), or in its place, is not seen by torch.fx."""
    for name, inner in module.named_modules():
        where = name or type(module).__name__
        if inner._forward_hooks or inner._forward_pre_hooks:
            raise ValueError(f"{where} has forward hooks (weight_norm and spectral_norm are some): remove them first")
        if "forward" in vars(inner):
            raise ValueError(f"the forward() of {where} was replaced on the instance")


def _check_in_place(node: Any, module: Any) -> None:
    """A value that is overwritten must not be looked at again, and the new one has to be used."""
    inner = module.get_submodule(node.target) if node.op == "call_module" else None
    name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
    overwrites = getattr(inner, "inplace", False) or node.kwargs.get("inplace", False) is True
    if node.op in ("call_method", "call_function"):
        overwrites = overwrites or (name.endswith("_") and not name.endswith("__"))
    if overwrites and node.args and not (node.users and len(node.args[0].users) == 1):
        raise ValueError("a value is overwritten in place and used again")


def parts_of_module(module: Any) -> Parts:
    """ValueError naming what of its forward() is no part of a network of layers."""
    assert "torch" in sys.modules
    _check_hooks(module)
    reader = _Reader(module)
    seen: dict[Any, Any] = {}
    result: Any = None
    for node in _traced(module).graph.nodes:
        try:
            _check_in_place(node, module)
            result = seen[node] = reader.step(node, seen)
        except ValueError as error:
            raise ValueError(f"{error} (at {node.name})") from error
    if not isinstance(result, _Chain):
        raise ValueError("forward() returns something else than one value of the input")
    steps, behind = list(result.steps), list(result.behind)
    if result.times != 1:
        raise ValueError("its outputs are multiplied by a constant")
    if steps and steps[-1] == Phi("sigmoid"):
        steps.pop()
        behind.insert(0, "Sigmoid")
    d = next((step.W.shape[1] if isinstance(step, Linear) else step.first.W.shape[1]
              for step in steps if not isinstance(step, Phi)), 0)  # fmt: skip
    notes = [*reader.notes, *(f"left out behind the outputs: {name}" for name in behind)]
    shift, factor = (None if given is None else np.full(d, 1.0) * given for given in (result.shift, result.factor))
    return Parts(steps, shift, factor, notes=notes, behind=f"{behind[0]} of the module" if behind else "")


def check_outputs(module: Any, network: DeepNetwork, X: Numbers) -> None:
    """ValueError where the module, in float64, computes something else at X (n x d) than what was read of it.

    Tracing sees what forward() does with a stand-in: a module that goes other ways with real points is found out here.
    One that takes no points of this shape, or cannot be copied, is not asked.
    """
    torch: Any = sys.modules["torch"]
    try:
        whole = copy.deepcopy(module).cpu().double().eval()
        with torch.no_grad():
            said = whole(torch.tensor(X, dtype=torch.float64)).reshape(len(X), -1).numpy()
    except Exception:
        return
    read = torch.tensor(network(X))
    if said.shape == read.shape:
        ends = [read, read.softmax(1), read.log_softmax(1), read.sigmoid()]  # what may be left out behind the outputs
        if any(np.allclose(end.numpy(), said, rtol=1e-6, atol=1e-6 * np.abs(end.numpy()).max()) for end in ends):
            return
        i = int(np.abs(read.numpy() - said).max(axis=1).argmax())
        raise ValueError(
            f"its outputs for sample {i} are {said[i]}, those of the layers that were read {read[i].numpy()}"
        )
    raise ValueError(f"it has {said.shape[1]} outputs, the layers that were read have {read.shape[1]}")
