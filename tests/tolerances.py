#!/usr/bin/env python3
"""Does every tolerance say where it comes from? tolerances.py SOURCE_TREE

A comparison in tests/ with a bare power of ten, or of two that is no unit roundoff, has a comment, on its line or on
one of the three before it, that says what the number is: a goal, figures that were printed, a setting of what is
tested. What rounding may do is computed instead (tests/support/bounds.hpp, tests/python/bounds.py): a chosen number
holds on one processor and fails on the next. Prints the comparisons that say nothing; exit code 1 if there is one, or
no test to read."""
import re
import sys
from pathlib import Path

COMPARISON = re.compile(r"\b(?:EXPECT|ASSERT)_(?:NEAR|L[TE])\b|\bassert_allclose\b|\ballclose\b|\bapprox\(")
POWER = re.compile(r"(?<![\w.])(?:1e-\d+|0x1p-(?!(?:53|24|64|1\d\d\d)[LF]?\b)\d+)[LF]?\b|"
                   r"\b2(?:\.0)?\*\*-(?!53\b|24\b)\d")
COMMENT = {".py": re.compile(r"#(?! *(?:fmt|noqa))|\"\"\""), ".cpp": re.compile(r"//"), ".hpp": re.compile(r"//")}


def unexplained(file):
    """Numbers and texts of the lines."""
    lines, comment = file.read_text(encoding="utf-8").splitlines(), COMMENT[file.suffix]
    for i, line in enumerate(lines):
        statement = line
        for more in lines[i + 1:i + 5] if COMPARISON.search(line) else []:
            if statement.count("(") <= statement.count(")"):
                break
            statement += more
        if COMPARISON.search(line) and POWER.search(statement) and not comment.search(
                "\n".join(lines[max(0, i - 3):i + 1])):
            yield i + 1, line.strip()


def main():
    root = Path(sys.argv[1])
    files = [file for file in sorted((root / "tests").rglob("*"))
             if file.suffix in COMMENT and file.resolve() != Path(__file__).resolve()]
    if not files:
        sys.exit(f"{root / 'tests'}: no test is there")
    found = [f"{file.relative_to(root)}:{number}: {line}" for file in files for number, line in unexplained(file)]
    print(*found, f"{len(found)} tolerances do not say where they come from", sep="\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
