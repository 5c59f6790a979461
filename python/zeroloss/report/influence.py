"""What a page says of an influence run: which training samples make predictions what they are, what each is worth."""

from __future__ import annotations

from ..figures.run import Json, Run
from .audit import predictor
from .elements import Content, Facts, Html, Parts, folded, label, number, percent, record, table, tag
from .walk import name


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
    tests = r.get("tests") or []
    known = r.get("task") == "classification" and any(one.get("label") not in (None, "") for one in tests)
    wrong = [one for one in tests if known and one.get("label") != one.get("predicted")]
    whose = "label's" if known else "predicted"
    output = f"Output: of the {whose} class less the best other one's." if r.get("task") == "classification" else None
    return [[tag("h2", "Wrong predictions"), tag("p", output, class_="note"), _predictions(wrong)] if wrong else None,
            [tag("h2", "All predictions" if wrong else "Predictions"),
             tag("p", output, class_="note") if output and not wrong else None, _predictions(tests)] if tests else None]


def _predictions(tests: list[Json]) -> Content:
    rows = [[record(one.get("sample")), one.get("id") or "", label(one.get("label")), label(one.get("predicted")),
             number(one.get("output"), 3), _reasons(one.get("support")), _reasons(one.get("against"))]
            for one in tests]
    return folded(["sample", "id", "label", "predicted", "output", "for it", "against it"], rows)


def _reasons(reasons: list[Json] | None) -> Html:
    said = [f"{name(one)} ({one.get('label')})" for one in reasons or []]
    return tag("small", ", ".join(said)) if said else Html("")
