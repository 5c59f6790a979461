"""Runs that are not done: what their folder, which ends in .partial until then, says already."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from . import charts
from .checkpoint import read_checkpoint
from .run import Json, Run, RunError, read_object

SOURCES = ("metrics.csv", "checkpoint.safetensors", "trials.db")

AXES = ("n", "d", "width", "activation", "scaling", "step", "noise", "tolerance", "depth")  #: of a sweep
BOUND = "bound, if it holds"  # whether it does is said at the end

#: What kind of run has a column of this name in its metrics.csv.
TELLING = {"train_loss": "conv", "successes": "sweep", "output": "fit", "layers": "linear"}


@dataclass
class Work:
    """A run in work. `rows` are those of metrics.csv; of a sweep the cells that have trials."""

    kind: str = ""
    rows: list[Json] = field(default_factory=list, repr=False)
    options: Json = field(default_factory=dict, repr=False)
    interrupted: bool = False
    written: float | None = None  #: when its newest file was, in seconds since 1970
    planned: int | None = None  #: trials of a sweep, where its grid says

    @property
    def outputs(self) -> list[list[Json]]:
        """The rows of each output of a fit."""
        names = dict.fromkeys(row.get("output") for row in self.rows)
        return [[row for row in self.rows if row.get("output") == name] for name in names]

    @property
    def varying(self) -> list[str]:
        """The axes of a sweep with more than one value. An automatic step is another one in each trial."""
        if self.options:
            return [axis for axis in AXES if "," in str(self.options.get(axis) or "")]
        return [axis for axis in AXES if axis != "step" and len({row.get(axis) for row in self.rows}) > 1]


def read_work(partial: Path) -> Work:
    """What the folder of a run in work says. Raises RunError for a file that cannot be read, as while it is written."""
    found = [path for path in (partial / name for name in SOURCES) if path.is_file()]
    if not found:
        return Work()
    newest = max(found, key=lambda path: path.stat().st_mtime_ns)
    work = _read(newest)
    result = partial / "result.json"
    work.interrupted = result.is_file() and read_object(result).get("status") == "interrupted"
    written = [newest, newest.with_name(f"{newest.name}-wal")]  # where a database puts what is new
    work.written = max(path.stat().st_mtime for path in written if path.is_file())
    return work


def _read(path: Path) -> Work:
    if path.name == "trials.db":
        return _sweep(path)
    if path.name == "checkpoint.safetensors":
        return Work(*read_checkpoint(path))
    rows = Run(path.parent, {}, {}).table(path.name)
    columns = rows[0].keys() if rows else ()
    kind = next((kind for column, kind in TELLING.items() if column in columns), "")
    return Work(kind, rows)


def _sweep(path: Path) -> Work:
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=2)) as database:
            known = {name for _, name, *_ in database.execute("PRAGMA table_info(trials)")}
            axes = [axis for axis in AXES if axis in known or axis != "depth"]  # which older sweeps do not have
            query = (f"SELECT {', '.join(axes)}, COUNT(*), SUM(success), "
                     "SUM(status = 'diverged'), AVG(steps) FROM trials GROUP BY cell ORDER BY cell")
            names = (*axes, "trials", "successes", "diverged", "steps")
            rows = [dict(zip(names, row)) for row in database.execute(query)]
            options = dict(database.execute("SELECT key, value FROM sweep"))
    except sqlite3.Error as error:
        raise RunError(f"{path}: {error}") from error
    return Work("sweep", rows, options, planned=_planned(options))


def _planned(options: Json) -> int | None:
    """All trials of the grid; with `adaptive` nobody knows."""
    lists = [str(options.get(axis) or "").count(",") + 1 for axis in AXES]
    trials = str(options.get("trials") or "")
    return math.prod(lists) * int(trials) if trials.isdecimal() and options.get("adaptive") == "false" else None


def figures_of(work: Work) -> dict[str, Json]:
    """Specifications of its figures, by name."""
    made = {"fit": _fit, "conv": _conv, "linear": _linear, "sweep": _success}.get(work.kind)
    return {name: spec for name, spec in (made(work) if made else {}).items() if spec}


def _points(rows: list[Json], column: str) -> list[tuple[object, object]]:
    return [(row.get("step"), row.get(column)) for row in rows]


def _fit(work: Work) -> dict[str, Json | None]:
    outputs = work.outputs
    if len(outputs) > 1:
        misfits = {f"output {k}": _points(rows, "relative_misfit") for k, rows in enumerate(outputs)}
        return {"curve": charts.lines("relative misfit", misfits, "step", "relative misfit")}
    rows = outputs[0] if outputs else []
    misfit = {"measured": "relative_misfit", "forecast (infinite width)": "forecast", BOUND: "bound_misfit"}
    moved = {"all weights": "distance", "farthest neuron": "max_distance", f"neuron: {BOUND}": "bound_max_distance"}
    return {"curve": charts.lines("relative misfit", {name: _points(rows, key) for name, key in misfit.items()},
                                  "step", "relative misfit"),
            "distance": charts.lines("distance from the start", {name: _points(rows, key) for name, key in
                                                                 moved.items()}, "step", "distance from the start"),
            "test": charts.curve("points that are not fitted", rows, "test_error", "error on test points")}


def _conv(work: Work) -> dict[str, Json | None]:
    return {"error": charts.curve("error while training", work.rows, "train_error", "error"),
            "test": charts.curve("error on test images", work.rows, "test_error", "error"),
            "loss": charts.curve("training loss", work.rows, "train_loss", "loss", log=True),
            "learning_rate": charts.curve("learning rate", work.rows, "learning_rate", "learning rate")}


def _linear(work: Work) -> dict[str, Json | None]:
    depths = dict.fromkeys(row.get("layers") for row in work.rows)
    curves = {f"{depth:g} layers": _points([row for row in work.rows if row.get("layers") == depth], "relative_misfit")
              for depth in depths if isinstance(depth, (int, float))}
    return {"descent": charts.lines("relative misfit", curves, "step", "relative misfit")}


def _success(work: Work) -> dict[str, Json | None]:
    """A map, of a sweep with two axes."""
    return {"success": charts.shares("success so far", work.rows, *work.varying) if len(work.varying) == 2 else None}
