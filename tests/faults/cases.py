"""The commands that faults are tried on, with small inputs, and how to tell what they made from what they should."""

import dataclasses
import functools
import hashlib
import http.server
import json
import os
import random
import shutil
import sqlite3
import subprocess
import threading
from contextlib import closing, suppress

# As the command sets it for itself: it need not start itself again, which would count system calls twice.
ENVIRONMENT = {
    **os.environ,
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_THREAD_TIMEOUT": "4",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "no_proxy": "127.0.0.1",
}
SECONDS = 300  # that no command here needs, however busy the machine
MIRROR = "http://127.0.0.1:8123"


@dataclasses.dataclass(frozen=True)
class Case:
    """`out` is the run folder or file that `arguments` name as {out}; `essence` are the files of it that are the same
    in every run, down to the bits; `resume` is what continues a stopped run, None where one begins anew. Of a folder
    that grows `piecemeal` every file is whole."""

    name: str
    arguments: tuple
    out: str = "run"
    essence: tuple = ()
    resume: tuple | None = None
    piecemeal: bool = False

    def command(self, program, inputs, folder, resume=False):
        words = (*self.arguments, *(self.resume or () if resume else ()))
        return [str(program), *(w.format(out=folder / self.out, inputs=inputs, mirror=MIRROR) for w in words)]


FIT = ("fit", "{inputs}/table.csv", "--target", "-1", "--width", "64", "--step", "0.01", "--tolerance", "1e-9")
CASES = (
    Case("certify", ("certify", "{inputs}/table.csv", "--target", "-1", "--out", "{out}"), essence=("result.json",)),
    Case("fit", (*FIT, "--max-steps", "1500", "--checkpoint-every-s", "0.02", "--out", "{out}"),
         essence=("model.safetensors",), resume=("--resume",)),
    Case("sweep", ("sweep", "sphere:n=20,y=normal", "--d", "5", "--width", "2:8:2", "--trials", "3", "--max-steps",
                   "2000", "--out", "{out}"), essence=("trials.db", "metrics.csv"), resume=()),
    Case("memorize", ("memorize", "{inputs}/table.csv", "--target", "-1", "--out", "{out}"),
         essence=("model.safetensors",)),
    Case("audit", ("audit", "{inputs}/table.csv", "--target", "-1", "--out", "{out}"), essence=("scores.csv",)),
    Case("conv", ("conv", "train", "{inputs}/cifar", "--depth", "1", "--width", "4", "--batch", "8", "--steps", "12",
                  "--evaluate-every", "4", "--device", "cpu", "--precision", "float32", "--threads", "1",
                  "--checkpoint-every-s", "0.01", "--out", "{out}"),
         essence=("model.safetensors",), resume=("--resume",)),
    Case("predict", ("predict", "{inputs}/model", "{inputs}/table.csv", "--out", "{out}"), out="predicted.csv"),
    Case("export", ("export", "{inputs}/model", "{out}"), out="model.onnx"),
)  # fmt: skip
DATA_GET = Case("data get", ("data", "get", "mnist", "--mirror", "{mirror}", "--cache", "{out}"), out="cache",
                essence=tuple(f"mnist/{part}-ubyte.gz" for part in (
                    "train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")),
                resume=(), piecemeal=True)  # fmt: skip
BY_NAME = {case.name: case for case in CASES}


def run(command, seconds=SECONDS, **options):
    """Its exit code, as a shell has it; stdout; stderr. -1 where it did not end."""
    options.setdefault("env", ENVIRONMENT)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, errors="replace", **options)  # fmt: skip
    return finished(process, seconds)


def finished(process, seconds=SECONDS):
    try:
        out, error = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, error = process.communicate()
        return -1, out, error
    code = process.returncode
    return (code if code >= 0 else 128 - code), out, error


def make_inputs(program, inputs):
    inputs.mkdir(parents=True)
    generator = random.Random(1)
    lines = []
    for _ in range(60):
        x = [generator.gauss(0, 1) for _ in range(6)]
        lines.append(",".join(f"{v:.6f}" for v in x) + ("," + ("yes" if x[0] + x[1] * x[2] > 0 else "no")))
    (inputs / "table.csv").write_text("\n".join(lines) + "\n")
    (inputs / "cifar").mkdir()
    for name in ("data_batch_1.bin", "test_batch.bin"):
        images = b"".join(bytes([i % 10]) + generator.randbytes(3072) for i in range(16))
        (inputs / "cifar" / name).write_bytes(images)
    made = run([program, "memorize", inputs / "table.csv", "--target", "-1", "--out", inputs / "model"])
    assert made[0] == 0, made


def rows_of(path):
    """Of a sweep, but for the seconds that trials took. A journal that could not be removed is rolled back first."""
    with closing(sqlite3.connect(path)) as store:
        if store.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise ValueError(f"{path}: damaged")
        return [row[:-1] for row in store.execute("SELECT * FROM trials ORDER BY cell, trial")]


def count(path, table):
    """Rows of a table of a database; 0 where it cannot be read."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
        return store.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return 0


def numbers_of(value, at=""):
    """Of a JSON value, the leaves by their paths, but for time and memory."""
    if isinstance(value, dict):
        measured = [key for key in value if key.endswith(("seconds", "bytes"))]
        parts = {key: part for key, part in value.items() if key not in measured}
        return {k: v for key, part in parts.items() for k, v in numbers_of(part, f"{at}/{key}").items()}
    if isinstance(value, list):
        return {k: v for i, part in enumerate(value) for k, v in numbers_of(part, f"{at}/{i}").items()}
    return {at: value}


def content(path):
    """What a reader finds in a file; an exception where it is not whole."""
    data = path.read_bytes()
    if path.suffix == ".db":
        return {"rows": rows_of(path)}
    if path.suffix == ".json":
        return numbers_of(json.loads(data))
    if path.suffix == ".safetensors":
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        ends = [t["data_offsets"][1] for name, t in header.items() if name != "__metadata__"]
        if max(ends, default=0) != len(data) - 8 - length:
            raise ValueError(f"{path}: truncated")
    return {"sha256": hashlib.sha256(data).hexdigest()}


class Reference:
    """What two runs without faults agree on."""

    def __init__(self, case, program, inputs, folder):
        found = []
        for _ in range(2):
            clear(folder)
            code, _, error = run(case.command(program, inputs, folder))
            assert code == 0, (case.name, code, error)
            found.append(self.read(case, folder))
        self.names = names_of(folder / case.out)
        self.content = {key: value for key, value in found[0].items() if found[1].get(key) == value}
        for name in case.essence or ("",):
            assert any(key[0] == name for key in self.content), (case.name, name)

    @staticmethod
    def read(case, folder):
        out = folder / case.out
        return {(name, key): value for name in case.essence or ("",)
                for key, value in content(out / name if name else out).items()}  # fmt: skip

    def is_there(self, case, folder):
        out = folder / case.out
        return all((out / name).exists() for name in self.names) if case.piecemeal else out.exists()

    def faults_of(self, case, folder):
        """Why what stands under its own name is not whole; "" if it is."""
        out = folder / case.out
        if case.piecemeal and not self.is_there(case, folder):
            there = [(name, key) for name, key in self.content if (out / name).exists()]
            changed = [name for name, key in there if content(out / name)[key] != self.content[name, key]]
            return f"{changed[0]} is not whole" if changed else ""
        if missing := [name for name in self.names if not (out / name).exists()]:
            return f"{out.name} lacks {', '.join(missing)}"
        try:
            for name in self.names:
                if not (out / name).is_dir():
                    content(out / name)
            found = self.read(case, folder)
        except (OSError, ValueError, sqlite3.Error, KeyError) as error:
            return f"{out.name}: {error}"
        changed = [key for key, value in self.content.items() if found.get(key) != value]
        return f"{out.name} has another {changed[0]}" if changed else ""


def names_of(out):
    """Of the files in a run folder; of a file, "" alone."""
    return sorted(str(p.relative_to(out)) for p in out.rglob("*")) if out.is_dir() else [""]


def serve(folder):
    """Files of a folder at MIRROR, as long as the program runs."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # who asked is gone

    place = MIRROR.removeprefix("http://").split(":")
    server = Server((place[0], int(place[1])), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()


def clear(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
