#!/usr/bin/env python3
"""A shared library shows what public headers declare: `exports.py LIBRARY..` prints every symbol of zeroloss::internal
that one of them defines for others, and exits with 1 if there is one, or if nothing of zeroloss is defined at all."""

import re
import subprocess
import sys

#: How the mangled name of a function, object, table of virtual functions or typeinfo of zeroloss begins, whatever a
#: function returns. What others instantiate for our types is theirs: std::vector<zeroloss::internal::Cell>::push_back.
OURS = re.compile(r"_Z(?:T\w|GV|GR|Z)*N[rVKRO]*8zeroloss(8internal)?")


def defined(library: str) -> list[str]:
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", library]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in lines]


def demangled(names: list[str]) -> list[str]:
    lines = "\n".join(names)
    return subprocess.run(["c++filt"], input=lines, capture_output=True, text=True, check=True).stdout.split("\n")


def main() -> None:
    failed = False
    for library in sys.argv[1:]:
        found = [ours for ours in map(OURS.match, defined(library)) if ours]
        shown, hidden = [ours.string for ours in found], [ours.string for ours in found if ours[1]]
        print(f"{library}: {len(shown)} symbols of zeroloss, {len(hidden)} of them internal")
        for name in demangled(hidden) if hidden else []:
            print(f"  {name}")
        failed = failed or bool(hidden) or not shown
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
