#!/usr/bin/env python3
"""The library speaks to all its users: no text in src/ or include/ names a flag or a command. What a message advises it
puts between backticks (see advised() in base/advice.hpp), and the programs above say it in their own words: an option
is a field or what the command has beside those, a call is one that command_of() knows.
`messages.py SOURCE_TREE` prints every text that breaks the rule and exits with 1 if there is one."""
import re
import sys
from pathlib import Path

# Comments go, whole; texts stay. A character's quote is none of a text.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|"((?:\\.|[^"\\\n])*)\"""", re.DOTALL)
# What the files of checkpoints are called inside.
NAMES = re.compile(r"zeroloss fit checkpoint|checkpoint of zeroloss fit")
# Where command lines are made: that which a trial is, and those that follow an answer.
COMMAND_TEXT = re.compile(r"^(std::string fit_command|std::vector<std::string> (flag_words|typed_again)|Next \w+)\("
                          r".*?^}", re.DOTALL | re.MULTILINE)
# What advised() takes for advice.
ADVICE = re.compile(r"`([a-z_0-9]+)(?:=[^`]*|(\()[^`]*\))?`")


class Known:
    """What there is to name."""

    def __init__(self, commands, options, calls):
        self.flag = re.compile(rf"(?<![\w-])--[a-z]|\bzeroloss ({'|'.join(commands)})\b")
        self.options, self.calls = options, calls

    def problems(self, source):
        """What is wrong with the texts of a C++ source."""
        for token in TOKEN.finditer(COMMAND_TEXT.sub("", source)):
            text = token[1] or ""
            if self.flag.search(NAMES.sub("", text)):
                yield f'"{text}" names a flag or a command'
            for name, call in ADVICE.findall(text):
                if name not in (self.calls if call else self.options):
                    yield f'"{text}" advises {name}, which is no {"call" if call else "option"}'


def known(root, sources):
    apps = root / "apps" / "zeroloss"
    commands = re.findall(r"^  ROW\((\w+)\)", (apps / "commands.cpp").read_text(encoding="utf-8"), re.MULTILINE)
    words = (apps / "command.cpp").read_text(encoding="utf-8")
    of_calls = re.search(r"^std::string command_of\(.*?^}", words, re.DOTALL | re.MULTILINE)[0]
    calls = set(re.findall(r'\{"(\w+)", "', of_calls))
    options = {name for source in sources for name in re.findall(r'Field\{\s*"(\w+)"', source)}
    options |= set(re.findall(r'advice\.name == "(\w+)"', words))  # which the command spells otherwise
    for file in apps.glob("*.cpp"):
        flags = re.findall(r'(?:option|flag)\("--([a-z-]+)"', file.read_text(encoding="utf-8"))
        options |= {name.replace("-", "_") for name in flags}
    assert commands and calls and options, (commands, calls, options)
    return Known(commands, options, calls)


def check_itself():
    one = Known(["data", "fit"], {"n"}, {"fetch"})
    source = '// "--a"\nf("try --n", \'"\', "zeroloss data get", /* "--b" */ "a--b, \\"--c\\"", "x -- y", "`n`");'
    wrong = [f'"{text}" names a flag or a command' for text in ("try --n", "zeroloss data get", 'a--b, \\"--c\\"')]
    assert list(one.problems(source)) == wrong, list(one.problems(source))
    source = 'f("`n=3`, `fetch(x)`", "or `m=3`", "`n()`", "`fetch`", "`f(x`")'
    wrong = ["m, which is no option", "n, which is no call", "fetch, which is no option"]
    assert [text.partition("advises ")[2] for text in one.problems(source)] == wrong, list(one.problems(source))


def main():
    check_itself()
    root = Path(sys.argv[1]).resolve()
    files = {file: file.read_text(encoding="utf-8") for place in ("include", "src")
             for file in sorted((root / place).rglob("*.[ch]pp"))}  # fmt: skip
    has = known(root, files.values())
    found = [(file, problem) for file, source in files.items() for problem in has.problems(source)]
    for file, problem in found:
        print(f"{file.relative_to(root)}: {problem}")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
