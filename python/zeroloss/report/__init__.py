"""zeroloss report: one self-contained page, or files, of what a run folder holds.

    zeroloss report RUN                  RUN/report.html: the conclusion, tables, figures, options and command
    zeroloss report RUN --format svg     RUN/NAME.svg for each figure; png and pdf likewise
"""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import figures
from ..figures.run import Folder
from .single import page

DONE, BAD_USAGE, MISSING = 0, 2, 3  # exit codes, as of the command


def main(argv: Sequence[str] | None = None) -> int:
    """`zeroloss report` with these arguments (those after `report`). Prints what it wrote and returns the exit code:
    0 done, 2 bad usage or data, 3 vl-convert or the disk is missing."""
    parser = argparse.ArgumentParser(prog="zeroloss report", description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("run", type=Path, help="a run folder, as written by --out")
    parser.add_argument("--format", choices=["html", "svg", "png", "pdf"], default="html",
                        help="a page, or a file for each figure [html]")
    parser.add_argument("--out", type=Path, help="the page [RUN/report.html], or the folder of the figures [RUN]")
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:  # --help, or bad usage that argparse has told of
        return BAD_USAGE if stop.code else DONE
    try:
        if options.format == "html":
            written = [write(options.run, options.out)]
        else:
            written = save_figures(options.run, options.format, options.out)
    except figures.RunError as error:
        return _told(error, BAD_USAGE)
    except (ImportError, OSError) as error:
        return _told(error, MISSING)
    for path in written:
        print(f"{path} ({path.stat().st_size / 1e3:,.0f} kB)")
    return DONE


def write(folder: Folder, path: Folder | None = None) -> Path:
    """Writes the page of a run folder to `path` (RUN/report.html) and returns where. Raises figures.RunError for a
    folder that is none, ImportError without vl-convert-python; an older page is replaced at once or not at all."""
    run = figures.read_run(folder)
    path = Path(path) if path else run.folder / "report.html"
    partial = path.with_name(path.name + ".partial")
    partial.write_text(page(run), encoding="utf-8")
    partial.replace(path)
    return path


def save_figures(folder: Folder, form: str, out: Folder | None = None) -> list[Path]:
    """Writes each figure of a run folder as NAME.svg, .png or .pdf into `out` (the run folder)."""
    run = figures.read_run(folder)
    out = Path(out) if out else run.folder
    drawn = figures.of(run)
    out.mkdir(parents=True, exist_ok=True)
    try:
        return [figure.save(out / f"{name}.{form}") for name, figure in drawn.items()]
    except ValueError as error:  # a specification that Vega-Lite does not take
        raise figures.RunError(f"{run.folder}: {error}") from error


def _told(error: Exception, code: int) -> int:
    print(f"zeroloss: {error}", file=sys.stderr)
    return code
