#!/usr/bin/env python3
"""Writes the lists of docs/troubleshooting.md, every message of the source; --check says whether they differ.

Of C++ these are the texts of `throw` statements, of the functions and variables that such a statement takes its text
from, of what is handed to a function that throws its argument, and of what the command's parser asks about a word. Of
Python, those of every exception that is made. Better one text too many than one that nobody finds. What stands above
the mark in the page is written by hand."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"
MARK = "<!-- Below: scripts/troubleshooting.py -->\n"
#: Places whose messages stand together, in this order; `src/X` is every folder of the library.
PLACES = {"apps": "The command", "src": "The library", "python": "The Python package"}

TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|[A-Za-z_]\w*|::|->|\S""",
                   re.DOTALL)  # fmt: skip
NAME = re.compile(r"[A-Za-z_]\w*$")
OPEN, CLOSE = set("([{"), set(")]}")
CONTROL = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "decltype", "noexcept"}
TELL = {"tell", "snprintf"}  # say a message without throwing it
SHORT = 100  # tokens of a function that does nothing but throw its argument, which is called one of these:
MESSAGE = {"what", "text", "hint", "range", "call", "message", "why", "reason"}
#: What CLI11 says of a command line, behind ours.
PARSER = {".. is required; see --help", "..: .. required .. missing; see --help", "..: .. not in {..}; see --help",
          "..: File does not exist: ..", "..: Value .. not in range .. to ..",
          "..: At Most .. required but received ..", "A subcommand is required"}  # fmt: skip
PLACEHOLDER = re.compile(r"%(?:\.?\d*)?l*[dsgufi]|\{[^{}]*\}")


def literal(token):
    if token.startswith('R"'):
        return token[3:-2]
    return re.sub(r"\\(.)", lambda escaped: {"n": "\n", "t": " "}.get(escaped[1], escaped[1]), token[1:-1])


def is_text(token):
    return token.startswith(('"', 'R"'))


def readable(text, words=2):
    """A text as a user sees it, two dots for what is filled in; None if it has no two words, or not so many."""
    text = text.replace("{{", "\0").replace("}}", "\1")
    text = PLACEHOLDER.sub("..", text).replace("\0", "{").replace("\1", "}")
    text = re.sub(r"\s+", " ", text).strip(" :;,")
    enough = len(text.split()) >= words and re.search(r"[A-Za-z]{2,}.*\s\S*[A-Za-z]{2,}", text)
    return text if enough else None


class Source:
    """The tokens of a C++ file with its functions: name, parameters, body."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.tokens = [found[0] for found in TOKEN.finditer(text) if not found[0].startswith(("//", "/*"))]
        self.partner = self._partners()
        self.functions = list(self._functions())

    def _partners(self):
        stack, partner = [], {}
        for i, token in enumerate(self.tokens):
            if token in OPEN:
                stack.append(i)
            elif token in CLOSE and stack:
                partner[stack.pop()] = i
        return partner

    def _functions(self):
        for i in range(len(self.tokens) - 1):
            name = self.tokens[i]
            if name == "]":  # a lambda, called by the name of its variable
                start = max((k for k, end in self.partner.items() if end == i), default=None)
                name = self.tokens[start - 2] if start and start > 1 and self.tokens[start - 1] == "=" else ""
            if not NAME.match(name) or name in CONTROL or self.tokens[i + 1] != "(" or i + 1 not in self.partner:
                continue
            end = self.partner[i + 1]
            at = end + 1
            while at < len(self.tokens) and self.tokens[at] in {"const", "noexcept", "override", "->", "::", "std",
                                                                "string", "mutable"}:
                at += 1
            if at < len(self.tokens) and self.tokens[at] == "{" and at in self.partner:
                yield name, (i + 2, end), (at, self.partner[at])

    def around(self, i):
        """The innermost function that has this token in its body."""
        inside = [f for f in self.functions if f[2][0] < i < f[2][1]]
        return min(inside, key=lambda f: f[2][1] - f[2][0], default=None)

    def statement(self, i):
        """Up to the semicolon that ends it."""
        at = i
        while at < len(self.tokens) and self.tokens[at] != ";":
            if self.tokens[at] in CLOSE:
                break
            at = self.partner.get(at, at) + 1
        return i, at

    def texts(self, start, end):
        """Its texts; those that follow each other are one."""
        whole = ""
        for token in self.tokens[start : end + 1]:
            if is_text(token):
                whole += literal(token)
            elif whole:
                yield whole
                whole = ""
        if whole:
            yield whole

    def names(self, start, end):
        """The names in it, and whether each is called."""
        for i in range(start, end):
            if NAME.match(self.tokens[i]):
                yield self.tokens[i], self.tokens[i + 1] in "({" if i + 1 < len(self.tokens) else False


class Library:
    """All C++ sources, each with what it may end with."""

    def __init__(self, files):
        self.sources = {file: Source(file) for file in files}
        self.bodies = defaultdict(list)
        for source in self.sources.values():
            for function in source.functions:
                self.bodies[function[0]].append((source, function))
        self.throwers = set(TELL)
        for _ in range(3):  # what hands its argument to what throws it
            self.throwers |= set(self._passing_on())

    def _sites(self, source):
        """Ranges of tokens in which messages are made: throw statements, and calls of what throws its argument."""
        for i, token in enumerate(source.tokens):
            if token == "throw":
                yield source.statement(i + 1)
            elif token in self.throwers and source.tokens[i + 1 : i + 2] == ["("] and i + 1 in source.partner:
                yield i + 2, source.partner[i + 1]

    def _passing_on(self):
        for source in self.sources.values():
            for start, end in self._sites(source):
                function = source.around(start)
                if not function or function[2][1] - function[2][0] > SHORT:
                    continue
                words = MESSAGE & set(source.tokens[slice(*function[1])])
                if words & {name for name, called in source.names(start, end) if not called}:
                    yield function[0]

    def _behind(self, source, start, end, depth):
        """The texts of the functions that are called in it and return one, and of the variables of this function. What
        is wrong with a part of something is looked for as deep as what is wrong with the whole."""
        if depth == 0:
            return
        function = source.around(start)
        for name, called in set(source.names(start, end)):
            places = self.bodies.get(name, []) if called else []
            here = [place for place in places if place[0] is source]
            for other, (_, (first, _), body) in here or places:
                kind = other.tokens[max(0, first - 8) : first - 2]
                if "string" in kind or kind[-1:] == ["]"] or any(word.endswith("Error") for word in kind):
                    yield from other.texts(*body)
                    yield from self._behind(other, *body, depth if name.endswith("_problem") else depth - 1)
            for i in range(*function[2]) if function and not called else ():
                if source.tokens[i] == name and source.tokens[i + 1] in ("=", "+", "{", "("):
                    at = source.statement(i + 1)
                    yield from source.texts(*at)
                    yield from self._behind(source, *at, depth - 1)

    def messages(self, file):
        """As users see them. A few words from elsewhere are rather a part of something than a message."""
        source = self.sources[file]
        for name, (first, _), body in source.functions:  # what the parser asks about a word of the command line
            if name.startswith(("check_", "refuse_")) and source.tokens[first - 3] == "string":
                yield from map(readable, source.texts(*body))
        for start, end in self._sites(source):
            yield from map(readable, source.texts(start, end))
            if source.tokens[start - 1] == "throw":
                yield from (readable(text, 4) for text in self._behind(source, start, end, 2))


def texts_of(node):
    """The texts in a Python expression, two dots for what an f-string fills in."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(part.value if isinstance(part, ast.Constant) else ".." for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for part in ast.iter_child_nodes(node):
            yield from texts_of(part)


def of_python(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if re.search(r"(Error|Exception|Warning|Exit)$|^(error|exit|warn)$", name):
            for part in node.args:
                yield from texts_of(part)


def collect():
    """All messages: place -> sorted texts. A text belongs to the first place that has it."""
    files = [file for top in ("apps", "src", "include", "python/bindings")
             for file in sorted((ROOT / top).rglob("*.[ch]pp"))]  # fmt: skip
    library = Library(files)
    found = defaultdict(set, {("apps", ""): set(PARSER)})
    for file in files:
        parts = file.relative_to(ROOT).parts
        place = ("src", parts[2 if parts[0] == "include" else 1]) if parts[0] in ("src", "include") else (parts[0], "")
        found[place] |= set(library.messages(file))
    for file in sorted((ROOT / "python" / "zeroloss").rglob("*.py")):
        found["python", ""] |= {readable(text) for text in of_python(file)}
    return {place: sorted(texts - {None}, key=lambda text: (text.lower(), text)) for place, texts in found.items()}


def lists(found):
    said = ""
    for top, title in PLACES.items():
        said += f"\n## {title}\n"
        for place in sorted(place for place in found if place[0] == top and found[place]):
            said += f"\n### {place[1]}\n" if place[1] else ""
            said += "\n" + "".join(f"    {text}\n" for text in found[place])
    return said


def by_hand(text):
    """What the hand-written part advises on."""
    entries = re.finditer(r"^- (`+) ?(.+?) ?\1:\s", text, re.MULTILINE | re.DOTALL)
    return [re.sub(r"\s+", " ", found[2]) for found in entries]


def main():
    page = PAGE.read_text(encoding="utf-8")
    written, mark, _ = page.partition(MARK)
    if not mark:
        sys.exit(f"{PAGE}: the line {MARK.strip()} is missing")
    found = collect()
    unknown = set(by_hand(written)) - {text for texts in found.values() for text in texts}
    if unknown:
        sys.exit("docs/troubleshooting.md: no such message: " + "; ".join(sorted(unknown)))
    made = written + MARK + lists(found)
    if "--check" in sys.argv[1:]:
        if made != page:
            sys.exit("docs/troubleshooting.md: a message has changed; run scripts/troubleshooting.py")
    else:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
