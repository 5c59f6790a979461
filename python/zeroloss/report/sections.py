"""What a page says of each kind of run around its figures."""

from __future__ import annotations

from typing import Any

from ..figures.charts import class_names
from ..figures.run import Json, Run
from .audit import audit
from .certify import certify
from .elements import Content, Facts, Html, Number, Parts, at_most, details, number, percent, table, tag, text, words
from .fit import fit
from .influence import influence
from .loss import LOSS
from .maths import tex, worded
from .prove import prove
from .samples import gallery, listed, named
from .widths import exact, widths

MOST_ROWS = 24  # of lists of samples
MOST_CELLS = 400  # of a sweep's table
AXES = ("n", "d", "width", "activation", "scaling", "step", "noise", "tolerance", "depth")
NORM = tex(r"\lVert A_i \rVert")


def of(run: Run) -> Parts:
    """The parts of a run's page; none for a kind that is not known."""
    known = {"certify": certify, "width": width, "fit": fit, "sweep": sweep, "linear": linear, "memorize": memorize,
             "conv": conv, "audit": audit, "influence": influence, "prove": prove}
    return known[run.kind](run, run.result) if run.kind in known else Parts()


def width(run: Run, r: Json) -> Parts:
    rows = r.get("rows") or []
    own = [row for row in rows if row.get("title") != row.get("source")]
    numbers: Facts = [
        ("points", r.get("n_distinct")),
        ("features", r.get("d")),
        (Html(f"rank of the points {worded('<=')}"), r.get("rank")),
        *((str(row.get("title")), exact(row.get("width"))) for row in own),
        *([LOSS] if rows else []),
        ("networks", r.get("outputs") if r.get("outputs") != 1 else None),
    ]
    drawn = table(
        ["width", "full rank", "scale for these labels", "scale for any", "step", "steps", "seed"],
        [[w.get("width"), f"{w.get('full_rank')} of {w.get('draws')}", at_most(w.get("these_scale")),
          at_most(w.get("any_scale")), number(w.get("step") or None, 3, "down"), at_most(w.get("steps") or None),
          w.get("seed") if w.get("any_scale") else None] for w in r.get("drawn") or []])
    tried = table(["width", "tries", "certified"],
                  [[m.get("width"), m.get("tries"), "yes" if m.get("certified") else "no"]
                   for m in r.get("measured") or []])
    return Parts(numbers, [widths(rows)], [
        [tag("h2", "Gradient descent from pairs, proved"), drawn] if r.get("drawn") else None,
        [tag("h2", "Widths that Gauss-Newton tried"), tried] if r.get("measured") else None])


def sweep(run: Run, r: Json) -> Parts:
    o, cells = r.get("options") or {}, r.get("cells") or []
    values = {key: list(dict.fromkeys(str(cell.get(key)) for cell in cells)) for key in AXES}
    numbers: Facts = [
        ("trials", r.get("trials")),
        ("cells", len(cells)),
        ("activation", ", ".join(values["activation"])),
        ("optimizer", o.get("optimizer")),
        LOSS,
        ("most steps of a trial", o.get("max_steps")),
        ("success: misfit at most", ", ".join(values["tolerance"])),
        ("precision", o.get("precision")),
    ]
    varying = [key for key in AXES if len(values[key]) > 1]
    header = [*varying, "trials", "succeed", "95 % interval", "diverged", "mean steps", "median misfit"]
    rows = [[*(_axis(c.get(key)) for key in varying), c.get("trials"), c.get("successes"),
             _interval(c.get("low"), c.get("high"), 2), c.get("diverged"), c.get("mean_steps"),
             number(c.get("median_misfit"), 2)] for c in cells[:MOST_CELLS]]
    few = len(cells) <= MOST_CELLS
    which = f"All {len(cells):,} cells" if few else f"{MOST_CELLS} of {len(cells):,} cells; metrics.csv has all"
    return Parts(numbers, [],
                 [[_transition(panel) for panel in r.get("panels") or []], details(which, table(header, rows))])


def _transition(panel: Json) -> Content:
    rows = [[_axis(t.get("x")), t["y"], _interval(t.get("low"), t.get("high"))]
            for t in panel.get("transition") or [] if t.get("y") is not None]
    if not rows:
        return None
    heading = "Where half of the trials succeed" + (f": {panel['title']}" if panel.get("title") else "")
    return [tag("h2", heading), table([str(panel.get("x") or ""), f"{panel.get('y')} at 50 %", "95 % interval"], rows)]


def linear(run: Run, r: Json) -> Parts:
    treatments = {"none": None, "flipped": "det R < 0: labels flipped", "augmented": "det R < 0: a coordinate added"}
    numbers: Facts = [
        ("dimension", r.get("d")),
        ("points", r.get("n")),
        ("largest singular value of R", r.get("s_max")),
        ("smallest singular value of R", r.get("s_min")),
        ("R as given", worded(treatments.get(str(r.get("treatment"))))),
        ("layers needed for small norms", r.get("layers_needed")),
        ("relative misfit of descent", at_most(r.get("relative_misfit"))),
        ("steps of descent", r.get("steps")),
        ("least gradient norm over its bound, computed", number(r.get("least_ratio"), 4)),
    ]
    made, trained = r.get("factorizations") or [], r.get("training") or []
    depths = len({f.get("layers") for f in [*made, *trained]})
    exact = table(
        ["layers", "construction", Html(f"max {NORM} at most"), "by its formula",
         Html(f"{worded('||product - R||')} at most")],
        [[f.get("layers"), text(f.get("name")), at_most(f.get("max_norm"), 4), at_most(f.get("bound"), 4),
          at_most(f.get("reconstruction_error"), 2)] for f in made],
    )
    training = table(
        ["layers", "status", "steps", "relative misfit", Html(f"max {NORM} at most"), "gradient norm over its bound"],
        [[t.get("layers"), words(t.get("status")), t.get("steps"), at_most(t.get("relative_misfit")),
          at_most(t.get("max_norm"), 4), number(t.get("least_ratio"), 4)] for t in trained],
    )

    def section(heading: str, shown: Html, exists: object) -> Content:
        folded = details(f"At {depths} depths", shown) if depths > 1 else shown
        return [tag("h2", worded(heading)), folded] if exists else None

    return Parts(numbers, [], [
        section("Exact constructions", exact, made),
        section("Gradient descent from A = 0", training, trained),
    ])


def memorize(run: Run, r: Json) -> Parts:
    order = r["parameters"] / r["theorem_parameters"] if r.get("parameters") and r.get("theorem_parameters") else None
    numbers: Facts = [
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("right", Html(f"{number(r.get('correct'))} of {number(r.get('n'))}")),
        ("parameters", r.get("parameters")),
        (Html(f"times the theorem's order {worded('n ln n + r^2')}"), order),
        ("residual blocks", r.get("blocks")),
        ("width of a block", r.get("hidden")),
        ("precision", (r.get("options") or {}).get("precision")),
        ("smallest margin", number(r.get("min_margin"), 3, "down")),
        ("largest error of an output", at_most(r.get("max_error"))),
        ("built in seconds", number(r.get("build_s"), 2)),
        ("checked in seconds", number(r.get("verify_s"), 2)),
    ]
    tried = r.get("tried") or []
    attempts = table(
        ["width", "first layer", "smallest margin", "right"],
        [[a.get("hidden"), text(a.get("first_layer")), number(a.get("min_margin"), 3, "down"), a.get("correct")]
         for a in tried],
    )
    pictures = run.json("pictures.json")
    return Parts(numbers, [
        _samples("Points that are wrong", r.get("wrong") or [], pictures),
        _samples("The two points that are hardest to tell apart", r.get("closest") or [], pictures),
    ], [[tag("h2", "Widths tried"), attempts] if len(tried) > 1 else None])


def _samples(heading: str, samples: list[Json], pictures: Json) -> Content:
    some = samples[:MOST_ROWS]
    shown = gallery([([s], named(s)) for s in some], pictures) if pictures else listed(some)
    return [tag("h2", heading), shown] if some else None


def conv(run: Run, r: Json) -> Parts:
    evaluation, metrics = run.json("evaluation.json"), run.table("metrics.csv")
    last = metrics[-1] if metrics else {}
    many = len(evaluation.get("class_names") or []) > 5
    error, where = evaluation.get("top1_error"), "test" if r.get("n_test") else "training"
    numbers: Facts = [
        (f"accuracy on {where} images", percent(None if error is None else 1 - error)),
        (f"error on {where} images", percent(error)),
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
    ]
    errors, counts = evaluation.get("per_class_error") or [], evaluation.get("confusion") or []
    names = class_names(evaluation, len(errors))
    rows = [[text(names[k]), percent(None if wrong is None else 1 - wrong), percent(wrong),
             *_taken_for(names, counts, k)] for k, wrong in enumerate(errors)]
    header = ["class", "accuracy", "error", "most often taken for", "images"]
    return Parts(numbers, [], [[tag("h2", "By class"), table(header, rows)] if rows else None])


def _taken_for(names: list[str], counts: list[list[int]], k: int) -> tuple[Html, int | None]:
    """The class that images of class k are most often taken for, and how many; nothing where none are."""
    row = counts[k] if k < len(counts) else []
    count, other = max(((n, name) for i, (n, name) in enumerate(zip(row, names)) if i != k), default=(0, ""))
    return (text(other), count) if count else (text(""), None)


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
