"""Run folders of every kind, and what takes a page apart."""

import atexit
import contextlib
import csv
import fcntl
import functools
import html.parser
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import types
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))  # an installed package comes first
try:
    import zeroloss  # noqa: F401
except ImportError:  # without the compiled extension: figures and report do not need it
    package = types.ModuleType("zeroloss")
    package.__path__ = [str(ROOT / "python" / "zeroloss")]
    sys.modules["zeroloss"] = package

BUILT = ROOT / "build/release/bin/zeroloss"
COMMAND = [os.environ.get("ZEROLOSS_COMMAND", BUILT)]
if not Path(COMMAND[0]).is_file():  # as users of the wheel have it
    COMMAND = [sys.executable, "-m", "zeroloss"]
EVIL = "<script>window.hacked=1</script>"
RUNS = {
    "certify": ["certify", "digits", "--classes", "3,8", "--n", "200", "--spectrum"],
    "points": ["certify", "sphere:n=30,d=4,y=none"],
    "fit": ["fit", "digits", "--classes", "3,8", "--n", "100", "--center", "--width", "128", "--max-steps", "300"],
    "classes": ["fit", "digits", "--n", "60", "--width", "64", "--max-steps", "50"],
    "sweep": [
        "sweep",
        "sphere:n=12,y=normal",
        "--width",
        "1:8",
        "--d",
        "1:8",
        "--max-steps",
        "500",
        "--trials",
        "4",
        "--tolerance",
        "0.1",
    ],
    "column": [
        "sweep",
        "sphere:n=12,d=4,y=normal",
        "--width",
        "1:8",
        "--max-steps",
        "300",
        "--trials",
        "4",
        "--tolerance",
        "0.3",
    ],
    "words": [
        "sweep",
        "sphere:n=12,d=4,y=normal",
        "--width",
        "4:16:4",
        "--activation",
        "relu,tanh",
        "--max-steps",
        "300",
        "--trials",
        "4",
        "--tolerance",
        "0.2",
    ],
    "width": ["width", "sphere:n=12,d=4", "--seed", "3", "--restarts", "1"],
    "linear": ["linear", "rotation:d=4", "--layers", "6"],
    "depth": ["linear", "gaussian:d=4", "--layers", "2:8"],
    "memorize": ["memorize", "digits", "--n", "120"],
    "audit": ["audit", "digits", "--n", "300", "--labels", "noise:0.1"],
}
KINDS = [*RUNS, "conv"]


def make_conv(folder):
    """What a convolutional run of 2,500 steps and 10 classes leaves, less the figures that it writes itself."""
    folder.mkdir()
    names = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
    manifest = {
        "command": ["zeroloss", "conv", "cifar10", "--out", "run"],
        "kind": "conv",
        "options": {"epochs": 5},
        "data": {"name": "cifar10"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "result.json").write_text(
        json.dumps(
            {
                "data": "cifar10",
                "conclusion": "10.00 % of 1,000 test images are wrong",
                "n": 9000,
                "n_test": 1000,
                "steps": 2500,
            }
        )
    )
    rows = ["step,epoch,learning_rate,train_loss,train_error,test_error,images_per_s"]
    rows += [
        f"{step},{step / 500},{0.1 if step < 1500 else 0.01},{2.3 * math.exp(-step / 600)},0.25,,{1000 + step % 7}"
        for step in range(1, 2501)
    ]
    (folder / "metrics.csv").write_text("\n".join(rows) + "\n")
    confusion = [[90 if i == j else (10 if j == (i + 1) % 10 else 0) for j in range(10)] for i in range(10)]
    (folder / "evaluation.json").write_text(
        json.dumps(
            {
                "n": 1000,
                "confusion": confusion,
                "class_names": names,
                "top1_error": 0.1,
                "top5_error": 0.01,
                "per_class_error": [*[0.1] * 9, None],
            }
        )
    )


@functools.cache
def run_of(kind) -> Path:
    """The run folder of a kind, made once."""
    temporary = tempfile.TemporaryDirectory(prefix="zeroloss-")
    atexit.register(temporary.cleanup)
    folder = Path(temporary.name) / "run"
    if kind == "conv":
        make_conv(folder)
    else:
        run(*RUNS[kind], "--out", folder)
    return folder


@functools.cache
def fit_of_width(width) -> Path:
    """The run `fit`, of another width."""
    folder = run_of("fit").with_name(f"width-{width}")
    command = RUNS["fit"]
    at = command.index("--width") + 1
    run(*command[:at], str(width), *command[at + 1 :], "--out", folder)
    return folder


@functools.cache
def audited(kind) -> Path:
    """A run over tables with some wrong labels: of kind table, test or drawn, whose two classes have names that want
    quotes, numbers or influence. Test sample 3 is training sample 0 again, and 80 lies far off."""
    folder = run_of("audit").parent
    train, test = (_table(kind, name, places) for name, places in (("train", range(80)), ("test", range(200, 281))))
    test[3][1:4], test[80][1:4] = train[0][1:4], [40, 50, 60]
    for name, rows in (("train", train), ("test", test)):
        with open(folder / f"{kind}-{name}.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["id", "a", "b", "c", "label"], *rows])
    tested = ["--test", folder / f"{kind}-test.csv"] if kind in ("test", "influence") else []
    tested += ["--draw", "12"] if kind == "drawn" else []
    made = folder / f"audited-{kind}"
    run("influence" if kind == "influence" else "audit", folder / f"{kind}-train.csv", *tested, "--out", made)
    return made


def _table(kind, name, places):
    """Rows of two clusters; every eighth label is wrong, but not of those that judge others."""
    rows = []
    for k in places:
        x = [(1 if k % 2 else -1) + 0.4 * math.sin(7 * k), math.cos(5 * k), 0.3 * math.sin(k * k)]
        wrong = k % 8 == 7 and (kind, name) != ("test", "train")
        label = 3 * x[0] + 100 * wrong if kind == "numbers" else ("<b>up", 'do,"wn')[(x[0] > 0) != wrong]
        rows.append([f"{name}-{len(rows)}", *x, label])
    return rows


@functools.cache
def evil_run() -> Path:
    """A run whose data, labels, columns and name are markup."""
    temporary = tempfile.TemporaryDirectory(prefix="zeroloss-")
    atexit.register(temporary.cleanup)
    points = Path(temporary.name) / f"{EVIL.replace('/', '')}.csv"
    rows = [
        f"{math.cos(k)},{math.sin(k)},{math.cos(2 * k)},{EVIL if k % 2 else '</script><img src=x onerror=hacked=1>'}"
        for k in range(12)
    ]
    points.write_text(f"a,b,c,label\n{chr(10).join(rows)}\n")
    run("certify", points, "--spectrum", "--out", points.with_name("run"))
    return points.with_name("run")


@contextlib.contextmanager
def worked_on(folder):
    """The folder, made if need be, with its lock held by this process."""
    folder.mkdir(exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        yield folder
    finally:
        os.close(held)


def run(*arguments):
    """Runs the command; it has to succeed."""
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Page(html.parser.HTMLParser):
    """A page taken apart. Elements must be closed in the order in which they were opened."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in ("br", "img", "link", "meta"):
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open and self.open.pop() == name

    def handle_data(self, text):
        self.texts.append((self.open[-1] if self.open else "", text))

    def all(self, name):
        return [attributes for element, attributes in self.elements if element == name]

    def text(self, name, between=""):
        return between.join(text for element, text in self.texts if element == name)


def decoded(file):
    """(width, height, channels, pixels) of a PNG file; its checksums are checked."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(file):
        size, kind = struct.unpack(">I4s", file[at : at + 8])
        data = file[at + 8 : at + 8 + size]
        assert struct.unpack(">I", file[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8 and list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    channels = {0: 1, 2: 3}[colour]
    rows, stride = zlib.decompress(chunks[b"IDAT"]), 1 + width * channels
    assert len(rows) == height * stride and all(rows[k] == 0 for k in range(0, len(rows), stride))
    return width, height, channels, b"".join(rows[k + 1 : k + stride] for k in range(0, len(rows), stride))
