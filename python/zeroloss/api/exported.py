"""Models that are no networks of layers, as the ONNX graphs that the exporters of their own libraries write."""

from __future__ import annotations

import atexit
import contextlib
import copy
import functools
import importlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._core import ReadNetwork


@functools.cache
def _folder() -> str:
    """Of the files, for as long as this process runs: a polished network is written like its file."""
    folder = tempfile.mkdtemp(prefix="zeroloss-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What an exporter prints of a graph that it fails at is longer than a screen."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    kept = [os.dup(number) for number in (1, 2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        for number in (1, 2):
            os.dup2(nothing, number)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        for number, copied in zip((1, 2), kept):
            os.dup2(copied, number)
            os.close(copied)
        os.close(nothing)


def _new_file(kind: str) -> Path:
    return Path(tempfile.mkdtemp(dir=_folder())) / f"{kind}.onnx"


def _require(*packages: str) -> None:
    if missing := [name for name in packages if importlib.util.find_spec(name) is None]:
        raise ValueError(f"to read it as the graph that {packages[-1]} writes: pip install {' '.join(missing)}")


def _written_by_torch(module: Any, sizes: Sequence[int] | None, file: Path) -> str:
    """Returns what wrote the file. The first way folds nothing: constants are the numbers of the module. The second one
    writes what the first cannot, and rounds what it folds.
    """
    from .torch_network import plain_module

    if sizes is None:
        raise ValueError("give X and y as arrays, or the sizes of a sample as `shape`, to read it as a graph")
    torch: Any = sys.modules["torch"]
    _require("onnx")
    try:
        module = copy.deepcopy(plain_module(module)).cpu().eval()
        own = next((number.dtype for number in module.parameters()), torch.float32)
        example = torch.zeros(1, *sizes, dtype=own)
        with torch.no_grad():
            made = module(example)
    except Exception as error:
        said = f"it cannot be run on a sample of {' x '.join(map(str, sizes))} (`shape` says others)"
        raise ValueError(f"{said}: {error}") from error
    if not isinstance(made, torch.Tensor):
        raise ValueError(f"forward() returns a {type(made).__name__}, and not one tensor")
    try:
        ways: list[dict[str, Any]] = [
            {"dynamo": False, "training": torch.onnx.TrainingMode.PRESERVE, "do_constant_folding": False}
        ]
    except AttributeError:  # of a PyTorch that has no other way any more
        ways = []
    if importlib.util.find_spec("onnxscript"):
        ways.append({"dynamo": True, "verbose": False, "external_data": False})
    failure: Exception | None = None
    for way in ways:
        try:
            with torch.no_grad(), warnings.catch_warnings(), _silence():
                warnings.simplefilter("ignore")
                torch.onnx.export(module, (example,), str(file), **way)
            return "torch.onnx.export"
        except Exception as error:
            failure = failure or error
    raise ValueError(
        f"torch.onnx.export cannot write it for a sample of {' x '.join(map(str, sizes))} (`shape` says others): "
        f"{failure}"
    )


def _written_by_skl2onnx(model: Any, file: Path) -> str:
    _require("onnx", "skl2onnx")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            points = np.zeros((1, model.n_features_in_))
            to_onnx = importlib.import_module("skl2onnx").to_onnx
            try:
                graph = to_onnx(model, points, options={id(model): {"zipmap": False}})
            except Exception:  # of a model that has no such option
                graph = to_onnx(model, points)
    except Exception as error:
        alone = "; its last step alone: prove(model[-1], model[:-1].transform(X), y)" if hasattr(model, "steps") else ""
        raise ValueError(f"skl2onnx cannot write it: {error}{alone}") from error
    file.write_bytes(graph.SerializeToString())
    return "skl2onnx"


def exported(model: Any, module: bool, sizes: Sequence[int] | None, graph: dict[str, str]) -> tuple[ReadNetwork, str]:
    """The network and its file. `sizes` are those of a sample of a module; `graph` as of network_of().

    ValueError naming the package that is missing, or why its exporter does not write it; DataError for a graph that is
    not read.
    """
    kind = type(model).__name__
    file = _new_file(kind)
    by = _written_by_torch(model, sizes, file) if module else _written_by_skl2onnx(model, file)
    asked = {**graph, "shape": ",".join(map(str, sizes))} if module and sizes else dict(graph)
    # Of two classes the probabilities are other numbers than what decides.
    two = not module and len(getattr(model, "classes_", ())) == 2 and not asked.get("output_name")
    try:
        read = _core.read_network(str(file), "", "", **(asked | {"output_name": "label"} if two else asked))
    except _core.DataError:
        if not two:
            raise
        read = _core.read_network(str(file), "", "", **asked)
    read.notes = [*read.notes, f"{kind} is proved as the graph that {by} writes of it, with attributes in float32"]
    return read, str(file)
