"""Who works on a run: the processes that hold the lock on its folder, as Linux tells. It is asked, never tried: a lock
that is taken to see whether it is free would be in the way of a run that begins."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

PROCESSES = Path("/proc")
KINDS = ("certify", "width", "fit", "sweep", "linear", "memorize", "conv", "audit", "influence", "prove")
PID, FILE = 4, 5  # fields of a lock
START = 19  # when a process began, of the fields of its stat that follow its name


class Worker(NamedTuple):
    """A process; what another user runs has no command."""

    pid: int
    command: list[str]
    since: float | None  #: seconds since 1970

    @property
    def kind(self) -> str:
        """Of run; empty if its command does not say."""
        return next((word for word in self.command[1:] if word in KINDS), "")


def workers(folder: Path) -> list[Worker] | None:
    """Those of this machine; None where the system does not tell."""
    try:
        inode = str(folder.stat().st_ino)
        locks = [line.split() for line in (PROCESSES / "locks").read_text().splitlines()]
    except OSError:
        return None
    pids = {lock[PID] for lock in locks if lock[1] == "FLOCK" and lock[FILE].rpartition(":")[2] == inode}
    return [Worker(int(pid), _command(pid), _since(pid)) for pid in sorted(pids, key=int)]


def _command(pid: str) -> list[str]:
    try:
        return (PROCESSES / pid / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def _since(pid: str) -> float | None:
    try:
        began = int((PROCESSES / pid / "stat").read_text().rpartition(")")[2].split()[START])
        up = float((PROCESSES / "uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return None
    return time.time() - up + began / os.sysconf("SC_CLK_TCK")
