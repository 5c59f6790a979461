#!/usr/bin/env python3
"""Runs the commands of tests/compare/commands.txt with two builds of zeroloss and says where their answers differ:
what a change that should change nothing has changed.

    scripts/compare_builds.py OLD_ZEROLOSS NEW_ZEROLOSS [--only REGEX] [--all] [--keep DIR] [--env NAME=VALUE ..]

Each build works in a folder of its own, on the same input files, which are made here. Compared are exit codes, stdout,
stderr and every file that a command writes under out/. Texts, JSON, csv and databases must be equal but for times,
memory, versions, machines and processes; numbers in them, integers apart, may differ by --rtol, for threads do not add
in a fixed order. Models (safetensors, ONNX) must be equal to the bit. Exits with 1 if any command differs.

BLAS has one thread unless --env says otherwise: the same bits in every run, and no waiting beside other programs.

In commands.txt {files} is the folder of input files, {tests} is tests/files, {out:NAME} is a file or run folder
that later commands may use, and {out} one of this command alone.
"""

import argparse
import array
import csv
import difflib
import gzip
import itertools
import json
import math
import os
import random
import re
import shlex
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ROOT / "tests" / "compare" / "commands.txt"
TIMEOUT_S = 120
SHOWN = 12  # differences of a command
WIDTH = 100  # characters of a value that a difference shows
ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_NUM_THREADS": "1"}

# Keys of JSON, columns of csv and of databases that no two runs share.
TIMES = {"seconds", "build_s", "verify_s", "images_per_s", "finished"}
MACHINE = {"peak_bytes", "memory_available_bytes", "version", "machine"}
PROCESS = {"worker", "boot", "pid", "started", "heartbeat"}
VARYING = TIMES | MACHINE | PROCESS
VARYING_TEXT = re.compile(r"\d+\.\d+ (?:s|GB)\b|[\d,]+ images/s|\d{4}-\d\d-\d\dT[\d:]+Z")
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w)")
OUT = re.compile(r"\{out(?::(\w+))?\}")
TYPECODES = {"F64": "d", "F32": "f", "I64": "q", "U8": "B"}  # of safetensors, for arrays
ABSENT = object()

Difference = tuple[str, str, str]  # where, old, new


# ---- comparing ----


def masked_lines(text: str) -> list[str]:
    """Without times, which a table may have in its last column."""
    lines: list[str] = []
    timed = False
    for line in text.splitlines():
        timed = timed and bool(line)
        lines.append(re.sub(r"\S+$", "<time>", line) if timed else VARYING_TEXT.sub("<varying>", line))
        timed = timed or line.endswith("  seconds")
    return lines


def difference(where: str, old: object, new: object) -> Difference:
    """Of long values, what is around the first character that differs."""
    texts = ["(absent)" if v is ABSENT else v if isinstance(v, str) and v else json.dumps(v) for v in (old, new)]
    common = next((k for k, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, common - WIDTH // 4) if max(map(len, texts)) > WIDTH else 0
    cut = [("..." if start else "") + t[start : start + WIDTH] + ("..." if t[start + WIDTH :] else "") for t in texts]
    return where, cut[0], cut[1]


@dataclass(frozen=True)
class Comparison:
    rtol: float

    def same_number(self, old: str, new: str) -> bool:
        a, b = old.replace(",", ""), new.replace(",", "")
        if a.lstrip("+-").isdigit() and b.lstrip("+-").isdigit():
            return int(a) == int(b)
        return math.isclose(float(a), float(b), rel_tol=self.rtol)

    def same_text(self, old: str, new: str) -> bool:
        same_words = old == new or NUMBER.sub("#", old) == NUMBER.sub("#", new)
        return same_words and all(map(self.same_number, NUMBER.findall(old), NUMBER.findall(new)))

    def texts(self, old: str, new: str, where: str) -> Iterator[Difference]:
        """Line by line, aligned by their words: lines may be missing on one side."""
        lines = masked_lines(old), masked_lines(new)
        words = [[NUMBER.sub("#", line) for line in side] for side in lines]
        for _, a, b, c, d in difflib.SequenceMatcher(a=words[0], b=words[1], autojunk=False).get_opcodes():
            for k, (x, y) in enumerate(itertools.zip_longest(lines[0][a:b], lines[1][c:d])):
                if x is None or y is None or not self.same_text(x, y):
                    place = f"{where} line {a + k + 1}" if max(map(len, lines)) > 1 else where
                    yield difference(place, ABSENT if x is None else x, ABSENT if y is None else y)

    def values(self, old: Any, new: Any, where: str = "") -> Iterator[Difference]:
        """What JSON can hold, or a text."""
        if isinstance(old, dict) and isinstance(new, dict):
            if list(old) != list(new) and old.keys() == new.keys():
                yield difference(f"{where} in order", list(old), list(new))
            for key in [*old, *(key for key in new if key not in old)]:
                if key not in VARYING or key not in old or key not in new:
                    yield from self.values(old.get(key, ABSENT), new.get(key, ABSENT), f"{where}.{key}".lstrip("."))
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                yield difference(f"{where} in number", len(old), len(new))
            for k, (a, b) in enumerate(zip(old, new, strict=False)):
                yield from self.values(a, b, f"{where}[{k}]")
        elif isinstance(old, str) and isinstance(new, str):
            if old != new:
                yield from self.texts(old, new, where)
        elif isinstance(old, float) and isinstance(new, float):
            if not math.isclose(old, new, rel_tol=self.rtol):
                yield difference(where, old, new)
        elif type(old) is not type(new) or old != new:
            yield difference(where, old, new)


# ---- what files hold, as JSON could ----


def parsed(text: str) -> Any:
    """JSON, or the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def database(path: Path) -> Any:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.row_factory = sqlite3.Row
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: [dict(row) for row in db.execute(f"SELECT * FROM {name}")] for name in names}


def tensors(path: Path) -> Any:
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    for info in (info for name, info in header.items() if name != "__metadata__"):
        first, last = info["data_offsets"]
        info["numbers"] = array.array(TYPECODES[info["dtype"]], content[end + first : end + last]).tolist()
    return header


READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": lambda path: list(csv.DictReader(path.read_text().splitlines())),
    ".db": database,
    ".onnx": lambda path: path.read_bytes().hex(),
    ".safetensors": tensors,
}
TO_THE_BIT = {".safetensors", ".onnx"}


# ---- running ----


@dataclass(frozen=True)
class Build:
    program: Path
    folder: Path
    environment: dict[str, str]

    def run(self, arguments: Sequence[str]) -> dict[str, str]:
        """What can be seen of it but for files."""
        try:
            done = subprocess.run(
                ["zeroloss", *arguments],
                check=False,
                executable=self.program,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return {"exit code": f"none within {TIMEOUT_S} s"}
        answer = {"stdout": self.masked(done.stdout), "stderr": self.masked(done.stderr)}
        return {"exit code": str(done.returncode), **answer}

    def masked(self, content: bytes) -> str:
        """Without paths that are this build's alone."""
        text = content.decode(errors="replace").replace(str(self.folder), "<folder>")
        return text.replace(str(self.program.parent), "<bin>")

    def read(self, name: str) -> Any:
        path = self.folder / name
        return READERS[path.suffix](path) if path.suffix in READERS else parsed(self.masked(path.read_bytes()))

    def written(self) -> set[tuple[str, int, int]]:
        """The files so far, with what tells that one has been written again."""
        paths = [path for path in (self.folder / "out").rglob("*") if path.is_file()]
        return {(str(p.relative_to(self.folder)), p.stat().st_mtime_ns, p.stat().st_size) for p in paths}


def compare(builds: Sequence[Build], arguments: Sequence[str], rtol: float) -> tuple[str, list[Difference]]:
    """Runs a command: the old build's exit code, and what differs."""
    before = [build.written() for build in builds]
    seen: list[dict[str, Any]] = [build.run(arguments) for build in builds]
    exit_code = seen[0]["exit code"]
    for build, was, side in zip(builds, before, seen, strict=True):
        side |= {what: parsed(text) for what, text in side.items() if what != "exit code"}
        side |= {name: build.read(name) for name, *_ in sorted(build.written() - was)}
    found: list[Difference] = []
    for what in [*seen[0], *(what for what in seen[1] if what not in seen[0])]:
        comparison = Comparison(0 if Path(what).suffix in TO_THE_BIT else rtol)
        for where, old, new in comparison.values(*(side.get(what, ABSENT) for side in seen)):
            found.append((f"{what} / {where.strip()}".removesuffix(" / "), old, new))
    return exit_code, found


# ---- input files ----


def npy(shape: tuple[int, ...], numbers: Sequence[float]) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    start = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode()
    return start + struct.pack(f"<{len(numbers)}d", *numbers)


def png(size: int, pixels: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + pixels[3 * size * y : 3 * size * (y + 1)] for y in range(size))
    shape = struct.pack(">2I5B", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", shape) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_files(folder: Path) -> None:
    """The same in every run."""
    draw = random.Random(1)

    def write(name: str, content: bytes | str) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def normals(count: int) -> list[float]:
        return [draw.gauss(0, 1) for _ in range(count)]

    def table(header: str, rows: int, last: Sequence[object]) -> str:
        lines = [",".join(map(str, [*normals(header.count(",")), draw.choice(last)])) for _ in range(rows)]
        return "\n".join([header, *lines, ""])

    write("prices.csv", table("a,b,c,d,e,price", 40, normals(1000)))
    write("flowers.csv.gz", gzip.compress(table("a,b,c,d,class", 45, ["iris", "rose", "tulip"]).encode(), mtime=0))
    small = {
        "duplicates": "1,2,0\n3,-1,1\n1,2,0\n-1,4,1\n1,1,0",
        "conflicts": "1,2,0\n3,-1,1\n1,2,1\n-1,4,1\n1,1,0",
        "antipodal": "1,2,0\n3,-1,1\n-1,-2,1\n-1,4,1",
        "zero_row": "1,2,0\n0,0,1\n3,1,1",
        "nan": "1,2,0\n3,nan,1",
        "ragged": "1,2,0\n3,4",
    }
    for name, rows in small.items():
        write(f"{name}.csv", f"a,b,label\n{rows}\n")
    write("empty.csv", "")
    write("unlabelled.csv", table("a,b,c,d,e", 5, normals(5)))

    X = normals(180)
    write("points.npy", npy((30, 6), X))
    write("map.npy", npy((3, 3), [2, 0.5, 0, 0.1, 1.5, 0, 0, 0.2, 1]))
    write("mirror.npy", npy((2, 2), [0, 1, 1, 0]))
    write("sigma.npy", npy((3, 3), [2, 0.5, 0, 0.5, 1, 0, 0, 0, 0.5]))
    mapped = [x + 0.1 * noise for x, noise in zip(X, normals(180), strict=True)]
    for name, y in {"y": npy((30,), [k % 3 for k in range(30)]), "Y": npy((30, 6), mapped)}.items():
        with zipfile.ZipFile(folder / f"with_{name}.npz", "w") as archive:
            archive.writestr(zipfile.ZipInfo("X.npy"), npy((30, 6), X))
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), y)

    images = struct.pack(">4B3I", 0, 0, 8, 3, 40, 4, 4) + draw.randbytes(40 * 16)
    write("idx/train-images-idx3-ubyte.gz", gzip.compress(images, mtime=0))
    write("idx/train-labels-idx1-ubyte", struct.pack(">4BI", 0, 0, 8, 1, 40) + bytes(k % 4 for k in range(40)))
    for name, count in {"data_batch_1": 40, "test_batch": 20}.items():
        write(f"cifar/{name}.bin", b"".join(bytes([k % 4]) + draw.randbytes(3072) for k in range(count)))
    for split, name, k in itertools.product(["train", "val"], ["cat", "dog"], range(6)):
        write(f"photos/{split}/{name}/{k}.png", png(32, draw.randbytes(3 * 32 * 32)))

    write("certify.toml", 'certify.data="digits"\ncertify.activation="tanh"\ncertify.n=30\ncertify.classes=["3","8"]\n')
    write("unknown.toml", "certify.colour=3\n")
    write("broken.safetensors", struct.pack("<Q", 40) + b"{}")


# ---- all commands ----


def chosen(lines: Sequence[str], only: str) -> list[int]:
    """The lines that match, and the earlier ones that write what those read."""
    names = [set(filter(None, OUT.findall(line))) for line in lines]
    needed: set[str] = set()
    found = []
    for k in reversed(range(len(lines))):
        if re.search(only, lines[k]) or needed & names[k].difference(*names[:k]):
            found.append(k)
            needed |= names[k]
    return found[::-1]


def arguments_of(line: str, number: int) -> list[str]:
    places = {"{files}": "../files", "{tests}": str(ROOT / "tests" / "files")}
    words = [OUT.sub(lambda out: f"out/{out[1] or number}", word) for word in shlex.split(line)]
    return [re.sub(r"\{\w+\}", lambda token: places[token[0]], word) for word in words]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares what two builds of zeroloss answer.")
    parser.add_argument("old", type=Path, metavar="OLD_ZEROLOSS")
    parser.add_argument("new", type=Path, metavar="NEW_ZEROLOSS")
    parser.add_argument("--only", default="", metavar="REGEX", help="commands that match, and those they need [all]")
    parser.add_argument("--all", action="store_true", help=f"show more than {SHOWN} differences of a command [off]")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to work in, which stays [none]")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="for both builds [none]")
    parser.add_argument("--rtol", type=float, default=1e-9, help="relative tolerance of numbers [1e-9]")
    options = parser.parse_args()
    for program in (options.old, options.new):
        if not os.access(program, os.X_OK):
            parser.error(f"{program}: no such program")

    lines = [line for line in COMMANDS.read_text().splitlines() if line and not line.startswith("#")]
    environment = os.environ | ENVIRONMENT | dict(text.split("=", 1) for text in options.env)
    exit_codes: Counter[str] = Counter()
    differ = 0
    with ExitStack() as stack:
        work = (options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))).resolve()
        make_files(work / "files")
        builds = []
        for program, folder in ((options.old, work / "old"), (options.new, work / "new")):  # paths of one length
            (folder / "out").mkdir(parents=True)
            builds.append(Build(program.resolve(), folder, environment | {"XDG_CACHE_HOME": str(folder / "cache")}))
        for k in chosen(lines, options.only):
            exit_code, found = compare(builds, arguments_of(lines[k], k), options.rtol)
            exit_codes[exit_code] += 1
            differ += bool(found)
            if found:
                print(lines[k])
            shown = len(found) if options.all else SHOWN
            for where, old, new in found[:shown]:
                print(f"    {where}: {old} -> {new}")
            if found[shown:]:
                print(f"    and {len(found) - shown} more (--all shows them)")
    count = exit_codes.total()
    print("exit codes of the old build:", ", ".join(f"{code} ({n})" for code, n in sorted(exit_codes.items())))
    print(f"{count} commands: {count - differ} same, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
