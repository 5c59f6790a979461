#!/usr/bin/env python3
"""Measures what verified numbers take for granted, against mpmath: the C library's functions, Highway's asin on every
instruction set of this machine, and phi, phi', phi'' of every activation. Exits with 1 where a bound is exceeded.

    python scripts/check_libm.py            (needs mpmath, a C++ compiler, Highway and fmt; two minutes)
    python scripts/check_libm.py --write    writes tests/kernel/data/activation_worst.csv as well

Each range is cut into strata. scripts/check_libm.cpp finds the worst of many random points in each by long double, and
mpmath judges those. The assumptions are those of docs/design.md, "What a verified number rests on".
"""

import argparse
import ctypes
import math
import pathlib
import subprocess
import sys
import tempfile

import mpmath
from mpmath import mp, mpf

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "kernel" / "data"))
from make_oracles import ACTIVATIONS  # noqa: E402

mp.dps = 60
U = mpf(2) ** -53
TINY, PI = 5e-324, math.pi

# A range (a, b, log, sign, shift): x = shift + sign t, t in [a, b], uniform or with an equal share for every binade.
LIBM = {  # function: ulps assumed, mpmath's, ranges
    "exp": (1, mpmath.exp, [(0, 746, 0, -1, 0), (1e-20, 746, 1, -1, 0)]),
    "log1p": (2, mpmath.log1p, [(0, 1, 0, 1, 0), (TINY, 1, 1, 1, 0)]),
    "tanh": (3, mpmath.tanh, [(0, 1, 0, 1, 0), (0, 20, 0, 1, 0), (TINY, 25, 1, -1, 0)]),
    "erf": (2, mpmath.erf, [(0, 1, 0, 1, 0), (0, 6, 0, -1, 0), (TINY, 6, 1, 1, 0)]),
    "erfc": (6, mpmath.erfc,
             [(0, 6.5, 0, -1, 0), (0, 2, 0, 1, 0), (0, 28.3, 0, 1, 0), (1e-20, 28, 1, 1, 0), (1.249, 1.25, 0, 1, 0)]),
    "acos": (4, mpmath.acos, [(-1, 1, 0, 1, 0), (1e-16, 1, 1, -1, 1), (1e-16, 1, 1, 1, -1)]),
    "asin": (4, mpmath.asin, [(-1, 1, 0, 1, 0), (TINY, 1, 1, 1, 0)]),
    "sin": (4, mpmath.sin,
            [(0, 1e4, 0, 1, 0), (1, 1e300, 1, -1, 0), (0, PI, 0, 1, 0), (TINY, PI, 1, 1, 0), (1e-16, 1, 1, -1, PI)]),
    "cos": (4, mpmath.cos, [(0, 1e4, 0, 1, 0), (1, 1e300, 1, -1, 0), (0, PI, 0, 1, 0), (1e-16, 1, 1, 1, PI / 2)]),
    "atan2": (4, None, [(0, PI, 0, 1, 0), (1e-300, 1, 1, 1, 0), (1e-15, 1, 1, -1, PI)]),
    "sqrt": (0.5, mpmath.sqrt, [(TINY, 1e300, 1, 1, 0)]),
}
ASIN = (4, mpmath.asin, [(-1, 1, 0, 1, 0), (TINY, 1, 1, -1, 0), (1e-16, 1, 1, -1, 1)])
# What activation.hpp promises, in units of 2^-53: relative, and absolute where terms cancel.
RELATIVE, ABSOLUTE = 16, {("gelu", 1): 5, ("silu", 1): 5, ("silu", 2): 5}
SUBNORMAL = mpf(2) ** -1062
NAMED = [-1.7673652270285856, -1.7677305739330402]  # gelu's worst


def library(folder):
    path = pathlib.Path(folder) / "check_libm.so"
    sources = ["scripts/check_libm.cpp", "src/kernel/activation.cpp"]
    command = ["c++", "-std=c++20", "-O2", "-shared", "-fPIC", "-I.", "-Iinclude", "-Isrc", *sources, "-lhwy", "-lfmt"]
    subprocess.run([*command, "-o", str(path)], cwd=ROOT, check=True)
    check = ctypes.CDLL(str(path))
    check.evaluate.restype = ctypes.c_double
    check.evaluate.argtypes = [ctypes.c_char_p, ctypes.c_double]
    check.use_target.restype = ctypes.c_char_p
    real, number = ctypes.c_double, ctypes.c_int
    check.worst.argtypes = [ctypes.c_char_p, real, real, number, real, real, number, number, real, real, real]
    check.worst.argtypes += [ctypes.POINTER(real)]
    check.worst.restype = None
    return check


def ulp(x):
    x = max(abs(x), mpf(2) ** -1022)
    return mpf(2) ** (int(mpmath.floor(mpmath.log(x, 2))) - 52)


def candidates(check, name, place, strata, tries, relative, absolute, ulps):
    points = (ctypes.c_double * strata)()
    check.worst(name.encode(), *place, strata, tries, relative, absolute, ulps, points)
    return list(points)


def report(name, measured, where, assumed):
    print(f"{name:26}{measured:8.3f} of {assumed:4g} at {where!r}{'' if measured <= assumed else '  EXCEEDED'}")
    return measured <= assumed


def check_function(check, name, assumed, exact, ranges, label=None):
    """In ulps of the exact value."""
    most, where = -1.0, None
    for place in ranges:
        for x in candidates(check, name, place, 200, 5000, 0, 0, 1):
            if name == "atan2":  # as of a pair of points, x their angle
                value = mpmath.atan2(2 * LIBM_SO.sin(x / 2), 2 * LIBM_SO.cos(x / 2))
            else:
                value = exact(mpf(x))
            error = abs(mpf(check.evaluate(name.encode(), x)) - value) / ulp(value)
            if error > most:
                most, where = float(error), x
    return report(label or name, most, where, assumed)


def check_activation(check, name, order, exact, rows):
    """In units of 2^-53 |value|, once the absolute part of the promise is taken off the error."""
    absolute, call = ABSOLUTE.get((name, order), 0) * U, f"{name} {order}"
    places = [(0, top, 0, s, 0) for top in (4, 41, 760) for s in (1, -1)] + [(TINY, 800, 1, s, 0) for s in (1, -1)]
    places += [(1.76, 1.7677, 0, -1, 0)] + [(a, a + 0.01, 0, s, 0) for a in (0.747, 1.273, 2.394)
                                            for s in (1, -1) if absolute]
    points = [z for p in places for z in candidates(check, call, p, 16, 40000, RELATIVE * float(U), float(absolute), 0)]
    most, where, beside_zero = -1.0, None, 0.0
    for z in points + NAMED:
        mp.dps = 400 if abs(z) > 40 else 60
        value = exact(mpf(z))
        mp.dps = 60
        rows.append((name, order, repr(z), mpmath.nstr(value, 22) if abs(value) > mpf(2) ** -1080 else "0"))
        error = abs(mpf(check.evaluate(call.encode(), z)) - value)
        rest = error - absolute - SUBNORMAL
        if rest > 0:
            rest /= U * abs(value)
        if rest > most:
            most, where = float(rest), z
        if absolute and abs(value) < 0.01 and abs(z) < 3:
            beside_zero = max(beside_zero, float(error / U))
    if absolute:
        print(f"{'beside its zeros':26}{beside_zero:8.3f} of {float(absolute / U):4g}, absolute")
    return report(f"{name} order {order}", max(most, 0.0), where, RELATIVE)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    fine, rows = True, []
    LIBM_SO = ctypes.CDLL("libm.so.6")
    for f in (LIBM_SO.sin, LIBM_SO.cos):
        f.restype, f.argtypes = ctypes.c_double, [ctypes.c_double]
    with tempfile.TemporaryDirectory() as folder:
        check = library(folder)
        for name, (assumed, exact, ranges) in LIBM.items():
            fine &= check_function(check, name, assumed, exact, ranges)
        n = 0
        while target := check.use_target(n):
            fine &= check_function(check, "Highway Asin", *ASIN, f"Highway Asin, {target.decode()}")
            n += 1
        for name, functions in ACTIVATIONS.items():
            if functions[2] is None:
                continue  # piecewise linear: exact, or a product's one rounding
            for order, exact in enumerate(functions):
                fine &= check_activation(check, name, order, exact, rows)
    if options.write:
        lines = ["activation,order,z,exact"] + [",".join(map(str, row)) for row in rows]
        (ROOT / "tests/kernel/data/activation_worst.csv").write_text("\n".join(lines) + "\n")
    sys.exit(0 if fine else 1)
