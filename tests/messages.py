#!/usr/bin/env python3
"""The library speaks to all its users: no text in src/ or include/ names a flag or a command. What a message advises it
puts between backticks (see advised() in core/advice.hpp), and the programs above say it in their own words.
`messages.py SOURCE_TREE` prints every text that breaks the rule and exits with 1 if there is one."""
import re
import sys
from pathlib import Path

COMMANDS = "certify|completion|conv|data|export|fit|info|linear|man|memorize|predict|report|sweep"
FLAG = re.compile(rf"(?<![\w-])--[a-z]|\bzeroloss ({COMMANDS})\b")
# Comments go, whole; texts stay. A character's quote is none of a text.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|"((?:\\.|[^"\\\n])*)\"""", re.DOTALL)
# What the files of checkpoints are called inside.
NAMES = re.compile(r"zeroloss fit checkpoint|checkpoint of zeroloss fit")
# The command that a trial is.
COMMAND_TEXT = re.compile(r"^std::string fit_command\(.*?^}", re.DOTALL | re.MULTILINE)


def flags(source):
    """The texts of a C++ source that name a flag or a command."""
    for token in TOKEN.finditer(COMMAND_TEXT.sub("", source)):
        if token[1] is not None and FLAG.search(NAMES.sub("", token[1])):
            yield token[1]


def check_itself():
    source = '// "--a"\nf("try --n", \'"\', "zeroloss data get", /* "--b" */ "a--b, \\"--c\\"", "x -- y", "`n`");'
    assert list(flags(source)) == ["try --n", "zeroloss data get", 'a--b, \\"--c\\"'], list(flags(source))


def main():
    check_itself()
    root = Path(sys.argv[1]).resolve()
    files = [file for place in ("include", "src") for file in sorted((root / place).rglob("*.[ch]pp"))]
    found = [(file, text) for file in files for text in flags(file.read_text(encoding="utf-8"))]
    for file, text in found:
        print(f"{file.relative_to(root)}: \"{text}\" names a flag or a command")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
