"""System calls by strace: those of a run recorded, and one of them made to fail."""

import dataclasses
import os
import re
from collections import Counter

from cases import run

CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
CODES = re.compile(r'[<"]((?:\\x[0-9a-f]{2})+)[>"]')


@dataclasses.dataclass(frozen=True)
class Call:
    """The `number`th of this name of its thread, counted from 1, and the files in it as they are called."""

    thread: int
    name: str
    number: int
    text: str
    files: tuple


def recorded(command, log, names):
    """All calls of these names, with files in place of descriptors. (-xx: every letter of a name as its code.)"""
    traced = ["strace", "-f", "-y", "-xx", "-qq", "-s", "0", "-e", f"trace={','.join(names)}", "-o", log]
    code, _, error = run([*traced, *command])
    assert code == 0, (command, code, error)
    return calls_in(log)


def calls_in(log):
    numbers, calls = Counter(), []
    for line in log.read_text(errors="replace").splitlines():
        if not (found := CALL.match(line)):
            continue  # the end of a call that another one stands in
        thread, name, text = int(found[1]), found[2], found[3]
        numbers[thread, name] += 1
        files = [file for file in map(letters, CODES.findall(text)) if file.startswith("/")]
        calls.append(Call(thread, name, numbers[thread, name], text, tuple(files)))
    return calls


def letters(codes):
    return os.fsdecode(bytes.fromhex(codes.replace("\\x", "")))


def failing(command, log, call, error):
    """The strace command in which that call fails."""
    return ["strace", "-f", "-qq", "-s", "0", "-e", f"trace={call.name}", "-e",
            f"inject={call.name}:error={error}:when={call.number}", "-o", log, *command]  # fmt: skip


def hit(log):
    return "(INJECTED)" in log.read_text(errors="replace")


def spread(items, most):
    """`most` of them, evenly."""
    items = list(items)
    if len(items) <= most:
        return items
    return [items[i * len(items) // most] for i in range(most)]
