"""Every message that the source can end with stands in docs/troubleshooting.md."""

import re
import subprocess
import sys

import pytest

import zeroloss
from run_folders import COMMAND, ROOT

sys.path.append(str(ROOT / "scripts"))
import troubleshooting

LISTED = [line[4:] for line in troubleshooting.PAGE.read_text().splitlines() if line.startswith("    ")]


def test_the_page_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "troubleshooting.py", "--check"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr


def test_no_text_of_a_throw_is_missing():
    """Asked again without the script's parser: the first text of each statement that begins with one."""
    first = re.compile(r'throw (?:\w+::)?\w+(?:Error|_argument|damaged)\(\s*(?:fmt::format\(\s*)?("(?:\\.|[^"\\])*"'
                       r'(?:\s*"(?:\\.|[^"\\])*")*)')
    count, missing = 0, []
    for file in sorted(file for top in ("src", "apps", "include", "python") for file in (ROOT / top).rglob("*.[ch]pp")):
        for found in first.finditer(file.read_text()):
            text = troubleshooting.readable(eval(f"({found[1]})"))
            count += 1
            if text and text not in LISTED:
                missing.append(f"{file.name}: {text}")
    assert count > 250 and not missing, missing


def pattern(message):
    """What a message looks like when it is filled in. Options are named by each program in its own words, which may
    stand in place of who was asked."""
    parts = re.split(r"(`[^`]*`|\.\.)", message.removeprefix("..: "))
    return "".join(".*" if part == ".." or part.startswith("`") else re.escape(part) for part in parts if part)


def told(text):
    """Whether the page has more than a few words of it."""
    letters = lambda message: len(re.sub(r"`[^`]*`|[^A-Za-z]", "", message))
    return any(letters(message) > 8 and re.search(pattern(message), text) for message in LISTED)


TABLE = "a,b,y\n1,2,0\n3,x4,1\n5,6,0\n7,8,1\n9,1,0\n"


@pytest.mark.parametrize("arguments", [
    "certify nothing.csv", "certify mnist --cache none", "certify table.csv --target y", "certify even.csv --target z",
    "fit digits --resume", "certify digits --n 50 --out folder", "certify digits --n 50 --require lambda_min>=3",
    "prove table.csv digits", "certify digits --labels wrong", "certify digits --classes 3", "fit digits --depth 0",
    "fit digits --precision float32 --optimizer gauss_newton", "memorize points.csv", "export table.csv out.onnx",
    "linear digits --sigma S.npy", "sweep digits --width 4:1", "sweep digits --max-trials x", "man nothing",
    "audit digits --n 2", "influence digits", "fit digits --width", "fit digits --width 1 --width 2",
    "predict nothing digits", "width digits --draws -1",
])  # fmt: skip
def test_what_the_command_says_is_on_the_page(arguments, tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "even.csv").write_text(TABLE.replace("x4", "4"))
    (tmp_path / "points.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    (tmp_path / "folder").mkdir()
    done = subprocess.run([*COMMAND, *arguments.split()], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode in (1, 2, 3) and done.stderr
    assert told(" ".join(done.stderr.split())), done.stderr


@pytest.mark.parametrize("call", [
    lambda: zeroloss.certify([[1.0, float("nan")]]), lambda: zeroloss.certify([[1.0], [2.0]], [1]),
    lambda: zeroloss.fit("digits", optimizer="best"), lambda: zeroloss.read_dataset("digits", classes=["11"]),
    lambda: zeroloss.fit("digits", start=(1, 2, 3)), lambda: zeroloss.kernel.gram([[0.0, 0.0]]),
])  # fmt: skip
def test_what_python_says_is_on_the_page(call):
    with pytest.raises((ValueError, TypeError, zeroloss.DataError)) as raised:
        call()
    assert told(" ".join(str(raised.value).split())), raised.value
