"""Modules of PyTorch as networks of layers: torch.fx follows their forward(), whatever it calls."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._core import DeepNetwork, GraphNetwork
from .networks import Linear, Numbers, Parts, Phi, Residual, Step

#: Modules, functions and methods by their names; the number of a leak, or how it is spelled.
_PHI = {"ReLU": "relu", "relu": "relu", "relu_": "relu", "Tanh": "tanh", "tanh": "tanh", "tanh_": "tanh",
        "Sigmoid": "sigmoid", "sigmoid": "sigmoid", "sigmoid_": "sigmoid", "GELU": "gelu", "gelu": "gelu",
        "SiLU": "silu", "silu": "silu", "Softplus": "softplus", "softplus": "softplus", "LeakyReLU": "leaky_relu",
        "leaky_relu": "leaky_relu", "erf": "erf", "sin": "sin"}  # fmt: skip
_SAME = {"Identity", "Dropout", "AlphaDropout", "dropout", "contiguous", "float", "double", "clone", "detach"}
_FLAT = {"Flatten", "flatten", "view", "reshape"}
#: What may stand behind the value, in this order, or by its name; of functions that are not here nothing does.
_OPTIONS = {"relu": ["inplace"], "silu": ["inplace"], "gelu": ["approximate"], "softplus": ["beta", "threshold"],
            "leaky_relu": ["negative_slope", "inplace"], "dropout": ["p", "training", "inplace"],
            "softmax": ["dim", "_stacklevel", "dtype"], "log_softmax": ["dim", "_stacklevel", "dtype"],
            "flatten": ["start_dim", "end_dim"]}  # fmt: skip
_SIZES = {"view", "reshape"}  # take any
_BEHIND = {"Softmax", "LogSoftmax", "softmax", "log_softmax"}  # of the outputs: they keep the largest the largest
_KNOWN = {*_PHI, *_SAME, *_FLAT, *_BEHIND}
_WRAPPERS = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module",
             "AveragedModel": "module"}  # fmt: skip
#: Where the hooks are from that make a weight before each call, and leave it as a parameter when they are removed.
_HOOKS = {"torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.nn.utils.prune"}


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


def _name(node: Any) -> str:
    """Of what a node calls."""
    return str(node.target if isinstance(node.target, str) else node.target.__name__)


def _options(node: Any) -> dict[str, Any]:
    """What a function or method is given beside its value, by name, however it was written.

    ValueError for what it is not known to take: nothing is left out of a call.
    """
    name = _name(node)
    known = _OPTIONS.get(name, [])
    given = {{"train": "training"}.get(key, key): value for key, value in node.kwargs.items() if key != "input"}
    behind = node.args[0 if "input" in node.kwargs else 1 :]
    if name in _SIZES:
        return {}
    if len(behind) > len(known):
        raise ValueError(f"{name} with {len(behind)} arguments behind its value; {len(known)} are known")
    given |= dict(zip(known, behind))
    for key in given.keys() - set(known) - {"memory_format"}:
        raise ValueError(f"{name} with {key}={given[key]}, which is not known")
    return given


def _input(node: Any) -> Any:
    """The value that it is called with."""
    return node.args[0] if node.args else node.kwargs.get("input")


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
        if name == "leaky_relu" and not isinstance(options.get("negative_slope", 0.01), (int, float)):
            raise ValueError("a negative_slope that is no number")
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
            if options.get("dtype") is not None:
                raise ValueError(f"{name} with dtype={options['dtype']}")
            return replace(chain, behind=(*chain.behind, name))
        if name in _SAME:
            if name == "dropout" and options.get("training", True):
                raise ValueError("dropout() with training=True: call eval() first, or give training=self.training")
            if "ropout" in name:
                self.note("Dropout is left out, as eval() does")
            if name == "float":
                self.note("float() is left out: the points are not rounded to float32")
            return chain
        if name in _FLAT:
            if any(isinstance(step, (Linear, Residual)) for step in chain.steps):
                raise ValueError(f"{name} behind a layer")
            if (options.get("start_dim", 0 if name == "flatten" else 1), options.get("end_dim", -1)) != (1, -1):
                raise ValueError(f"{name} of other dimensions than all behind the first")
            return chain
        if name.startswith("BatchNorm"):
            fold = "torch.nn.utils.fusion.fuse_linear_bn_eval"
            raise ValueError(f"{name} is not read: fold it into the linear map before it, by {fold}(linear, it)")
        known = ", ".join(sorted(set(_PHI.values())))
        raise ValueError(f"{name} is neither a linear map nor an activation that is known ({known})")

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
        value = args[0] if args else options.get("input")
        if node.op == "call_module":
            inner = self.module.get_submodule(node.target)
            name = type(inner).__name__
            if not isinstance(value, _Chain):
                raise ValueError(f"{name} of something else than the input")
            if name == "Linear" and callable(inner.weight):
                raise ValueError("a quantised Linear is not read")
            if name == "Linear":
                return self.linear(value, inner.weight, inner.bias)
            return self.called(name, value, vars(inner))
        name = _name(node)
        if name in ("size", "getattr", "getitem"):  # x.size(0), x.shape[0]
            return _Size()
        if name == "linear":
            given = {**dict(zip(("input", "weight", "bias"), args)), **options}
            if not isinstance(given["input"], _Chain):
                raise ValueError("linear of something else than the input")
            return self.linear(given["input"], given["weight"], given.get("bias"))
        plain = {"iadd": "add", "__iadd__": "add", "isub": "sub", "imul": "mul", "div": "truediv"}.get(name, name)
        if plain in ("add", "sub", "mul", "truediv") and len(args) == 2 and not options:
            return self.arithmetic(getattr(operator, plain), *args)
        if not isinstance(value, _Chain):
            raise ValueError(f"{name} of something else than the input")
        return self.called(name, value, _options(node) if name in _KNOWN else {})


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
        if isinstance(inner, sys.modules["torch"].jit.ScriptModule):
            raise ValueError(f"{name or 'it'} is TorchScript: give the module that it was made of")
        hooks = {type(hook).__module__ for hook in inner._forward_pre_hooks.values()}
        if inner._forward_hooks or hooks - _HOOKS:
            raise ValueError(f"{where} has forward hooks: remove them first")
        if "forward" in vars(inner) and type(inner).__name__ != "OptimizedModule":
            raise ValueError(f"the forward() of {where} was replaced on the instance")


def _parametrised(module: Any) -> bool:
    """Whether a weight of it is computed from others: by torch.nn.utils.parametrize, or by the hooks of old."""
    from torch.nn.utils.parametrize import is_parametrized

    return any(is_parametrized(inner) or inner._forward_pre_hooks for inner in module.modules())


def plain_module(module: Any) -> Any:
    """What a compiled or parallel module calls; where weights are parametrised, a copy in eval() that has their values.

    ValueError for what torch.fx does not see.
    """
    import torch
    from torch.nn.utils.parametrize import is_parametrized, type_before_parametrizations

    _check_hooks(module)
    while type(module).__name__ in _WRAPPERS:
        module = getattr(module, _WRAPPERS[type(module).__name__])
    if not _parametrised(module):
        return module
    made = [t for inner in module.modules() for t in vars(inner).values() if isinstance(t, torch.Tensor)]
    module = copy.deepcopy(module, {id(t): t.detach().clone() for t in made}).eval()  # which cannot copy results itself
    for inner in list(module.modules()):
        for hook in inner._forward_pre_hooks.values():
            hook.remove(inner)
        inner._forward_pre_hooks.clear()
        if is_parametrized(inner):
            values = {name: getattr(inner, name).detach().clone() for name in inner.parametrizations}
            inner.__class__ = type_before_parametrizations(inner)  # the copy's alone
            del inner.parametrizations
            for name, value in values.items():
                inner.register_parameter(name, torch.nn.Parameter(value, requires_grad=False))
    return module


def _calls(node: Any, module: Any) -> str:
    """The name of the function, method or kind of module."""
    return type(module.get_submodule(node.target)).__name__ if node.op == "call_module" else _name(node)


def _shared(node: Any, module: Any) -> set[Any]:
    """Values that may lie where this one does: what is behind and before it but for what leaves a value as it is."""
    found: set[Any] = set()
    open_ = [node]
    while open_:
        value = open_.pop()
        if value in found or not hasattr(value, "users"):  # or a constant
            continue
        found.add(value)
        if value.op not in ("placeholder", "get_attr") and _calls(value, module) in _SAME | _FLAT:
            open_.append(_input(value))
        open_ += [
            user for user in value.users
            if user.op != "output" and _calls(user, module) in _SAME | _FLAT and _input(user) is value
        ]  # fmt: skip
    return found


def _check_in_place(node: Any, module: Any) -> None:
    """A value that is overwritten must not be looked at again, and the new one has to be used."""
    if node.op not in ("call_module", "call_method", "call_function"):
        return
    name = _calls(node, module)
    if node.op == "call_module":
        overwrites = getattr(module.get_submodule(node.target), "inplace", False)
    else:
        assigns = name in ("iadd", "isub", "imul", "itruediv") or (name.endswith("_") and not name.endswith("__"))
        overwrites = assigns or (name in _OPTIONS and _options(node).get("inplace", False))
    if not overwrites or name in _SAME:  # a Dropout that does nothing
        return
    nodes = list(node.graph.nodes)
    behind = set(nodes[nodes.index(node) + 1 :])
    if not node.users or any(behind & value.users.keys() for value in _shared(_input(node), module)):
        raise ValueError("a value is overwritten in place and used again")


def parts_of_module(module: Any) -> Parts:
    """ValueError naming what of its forward() is no part of a network of layers."""
    reader = _Reader(plain_module(module))
    if _parametrised(module):
        reader.note("parametrised weights are read as the numbers that eval() computes")
    module = reader.module
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


def _near(a: Numbers, b: Numbers, near: float) -> bool:
    """Whether outputs agree, each to a part `near` of the largest of its sample, or of what is usual."""
    largest = np.abs(a).max(axis=1, keepdims=True)
    return bool((np.abs(a - b) <= near * np.maximum(largest, np.median(largest))).all())


def check_outputs(module: Any, network: DeepNetwork | GraphNetwork, X: Numbers, sizes: Sequence[int]) -> None:
    """ValueError where the module, in float64, computes something else at X (n x d) than what was read of it. It takes
    samples of these sizes.

    Tracing sees what forward() does with a stand-in: a module that goes other ways with real points is found out here.
    One that cannot be run in float64, as one that calls float(), is asked in its own precision.
    """
    torch: Any = sys.modules["torch"]
    module = plain_module(module)

    def outputs(whole: Any, dtype: Any) -> Numbers:
        samples = torch.tensor(X, dtype=dtype).reshape(-1, *sizes)
        with torch.no_grad():
            made = whole(samples)
        if not isinstance(made, torch.Tensor):
            raise ValueError(f"forward() returns a {type(made).__name__}, and not one tensor")
        return made.double().reshape(len(X), -1).numpy()  # type: ignore[no-any-return]

    near = 1e-6
    try:
        try:
            said = outputs(copy.deepcopy(module).cpu().double().eval(), torch.float64)
        except Exception:
            own = next((weight.dtype for weight in module.parameters()), torch.float32)
            near = min(1e3 * torch.finfo(own).eps, 0.05)
            said = outputs(copy.deepcopy(module).cpu().eval(), own)
    except Exception as error:
        raise ValueError(
            f"cannot be run on these points, and so not be compared with what was read: {error}"
        ) from error
    read = torch.tensor(network(X))
    if said.shape == read.shape:
        ends = [read, read.softmax(1), read.log_softmax(1), read.sigmoid()]  # what may be left out behind the outputs
        if any(_near(end.numpy(), said, near) for end in ends):
            return
        i = int(np.abs(read.numpy() - said).max(axis=1).argmax())
        raise ValueError(
            f"was not read as it is: its outputs for sample {i} are {said[i]}, those of what was read "
            f"{read[i].numpy()}"
        )
    raise ValueError(
        f"was not read as it is: it has {said.shape[1]} outputs, what was read has {read.shape[1]}"
    )
