"""What a page says of a run in work."""

from __future__ import annotations

import time
from pathlib import Path

from .. import figures
from ..figures.work import Work, figures_of, read_work
from . import single
from .answer import conclusion
from .document import chart
from .elements import Content, Facts, Html, Number, at_most, details, facts, number, percent, table, tag, text

MOST_ROWS = 400


def places(run: Path) -> tuple[Path, Path]:
    """The folder of a run when it is done, and until then; either may be given."""
    run = run.absolute()
    done = run.with_name(run.name.removesuffix(".partial"))
    return done, done.with_name(done.name + ".partial")


def stamp(run: Path) -> str:
    """Changes when a file of the run does."""
    folder = next((place for place in places(run) if place.is_dir()), None)
    if not folder:
        return "none"
    files = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.name != "report.html"]
    return f"{folder.name} " + " ".join(f"{name}:{facts.st_mtime_ns}:{facts.st_size}" for name, facts in files)


def news(run: Path) -> tuple[str, Content, bool]:
    """Title and body of the page now, and whether they are the last. Raises figures.RunError while a file is not
    whole."""
    done, partial = places(run)
    if (done / "manifest.json").is_file():
        read = figures.read_run(done)
        return f"done: {conclusion(read)[0]}", single.body(read), True
    if not partial.is_dir():
        return f"waiting for {done.name}", [
            tag("h1", f"Nothing there yet: {done.name}"), tag("p", "It is shown as soon as it begins.")], False
    work = read_work(partial)
    title = headline(work)
    return title, _body(done.name, title, work), False


def headline(work: Work) -> str:
    state = "Interrupted" if work.interrupted else "At work"
    last = work.rows[-1] if work.rows else {}
    if work.kind == "sweep":
        done, good = (sum(row.get(key) or 0 for row in work.rows) for key in ("trials", "successes"))
        return f"{state}: {done:,.0f} trials done, {good:,.0f} of them succeed"
    if not last:
        return f"{state}: nothing is measured yet"
    if work.kind == "conv":
        return f"{state}: epoch {last.get('epoch') or 0:.3g}, loss {last.get('train_loss') or 0:.3g}"
    return f"{state}: step {int(last.get('step') or 0):,}, relative misfit {last.get('relative_misfit') or 0:.3g}"


def _body(name: str, title: str, work: Work) -> Content:
    drawn = figures.of_specs(figures_of(work))
    charts = [chart(figure, *single.heading(work.kind, figure)) for figure in drawn.values()]
    when = time.strftime("%H:%M:%S", time.localtime(work.written)) if work.written else None
    wait = tag("p", "Training writes what it has measured once a minute (--checkpoint-every-s says otherwise) and when "
               "it is stopped.", class_="note")
    return [
        tag("p", f"zeroloss {work.kind} · {name}", class_="kind"), tag("h1", title),
        wait if work.kind in ("", "fit", "conv") else None,
        facts([*_facts(work), ("written at", when)]),
        [tag("h2", "Figures"), tag("div", charts, class_="figures")] if charts else None,
        _cells(work) if work.kind == "sweep" else None,
        details("Options", facts(list(work.options.items()))) if work.options else None]


def _facts(work: Work) -> Facts:
    last = work.rows[-1] if work.rows else {}
    if work.kind == "sweep":
        return [("cells with trials", len(work.rows)), ("trials", sum(row.get("trials") or 0 for row in work.rows)),
                ("diverged", sum(row.get("diverged") or 0 for row in work.rows))]
    if work.kind == "conv":
        return [("step", _whole(last.get("step"))), ("epoch", last.get("epoch")), ("loss", last.get("train_loss")),
                ("error while training", percent(last.get("train_error"))),
                ("error on test images", percent(last.get("test_error"))),
                ("images a second", last.get("images_per_s"))]
    several = len(work.outputs) > 1
    return [("output", Html(f"number {len(work.outputs)}") if several else None), ("step", _whole(last.get("step"))),
            ("relative misfit", at_most(last.get("relative_misfit"))),
            ("distance from the start", last.get("distance")),
            ("farthest neuron moved", last.get("max_distance")),
            ("signs flipped", percent(last.get("flipped_fraction"))), ("layers", _whole(last.get("layers"))),
            ("most steps", work.options.get("max_steps")), ("misfit to reach", work.options.get("tolerance"))]


def _whole(value: float | None) -> Number | None:
    return None if value is None else Number(number(int(value)), value)


def _cells(work: Work) -> Content:
    keys = ("n", "d", "width", "activation", "scaling", "noise", "tolerance", "trials", "successes", "diverged")
    rows = [[text(row.get(key)) if isinstance(row.get(key), str) else row.get(key) for key in keys]
            for row in work.rows[:MOST_ROWS]]
    return [tag("h2", "Cells"), table(list(keys), rows)]
