#!/usr/bin/env python3
"""Does each file that is compiled together with others compile alone? alone.py BUILD [FILE ..]

Among its neighbours a file can use what only they include or declare, until the pieces are divided anew. BUILD is a
folder that was built with Ninja; each file is read with the options of its piece, without precompiled headers, and its
syntax and types are checked. Exit code 1 if one does not compile."""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def commands(build):
    """Of each file that is compiled with others: its compiler's command, without output and precompiled header."""
    found, before = {}, re.compile(r"cmake_pch|^-include")
    for entry in json.loads(subprocess.run(["ninja", "-C", build, "-t", "compdb"], check=True, capture_output=True,
                                           text=True).stdout):
        piece = (Path(entry["directory"]) / entry["file"]).resolve()
        if not (piece.name.startswith("unity_") and piece.suffix == ".cxx" and piece.exists()):
            continue
        words = shlex.split(entry["command"])
        compiler = [i for i, word in enumerate(words) if re.fullmatch(r".*(\+\+|clang|icpx)(-\d+)?", word)]
        if not compiler:
            sys.exit(f"alone.py: which word is the compiler? {entry['command']}")
        words = words[compiler[0]:]
        kept, skip = [], False
        for i, word in enumerate(words):
            if skip:
                skip = False
            elif word in ("-o", "-MF", "-MT") or (word in ("-include", "-Xclang") and before.search(words[i + 1])):
                skip = True
            elif word not in ("-c", "-MD", "-Winvalid-pch") and not word.endswith(piece.name):
                kept.append(word)
        for file in re.findall(r'^#include "(.+)"', piece.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(str((piece.parent / file).resolve()), (kept, entry["directory"]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    todo = commands(options.build)
    if not todo:
        sys.exit(f"alone.py: no file of {options.build} is compiled with others")
    if options.files:
        alone = [str(file) for file in options.files if str(file.resolve()) not in todo]
        if alone:
            sys.exit(f"alone.py: {', '.join(alone)}: not compiled with others in {options.build}")
        todo = {str(file.resolve()): todo[str(file.resolve())] for file in options.files}

    def compile_alone(item):
        file, (command, folder) = item
        result = subprocess.run([*command, "-fsyntax-only", file], cwd=folder, capture_output=True, text=True)
        if result.returncode:
            print(f"{file} does not compile alone:\n{result.stderr[:3000]}", flush=True)
        return result.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        fine = list(pool.map(compile_alone, sorted(todo.items())))
    print(f"{fine.count(True)} of {len(fine)} files compile alone")
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
