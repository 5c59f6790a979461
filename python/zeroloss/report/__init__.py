"""One self-contained page, or files, of what a run folder holds.

    zeroloss report RUN                  RUN/report.html: the conclusion, tables, figures, options and command
    zeroloss report RUN --format svg     RUN/NAME.svg for each figure; png and pdf likewise
    zeroloss report RUN RUN ...          comparison.html: where runs of one kind differ
    zeroloss report --watch RUN          a page that follows a run in work
"""
from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import figures
from ..figures.run import Folder
from . import comparison as comparing
from .single import page
from .watch import serve

DONE, BAD_USAGE, MISSING = 0, 2, 3  # exit codes, as of the command
COMPARISON = Path("comparison.html")


def main(argv: Sequence[str] | None = None) -> int:
    """`zeroloss report` with these arguments (those after `report`). Prints what it wrote and returns the exit code:
    0 done, 2 bad usage or data, 3 vl-convert or the disk is missing."""
    try:
        options = _parser().parse_args(argv)
    except SystemExit as stop:  # --help, or bad usage that argparse has told of
        return BAD_USAGE if stop.code else DONE
    if options.watch and (len(options.run) > 1 or options.format != "html" or options.out):
        return _told(ValueError("--watch takes one run, and neither --format nor --out"), BAD_USAGE)
    if options.port and not options.watch:
        return _told(ValueError("--port is for --watch"), BAD_USAGE)
    try:
        if options.watch:
            serve(options.run[0], options.port)
            return DONE
        written = _written(options)
    except figures.RunError as error:
        return _told(error, BAD_USAGE)
    except (ImportError, OSError) as error:
        return _told(error, MISSING)
    for path in written:
        print(f"{path} ({path.stat().st_size / 1e3:,.0f} kB)")
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="zeroloss report", description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+",
                        help="a run folder, as written by --out; several of one kind are compared")
    parser.add_argument("--format", choices=["html", "svg", "png", "pdf"], default="html",
                        help="a page, or a file for each figure [html]")
    parser.add_argument("--out", type=Path, help="the page [RUN/report.html; of several runs comparison.html], or the "
                                                 "folder of the figures [RUN; of several runs the current one]")
    parser.add_argument("--watch", action="store_true",
                        help="serve the page of a run in work to this machine; it follows the run until Ctrl-C")
    parser.add_argument("--port", type=_port, default=0, help="of --watch [one that is free]")
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 1 << 16:
        raise ValueError(text)
    return port


def _written(options: argparse.Namespace) -> list[Path]:
    several = len(options.run) > 1
    if options.format == "html":
        return [compare(options.run, options.out or COMPARISON) if several else write(options.run[0], options.out)]
    if several:
        return _saved("comparison", comparing.of(comparing.read(options.run)), options.format, options.out or Path())
    return save_figures(options.run[0], options.format, options.out)


def write(folder: Folder, path: Folder | None = None) -> Path:
    """Writes the page of a run folder to `path` (RUN/report.html) and returns where. Raises figures.RunError for a
    folder that is none, ImportError without vl-convert-python; an older page is replaced at once or not at all."""
    run = figures.read_run(folder)
    return _replaced(Path(path) if path else run.folder / "report.html", page(run))


def compare(folders: Sequence[Folder], path: Folder = COMPARISON) -> Path:
    """Writes the page that compares runs of one kind and returns where. Raises figures.RunError for runs of different
    kinds."""
    return _replaced(Path(path), comparing.page(comparing.read([Path(folder) for folder in folders])))


def _replaced(path: Path, content: str) -> Path:
    # Until it is whole it has a name that nobody else has.
    partial = path.with_name(f"{path.name}.{secrets.token_hex(3)}.tmp")
    file = partial.open("x", encoding="utf-8")
    try:
        with file:
            file.write(content)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return path


def save_figures(folder: Folder, form: str, out: Folder | None = None) -> list[Path]:
    """Writes each figure of a run folder as NAME.svg, .png or .pdf into `out` (the run folder)."""
    run = figures.read_run(folder)
    return _saved(run.folder, figures.of(run), form, Path(out) if out else run.folder)


def _saved(whose: Folder, drawn: figures.Figures, form: str, out: Path) -> list[Path]:
    try:
        return drawn.save(out, form)
    except ValueError as error:  # a specification that Vega-Lite does not take
        raise figures.RunError(f"{whose}: {error}") from error


def _told(error: Exception, code: int) -> int:
    print(f"zeroloss: {error}", file=sys.stderr)
    return code
