#!/usr/bin/env python3
"""versions.py SOURCE_TREE: everything that states the version states the same one.

CMakeLists.txt has it, and pyproject.toml takes it from there. CITATION.cff and checker/CMakeLists.txt repeat it.
CHANGELOG.md begins with what is not released; where it has released versions, newest first, that of CMakeLists.txt is
the newest or the one to come, and a version that is released has the same day in CITATION.cff. Prints what differs
and exits with 1."""

import re
import sys
from pathlib import Path

VERSION = r"(\d+\.\d+\.\d+)"


def one(pattern, text, what):
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        sys.exit(f"versions: {what} states {len(found)} versions: {found}")
    return found[0]


def numbers(version):
    return tuple(map(int, version.split(".")))


def problems(cmake, pyproject, citation, changelog, checker):
    """What does not fit together in the texts of these five files."""
    version = one(rf"^project\(zeroloss VERSION {VERSION}", cmake, "CMakeLists.txt")
    cited = one(rf"^version: *\"?{VERSION}\"?$", citation, "CITATION.cff")
    alone = one(rf"^ *project\(zeroloss_check VERSION {VERSION}", checker, "checker/CMakeLists.txt")
    if alone != version:
        yield f"checker/CMakeLists.txt says {alone}, CMakeLists.txt {version}"
    if cited != version:
        yield f"CITATION.cff says {cited}, CMakeLists.txt {version}"
    if not re.search(r'^dynamic = \[.*"version"', pyproject, re.MULTILINE):
        yield "pyproject.toml has a version of its own"
    # What its build takes the version by: read as it will be.
    metadata = one(r"^metadata\.version = .*input = \"CMakeLists\.txt\", regex = '(.*)'", pyproject, "pyproject.toml")
    found = re.search(metadata, cmake)
    if not found or found["value"] != version:
        yield f"pyproject.toml finds {found and found['value']}, CMakeLists.txt says {version}"
    sections = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", changelog, re.MULTILINE)
    released = [name for name, _ in sections if name != "Unreleased"]
    if "Unreleased" in [name for name, _ in sections[1:]] or not sections:
        yield "CHANGELOG.md does not begin with what is not released"
    if released != sorted(released, key=numbers, reverse=True) or len(set(released)) < len(released):
        yield f"CHANGELOG.md: versions out of order: {released}"
    if released and (numbers(released[0]) > numbers(version) or version in released[1:]):
        yield f"CHANGELOG.md has released {released[0]}, CMakeLists.txt says {version}"
    day = dict(sections).get(version)
    dated = re.findall(r"^date-released: *[\"']?([\d-]+)", citation, re.MULTILINE)
    if version in released and dated != [day]:
        yield f"CHANGELOG.md has released {version} on {day}, CITATION.cff on {dated}"


def check_itself(*right):
    """The texts as they are, with one mistake each."""
    cmake, pyproject, citation, changelog, checker = right
    version = one(rf"^project\(zeroloss VERSION {VERSION}", cmake, "CMakeLists.txt")
    later = ".".join(map(str, (*numbers(version)[:2], numbers(version)[2] + 1)))
    wrong = [
        (cmake.replace(f"VERSION {version}", f"VERSION {later}"), pyproject, citation, changelog, checker),
        (cmake, pyproject.replace('dynamic = ["version"]', f'version = "{version}"'), citation, changelog, checker),
        (cmake, pyproject, citation.replace(version, later), changelog, checker),
        (cmake, pyproject, citation, f"## [{later}] - 2999-01-01\n{changelog}", checker),
        (cmake, pyproject, re.sub("(?m)^date-rel.*$", "", citation), f"## [{version}] - 2999-01-01\n", checker),
        (cmake, pyproject, citation, "# Changelog\n", checker),
        (cmake, pyproject, citation, changelog, checker.replace(f"VERSION {version}", f"VERSION {later}")),
    ]
    for texts in wrong:
        assert list(problems(*texts)), "a wrong version is not noticed"


def main():
    root = Path(sys.argv[1])
    texts = [(root / name).read_text(encoding="utf-8")
             for name in ("CMakeLists.txt", "pyproject.toml", "CITATION.cff", "CHANGELOG.md",
                          "checker/CMakeLists.txt")]  # fmt: skip
    bad = list(problems(*texts))
    print(*bad, sep="\n", end="\n" if bad else "")
    if not bad:
        check_itself(*texts)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
