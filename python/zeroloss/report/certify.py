"""What a page says of a certify run: guarantees, suspected labels, and the points that stand in the way."""

from __future__ import annotations

import math

from ..figures.run import Json, Run
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
    picture,
    record,
    table,
    tag,
    text,
)
from .theorems import statement

MOST_ROWS = 24  # of suspects and conflicts
MOST_PAIRS = 12
MOST_SAMPLES = 8  # of one group of equal points; the first four have their picture


def certify(run: Run, r: Json) -> Parts:
    """Markup before and after the figures."""
    pictures, classes = run.json("pictures.json"), r.get("classes") or []
    verified, classification = r.get("lambda_min_verified"), r.get("task") == "classification"
    before = facts([
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("classes", ", ".join(map(str, classes)) if len(classes) <= 12 else len(classes)),
        ("distinct points", r.get("n_distinct") if r.get("n_distinct") != r.get("n") else None),
        ("lambda_min, verified", at_least(verified, 6)),
        ("lambda_min, computed", None if verified else r.get("lambda_min")),
        ("lambda_max", r.get("lambda_max")),
        ("smallest distance of two points, at least", r.get("separation")),
        ("labels wrong by leave-one-out", percent(r.get("leave_one_out_error")) if classification else None),
        ("complexity of the labels", _mean(r.get("complexity"))),
        ("the same, labels shuffled", _mean(r.get("complexity_shuffled"))),
    ])
    return [before], [
        _guarantees(r.get("guarantees") or []),
        _forecast(r.get("forecast") or {}),
        _conflicts(r.get("conflicts") or [], pictures),
        _suspects(r.get("suspects") or [], pictures),
        _bottleneck(r.get("bottleneck") or []),
        _pairs((r.get("closest") or [])[:MOST_PAIRS], pictures),
    ]


def _guarantees(guarantees: list[Json]) -> Content:
    rows: list[list[Content]] = []
    said: dict[str, Content] = {}
    excluded: dict[str, list[str]] = {}
    for g in guarantees:
        if g.get("width") is None and not g.get("holds"):
            excluded.setdefault(str(g.get("reason")), []).append(str(g.get("theorem")))
            continue
        said[str(g.get("theorem"))] = statement(g.get("id"))
        source = f"{g.get('lambda_from')}{'' if g.get('verified') else ', computed, not verified'}"
        why = ("" if g.get("holds") else "no: ") + (g.get("reason") or "")
        rows.append([tag("div", g.get("theorem"), tag("small", source), class_="name"), at_most(g.get("width")),
                     number(g.get("step"), 3, "down"), _rate(g), at_most(g.get("steps")),
                     _probability(g.get("failure_probability")), text(why)])
    if not guarantees:
        return None
    header = ["theorem", "width", "step", "misfit shrinks by", "steps", "fails with", "note"]
    formulas = [[tag("h3", theorem), lines] for theorem, lines in said.items() if lines]
    others = [tag("li", "; ".join(theorems), ": ", reason) for reason, theorems in excluded.items()]
    return [tag("h2", "Guarantees"), table(header, rows) if rows else None,
            details("What these theorems say", formulas) if formulas else None,
            details("Theorems that do not apply", tag("ul", others)) if others else None]


def _rate(g: Json) -> Number:
    if g.get("rate") is None:
        return Number("–")
    rate = number(g["rate"], 3, "down")
    return Number(f"exp(−{rate} t)" if g.get("flow") else f"1 − {rate}")


def _probability(p: float | None) -> Html:
    """Rounded up, but for the rounding errors of its sum: 0.01, not 0.011, for 0.01 + 1e-16."""
    return at_most(None if p is None else round(p, 12), 2)


def _forecast(forecast: Json) -> Content:
    if not forecast:
        return None
    steps = forecast.get("steps_to_accuracy")
    reached = "never, or not within 10<sup>15</sup> steps"
    if isinstance(steps, (int, float)) and math.isfinite(steps):
        reached = f"after {number(math.ceil(steps))} steps"
    accuracy, step = number(forecast.get("accuracy")), number(forecast.get("step"))
    stable = number(forecast.get("stable_step"), 4, "down")
    return [tag("h2", "Forecast of training"), tag("p", Html(
        f"Gradient descent on an infinitely wide network reaches a misfit of {accuracy} {reached} of {step}; "
        f"steps below {stable} are stable."))]


def _conflicts(groups: list[list[Json]], pictures: Json) -> Content:
    if not groups:
        return None
    items = [tag("li", tag("div", [_image(pictures, s) for s in group[:4]]),
                 ", ".join(map(_sample, group[:MOST_SAMPLES])), _more(len(group) - MOST_SAMPLES, " and {} more"))
             for group in groups[:MOST_ROWS]]
    return [tag("h2", "Equal points with different labels"), tag("ul", items, class_="pairs"),
            _note(_more(len(groups) - MOST_ROWS, "and {} more groups in result.json"))]


def _suspects(suspects: list[Json], pictures: Json) -> Content:
    if not suspects:
        return None
    rows = [[_image(pictures, s), record(s.get("sample")), text(s.get("label")), text(s.get("predicted")),
             number(s.get("score"), 3)] for s in suspects[:MOST_ROWS]]
    return [tag("h2", "Labels that look wrong"),
            _note("Closed-form leave-one-out: what the kernel would say of each point had it not seen its label."),
            table(["image", "sample", "label", "predicted", "score"], rows, "Suspected labels, worst first"),
            _note(_more(len(suspects) - MOST_ROWS, "and {} more in result.json"))]


def _bottleneck(samples: list[Json]) -> Content:
    if not samples:
        return None
    rows = [[record(s.get("sample")), text(s.get("label")), percent(s.get("weight"))] for s in samples]
    caption = "Squared entries of the eigenvector of lambda_min"
    return [tag("h2", "What holds lambda_min down"), table(["sample", "label", "weight"], rows, caption)]


def _pairs(pairs: list[Json], pictures: Json) -> Content:
    if not pairs:
        return None
    ends = [[{"sample": sample, "label": label} for sample, label in zip(p.get("samples") or [], p.get("labels") or [])]
            for p in pairs]
    if pictures:
        shown = tag("ul", [_pair(two, pair, pictures) for two, pair in zip(ends, pairs)], class_="pairs")
    else:
        rows = [[", ".join(map(_sample, two)), p.get("distance"), "antipodal" if p.get("antipodal") else ""]
                for two, p in zip(ends, pairs)]
        shown = table(["samples", "distance", "note"], rows, "Distances of the normalised points")
    return [tag("h2", "Closest pairs"), shown]


def _pair(two: list[Json], pair: Json, pictures: Json) -> Html:
    return tag("li", tag("div", [_image(pictures, s) for s in two]), " and ".join(map(_sample, two)), tag("br"),
               "distance ", number(pair.get("distance")), ", antipodal" if pair.get("antipodal") else "")


def _image(pictures: Json, sample: Json) -> Html | None:
    return picture(pictures, sample.get("sample"), f"sample {_sample(sample)}")


def _sample(sample: Json) -> str:
    label = sample.get("label")
    return f"{sample.get('sample')}" + (f" ({label})" if label is not None else "")


def _more(count: int, words: str) -> str:
    return words.format(f"{count:,}") if count > 0 else ""


def _note(words: str) -> Html | None:
    return tag("p", words, class_="note") if words else None


def _mean(values: list[float] | None) -> float | None:
    return sum(values) / len(values) if values else None
