#!/usr/bin/env python3
"""clang-tidy over the sources of src/, apps/ and python/bindings/: scripts/tidy.py [--jobs N] [FILE ..]

Compile commands come from build/tidy, which is configured first. Files that are compiled together are read together:
their headers take most of the time. What was clean is not read again until a file, a header or .clang-tidy changes, so
a run that was stopped goes on where it was. Findings are printed and stay in build/tidy/findings; the exit code is 1 if
there is one."""

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
BREAKS = "bugprone-unchecked-optional-access"  # version 16 crashes on some correct code, and does not end on some
PATIENCE_S = 180
# LibTorch's headers and CUDA's sources are not for this clang.
TORCH = ("<torch/", "<ATen/", '"conv/cuda', '"conv/forward', '"conv/group', '"conv/trainer')


def configure():
    command = ["cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
               "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DZEROLOSS_BUILD_TESTS=OFF",
               "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON",
               "-UCMAKE_UNITY_BUILD"]  # fmt: skip
    python = ROOT / "build" / "python"
    if (python / "requirements.txt").exists():  # complete
        command += ["-DZEROLOSS_BUILD_PYTHON=ON", f"-DPython_EXECUTABLE={python / 'bin' / 'python'}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    database = BUILD / "compile_commands.json"
    database.write_text(re.sub(r" -fno-tree-\S+", "", database.read_text()))  # GCC's alone


def commands():
    """Arguments of the compiler by translation unit: one of our own sources, or several together."""
    found, seen = {}, set()
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        unit = (Path(entry["directory"]) / entry["file"]).resolve()
        command = shlex.split(entry["command"])
        ours = [file for file in sources(unit) if is_ours(file)]
        read = [file for file in ours if file not in seen and not any(t in file.read_text() for t in TORCH)]
        seen.update(read)
        if len(read) == len(ours) > 1:
            found[unit] = command
        else:  # alone, or beside what is not for this clang
            found.update({file: command for file in read})
    return found


def sources(unit):
    """Those that CMake puts into one unit."""
    if "Unity" not in unit.parts:
        return [unit]
    return [Path(name).resolve() for name in re.findall(r'^#include "(.+)"', unit.read_text(), re.MULTILINE)]


def is_ours(file):
    return file.is_relative_to(ROOT) and file.relative_to(ROOT).as_posix().startswith(tuple(f + "/" for f in FOLDERS))


def flags_of(command):
    """Headers of others are the system's: no findings in them."""
    pairs = itertools.pairwise(command)
    flags = [a for before, a in pairs if a.startswith(("-I", "-D", "-std=", "-f")) or "-isystem" in (before, a)]
    return [a if not a.startswith("-I") or is_our_folder(Path(a[2:])) else "-isystem" + a[2:] for a in flags]


def is_our_folder(folder):
    return folder.resolve().is_relative_to(ROOT) and not folder.resolve().is_relative_to(ROOT / "build" / "python")


def digest(unit, flags):
    """Of everything of ours that its findings depend on."""
    made = subprocess.run([CLANG, "-MM", *flags, unit], cwd=BUILD, capture_output=True, text=True)
    headers = made.stdout.replace("\\\n", " ").split()[1:]
    files = sorted(f for f in headers if (BUILD / f).resolve().is_relative_to(ROOT))
    sha = hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + " ".join(flags).encode())
    for file in files or [unit]:
        sha.update((BUILD / file).read_bytes())
    return sha.hexdigest()


def name_of(unit):
    return unit.relative_to(BUILD if unit.is_relative_to(BUILD) else ROOT).as_posix()


def check(unit, command):
    """The findings, "" for none."""
    stamp = BUILD / "clean" / name_of(unit)
    report = BUILD / "findings" / (name_of(unit) + ".txt")
    flags = flags_of(command)
    now = digest(unit, flags)
    if stamp.exists() and stamp.read_text() == now:
        return ""

    def tidy(*more):
        call = [TIDY, "--quiet", f"--config-file={ROOT}/.clang-tidy", *more, unit, "--", *flags,
                "-Wno-unknown-warning-option"]  # fmt: skip
        return subprocess.run(call, capture_output=True, text=True, cwd=BUILD, timeout=None if more else PATIENCE_S)

    try:
        done = tidy()
        broken = f"Processing '{BREAKS}'" in done.stderr
    except subprocess.TimeoutExpired:
        broken = True
    if broken:
        done = tidy(f"--checks=-{BREAKS}")
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
        wanted = {Path(file).resolve() for file in options.files}
        todo = {unit: command for unit, command in todo.items() if wanted & set(sources(unit))}
    bad = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for unit, found in zip(todo, pool.map(lambda item: check(*item), todo.items()), strict=True):
            print(found or f"{name_of(unit)}: clean", flush=True)
            bad += bool(found)
    print(f"clang-tidy: {sum(len(sources(unit)) for unit in todo)} files in {len(todo)} units, {bad} with findings")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
