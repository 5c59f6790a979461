#!/usr/bin/env python3
"""Who may include whom: base <- linalg, chart, storage, processes, tables, download; linalg <- kernel; linalg, storage,
processes, tables <- data <- memorize; data, download <- images <- sources; data, kernel <- network <- theory, proof;
proof <- deep; theory, deep, sources <- train <- sweep, width; kernel, processes <- cluster; cluster, data <- audit;
kernel, sources <- linear; network <- torch; images, torch <- conv; processes <- mpi; all <- models <- present.

`layers.py SOURCE_TREE` prints every include that breaks the rule and exits with 1 if there is one."""
import re
import sys
from pathlib import Path

# What a folder may include, and with it what those may.
FIRST = {
    "base": [],
    "linalg": ["base"],
    "chart": ["base"],
    "storage": ["base"],
    "processes": ["base"],
    "tables": ["base"],
    "download": ["base"],
    "mpi": ["processes"],
    "kernel": ["linalg"],
    "data": ["linalg", "storage", "processes", "tables"],
    "images": ["data", "download"],
    "network": ["kernel", "data"],
    "memorize": ["data"],
    "cluster": ["kernel", "processes"],
    "sources": ["images"],
    "proof": ["network"],
    "theory": ["network"],
    "torch": ["network"],
    "audit": ["cluster", "data"],
    "linear": ["kernel", "sources"],
    "deep": ["proof"],
    "conv": ["images", "torch"],
    "train": ["theory", "deep", "sources"],
    "models": ["conv", "deep", "memorize", "sources"],
    "sweep": ["train"],
    "width": ["train"],
    "present": ["audit", "chart", "linear", "models", "sweep", "width"],
}
ALLOWED = {}
for folder, firsts in FIRST.items():
    ALLOWED[folder] = {folder}.union(*(ALLOWED[first] for first in firsts))
GENERATED = {"zeroloss/version.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".hpp", ".cpp", ".inc"})


def includes(file):
    return INCLUDE.findall(file.read_text(encoding="utf-8"))


def check_layer(root, file, folder, public):
    """Includes of a file of the library. `folder` is the one it lies in."""
    for bracket, name in includes(file):
        ours = name.startswith("zeroloss/")
        if bracket == "<" and not ours:
            if public and re.search(r"[./]", name) and not name.startswith("Eigen/"):
                yield f"<{name}>: a public header includes the standard library, Eigen and zeroloss only"
            continue
        if name in GENERATED:
            continue
        header = root / "include" / name if ours else root / "src" / name
        if not header.is_file():  # as of src: beside the file, or "folder/name.hpp"
            header = file.parent / name
        if not header.is_file():
            yield f'"{name}": no such file in include/ or src/'
            continue
        if public and not ours:
            yield f'"{name}": a public header includes a private one'
        layer = header.relative_to(root / ("include/zeroloss" if ours else "src")).parts[0]
        if layer not in ALLOWED[folder]:
            yield f'"{name}": {folder} may include {", ".join(sorted(ALLOWED[folder]))} only'


def check_app(root, file, *folders):
    """Apps and the Python bindings use public headers and their own; the bindings also run the command."""
    for bracket, name in includes(file):
        if bracket == '"' and not name.startswith("zeroloss/") and not any((f / name).is_file() for f in folders):
            yield f'"{name}": not a public header, nor one of {", ".join(str(f.relative_to(root)) for f in folders)}'


def problems(root):
    for place, public in ((root / "include" / "zeroloss", True), (root / "src", False)):
        for file in sources(place):
            folder = file.relative_to(place).parts[0]
            if folder not in ALLOWED:
                yield file, f"the folder {folder} has no place in the order of layers"
                continue
            for problem in check_layer(root, file, folder, public):
                yield file, problem
    for file in sources(root / "apps"):
        for problem in check_app(root, file, file.parent):
            yield file, problem
    for file in sources(root / "python"):
        for problem in check_app(root, file, file.parent, root / "apps" / "zeroloss"):
            yield file, problem


def main():
    root = Path(sys.argv[1]).resolve()
    found = list(problems(root))
    for file, problem in found:
        print(f"{file.relative_to(root)}: {problem}")
    if not sources(root / "include") or not sources(root / "src"):
        found.append((root, "nothing to check"))
        print(f"{root}: nothing to check")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
