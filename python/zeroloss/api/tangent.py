"""The tangent kernel of given weights where it does not fit into memory, and files of networks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from .. import _core
from .._core import DeepNetwork, GraphNetwork, ResourceError

if TYPE_CHECKING:
    from .._core import TangentKernel

Numbers = npt.NDArray[np.float64]


def times(kernel: TangentKernel, v: npt.ArrayLike) -> Numbers:
    """The kernel times v, n K numbers or n K x m."""
    V = np.asarray(v, np.float64)
    if V.ndim not in (1, 2) or V.shape[0] != kernel.shape[0]:
        raise ValueError(f"the tangent kernel is {kernel.shape[0]} x {kernel.shape[0]}; got an array of {V.shape}")
    product: Numbers = np.asarray(_core.tangent_product(kernel, V.reshape(len(V), -1)))
    return product.reshape(V.shape)


def strips(kernel: TangentKernel, rows: int = 0) -> Iterator[Numbers]:
    """Rows from the first on, whole points together: at most `rows` if these hold a point, 0: as it is best."""
    if rows < 0:
        raise ValueError(f"rows must be at least 0; got {rows}")
    points = max(rows // kernel.outputs, 1) if rows else _core.points_together(kernel)

    def each() -> Iterator[Numbers]:
        for first in range(0, kernel.points, points):
            yield np.asarray(kernel.rows(first, min(points, kernel.points - first)))

    return each()


def save(kernel: TangentKernel, path: str | os.PathLike[str], rows: int = 0) -> None:
    """As a .npy file, strip by strip; it has its name once it is whole."""
    file = Path(path)
    if file.suffix != ".npy":
        raise ValueError(f"save: path must end with .npy; got {os.fspath(path)!r}")
    side = kernel.shape[0]
    needed, free = 8 * side * side, shutil.disk_usage(file.resolve().parent).free
    if needed > free:
        raise ResourceError(f"{file}: the tangent kernel needs {needed / 1e9:.3g} GB, the disk has {free / 1e9:.3g}")
    partial = file.with_name(file.name + ".partial")
    try:
        with partial.open("wb") as out:
            _write(kernel, out, rows)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def _write(kernel: TangentKernel, out: IO[bytes], rows: int) -> None:
    header = {"descr": npy.dtype_to_descr(np.dtype(np.float64)), "fortran_order": False, "shape": kernel.shape}
    npy.write_array_header_1_0(out, header)
    for strip in strips(kernel, rows):
        out.write(np.ascontiguousarray(strip).data)


def export(network: DeepNetwork | GraphNetwork, path: str | os.PathLike[str]) -> None:
    """A network as a file, by its ending."""
    name = os.fspath(path)
    ending = Path(name).suffix
    if isinstance(network, GraphNetwork):
        if ending != ".onnx" or not Path(network.name).is_file():
            raise ValueError(f"export: {network.name} is a graph: an .onnx file of it can be copied; got {name!r}")
        if network.moved:
            if Path(name).exists() and os.path.samefile(network.name, name):
                raise ValueError(f"export: {name!r} is the file whose last layer was moved: name another one")
            _core.write_graph_like(network.name, network, name)
        elif not Path(name).exists() or not os.path.samefile(network.name, name):
            shutil.copyfile(network.name, name)
    elif ending == ".onnx":
        network.export_onnx(name)
    elif ending == ".safetensors":
        network.save(name)
    else:
        raise ValueError(f"export: path must end with .onnx or .safetensors; got {name!r}")
