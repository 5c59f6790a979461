#!/usr/bin/env python3
"""A shared library shows what public headers declare: `exports.py LIBRARY..` prints every symbol of zeroloss::internal
that one of them defines for others, and exits with 1 if there is one, or if nothing of zeroloss is defined at all."""
import subprocess
import sys


def defined(library: str) -> list[str]:
    command = ["nm", "--dynamic", "--defined-only", "--demangle", library]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> None:
    failed = False
    for library in sys.argv[1:]:
        # What others instantiate for our types is theirs: std::vector<zeroloss::internal::Cell>::push_back.
        names = [line.split(maxsplit=2)[2] for line in defined(library)]
        shown = [name for name in names if name.startswith(("zeroloss::", "typeinfo for zeroloss::"))]
        hidden = [name for name in shown if "zeroloss::internal" in name.split("(")[0]]
        print(f"{library}: {len(shown)} symbols of zeroloss, {len(hidden)} of them internal")
        for name in hidden:
            print(f"  {name}")
        failed = failed or bool(hidden) or not shown
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
