"""apart.py SOURCE: the checker includes no header of the library, and the library none of the checker."""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FLINT = r"^(flint/)?(flint|arb|arb_hypgeom|arb_mat|fmpz_mat|nmod_mat|ulong_extras)\.h$"
OTHERS = re.compile(FLINT + r"|^nlohmann/json\.hpp$|^(fcntl|unistd)\.h$|^[a-z0-9_]+$")
MOST_LINES = 6500


def main():
    source = pathlib.Path(sys.argv[1])
    checker = sorted(p for p in (source / "checker").iterdir() if p.suffix in (".cpp", ".hpp"))
    own = {p.name for p in checker if p.suffix == ".hpp"}
    wrong = []
    lines = 0
    for path in checker:
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        for name in INCLUDE.findall(text):
            if name not in own and not OTHERS.match(name):
                wrong.append(f"{path.name} includes {name}")
    for folder in ("src", "include", "apps"):
        for path in (source / folder).rglob("*.[ch]pp"):
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                if "checker/" in name:
                    wrong.append(f"{path} includes {name}")
    if not checker or lines > MOST_LINES:
        wrong.append(f"the checker has {lines} lines: it is to be short enough to be read, {MOST_LINES} at most")
    print("\n".join(wrong) or f"{len(checker)} files of {lines} lines, none of which includes a header of the library")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
