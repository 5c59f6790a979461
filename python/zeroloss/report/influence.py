"""What a page says of an influence run: which training samples make predictions what they are, and what each is worth."""

from __future__ import annotations

from ..figures.run import Json, Run
from .audit import predictor
from .elements import Content, Facts, Html, Parts, label, number, percent, record, table, tag, text
from .walk import name

MOST_ROWS = 500  # predictions


def influence(run: Run, r: Json) -> Parts:
    return Parts(_numbers(r), [_worth(r.get("best") or [], r.get("worst") or []), _tests(r)])


def _numbers(r: Json) -> Facts:
    error = r.get("error")
    wrong = number(error, 3) if r.get("task") == "regression" else percent(error)
    return [
        ("misfit of the predictions, of the spread" if r.get("task") == "regression" else "wrong predictions", wrong),
        ("predictions", r.get("n_test")),
        ("training samples", r.get("n")),
        ("features", r.get("d")),
        *predictor(r),
    ]


def _worth(best: list[Json], worst: list[Json]) -> Content:
    rows = [[record(one.get("sample")), one.get("id") or "", label(one.get("label")), number(one.get("influence"), 3),
             says] for says, some in (("harms", worst), ("helps", best)) for one in some]
    return [tag("h2", "Training samples that matter most"),
            tag("p", "What each adds, the mean over all predictions; values.csv has every sample.", class_="note"),
            table(["sample", "id", "label", "value", "note"], rows)] if rows else None


def _tests(r: Json) -> Content:
    tests, wrong = r.get("tests") or [], r.get("task") == "classification"
    rows = [[record(one.get("sample")), one.get("id") or "", label(one.get("label")), label(one.get("predicted")),
             text("wrong" if wrong and one.get("label") not in (None, "", one.get("predicted")) else ""),
             number(one.get("output"), 3), _reasons(one.get("support")), _reasons(one.get("against"))]
            for one in tests[:MOST_ROWS]]
    return [tag("h2", "Predictions"),
            tag("p", f"The first {MOST_ROWS} of {len(tests):,}; result.json has all.", class_="note")
            if len(tests) > MOST_ROWS else None,
            table(["sample", "id", "label", "predicted", "note", "output", "for it", "against it"], rows)] if rows else None


def _reasons(reasons: list[Json] | None) -> Html:
    said = [f"{name(one)} ({one.get('label')})" for one in reasons or []]
    return Html(tag("small", ", ".join(said))) if said else Html("")
