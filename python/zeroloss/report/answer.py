"""What a page says first of a run: its conclusion, and what to do next."""

from __future__ import annotations

import re

from ..figures.run import Run
from .elements import Content, tag, typed
from .fit import headline
from .maths import worded

WORDS = re.compile(r"(?:'[^']*'|\S)+")  # of a command


def conclusion(run: Run) -> tuple[str, list[str]]:
    """The answer: its first line, and the others."""
    said = str(run.result.get("conclusion") or "").replace(">=", "≥").replace("<=", "≤")
    if run.kind == "fit":
        said = headline(run.result, said)
    lines = [_sentence(line) for line in said.split("\n") if line.strip()] or [f"A run of zeroloss {run.kind}"]
    return lines[0].removesuffix(":"), lines[1:]


def _sentence(line: str) -> str:
    """It begins with a capital, unless that is a name: lambda_min."""
    return line[0].upper() + line[1:] if line.split()[0].strip(",:;.").isalpha() else line


def next_step(run: Run) -> Content:
    """What to do now, and the command that does it; nothing for runs of versions that did not say."""
    after = run.result.get("next") or run.json("evaluation.json").get("next") or {}
    command = WORDS.findall(str(after.get("command") or ""))
    if not after.get("why") or command[:2] == ["zeroloss", "report"]:  # that is this page
        return None
    why = str(after["why"])
    return tag("section", tag("h2", "What to do next"), tag("p", worded(why[0].upper() + why[1:] + ".")),
               typed(command) if command else None, class_="next")
