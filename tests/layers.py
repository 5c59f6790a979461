#!/usr/bin/env python3
"""Who may include whom: what the rooms of CMakeLists.txt say that they see, in a second and for all files, those of
libzeroloss_torch and libzeroloss_mpi too, which the compiler does not hold to it one by one. Public headers, the
command and the Python bindings have rules of their own.

`layers.py SOURCE_TREE` prints every include that breaks a rule and exits with 1 if there is one."""
import re
import sys
from pathlib import Path

ROOM = re.compile(r"^zeroloss_room\((\w+)([^)]*)\)", re.MULTILINE)
WORDS = {"HEADERS", "SEES", "FILES", "SHARED", "LINKS"}
GENERATED = {"zeroloss/version.hpp"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def sources(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in {".hpp", ".cpp", ".inc"})


def includes(file):
    return INCLUDE.findall(file.read_text(encoding="utf-8"))


def allowed(cmake):
    """What each room may include: itself, the rooms that it sees, and with them what those may."""
    rooms = {}
    for room, rest in ROOM.findall(cmake):
        rooms[room], word = {room}, None
        for part in rest.split():
            if part in WORDS:
                word = part
            elif word == "SEES":
                rooms[room] |= rooms[part]
    return rooms


def check_layer(root, file, folder, public, allowed):
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
        if layer not in allowed[folder]:
            yield f'"{name}": {folder} may include {", ".join(sorted(allowed[folder]))} only'


def check_app(root, file, *folders):
    """Apps and the Python bindings use public headers and their own; the bindings also run the command."""
    for bracket, name in includes(file):
        if bracket == '"' and not name.startswith("zeroloss/") and not any((f / name).is_file() for f in folders):
            yield f'"{name}": not a public header, nor one of {", ".join(str(f.relative_to(root)) for f in folders)}'


def problems(root):
    rooms = allowed((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    for place, public in ((root / "include" / "zeroloss", True), (root / "src", False)):
        for file in sources(place):
            folder = file.relative_to(place).parts[0]
            if folder not in rooms:
                yield file, f"the folder {folder} is no room of CMakeLists.txt"
                continue
            for problem in check_layer(root, file, folder, public, rooms):
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
