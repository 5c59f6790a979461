"""zeroloss report: one self-contained page, or files, of what a run folder holds.

    zeroloss report RUN                  RUN/report.html: the conclusion, tables, figures, options and command
    zeroloss report RUN --format svg     RUN/NAME.svg for each figure; png and pdf likewise
"""
from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import figures
from ..figures.run import Folder, Run
from . import sections
from .elements import Content, Html, chart, details, document, facts, tag

DONE, BAD_USAGE, MISSING = 0, 2, 3  # exit codes, as of the command
MOST_VALUES = 200  # of a list under "all values"

#: Heading and caption of each figure; {title} is the figure's own.
CAPTIONS = {
    "certify": {
        "widths": ("What width the theorems ask for", "Sufficient, never necessary. The axis is logarithmic."),
        "spectrum": ("Spectrum of the kernel", "All eigenvalues, largest first; the last one is lambda_min."),
        "forecast": ("Forecast of training", "{title}")},
    "fit": {
        "curve": ("Training", "Relative misfit ||r||/||y|| after each step as measured, beside what theory says."),
        "distance": ("How far the weights moved", "From the start; the theorem's bound where it has one.")},
    "sweep": {
        "heat": ("Where training succeeds", "{title}. Pointing at it shows the trials and their 95 % interval.")},
    "linear": {
        "norm": ("Norm against depth", "{title}: the largest spectral norm of a layer."),
        "layers": ("Norm of each layer", "{title}. Spectral norms, first layer to last."),
        "descent": ("Gradient descent", "{title}: the gradient beside its lower bound, and the misfit."),
        "convergence": ("Steps against depth", "{title}. Depths that did not converge are left out.")},
    "memorize": {
        "margins": ("Margins of the blocks", "{title}: how many keep a margin of at most this.")},
    "conv": {
        "error": ("Error", "Share of images that are classified wrongly."),
        "loss": ("Loss", "Cross-entropy on the training images."),
        "learning_rate": ("Learning rate", "{title}"),
        "norms": ("Norms of the residual blocks", "{title}."),
        "classes": ("Error by class", "Share of the images of a class that are taken for another."),
        "confusion": ("What is taken for what", "Images by true and predicted class.")}}


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


def page(run: Run) -> str:
    """The page of a run as text. Raises figures.RunError for values that are not what the command writes."""
    try:
        return _page(run)
    except figures.RunError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise figures.RunError(f"{run.folder}: not as zeroloss writes it: {error!r}") from error


def _page(run: Run) -> str:
    drawn = figures.of(run)
    data = run.result.get("data") or run.result.get("source") or (run.manifest.get("data") or {}).get("name") or ""
    first, rest = sections.conclusion(run)
    before, after = sections.of(run)
    body = [tag("p", f"zeroloss {run.kind}", f" · {data}" if data else "", class_="kind"), tag("h1", first),
            [tag("p", line) for line in rest], before, _figures(run, drawn), after, _origin(run)]
    if drawn:
        body.append(tag("noscript", tag("p", "The script that draws the figures of this page is switched off.")))
    return document(f"{run.kind} {data}: {first}", body, drawn=bool(drawn))


def _figures(run: Run, drawn: figures.Figures) -> Content:
    named = CAPTIONS.get(run.kind, {})
    charts = []
    for name, figure in drawn.items():
        heading, caption = named.get(name) or named.get(name.split("-")[0]) or (figure.title, "")
        charts.append(chart(figure, heading, caption.replace("{title}", figure.title)))
    return [tag("h2", "Figures" if len(charts) > 1 else "Figure"), charts] if charts else None


def _origin(run: Run) -> Content:
    """The command, its options, data and machine, and every value with all digits."""
    manifest = run.manifest
    data, machine = (manifest.get(key) or {} for key in ("data", "machine"))
    finished = str(manifest.get("finished") or "")[:16].replace("T", " ")
    return [
        tag("h2", "How this was made"),
        _command([str(word) for word in manifest.get("command") or []]),
        facts([("finished", f"{finished} UTC" if finished else None), ("seconds", manifest.get("seconds")),
               ("largest memory", _bytes(manifest.get("peak_bytes"))), ("zeroloss", manifest.get("version")),
               ("processor", machine.get("processor")), ("threads", machine.get("threads"))]),
        [details(heading, facts([(key, _flat(value)) for key, value in values.items()]))
         for heading, values in (("Options", manifest.get("options") or {}), ("Data", data), ("Machine", machine))],
        details("All values, all digits", tag("pre", json.dumps(_shortened(run.result), indent=1, ensure_ascii=False)))]


def _command(words: list[str]) -> Html | None:
    """What to type in a shell to do it again; a single word is the call of a Python session."""
    if len(words) < 2:
        return tag("pre", words) if words else None
    program = Path(words[0]).name.replace("zeroloss-", "zeroloss ").split()  # zeroloss conv runs zeroloss-conv
    typed = [*program, *map(shlex.quote, words[1:])]
    return tag("pre", [[tag("span", word), " "] for word in typed], class_="command")


def _flat(value: Any) -> str | None:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _bytes(count: float | None) -> str | None:
    return f"{count / 1e9:,.2f} GB" if count else None


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        more = len(value) - MOST_VALUES
        rest = [f"and {more} more in result.json"] if more > 0 else []
        return [_shortened(item) for item in value[:MOST_VALUES]] + rest
    return value


def _told(error: Exception, code: int) -> int:
    print(f"zeroloss: {error}", file=sys.stderr)
    return code
