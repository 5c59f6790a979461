#!/usr/bin/env python3
"""Makes tests/files/*.np[yz] with NumPy, the reference for these formats: make_files.py FOLDER

Every numeric array is 3 x 2 with entry (i, j) = 2 i + j - 1 (unsigned: 2 i + j; bool: is it odd), scaled by 1/2 if
real."""
import pathlib
import sys

import numpy as np

out = pathlib.Path(sys.argv[1])
base = np.arange(6).reshape(3, 2)
for kind in ["<f4", ">f4", "<f8", ">f8", "|i1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8", "|u1", "<u2", ">u2", "<u4",
             ">u4", "<u8", ">u8", "|b1"]:
    values = {"f": (base - 1) / 2, "i": base - 1, "u": base, "b": base % 2}[kind[1]].astype(kind)
    order = "be" if kind[0] == ">" else "le"
    np.save(out / f"{kind[1:]}_{order}.npy", values)
    if kind in ("<f8", ">i2"):
        np.save(out / f"{kind[1:]}_{order}_fortran.npy", np.asfortranarray(values))
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(out / f"version{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, (base - 1) / 2, version=version)
np.save(out / "cube.npy", np.arange(12.0).reshape(2, 3, 2))
np.save(out / "vector.npy", np.arange(3.0))
np.save(out / "half.npy", base.astype("f2"))
np.save(out / "object.npy", np.array([["a", 1]], dtype=object), allow_pickle=True)
np.save(out / "structured.npy", np.zeros(2, dtype=[("a", "f8"), ("b", "i4")]))
np.save(out / "text.npy", np.array([["a", "b"]]))
np.save(out / "nan.npy", np.array([[1.0, 2.0], [3.0, np.nan]]))
X = (base - 1) / 2
np.savez(out / "numbers.npz", X=X, y=np.array([0.25, 1.5, -2.0]))
np.savez_compressed(out / "unicode.npz", X=X, y=np.array(["zèbre", "chat", "日本"]))
np.savez(out / "unicode_be.npz", X=X, y=np.array(["b", "a", "b"], dtype=">U1"))
np.savez(out / "bytes.npz", X=X, y=np.array([b"dog", b"cat", b"dog"]))
np.savez(out / "only_table.npz", points=X, weights=np.arange(3.0))
np.savez(out / "two_tables.npz", a=X, b=X)
np.savez(out / "short_y.npz", X=X, y=np.arange(2))
np.savez(out / "column_y.npz", X=X, y=np.array([[1], [2], [1]]))
np.savez(out / "wide_y.npz", X=X, y=np.zeros((3, 2)))
