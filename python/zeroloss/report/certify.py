"""What a page says of a certify run: guarantees, suspected labels, and the points that stand in the way."""

from __future__ import annotations

import math

from ..figures.run import Json, Run
from .elements import (
    Content,
    Facts,
    Html,
    Number,
    Parts,
    at_least,
    at_most,
    details,
    label,
    number,
    percent,
    record,
    table,
    tag,
    text,
)
from .loss import LOSS
from .maths import tex, worded
from .samples import gallery, named, pairs
from .theorems import statement, theorems
from .widths import widths

MOST_ROWS = 24  # of suspects and conflicts
MOST_PAIRS = 12
MOST_SAMPLES = 8  # of one group of equal points; the first four have their picture
LAMBDA = tex(r"\lambda_{\min}")


def certify(run: Run, r: Json) -> Parts:
    pictures, guarantees = run.json("pictures.json"), r.get("guarantees") or []
    said = {str(g.get("theorem")): statement(g.get("id")) for g in guarantees if _applies(g)}
    return Parts(
        _numbers(r),
        [_suspects(r, pictures), conflicts(r.get("conflicts") or [], pictures),
         nearest(r, pictures), _bottleneck(r, pictures), _closest(r, pictures)],
        [widths(r.get("widths") or []), _forecast(r.get("forecast") or {}), _guarantees(guarantees)],
        [theorems(said), _excluded(guarantees)])


def _numbers(r: Json) -> Facts:
    verified, classification = r.get("lambda_min_verified"), r.get("task") == "classification"
    classes = r.get("classes") or []
    return [
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("classes", ", ".join(map(str, classes)) if len(classes) <= 12 else len(classes)),
        ("distinct points", r.get("n_distinct") if r.get("n_distinct") != r.get("n") else None),
        (Html(f"{LAMBDA}, verified"), at_least(verified, 6)),
        (Html(f"{LAMBDA}, computed"), None if verified else r.get("lambda_min")),
        ("proved by", _tail(r.get("tail"))),
        (tex(r"\lambda_{\max}"), r.get("lambda_max")),
        ("smallest distance of two points, at least", number(r.get("separation"), 4, "down")),
        ("labels wrong by leave-one-out", percent(r.get("leave_one_out_error")) if classification else None),
        *([LOSS] if r.get("outcome") != "impossible" else []),
        ("complexity of the labels", _mean(r.get("complexity"))),
        ("the same, labels shuffled", _mean(r.get("complexity_shuffled"))),
    ]


def _tail(tail: Json | None) -> str | None:
    """How the tail of the kernel's power series proves it."""
    return f"the kernel's power series from rho^{tail.get('power')} on" if tail else None


def _applies(g: Json) -> bool:
    return g.get("width") is not None or bool(g.get("holds"))


def _guarantees(guarantees: list[Json]) -> Content:
    rows: list[list[Content]] = []
    for g in filter(_applies, guarantees):
        source = [worded(str(g.get("lambda_from"))), "" if g.get("verified") else ", computed, not verified"]
        why = ("" if g.get("holds") else "no: ") + (g.get("reason") or "")
        rows.append([tag("div", g.get("theorem"), tag("small", source), class_="name"), at_most(g.get("width")),
                     number(g.get("step"), 3, "down"), _rate(g), _steps(g),
                     _probability(g.get("failure_probability")), text(worded(why))])
    header = ["theorem", "width", "step", "misfit shrinks by", "steps", "fails with", "note"]
    return [tag("h2", "Theorems about random weights"), table(header, rows)] if rows else None


def _excluded(guarantees: list[Json]) -> Content:
    reasons: dict[str, list[str]] = {}
    for g in guarantees:
        if not _applies(g):
            reasons.setdefault(str(g.get("reason")), []).append(str(g.get("theorem")))
    others = [tag("li", "; ".join(theorems), ": ", worded(reason)) for reason, theorems in reasons.items()]
    return details("Theorems that do not apply", tag("ul", others)) if others else None


def _rate(g: Json) -> Number:
    if g.get("rate") is None:
        return Number("–")
    rate = number(g["rate"], 3, "down")
    return Number(f"exp(−{rate} t)" if g.get("flow") else f"1 − {rate}", g["rate"])


def _steps(g: Json) -> Html:
    """Of a flow the time: it takes no steps."""
    steps = at_most(g.get("steps"))
    return Number(f"time {steps}", g["steps"]) if g.get("flow") and g.get("steps") is not None else steps


def _probability(p: float | None) -> Html:
    """Rounded up, with so many digits that 0.01 + 1e-16 is not 0.011."""
    return at_most(p, 4)


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


def conflicts(groups: list[list[Json]], pictures: Json) -> Content:
    """Equal points whose labels differ, if there are any."""
    if not groups:
        return None
    said = [[", ".join(map(named, group[:MOST_SAMPLES])), _more(len(group) - MOST_SAMPLES, " and {} more")]
            for group in groups[:MOST_ROWS]]
    shown = (gallery([(group[:4], words) for group, words in zip(groups, said)], pictures) if pictures
             else tag("ul", [tag("li", words) for words in said]))
    return [tag("h2", "Equal points with different labels"), shown,
            _note(_more(len(groups) - MOST_ROWS, "and {} more groups in result.json"))]


def _accuses(r: Json) -> bool:
    """Whether labels look wrong that leave-one-out contradicts: it is right about most, or better than the mean."""
    error = r.get("leave_one_out_error") or 0
    return error < 1 if r.get("task") == "regression" else error <= 0.2


def _about_suspects(r: Json) -> Content:
    """What their heading says, and what follows from them."""
    numbers, error = r.get("task") == "regression", r.get("leave_one_out_error") or 0
    how = "Closed-form leave-one-out: what the kernel would say of each point had it not seen its label. Worst first."
    if _accuses(r):
        edge = " A point at the edge of the data may be among them, which others do not know." if numbers else ""
        return [tag("h2", "Labels that look wrong"), _note(how + edge)]
    off = [number(error, 3), " of the targets’ spread off"] if numbers else ["wrong about ", percent(error), " of all"]
    return [tag("h2", "Labels that the other samples predict otherwise"),
            tag("p", how, " Such predictions are ", off, ", so this says little.", class_="note")]


def _suspects(r: Json, pictures: Json) -> Content:
    suspects = r.get("suspects") or []
    if not suspects:
        return None
    listed = suspects[:MOST_ROWS]
    if pictures:
        shown = gallery([([s], [tag("b", f"{s.get('label')}, or {s.get('predicted')}?"), tag("br"),
                                f"sample {s.get('sample')}, score ", number(s.get("score"), 3)]) for s in listed],
                        pictures)
    else:
        shown = table(["sample", "label", "predicted", "score"],
                      [[record(s.get("sample")), label(s.get("label")), label(s.get("predicted")),
                        number(s.get("score"), 3)] for s in listed])
    return [_about_suspects(r), shown,
            _note(_more(len(suspects) - MOST_ROWS, "and {} more in result.json"))]


def nearest(r: Json, pictures: Json) -> Content:
    """Different points that are next to equal, if there are any."""
    pair = r.get("nearest")
    if not pair:
        return None
    return [tag("h2", "Points next to equal"),
            pairs([pair], r.get("d") or 0, pictures, "Different points within 1e-6, once divided by their lengths")]


def _bottleneck(r: Json, pictures: Json) -> Content:
    samples = r.get("bottleneck") or []
    if not samples:
        return None
    apart = r.get("bottleneck_distance")
    ends = [named(s) for s in samples[:2]]
    off: list[Content] = ["opposite up to ", number(apart), ". "] if r.get("bottleneck_antipodal") else [
        number(apart), " apart. "]
    note = [f"Samples {' and '.join(ends)} most of all, ", *off] if apart and ends[1:] else ""
    weights = [percent(s.get("weight")) for s in samples]
    meaning = ("Weights are parts of the row that holds the bound down." if r.get("method") == "tail"
               else "Weights are squared entries of its eigenvector.")
    if pictures:
        shown = gallery([([s], [named(s), tag("br"), weight]) for s, weight in zip(samples, weights)], pictures)
    else:
        shown = table(["sample", "label", "weight"], [[record(s.get("sample")), label(s.get("label")), weight]
                                                      for s, weight in zip(samples, weights)])
    return [tag("h2", "What holds ", LAMBDA, " down"),
            tag("p", note, meaning, class_="note"), shown]


def _closest(r: Json, pictures: Json) -> Content:
    found = (r.get("closest") or [])[:MOST_PAIRS]
    caption = "Distances of the normalised points, up to sign"
    return [tag("h2", "Closest pairs"), pairs(found, r.get("d") or 0, pictures, caption)] if found else None


def _more(count: int, words: str) -> str:
    return words.format(f"{count:,}") if count > 0 else ""


def _note(words: str) -> Html | None:
    return tag("p", words, class_="note") if words else None


def _mean(values: list[float] | None) -> float | None:
    return sum(values) / len(values) if values else None
