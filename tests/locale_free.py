#!/usr/bin/env python3
"""Numbers are read and written the same in every locale: by std::from_chars (zeroloss/base/parse.hpp) and by fmt, never
by what asks the locale of the program that the library is part of. `locale_free.py SOURCE_TREE` prints every place in
src/, include/, apps/ and python/bindings/ that breaks the rule and exits with 1 if there is one."""

import re
import sys
from pathlib import Path

PLACES = ["src", "include", "apps", "python/bindings"]
BANNED = {
    r"strto\w+|ato[fil]l?|sto(?:[dfi]|ld|ul?l?|ll)": "reads a number: take parsed_number or parsed_integer",
    r"\w*(?:printf|scanf)": "is the locale's: take fmt",
    r"\w*stringstream": "is the locale's: take fmt to write, parsed_number or words_of to read",
    r"lexical_cast": "reads a number: take parsed_number or parsed_integer",
    r"std::to_string|std::to_wstring": "writes a double with the locale's comma: take fmt::to_string",
    r"to(?:upper|lower)|is(?:alpha|alnum|space|upper|lower|punct|print|graph|cntrl|blank)":
        "is the locale's: take base/ascii.hpp",
    r"std::put_(?:time|money)|std::get_(?:time|money)|std::locale|setlocale|imbue": "is a locale",
}  # fmt: skip
#: Where one of them stands nevertheless, and why.
ALLOWED = {
    ("src/images/decode_jpeg.cpp", "snprintf"): "a whole number, without %'d, in a buffer of libjpeg's",
    ("src/images/decode_png.cpp", "snprintf"): "copies text",
    ("apps/zeroloss/cli11.hpp", "lexical_cast"): "replaces that of CLI11",
}
# Comments and texts go; what is left is code. fmt's "{:L}" is the locale's, too.
TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|R"\(.*?\)"|"((?:\\.|[^"\\\n])*)\"""", re.DOTALL)
OF_LOCALE = re.compile(r"\{[^{}]*:[^{}]*L[a-zA-Z]?[}]")


def without_texts(source):
    """The code, with its lines as they are."""
    return TOKEN.sub(lambda token: "\n" * token[0].count("\n"), source)


def problems(name, source):
    """Lines that break the rule, and what to do."""
    code = without_texts(source).split("\n")
    for number, line in enumerate(code, 1):
        for banned, advice in BANNED.items():
            for found in re.finditer(rf"(?<![\w.>])(?:std::)?({banned})\s*[(<;{{ ]", line):
                if (name, found[1]) not in ALLOWED:
                    yield f"{number}: {found[1]} {advice}"
        if re.search(r"#\s*include\s*<(sstream|clocale|locale|strstream)>", line):
            yield f"{number}: {line.strip()}: nothing in it is needed"
    for token in TOKEN.finditer(source):
        if token[1] and OF_LOCALE.search(token[1]):
            yield f'{source.count(chr(10), 0, token.start()) + 1}: "{token[1]}" is written as the locale has it'


def check_itself():
    source = ('x = std::strtod(s, &e);  // strtod(\nf("strtod(x)"); std::istringstream in(line);\n'
              'g(fmt::format("{:.3Lf}", x)); a.stod(3); std::to_string(x); my_atoi(3); std::isspace(c);\n')  # fmt: skip
    found = sorted(problem.split(" ")[:2] for problem in problems("f.cpp", source))
    wanted = [["1:", "strtod"], ["2:", "istringstream"], ["3:", "isspace"], ["3:", "std::to_string"],
              ["3:", '"{:.3Lf}"']]  # fmt: skip
    assert found == sorted(wanted), found


def main():
    check_itself()
    root = Path(sys.argv[1]).resolve()
    files = [f for place in PLACES for f in sorted((root / place).rglob("*.*")) if f.suffix in {".hpp", ".cpp", ".inc"}]
    names = {f.relative_to(root).as_posix(): f.read_text(encoding="utf-8") for f in files}
    found = [f"{name}:{problem}" for name, source in names.items() for problem in problems(name, source)]
    found += [f"{name}: has no {what}: take it off the list" for name, what in ALLOWED
              if what not in names.get(name, "")]  # fmt: skip
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found or not files else 0)


if __name__ == "__main__":
    main()
