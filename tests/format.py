#!/usr/bin/env python3
"""format.py SOURCE_TREE: C++ is as clang-format 14 writes it, lines of documentation have at most 120 characters,
and no file has a megabyte, as downloads do that do not belong here.

Tables, code and output are as long as they are; so are links, and pages that a script writes. Prints what differs and
exits with 1; with 77 if everything that could be checked is fine and clang-format is absent."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

WIDTH = 120
LARGEST = 1_000_000  # bytes
WRITTEN = re.compile(r"docs/api\.md|bench/results/.*|experiments/.*/table\.md")  # by scripts


def tracked(root, *patterns):
    """Without git, as in a source archive, all files but those of builds."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-z", *patterns], capture_output=True, text=True)
    if git.returncode == 0:
        return sorted(f for f in git.stdout.split("\0") if f and (root / f).exists())
    found = (p.relative_to(root).as_posix() for pattern in patterns for p in root.rglob(pattern))
    return sorted(f for f in found if not f.startswith("build"))


def long_lines(root):
    for name in tracked(root, "*.md"):
        if WRITTEN.fullmatch(name):
            continue
        code = False
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            if line.lstrip().startswith("```"):
                code = not code
            kept = code or line.startswith(("|", "    ")) or " " not in line.strip()
            if len(line) > WIDTH and not kept:
                yield f"{name}:{number}: {len(line)} characters"


def large_files(root):
    for name in tracked(root, "*"):
        path = root / name
        if path.is_file() and path.stat().st_size > LARGEST:
            yield f"{name}: {path.stat().st_size:,} bytes"


def formatter():
    """clang-format of the version that scripts/setup.sh installs; another one writes other lines."""
    for name in ("clang-format-14", "clang-format"):
        if path := shutil.which(name):
            version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
            if re.search(r"version 14\.", version):
                return path
    return None


def main():
    root = Path(sys.argv[1]).resolve()
    bad = [*long_lines(root), *large_files(root)]
    for line in bad:
        print(line)
    program = formatter()
    if program:
        files = [root / f for f in tracked(root, "*.cpp", "*.hpp")]
        done = subprocess.run([program, "--dry-run", "-Werror", *files], capture_output=True, text=True)
        for line in done.stderr.splitlines():
            if " error: " in line:
                print(line.replace(f"{root}/", ""))
        if done.returncode != 0:
            bad.append("make format mends this")
            print(bad[-1])
    else:
        print("no clang-format 14: run scripts/setup.sh full")
    sys.exit(1 if bad else 0 if program else 77)


if __name__ == "__main__":
    main()
