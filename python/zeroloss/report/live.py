"""What a page says of a run in work."""

from __future__ import annotations

import time
from pathlib import Path

from .. import figures
from ..figures.work import Work, figures_of, read_work
from . import answer, single
from .document import chart
from .elements import Content, Facts, Html, Number, at_most, details, facts, number, percent, table, tag, text
from .single import command
from .workers import Worker, workers

MOST_ROWS = 400
FEW_ROWS = 24  # more are folded away
SAVED = "Training writes what it has measured once a minute (--checkpoint-every-s says otherwise) and when it stops."
AT_THE_END = ("certify", "width", "linear", "memorize", "audit", "influence", "prove")
#: When there will be something to see, by kind.
WHEN = {"fit": SAVED, "conv": SAVED, "sweep": "A trial is here as soon as it is done.",
        **{kind: f"{kind} writes its answer when all of it is there: this page shows it then." for kind in AT_THE_END},
        "": "fit and conv write what they have measured once a minute, sweep each trial, others all at the end."}
RESUMED = "The same command with --resume goes on with it."
GO_ON = {"fit": RESUMED, "conv": RESUMED, "sweep": "The same command goes on with it."}


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
    pids = [worker.pid for worker in workers(folder) or []]
    files = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.name != "report.html"]
    return f"{folder.name} {pids} " + " ".join(f"{name}:{facts.st_mtime_ns}:{facts.st_size}" for name, facts in files)


def news(run: Path) -> tuple[str, Content, bool]:
    """Title and body of the page now, and whether they are the last. Raises figures.RunError while a file is not
    whole."""
    done, partial = places(run)
    if (done / "manifest.json").is_file():
        read = figures.read_run(done)
        return f"done: {answer.conclusion(read)[0]}", single.body(read), True
    if not partial.is_dir():
        return f"waiting for {done.name}", [
            tag("h1", f"Nothing there yet: {done.name}"), tag("p", "It is shown as soon as it begins.")], False
    work, at_work = read_work(partial), workers(partial)
    work.kind = work.kind or next((worker.kind for worker in at_work or []), "")
    title = headline(work, at_work)
    return title, _body(done.name, title, work, at_work), False


def headline(work: Work, at_work: list[Worker] | None = None) -> str:
    """`at_work`: who works on it; None if that is not known."""
    state = "Interrupted" if work.interrupted and not at_work else "At work" if at_work != [] else "Stopped"
    last = work.rows[-1] if work.rows else {}
    if work.kind == "sweep":
        done, good = (sum(row.get(key) or 0 for row in work.rows) for key in ("trials", "successes"))
        of = f" of {work.planned:,}" if work.planned else ""
        return f"{state}: {done:,.0f}{of} trials done, {good:,.0f} of them succeed"
    if not last:
        return f"{state}: {f'{work.kind} has no answer yet' if work.kind in AT_THE_END else 'nothing is measured yet'}"
    if work.kind == "conv":
        return f"{state}: epoch {last.get('epoch') or 0:.3g}, loss {last.get('train_loss') or 0:.3g}"
    return f"{state}: step {int(last.get('step') or 0):,}, relative misfit {last.get('relative_misfit') or 0:.3g}"


def _body(name: str, title: str, work: Work, at_work: list[Worker] | None) -> Content:
    drawn = figures.of_specs(figures_of(work))
    charts = [chart(figure, *single.heading(work.kind, figure)) for figure in drawn.values()]
    return [
        tag("p", f"zeroloss {work.kind}".strip(), f" · {name}", class_="kind"), tag("h1", title),
        tag("p", _when(work, at_work), class_="note"),
        facts([*_facts(work), ("written at", _clock(work.written)), *_doing(at_work or [])]),
        [tag("h2", "Figures"), tag("div", charts, class_="figures")] if charts else None,
        _cells(work) if work.kind == "sweep" else None,
        [[tag("h2", "What is running"), [command(worker.command) for worker in at_work]] if at_work else None],
        details("Options", facts(list(work.options.items()))) if work.options else None]


def _when(work: Work, at_work: list[Worker] | None) -> str:
    """When there will be something to see; of what has stopped, what can be done."""
    if at_work == []:
        return " ".join(["No process that is seen from here works on it.", GO_ON.get(work.kind, "")]).strip()
    return WHEN.get(work.kind, WHEN[""])


def _doing(at_work: list[Worker]) -> Facts:
    since = min((worker.since for worker in at_work if worker.since is not None), default=None)
    return [("at work since", _clock(since)), ("processes", len(at_work) if len(at_work) > 1 else None)]


def _clock(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    then, now = time.localtime(seconds), time.localtime()
    return time.strftime("%H:%M:%S" if then[:3] == now[:3] else "%Y-%m-%d %H:%M", then)


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
    keys = (*work.varying, "trials", "successes", "diverged")
    rows = [[text(row.get(key)) if isinstance(row.get(key), str) else row.get(key) for key in keys]
            for row in work.rows[:MOST_ROWS]]
    count, shown = len(work.rows), table(list(keys), rows)
    which = f"All {count:,} cells" if count <= MOST_ROWS else f"{MOST_ROWS} of {count:,} cells"
    return [tag("h2", "Cells"), shown if count <= FEW_ROWS else details(which, shown)]
