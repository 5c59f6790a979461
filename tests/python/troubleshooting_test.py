"""docs/troubleshooting.md speaks of messages that there are, and whoever reads a message knows what to do: it says so
itself, or the page does."""

import re
import subprocess
import sys

import pytest

import zeroloss
from run_folders import COMMAND, ROOT

sys.path.append(str(ROOT / "scripts"))
import troubleshooting

PAGE = troubleshooting.PAGE.read_text()
#: How a message ends that says what to do.
ADVICE = re.compile(r"expected |must be |must have |has to be |needs |see --help|get it with|goes with|at least|"
                    r"(known|classes|columns) are |"
                    r"(name|choose|leave|use|say|take|give) ")


def test_every_entry_begins_a_message():
    assert not troubleshooting.unknown(PAGE)


def test_an_entry_that_begins_none_is_named():
    page = "- `..: found text .. among ..`, `no such message`: advice\n  - ``nor `this=..` ..``: more\n- `text` alone\n"
    assert troubleshooting.entries(page) == ["found text .. among ..", "no such message", "nor this=.. .."]
    assert troubleshooting.unknown(page) == ["no such message", "nor this=.. .."]


def test_every_line_of_a_list_is_an_entry():
    lists = PAGE.partition("\n## ")[2]
    assert len(re.findall(r"^ *- ", lists, re.MULTILINE)) == len(troubleshooting.HEAD.findall(lists)) > 80


def pattern(entry):
    """What a message that begins so looks like when it is filled in."""
    return ".*".join(map(re.escape, entry.split("..")))


def advised(text):
    """Whether a message says what to do, or the page does of it. Options are named by each program in its own words."""
    letters = lambda entry: len(re.sub(r"[^A-Za-z]", "", entry))
    return ADVICE.search(text) or any(letters(entry) > 8 and re.search(pattern(entry), text.replace("--", ""))
                                      for entry in troubleshooting.entries(PAGE))  # fmt: skip


TABLE = "a,b,y\n1,2,0\n3,x4,1\n5,6,0\n7,8,1\n9,1,0\n"


@pytest.mark.parametrize("arguments", [
    "certify nothing.csv", "certify mnist --cache none", "certify table.csv --target y", "certify even.csv --target z",
    "fit digits --resume", "certify digits --n 50 --out folder", "certify digits --n 50 --require lambda_min>=3",
    "prove table.csv digits", "certify digits --labels wrong", "certify digits --classes 3", "fit digits --depth 0",
    "fit digits --precision float32 --optimizer gauss_newton", "memorize points.csv", "export table.csv out.onnx",
    "linear digits --sigma S.npy", "sweep digits --width 4:1", "sweep digits --max-trials x", "man nothing",
    "audit digits --n 2", "influence digits", "fit digits --width", "fit digits --width 1 --width 2",
    "predict nothing digits", "width digits --draws -1", "audit digits --n 50 --test even.csv", "memorize equal.csv",
    "certify points.csv --stream",
])  # fmt: skip
def test_what_the_command_says_is_advised(arguments, tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "even.csv").write_text(TABLE.replace("x4", "4"))
    (tmp_path / "points.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    (tmp_path / "equal.csv").write_text("a,b,y\n1,2,0\n3,4,1\n5,7,1\n1,2,1\n")
    (tmp_path / "folder").mkdir()
    done = subprocess.run([*COMMAND, *arguments.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2, 3) and done.stderr
    assert advised(" ".join(done.stderr.split())), done.stderr


@pytest.mark.parametrize("call", [
    lambda: zeroloss.certify([[1.0, float("nan")]]), lambda: zeroloss.certify([[1.0], [2.0]], [1]),
    lambda: zeroloss.fit("digits", optimizer="best"), lambda: zeroloss.read_dataset("digits", classes=["11"]),
    lambda: zeroloss.fit("digits", start=(1, 2, 3)), lambda: zeroloss.kernel.gram([[0.0, 0.0]]),
])  # fmt: skip
def test_what_python_says_is_advised(call):
    with pytest.raises((ValueError, TypeError, zeroloss.DataError)) as raised:
        call()
    assert advised(" ".join(str(raised.value).split())), raised.value


def test_a_proof_that_does_not_hold_is_advised():
    points = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert advised(zeroloss.certify(points, [0, 1, 1], bias=0).conclusion)
