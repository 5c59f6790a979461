"""Run folders for the tests of zeroloss-check, made with the standard library alone."""

import hashlib
import json
import os
import struct
import subprocess

CODES = {"float64": ("<f8", "d"), "float32": ("<f4", "f"), "int64": ("<i8", "q"), "uint8": ("|u1", "B")}


def flat(values):
    return [x for row in values for x in row] if isinstance(values[0], (list, tuple)) else list(values)


class Run:
    """Arrays, points, networks and claims, written to a folder."""

    def __init__(self, folder):
        self.folder = str(folder)
        os.makedirs(self.folder, exist_ok=True)
        self.all = {"format": 1, "zeroloss": "test", "arrays": {}, "points": {}, "networks": {}, "claims": []}

    def array(self, name, values, dtype="float64"):
        shape = [len(values)] + ([len(values[0])] if isinstance(values[0], (list, tuple)) else [])
        descr, code = CODES[dtype]
        numbers = flat(values)
        data = struct.pack(f"<{len(numbers)}{code}", *numbers)
        sizes = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}".ljust(117) + "\n"
        with open(os.path.join(self.folder, name + ".npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)
        self.all["arrays"][name] = {
            "file": name + ".npy",
            "dtype": dtype,
            "shape": shape,
            "sha256": hashlib.sha256(data).hexdigest(),
        }
        return name

    def points(self, name, array, steps=("normalize",), **more):
        self.all["points"][name] = {"array": array, "steps": list(steps), **more}

    def network(self, name, nodes):
        self.all["networks"][name] = {"nodes": nodes}

    def claim(self, kind, **keys):
        claim = {"kind": kind, "text": kind}
        claim.update({key: value.hex() if isinstance(value, float) else value for key, value in keys.items()})
        self.all["claims"] = [claim]
        return self

    def write(self):
        with open(os.path.join(self.folder, "claims.json"), "w", encoding="utf-8") as file:
            json.dump(self.all, file)
        return self


def check(program, run, *options):
    """The exit status, and what was printed."""
    folder = run.write().folder if isinstance(run, Run) else str(run)
    done = subprocess.run([program, "--all", *options, folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr
