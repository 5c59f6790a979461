"""What a page says of each kind of run, before and after its figures."""

from __future__ import annotations

from typing import Any

from ..figures.charts import class_names
from ..figures.run import Json, Run
from .certify import certify
from .elements import (
    Content,
    Html,
    Number,
    Parts,
    at_least,
    at_most,
    details,
    facts,
    number,
    percent,
    record,
    table,
    tag,
    text,
)
from .theorems import statement

MOST_ROWS = 24  # of lists of samples
MOST_CELLS = 400  # of a sweep's table
AXES = ("n", "d", "width", "activation", "scaling", "step", "noise", "tolerance")


def conclusion(run: Run) -> tuple[str, list[str]]:
    """The answer: its first line, and the others."""
    words = str(run.result.get("conclusion") or "").replace(">=", "≥").replace("<=", "≤")
    lines = [line for line in words.split("\n") if line.strip()] or [f"A run of zeroloss {run.kind}"]
    return lines[0][0].upper() + lines[0][1:].removesuffix(":"), lines[1:]


def of(run: Run) -> Parts:
    """Markup to stand before and after the figures of a run; none for a kind that is not known."""
    known = {"certify": certify, "fit": fit, "sweep": sweep, "linear": linear, "memorize": memorize, "conv": conv}
    return known[run.kind](run, run.result) if run.kind in known else ([], [])


def fit(run: Run, r: Json) -> Parts:
    c, o = r.get("certificate") or {}, r.get("options") or {}
    network = [o.get("activation"), f"{number(o.get('width'))} hidden units", o.get("scaling"), o.get("precision")]
    before = facts([
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("network", ", ".join(map(str, network)) if o.get("width") else None),
        ("start", _start(o.get("start") or {})),
        ("optimizer", o.get("optimizer")),
        ("step", r.get("step")),
        ("steps", r.get("steps")),
        ("relative misfit", at_most(r.get("relative_misfit"))),
        ("on points that were not fitted", _tested(r.get("test"), o.get("test") or {})),
        ("an exact solution lies within", at_most(c.get("radius")) if c.get("holds") else None),
        ("margin of the proof (above 1 it holds)", number(c.get("margin") or None, 3, "down")),
        ("lambda_min of the Gram matrix", at_least(c.get("lambda_min"))),
        ("first certified at step", r.get("certified_at")),
        ("farthest neuron moved", r.get("max_distance")),
        ("signs flipped", percent(r.get("flipped_fraction"))),
    ])
    note = tag("p", "What is not proved: ", c["reason"], class_="note") if c.get("reason") else None
    outputs = r.get("per_class") or []
    classes = [tag("h2", "By class"), table(
        ["class", "status", "steps", "misfit", "proved", "within", "margin", "seconds"],
        [_output_row(output, output.get("certificate") or {}) for output in outputs],
    )]
    return [before, note], [classes if len(outputs) > 1 else None, _theorem(outputs)]


def _start(start: Json) -> str | None:
    return f"weights of {start['source']}" if start.get("digest") else None


def _tested(test: Json | None, source: Json) -> str | None:
    if not test:
        return None
    wrong, name = test.get("wrong"), source.get("source")
    if wrong is None:
        return f"root mean square error {test['error']:.3g} ({name})" if test.get("error") is not None else None
    return f"{wrong:,} of {test['n']:,} wrong ({name})"


def _output_row(output: Json, c: Json) -> list[Content]:
    return [
        text(output.get("label")),
        _words(output.get("status")),
        output.get("steps"),
        at_most(output.get("relative_misfit")),
        text(c.get("kind")),
        at_most(c.get("radius"), 2),
        number(c.get("margin") or None, 2, "down"),
        number(output.get("seconds"), 3),
    ]


def _theorem(outputs: list[Json]) -> Content:
    theorem = (outputs[0].get("theorem") or {}) if outputs else {}
    if not theorem.get("theorem"):
        return None
    if theorem.get("holds"):
        fails = at_most(theorem.get("failure_probability"), 2)
        verdict: list[Content] = ["holds for this run, but for a probability of ", fails, "."]
    else:
        verdict = ["does not hold for this run: ", theorem.get("reason"), "."]
    needs = [
        ("sufficient width", at_most(theorem.get("width"))),
        ("largest step", number(theorem.get("step"), 3, "down")),
    ]
    said = statement(theorem.get("id"))
    return [tag("h2", "What theory promises"), tag("p", theorem["theorem"], " ", verdict), facts(needs),
            details("What the theorem says", said) if said else None]


def sweep(run: Run, r: Json) -> Parts:
    o, cells = r.get("options") or {}, r.get("cells") or []
    values = {key: list(dict.fromkeys(str(cell.get(key)) for cell in cells)) for key in AXES}
    before = facts([
        ("trials", r.get("trials")),
        ("cells", len(cells)),
        ("activation", ", ".join(values["activation"])),
        ("optimizer", o.get("optimizer")),
        ("most steps of a trial", o.get("max_steps")),
        ("success: misfit at most", ", ".join(values["tolerance"])),
        ("precision", o.get("precision")),
    ])
    varying = [key for key in AXES if len(values[key]) > 1]
    header = [*varying, "trials", "succeed", "95 % interval", "diverged", "mean steps", "median misfit"]
    rows = [[*(_axis(c.get(key)) for key in varying), c.get("trials"), c.get("successes"),
             _interval(c.get("low"), c.get("high"), 2), c.get("diverged"), c.get("mean_steps"),
             number(c.get("median_misfit"), 2)] for c in cells[:MOST_CELLS]]
    few = len(cells) <= MOST_CELLS
    which = f"All {len(cells):,} cells" if few else f"{MOST_CELLS} of {len(cells):,} cells; metrics.csv has all"
    return [before], [[_transition(panel) for panel in r.get("panels") or []], details(which, table(header, rows))]


def _transition(panel: Json) -> Content:
    rows = [[_axis(t.get("x")), t["y"], _interval(t.get("low"), t.get("high"))]
            for t in panel.get("transition") or [] if t.get("y") is not None]
    if not rows:
        return None
    heading = "Where half of the trials succeed" + (f": {panel['title']}" if panel.get("title") else "")
    return [tag("h2", heading), table([str(panel.get("x") or ""), f"{panel.get('y')} at 50 %", "95 % interval"], rows)]


def linear(run: Run, r: Json) -> Parts:
    treatments = {"none": None, "flipped": "det R < 0: labels flipped", "augmented": "det R < 0: a coordinate added"}
    before = facts([
        ("dimension", r.get("d")),
        ("points", r.get("n")),
        ("largest singular value of R", r.get("s_max")),
        ("smallest singular value of R", r.get("s_min")),
        ("R as given", treatments.get(str(r.get("treatment")))),
        ("layers needed for small norms", r.get("layers_needed")),
        ("relative misfit of descent", at_most(r.get("relative_misfit"))),
        ("steps of descent", r.get("steps")),
        ("least gradient norm over its bound, computed", number(r.get("least_ratio"), 4)),
    ])
    made, trained = r.get("factorizations") or [], r.get("training") or []
    depths = len({f.get("layers") for f in [*made, *trained]})
    exact = table(
        ["layers", "construction", "max ||A_i|| at most", "by its formula", "||product - R|| at most"],
        [[f.get("layers"), text(f.get("name")), at_most(f.get("max_norm"), 4), at_most(f.get("bound"), 4),
          at_most(f.get("reconstruction_error"), 2)] for f in made],
    )
    training = table(
        ["layers", "status", "steps", "relative misfit", "max ||A_i|| at most", "gradient norm over its bound"],
        [[t.get("layers"), _words(t.get("status")), t.get("steps"), at_most(t.get("relative_misfit")),
          at_most(t.get("max_norm"), 4), number(t.get("least_ratio"), 4)] for t in trained],
    )

    def section(heading: str, shown: Html, exists: object) -> Content:
        return [tag("h2", heading), details(f"At {depths} depths", shown) if depths > 1 else shown] if exists else None

    return [before], [
        section("Exact constructions", exact, made),
        section("Gradient descent from A = 0", training, trained),
    ]


def memorize(run: Run, r: Json) -> Parts:
    order = r["parameters"] / r["theorem_parameters"] if r.get("parameters") and r.get("theorem_parameters") else None
    before = facts([
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("right", Html(f"{number(r.get('correct'))} of {number(r.get('n'))}")),
        ("parameters", r.get("parameters")),
        ("times the theorem's order n ln n + r²", order),
        ("residual blocks", r.get("blocks")),
        ("width of a block", r.get("hidden")),
        ("precision", (r.get("options") or {}).get("precision")),
        ("smallest margin", number(r.get("min_margin"), 3, "down")),
        ("largest error of an output", at_most(r.get("max_error"))),
        ("built in seconds", number(r.get("build_s"), 2)),
        ("verified in seconds", number(r.get("verify_s"), 2)),
    ])

    def samples(heading: str, listed: list[Json]) -> Content:
        # Folders of an earlier version spell it `record`.
        rows = [[record(s.get("sample", s.get("record"))), text(s.get("label"))] for s in listed[:MOST_ROWS]]
        return [tag("h2", heading), table(["sample", "label"], rows)] if listed else None

    tried = r.get("tried") or []
    attempts = table(
        ["width", "first layer", "smallest margin", "right"],
        [[a.get("hidden"), text(a.get("first_layer")), number(a.get("min_margin"), 3, "down"), a.get("correct")]
         for a in tried],
    )
    return [before], [
        samples("The two points that are hardest to tell apart", r.get("closest") or []),
        samples("Points that are wrong", r.get("wrong") or []),
        [tag("h2", "Widths tried"), attempts] if len(tried) > 1 else None,
    ]


def conv(run: Run, r: Json) -> Parts:
    evaluation, metrics = run.json("evaluation.json"), run.table("metrics.csv")
    last = metrics[-1] if metrics else {}
    many = len(evaluation.get("class_names") or []) > 5
    before = facts([
        (f"error on {'test' if r.get('n_test') else 'training'} images", percent(evaluation.get("top1_error"))),
        ("not among the first five", percent(evaluation.get("top5_error")) if many else None),
        ("error while training (augmented)", percent(last.get("train_error"))),
        ("loss while training", last.get("train_loss")),
        ("training images", r.get("n")),
        ("test images", r.get("n_test") or None),
        ("weights", r.get("weights")),
        ("epochs", last.get("epoch")),
        ("steps", r.get("steps")),
        ("images a second", last.get("images_per_s")),
        ("device", r.get("device")),
        ("precision", r.get("precision")),
    ])
    errors, counts = evaluation.get("per_class_error") or [], evaluation.get("confusion") or []
    names = class_names(evaluation, len(errors))
    rows = [[text(names[k]), percent(error), *_taken_for(names, counts, k)] for k, error in enumerate(errors)]
    header = ["class", "error", "most often taken for", "images"]
    return [before], [tag("h2", "By class"), table(header, rows)] if rows else []


def _taken_for(names: list[str], counts: list[list[int]], k: int) -> tuple[Html, int | None]:
    """The class that images of class k are most often taken for, and how many; nothing where none are."""
    row = counts[k] if k < len(counts) else []
    count, other = max(((n, name) for i, (n, name) in enumerate(zip(row, names)) if i != k), default=(0, ""))
    return (text(other), count) if count else (text(""), None)


def _words(status: str | None) -> Html:
    return text(str(status or "").replace("_", " "))


def _interval(low: float | None, high: float | None, digits: int = 4) -> Html:
    if low is None and high is None:
        return Number("–")
    if low is None or high is None:
        return Number(f"up to {number(high, digits)}" if low is None else f"from {number(low, digits)}")
    return Number(f"{number(low, digits)} to {number(high, digits)}")


def _axis(value: Any) -> Html:
    """A value of an axis: a number where it is one."""
    try:
        return number(float(value))
    except (TypeError, ValueError):
        return text(value)
