#!/usr/bin/env python3
"""unnamed.py SOURCE_TREE: functions and types of unnamed namespaces have a name of their own in each room.

Files of a room are compiled together (cmake/unity_build.cmake). Twice the same name in the same namespace does not
compile; in zeroloss and in zeroloss::internal it does, and a call may go to the neighbour's function. Prints such names
and exits with 1."""

import re
import sys
from collections import defaultdict
from pathlib import Path

OPENS = re.compile(r"^namespace ([\w:]*) ?\{$")
CLOSES = re.compile(r"^\}  // namespace")
#: What begins at the margin: `Type name(`, `struct Name {`, `constexpr Type kName =`.
DEFINES = re.compile(r"^(?! )(?:template <.*> )?(?:(?:struct|class|enum class) (\w+)(?: final)?(?: :.*)? \{"
                     r"|constexpr [\w:<>, ]+ (\w+)(?:\[\])? ?[={]"
                     r"|(?!using|namespace|return|else)[\w:<>,&*\[\] ]+[ &*](\w+)\()")
#: Found by the type of its argument, wherever that is defined.
OVERLOADED = "fields"


def definitions(text):
    """(namespace around, name) of what is defined at the margin of unnamed namespaces."""
    around = []
    for line in text.splitlines():
        if opened := OPENS.match(line):
            around.append(opened[1])
        elif CLOSES.match(line) and around:
            around.pop()
        elif around and around[-1] == "" and (found := DEFINES.match(line)):
            yield "::".join(part for part in around if part), next(name for name in found.groups() if name)


def hidden(namespaces):
    """Whether one of them lies in another, so that its name hides the other's."""
    return any(inner.startswith(outer + "::") for inner in namespaces for outer in namespaces)


def rooms(root):
    for place in ("src", "tests", "apps"):
        for file in sorted((root / place).rglob("*.cpp")):
            parts = file.relative_to(root).parts
            if len(parts) > 2 and not file.stem.endswith(("_absent", "_portable", "_simd")):
                yield "/".join(parts[:2]), file


def main():
    root = Path(sys.argv[1])
    places, files = defaultdict(set), 0
    for room, file in rooms(root):
        files += 1
        for around, name in definitions(file.read_text(encoding="utf-8")):
            places[room, name].add((around, file.relative_to(root).as_posix()))
    twice = {(room, name): found for (room, name), found in places.items()
             if name != OVERLOADED and hidden({around for around, _ in found})}
    for (room, name), found in sorted(twice.items()):
        print(f"{room}: {name} in " + ", ".join(f"{file} ({around})" for around, file in sorted(found)))
    if len(places) < files:
        sys.exit(f"unnamed: {len(places)} names in {files} files: this does not read them right")
    sys.exit(1 if twice else 0)


if __name__ == "__main__":
    main()
