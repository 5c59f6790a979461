#!/usr/bin/env python3
"""fuzz.py ZEROLOSS ZEROLOSS_CHECK [--seconds S] [--seed N]: answers whose claims and numbers are damaged at random.

A value of claims.json becomes another one, is left out, doubled or put in another's place; or bytes change, in
claims.json, or in claims.bin with its digest kept or made anew. Each has to end with a verdict or as unreadable, within
a minute, and without a word of a sanitizer, where ZEROLOSS_CHECK was compiled with one. Ends with status 1 and the
folder of the first that does not."""

import argparse
import copy
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

DATA = ["sphere:n=8,d=3"]
RUNS = [
    ["certify", *DATA],
    ["certify", *DATA, "--activation", "tanh", "--all-bounds"],
    ["certify", *DATA, "--depth", "2"],
    ["certify", *DATA, "--depth", "2", "--residual"],
    ["width", *DATA, "--restarts", "0"],
    ["fit", *DATA, "--optimizer", "gauss_newton", "--width", "30"],
    ["fit", *DATA, "--optimizer", "output_layer", "--width", "30"],
    ["fit", *DATA, "--depth", "2", "--width", "20", "--activation", "tanh", "--optimizer", "gauss_newton"],
    ["memorize", "digits", "--n", "30"],
    ["linear", "gaussian:d=3", "--layers", "2", "--no-train"],
]  # fmt: skip
VALUES = [None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 1e308, 1e-320, "", "x", "0x1p+0", "-0x1p+3", "inf",
          "nan", "0x1p-1074", "0x1.fffffffffffffp+1023", [], {}, [[]], [0], [1, 2, 3], {"a": 1},
          "y" * 1000]  # fmt: skip
VERDICTS = {0: "holds", 1: "does not hold", 2: "unreadable", 4: "not decided"}


def places(value, path=()):
    """All paths into a JSON value but its own."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def parent(value, path):
    for key in path[:-1]:
        value = value[key]
    return value


def damaged_value(told, source):
    told = copy.deepcopy(told)
    for _ in range(source.choice([1, 1, 1, 2, 4])):
        all_places = list(places(told))
        path = source.choice(all_places)
        inside, key = parent(told, path), path[-1]
        what = source.randrange(5)
        if what == 0:
            del inside[key]
        elif what == 1:
            other = source.choice(all_places)
            inside[key] = copy.deepcopy(parent(told, other)[other[-1]])
        elif what == 2 and isinstance(inside, list):
            inside.append(copy.deepcopy(inside[key]))
        elif what == 3 and isinstance(inside[key], int) and not isinstance(inside[key], bool):
            inside[key] += source.choice([-1, 1, 7, -inside[key] * 2, inside[key]])
        else:
            inside[key] = copy.deepcopy(source.choice(VALUES))
        if not list(places(told)):
            break
    return json.dumps(told).encode()


def damaged_bytes(data, source):
    data = bytearray(data)
    for _ in range(source.choice([1, 2, 8])):
        at = source.randrange(len(data))
        what = source.randrange(4)
        if what == 0:
            data[at] ^= 1 << source.randrange(8)
        elif what == 1:
            del data[at : at + source.randrange(1, 40)]
        elif what == 2:
            data[at:at] = data[at : at + source.randrange(1, 40)]
        else:
            data[at : at + 8] = source.choice([b"\0" * 8, b"\xff" * 8, b"\0\0\0\0\0\0\xf0\x7f", source.randbytes(8)])
        if not data:
            break
    return bytes(data)


def damage(folder, told, numbers, source):
    what = source.randrange(4)
    text = json.dumps(told).encode()
    if what == 0:
        numbers = damaged_bytes(numbers, source)
        if source.randrange(2):
            text = text.replace(hashlib.sha256((folder / "claims.bin").read_bytes()).hexdigest().encode(),
                                hashlib.sha256(numbers).hexdigest().encode())  # fmt: skip
    elif what == 1:
        text = damaged_bytes(text, source)
    else:
        text = damaged_value(told, source)
    return text, numbers


def checked(checker, folder):
    """What it says of a folder; without a status where it takes longer than a minute."""
    environment = {**os.environ, "ASAN_OPTIONS": "hard_rss_limit_mb=4000"}
    try:
        return subprocess.run([checker, "--all", folder], capture_output=True, timeout=60, env=environment,
                              encoding="utf-8", errors="replace")  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess([], None, "", "it did not end in a minute")


def said_by_sanitizer(done):
    return "Sanitizer" in done.stderr or "runtime error" in done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss")
    parser.add_argument("checker")
    parser.add_argument("--seconds", type=float, default=60, help="[60]")
    parser.add_argument("--seed", type=int, default=1, help="[1]")
    options = parser.parse_args()
    source, found = random.Random(options.seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        folders = []
        for k, words in enumerate(RUNS):
            folders.append(Path(name) / f"run{k}")
            made = subprocess.run([options.zeroloss, *words, "--out", folders[-1]], capture_output=True, text=True)
            if not (folders[-1] / "claims.json").is_file():
                sys.exit(f"no claims: {' '.join(words)}\n{made.stderr}")
            done = checked(options.checker, folders[-1])
            if done.returncode not in (0, 4) or said_by_sanitizer(done):
                sys.exit(f"whole, and refused: {' '.join(words)}\n{done.stdout}{done.stderr}")
        whole = [json.loads((folder / "claims.json").read_text()) for folder in folders]
        tried, end = Path(name) / "tried", time.monotonic() + options.seconds
        tried.mkdir()
        while time.monotonic() < end:
            k = source.randrange(len(folders))
            numbers = (folders[k] / "claims.bin").read_bytes()
            text, numbers = damage(folders[k], whole[k], numbers, source)
            (tried / "claims.json").write_bytes(text)
            (tried / "claims.bin").write_bytes(numbers)
            done = checked(options.checker, tried)
            if done.returncode not in VERDICTS or said_by_sanitizer(done):
                kept = tempfile.mkdtemp(prefix="zeroloss-check-")
                shutil.copytree(tried, kept, dirs_exist_ok=True)
                sys.exit(f"{kept}: status {done.returncode}\n{done.stderr[-3000:]}")
            found[VERDICTS[done.returncode]] += 1
    print(f"{sum(found.values())} damaged answers: {dict(found)}")
    if missing := {"holds", "does not hold", "unreadable"} - found.keys():
        sys.exit(f"none of them was found to be {missing}: damage is not what it should be")


if __name__ == "__main__":
    main()
