"""The page of several runs of one kind: where their options differ, their results side by side, their curves in one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import figures
from ..figures.run import Run
from ..figures.together import together
from . import answer, sections
from .document import chart, document
from .elements import Content, Facts, Html, details, facts, table, tag, text
from .maths import worded
from .single import command, heading

Runs = dict[str, Run]  # by name, in the order in which they were given


def read(folders: Sequence[Path]) -> Runs:
    """The runs in these folders, named by them. Raises figures.RunError for those that cannot be compared."""
    runs = [figures.read_run(folder) for folder in folders]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise figures.RunError("a run is named twice")
    kinds = {run.kind for run in runs}
    if len(kinds) > 1:
        said = ", ".join(f"{run.folder} is of {run.kind or 'no known kind'}" for run in runs)
        raise figures.RunError(f"runs of different kinds have nothing to compare: {said}")
    short = [run.folder.resolve().name for run in runs]
    names = short if len(set(short)) == len(runs) else [str(run.folder) for run in runs]
    return dict(zip(names, runs))


def page(runs: Runs) -> str:
    """The page as text. Raises figures.RunError for values that are not what the command writes."""
    try:
        return document(_title(runs), body(runs))
    except figures.RunError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, StopIteration) as error:
        names = ", ".join(str(run.folder) for run in runs.values())
        raise figures.RunError(f"{names}: not as zeroloss writes them: {error!r}") from error


def body(runs: Runs) -> Content:
    differ, same = _options(runs)
    kind = next(iter(runs.values())).kind
    said = ", ".join(name for name, _ in differ) or "nothing that their options say"
    drawn = of(runs)
    return [
        tag("header", tag("p", f"zeroloss {kind}", class_="kind"), tag("h1", _title(runs)),
            tag("p", f"They differ in {said}."), _cautions(runs, drawn)),
        tag("h2", "What each run says"), _answers(runs),
        _table("Options that differ", runs, differ),
        _results(runs), _figures(runs, drawn), _made(runs, same)]


def _title(runs: Runs) -> str:
    first = next(iter(runs.values()))
    data = {run.data for run in runs.values()}
    return f"{len(runs)} runs of {first.kind} compared" + (f": {first.data}" if len(data) == 1 and first.data else "")


# ---- what differs ----


def _answers(runs: Runs) -> Content:
    rows = [[name, text(run.data), text(worded(answer.conclusion(run)[0])), _finished(run)]
            for name, run in runs.items()]
    return table(["run", "data", "conclusion", "finished"], rows)


def _finished(run: Run) -> Html:
    when = str(run.manifest.get("finished") or "")[:16].replace("T", " ")
    return tag("span", when, class_="whole") if when else Html("")


Differences = list[tuple[str, list[str]]]


def _options(runs: Runs) -> tuple[Differences, Differences]:
    """Options by name with the value of each run: those that differ, and those that are the same."""
    told = [_told(run) for run in runs.values()]
    names = dict.fromkeys(name for one in told for name in one)
    rows = [(name, [one.get(name, "") for one in told]) for name in names]
    return [row for row in rows if len(set(row[1])) > 1], [row for row in rows if len(set(row[1])) == 1]


def _told(run: Run) -> dict[str, str]:
    data = {key: value for key, value in (run.manifest.get("data") or {}).items() if key != "digest"}
    options = {"data" if key == "name" else f"data: {key}": value for key, value in data.items()}
    options.update(run.manifest.get("options") or {})
    return {name: _flat(value) for name, value in options.items()} | {"version": _flat(run.manifest.get("version"))}


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _table(title: str, runs: Runs, rows: Differences) -> Content:
    return [tag("h2", title), table(["option", *runs], [[name, *map(text, values)] for name, values in rows])
            ] if rows else None


def _cautions(runs: Runs, drawn: figures.Figures) -> Content:
    """What of these runs cannot be compared."""
    said = []
    if len({(run.manifest.get("data") or {}).get("digest") or run.data for run in runs.values()}) > 1:
        said.append("They are of different data: what depends on the points cannot be compared.")
    if len({_machine(run) for run in runs.values()}) > 1:
        said.append("They were made on different machines or threads: seconds cannot be compared.")
    for name, having in _having(runs).items():
        if len(having) < len(runs):
            lacking = ", ".join(run for run in runs if run not in having)
            said.append(f"There is no figure “{name}” in {lacking}.")
    if any(one.endswith(f": {run}") for one in drawn for run in runs):
        said.append("Maps cannot be laid over each other: they stand side by side.")
    return tag("ul", [tag("li", one) for one in said], class_="problem") if said else None


def _machine(run: Run) -> str:
    machine = run.manifest.get("machine") or {}
    return _flat([machine.get(key) for key in ("processor", "threads", "blas_kernel")])


def _made(runs: Runs, same: Differences) -> Content:
    return [tag("h2", "How they were made"),
            [[tag("h3", name), command([str(word) for word in run.manifest.get("command") or []])]
             for name, run in runs.items()],
            details("Options that are the same", facts([(name, values[0]) for name, values in same]))]


# ---- results ----


def _results(runs: Runs) -> Content:
    """A row for each run, a column for each number that is not the same in all."""
    told = [_by_name(sections.of(run).facts) for run in runs.values()]
    names = dict.fromkeys(name for one in told for name in one)
    shared = [name for name in names if len({text(one.get(name)) for one in told}) == 1]
    columns = [name for name in names if name not in shared]
    rows = [[run, *(one.get(name) for name in columns)] for run, one in zip(runs, told)]
    return [tag("h2", "Results"), table(["run", *map(Html, columns)], rows),
            tag("h3", "The same in all"), facts([(Html(name), told[0][name]) for name in shared])] if names else None


def _by_name(pairs: Facts) -> dict[str, Content]:
    return {text(name): value for name, value in pairs if value is not None}


# ---- figures ----


def _having(runs: Runs) -> dict[str, dict[str, figures.Figure]]:
    """The figures of each name, by run."""
    having: dict[str, dict[str, figures.Figure]] = {}
    for run, folder in runs.items():
        for name, figure in figures.of(folder).items():
            having.setdefault(name, {})[run] = figure
    return having


def of(runs: Runs) -> figures.Figures:
    """Each figure of all runs that have it; maps by themselves."""
    places = {run: k for k, run in enumerate(runs)}
    drawn = figures.Figures()
    for name, having in _having(runs).items():
        spec = together(name, {run: figure.spec for run, figure in having.items()})
        if spec:
            drawn[name] = figures.Figure(name, spec, places)
        else:
            drawn.update((f"{name}: {run}", figure) for run, figure in having.items())
    return drawn


def _figures(runs: Runs, drawn: figures.Figures) -> Content:
    kind = next(iter(runs.values())).kind
    charts = [chart(figure, *_heading(kind, name, figure)) for name, figure in drawn.items()]
    return [tag("h2", "Figures"), tag("div", charts, class_="figures")] if charts else None


def _heading(kind: str, name: str, figure: figures.Figure) -> tuple[str, str]:
    first, caption = heading(kind, figure)
    _, own, run = name.partition(": ")
    if own:
        return f"{first}: {run}", caption
    _, _, looks = figure.title.partition(": ")
    return first, "A colour for each run, of what was measured" + (f": {looks}." if looks else ".")
