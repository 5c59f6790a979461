#!/usr/bin/env python3
"""seconds.py ZEROLOSS: the seconds that an answer says are those that its command took. What a process takes besides,
to be loaded and to end, is measured with --help.

A machine that does other things at the same time makes any process wait: a command is right if one of three runs is."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Each takes long enough for something that is left out to be seen: reading, widths, polishing, a second network.
COMMANDS = [
    "certify digits --n 800",
    "certify digits --n 1500 --method tail",
    "fit digits --classes 3,8 --center --optimizer gauss_newton",
    "fit digits --classes 3,8 --depth 3 --width 128 --activation tanh --optimizer gauss_newton",
    "prove NETWORK digits --divide 16 --n 150 --polish",
    "audit digits --n 600",
    "influence TABLE --target -1 --n 400 --test SMALL",
    "width digits --n 120 --restarts 1",
    "memorize TABLE --target -1",
    "linear rotation:d=30 --layers 30",
    "sweep sphere:n=50,y=normal --d 2:10:2 --width 10 --trials 5 --max-steps 2000",
]
CONV = "conv train CIFAR --depth 1 --width 4 --batch 8 --steps 20 --device cpu --precision float32"


def timed(command, **options):
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return time.monotonic() - began, done.stdout


def inputs(folder):
    """Where there is more to read than to compute; and images."""
    draw = random.Random(1)
    lines = [",".join(f"{draw.random():.17g}" for _ in range(20)) + f",{k % 2}\n" for k in range(20_000)]
    (folder / "table.csv").write_text("".join(lines))
    (folder / "small.csv").write_text("".join(lines[:100]))
    (folder / "cifar").mkdir()
    for name in ("data_batch_1.bin", "test_batch.bin"):
        images = (bytes([k % 10]) + draw.randbytes(3072) for k in range(2000))
        (folder / "cifar" / name).write_bytes(b"".join(images))


def judge(program, words, folder):
    """None, or what is wrong."""
    about = timed([program, *words[: 2 if words[0] == "conv" else 1], "--help"])[0]
    out = folder / "run"
    subprocess.run(["rm", "-rf", str(out)], check=True)
    wall, said = timed([program, *words, "--out", str(out), "--json"], cwd=folder)
    seconds = json.loads(said)["seconds"]
    written = [json.loads((out / name).read_text())["seconds"] for name in ("result.json", "manifest.json")]
    if any(value != seconds for value in written):
        return f"says {seconds} s, and its files {written}"
    least = 0.9 * wall - 2 * about - 0.1
    if not least <= seconds <= wall:
        return f"took {wall:.2f} s, {about:.2f} s of them to load and end, and says {seconds:.2f} s"
    return None


def main(program):
    commands = COMMANDS + [CONV] * Path(program).with_name("zeroloss-torch").exists()
    failed = []
    # In memory where there is such a folder: writing to a busy disk takes any time, and comes after the answer.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder = Path(name)
        inputs(folder)
        for command in commands:
            files = {"TABLE": "table.csv", "SMALL": "small.csv", "CIFAR": "cifar",
                     "NETWORK": f"{ROOT}/examples/digits.onnx"}
            words = [files.get(word, word) for word in command.split()]
            for _ in range(3):
                wrong = judge(program, words, folder)
                if not wrong:
                    break
            print(f"{'FAIL' if wrong else 'ok  '} {command}{': ' + wrong if wrong else ''}", flush=True)
            failed += [command] if wrong else []
    sys.exit(f"{len(failed)} of {len(commands)} say another time than they took" if failed else 0)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
