"""What a page says of a fit: how training went, what is proved, and what theory promises."""

from __future__ import annotations

from ..figures.run import Json, Run
from .certify import LAMBDA, conflicts, nearest
from .elements import Content, Facts, Html, Parts, at_least, at_most, facts, number, percent, table, tag, text, words
from .loss import LOSS
from .maths import worded
from .theorems import statement


def fit(run: Run, r: Json) -> Parts:
    c, outputs = r.get("certificate") or {}, r.get("per_class") or []
    tested = {row.get("output"): row.get("test_error") for row in run.table("metrics.csv")}  # the last of each
    classes = [tag("h2", "By class"), table(
        ["class", "status", "steps", "misfit", "proved", "within", "margin", "seconds", "test error"],
        [[*_output_row(output, output.get("certificate") or {}), percent(tested.get(k))]
         for k, output in enumerate(outputs)],
    )]
    note = tag("p", "What is not proved: ", worded(c["reason"]), class_="note") if c.get("reason") else None
    pictures = run.json("pictures.json")
    stands = [conflicts(r.get("conflicts") or [], pictures), nearest(r, pictures)]
    return Parts(_numbers(r, c, r.get("options") or {}), [note, *stands],
                 [classes if len(outputs) > 1 else None], [_theorem(outputs)])


def headline(r: Json, said: str) -> str:
    """The conclusion of a fit says when it was first certified; those of earlier versions did not."""
    steps, first = r.get("steps"), r.get("certified_at")
    if first is None or first == steps or "first at step" in said:
        return said
    return said.replace(f"certified at step {steps}", f"certified at step {steps} (first at step {first})", 1)


def _steps(r: Json) -> Content:
    """How many, and whether a proof held before the last."""
    steps, first = r.get("steps"), r.get("certified_at")
    if first is None or r.get("status") != "certified":
        return steps
    held = ", certified" if first == steps else f", certified (first at step {first})"
    shown = Html(f"{number(steps)}{held}")
    shown.value = steps
    return shown


def _numbers(r: Json, c: Json, o: Json) -> Facts:
    units = o.get("widths") or number(o.get("width"))
    several = f" in each of {o['depth']} layers" if o.get("depth", 1) > 1 else " in layers" if o.get("widths") else ""
    network = [o.get("activation"), f"{units} hidden units{several}", "residual" if o.get("residual") else "",
               o.get("scaling"), o.get("precision")]  # fmt: skip
    test = r.get("test") or {}
    return [
        ("points", r.get("n")),
        ("features", r.get("d")),
        ("network", ", ".join(str(part) for part in network if part) if o.get("width") else None),
        ("start", _start(o.get("start") or {})),
        ("optimizer", o.get("optimizer")),
        LOSS,
        ("step", r.get("step")),
        ("steps", _steps(r)),
        ("relative misfit", at_most(r.get("relative_misfit"))),
        ("accuracy on points that were not fitted", _accuracy(test)),
        ("on points that were not fitted", _tested(test, o.get("test") or {})),
        ("an exact solution lies within", at_most(c.get("radius")) if c.get("holds") else None),
        ("margin of the proof (above 1 it holds)", number(c.get("margin") or None, 3, "down")),
        (Html(f"{LAMBDA} of the Gram matrix"), at_least(c.get("lambda_min"))),
        ("farthest neuron moved", r.get("max_distance")),
        ("signs flipped", percent(r.get("flipped_fraction"))),
    ]


def _start(start: Json) -> str | None:
    return f"weights of {start['source']}" if start.get("digest") else None


def _accuracy(test: Json) -> Content:
    return percent(1 - test["wrong"] / test["n"]) if test.get("wrong") is not None and test.get("n") else None


def _tested(test: Json, source: Json) -> str | None:
    if not test:
        return None
    wrong, name = test.get("wrong"), source.get("source")
    if wrong is None:
        return f"root mean square error {test['error']:.3g} ({name})" if test.get("error") is not None else None
    return f"{wrong:,} of {test['n']:,} wrong ({name})"


def _output_row(output: Json, c: Json) -> list[Content]:
    return [
        text(output.get("label")),
        words(output.get("status")),
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
    if not theorem.get("id"):
        return tag("p", theorem["theorem"], " bounds the misfit of every step, with certainty.")
    if theorem.get("holds"):
        fails = at_most(theorem.get("failure_probability"), 2)
        verdict: list[Content] = ["holds for this run, but for a probability of ", fails, "."]
    else:
        verdict = ["does not hold for this run: ", worded(theorem.get("reason")), "."]
    needs = [
        ("sufficient width", at_most(theorem.get("width"))),
        ("largest step", number(theorem.get("step"), 3, "down")),
    ]
    return [tag("p", theorem["theorem"], " ", verdict), facts(needs), statement(theorem.get("id"))]
