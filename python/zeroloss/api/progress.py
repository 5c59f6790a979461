"""Who is shown how far long work is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._core import ProgressReport, set_thread_count

Show = bool | Callable[[ProgressReport], None]


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Parallel loops of a call on so many threads; 0 = as many as thread_count() says."""
    if not isinstance(threads, (int, np.integer)):
        raise TypeError(f"threads has to be an integer; got {threads!r}")
    if not threads:
        yield
        return
    before = set_thread_count(int(threads))
    try:
        yield
    finally:
        set_thread_count(before)


@contextmanager
def shown(progress: Show) -> Iterator[Callable[[ProgressReport], None] | None]:
    """Who gets the reports of a call: nobody, bars in the terminal if tqdm is there, or a function of the user's."""
    if callable(progress) or not progress:
        yield progress if callable(progress) else None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bar: Any = None
    stage = ""

    def close() -> None:
        nonlocal bar
        if bar is not None:
            bar.close()
            bar = None

    def draw(report: ProgressReport) -> None:
        nonlocal bar, stage
        if report.finished or report.stage != stage:
            close()
        if report.finished:
            return
        if bar is None:
            stage = report.stage
            bar = tqdm(total=report.total or None, desc=stage, leave=False)
        bar.n = report.done
        bar.refresh()

    try:
        yield draw
    finally:
        close()
