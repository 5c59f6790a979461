#!/usr/bin/env python3
"""clang-tidy over the sources of src/, apps/ and python/bindings/: scripts/tidy.py [--jobs N] [FILE ..]

Compile commands come from build/tidy, which is configured first. A file that was clean is not read again until it, a
header it includes or .clang-tidy changes, so a run that was stopped goes on where it was. Findings are printed and stay
in build/tidy/findings/FILE.txt; the exit code is 1 if there is one."""

import argparse
import hashlib
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "tidy"
FOLDERS = ("src", "apps", "python/bindings")
TIDY, CLANG = "clang-tidy-16", "/usr/lib/llvm-16/bin/clang++"
BREAKS = "bugprone-unchecked-optional-access"  # version 16 crashes on some correct code
# LibTorch's headers and CUDA's sources are not for this clang.
TORCH = ("<torch/", "<ATen/", '"conv/cuda', '"conv/forward', '"conv/group', '"conv/trainer')


def configure():
    command = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
               "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DZEROLOSS_BUILD_TESTS=OFF",
               "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_UNITY_BUILD=OFF"]  # fmt: skip
    python = ROOT / "build" / "python"
    if (python / "requirements.txt").exists():  # complete
        command += ["-DZEROLOSS_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={python / 'bin' / 'python'}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    database = BUILD / "compile_commands.json"
    database.write_text(re.sub(r" -fno-tree-\S+", "", database.read_text()))  # GCC's alone


def commands():
    """Arguments of the compiler by file, for our own sources."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        file = (Path(entry["directory"]) / entry["file"]).resolve()
        if not file.is_relative_to(ROOT):
            continue
        name = file.relative_to(ROOT).as_posix()
        if name.startswith(tuple(f + "/" for f in FOLDERS)) and not any(t in file.read_text() for t in TORCH):
            found.setdefault(name, shlex.split(entry["command"]))
    return found


def digest(name, command):
    """Of everything of ours that the finding of this file depends on."""
    pairs = itertools.pairwise(command)
    flags = [a for before, a in pairs if a.startswith(("-I", "-D", "-std=")) or "-isystem" in (before, a)]
    made = subprocess.run([CLANG, "-MM", *flags, ROOT / name], cwd=BUILD, capture_output=True, text=True)
    headers = made.stdout.replace("\\\n", " ").split()[1:]
    files = sorted(f for f in headers if (BUILD / f).resolve().is_relative_to(ROOT))
    sha = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + " ".join(flags).encode())
    for file in files or [ROOT / name]:
        sha.update((BUILD / file).read_bytes())
    return sha.hexdigest()


def check(name, command):
    """The findings, "" for none."""
    stamp = BUILD / "clean" / name
    report = BUILD / "findings" / (name + ".txt")
    now = digest(name, command)
    if stamp.exists() and stamp.read_text() == now:
        return ""
    call = [TIDY, "-p", BUILD, "--quiet", "--extra-arg=-Wno-unknown-warning-option", ROOT / name]
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT)
    if f"Processing '{BREAKS}'" in done.stderr:
        done = subprocess.run([*call, f"--checks=-{BREAKS}"], capture_output=True, text=True, cwd=ROOT)
    text = done.stdout.replace(f"{ROOT}/", "")
    place = report if done.returncode else stamp
    for file in (report, stamp):
        file.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text if done.returncode else now)
    return (text or done.stderr) if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*", help="some of the files [all]")
    options = parser.parse_args()
    configure()
    todo = commands()
    if options.files:
        todo = {f: todo[f] for f in options.files}
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for name, found in zip(todo, pool.map(lambda item: check(*item), todo.items()), strict=True):
            print(found or f"{name}: clean", flush=True)
            bad += bool(found)
    print(f"clang-tidy: {len(todo)} files, {bad} with findings")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
