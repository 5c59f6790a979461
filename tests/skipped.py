#!/usr/bin/env python3
"""Which tests skipped themselves, and why? skipped.py RESULT..

RESULT is what a program of GoogleTest writes with --gtest_output=xml:RESULT. Prints each test that was skipped with its
reason. Exits with 1 where the reason is none of those that a complete installation may have as well: then a tool or a
library is missing that scripts/setup.sh full installs. So it does where a program has not run, or had no test."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

#: Of machines, of data that do not ship, and of a shell that scripts/setup.sh leaves to who has it.
MAY_BE = ("no ZEROLOSS_SHARED_DATA", "no GPU", "there is a GPU", "long double is no more than double here", "no fish")


def skipped(result):
    """How many tests ran or were skipped, and of the latter each name and reason."""
    cases = list(ElementTree.parse(result).getroot().iter("testcase"))
    found = []
    for case in cases:
        for mark in case.iter("skipped"):
            # The place of GTEST_SKIP, and on the next line what it says.
            reason = mark.get("message", "").partition("\n")[2].strip()
            found.append((f"{case.get('classname')}.{case.get('name')}", reason or "without a reason"))
    return len(cases), found


def main(results):
    wrong, why = [], Counter()
    for result in map(Path, results):
        if not result.exists():
            wrong.append(f"{result.stem} has not run: {result} is not there")
            continue
        count, found = skipped(result)
        if count == 0:
            wrong.append(f"{result.stem} ran no test")
        for name, reason in found:
            print(f"{name}: {reason}")
            why[reason] += 1
            if reason not in MAY_BE:
                wrong.append(f"{name} was skipped: {reason}")
    counts = [f"{count}: {reason}" for reason, count in why.most_common()]
    print(f"{why.total()} tests were skipped", *counts, sep="\n  ")
    if not results:
        wrong.append("no results were named")
    if wrong:
        sys.exit("\n".join(["", "What a complete installation runs did not run (scripts/setup.sh full):", *wrong]))


if __name__ == "__main__":
    main(sys.argv[1:])
