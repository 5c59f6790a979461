"""What a page says of an audit: how many labels are wrong, which, and which samples lie next to others or far off."""

from __future__ import annotations

import math

from ..figures.run import Json, Run
from .elements import Content, Facts, Html, Number, Parts, folded, label, number, percent, record, tag, text
from .samples import image
from .walk import drawn, name, walk

MOST_PICTURES = 20  # twins and outliers, as many as the run folder has pictures of
SCALES = {"columns": "each to deviation 1, and their ranks", "common": "one scale for all",
          "given": "as they are given"}


def audit(run: Run, r: Json) -> Parts:
    pictures, tested = run.json("pictures.json"), bool(r.get("test"))
    others = run.json("pictures-of-training.json") if tested else pictures
    return Parts(
        _numbers(r, r.get("test") or {}),
        [walk(run, r), drawn(run, r), _twins(r.get("twins") or [], tested, pictures, others),
         _outliers(r.get("outliers") or [], tested, pictures)],
        [_confusions(r.get("confusions") or [])])


def predictor(r: Json) -> Facts:
    """What all predictions of audit and influence are made by."""
    inducing, seen = r.get("inducing"), r.get("image_features")
    patches = f"{r.get('activation')} of features of patches{' of images and mirror images' * bool(r.get('mirrored'))}"
    kernel = patches if seen in ("patches", "both") else f"{r.get('activation')} and single features"
    return [
        ("kernel of", kernel + ", a quarter of pixels" * (seen == "both") if r.get("activation") else None),
        ("features", SCALES.get(str(r.get("scale")), r.get("scale")) if seen != "patches" else None),
        ("ridge", r.get("ridge")),
        ("points it is a sum over", inducing if inducing != r.get("n") else None),
    ]


def _numbers(r: Json, test: Json) -> Facts:
    rate, error = r.get("noise_rate") or {}, r.get("error")
    wrong = ("misfit of the predictions, of the spread", number(error, 3)) if r.get("task") == "regression" else (
        "predictions that disagree" if test else "leave-one-out error", percent(error))
    judged = r.get("n") is None or r.get("not_judged") != r["n"] or r.get("checked")
    return [
        ("wrong labels, estimated (95 % interval)",
         Html(f"{percent(rate.get('value'))} ({interval(rate, 100)})") if rate and judged else None),
        ("checked samples", Html(f"{number(r.get('checked'))}, of which {number(r.get('checked_wrong'))} are wrong")
         if r.get("checked") else None),
        ("right labels among those named, at most, in expectation",
         percent(r["guarantee"]) if r.get("guarantee") else None),
        ("labels to look at", Html(f"{number(len(r.get('issues') or []))} of {number(r.get('n'))}")),
        ("labels that cannot be judged", r.get("not_judged") or None),
        wrong,
        ("whose labels", test.get("data")),
        ("features", r.get("d")),
        ("classes", r.get("classes") or None),
        *predictor(r),
    ]


def _confusions(found: list[Json]) -> Content:
    rows = [[label(one.get("given")), label(one.get("meant")), number(one.get("value"), 3), interval(one)]
            for one in found]
    return [tag("h2", "Classes that are mistaken for others"),
            folded(["label", "meant", "samples", "95 % interval"], rows)] if rows else None


def interval(estimate: Json, times: float = 1) -> Html:
    low, high = (times * estimate.get(key, math.nan) for key in ("low", "high"))
    return Number(f"{low:.1f} to {high:.1f}", low)


def _twins(found: list[Json], tested: bool, pictures: Json, others: Json) -> Content:
    if not found:
        return None
    heading = "Test samples next to equal to training samples" if tested else "Samples next to equal"
    note = "Leakage: what is predicted of them says nothing of new samples." if tested else None
    ends = ("test sample", "training sample") if tested else ("sample", "sample")
    rows = [[name(one["first"]), label(one["first"].get("label")),
             name(one["second"]), label(one["second"].get("label")), number(one.get("distance"), 3),
             text("" if one.get("same_label") else "labels differ")] for one in found]
    cards = [(one, [image(pictures, one["first"]), image(others, one["second"])]) for one in found[:MOST_PICTURES]]
    shown = tag("ul", [tag("li", tag("div", drawn), tag("p", _twin(one))) for one, drawn in cards], class_="samples")
    return [tag("h2", heading), tag("p", note, class_="note") if note else None, shown if pictures else None,
            folded([ends[0], "label", ends[1], "its label", "distance", "note"], rows, always=bool(pictures))]


def _twin(one: Json) -> Content:
    said = [f"{name(one[key])} ({one[key].get('label')})" for key in ("first", "second")]
    return [" and ".join(said), tag("br"), "distance ", number(one.get("distance"), 3),
            "" if one.get("same_label") else [tag("br"), tag("b", "labels differ")]]


def _outliers(found: list[Json], tested: bool, pictures: Json) -> Content:
    if not found:
        return None
    rows = [[record(one.get("sample")), one.get("id") or "", label(one.get("label")), number(one.get("distance"), 3)]
            for one in found]
    shown = tag("ul", [tag("li", tag("div", image(pictures, one)), tag("p", f"{name(one)} ({one.get('label')})"))
                       for one in found[:MOST_PICTURES]], class_="samples")
    return [tag("h2", "Far from every training sample" if tested else "Far from every other sample"),
            shown if pictures else None,
            folded(["sample", "id", "label", "distance to the nearest"], rows, always=bool(pictures))]
