"""Walks through labels that look wrong, each beside the samples that speak against its label and those for it, and
through samples that were drawn at random. Their script, walk.js, shows one at a time and keeps what is decided."""

from __future__ import annotations

from ..figures.run import Json, Run
from .elements import Content, Html, Number, details, label, number, percent, table, tag
from .samples import gallery, image

MOST = 500  # labels; the worst ones
LEAST_SCORE = 1e-4  # a probability that is said
KEYS = (("→ N", "next"), ("← P", "previous"), ("K", "the label is right"), ("R", "it is what is predicted"),
        ("O", "it is another one: type it, Enter"), ("D", "drop the sample"), ("U", "undecided again"))


def walk(run: Run, r: Json) -> Content:
    """All of it; nothing where no label looks wrong."""
    issues = r.get("issues") or []
    if not issues:
        return None
    tested, shown = r.get("test") or None, issues[:MOST]
    pictures = run.json("pictures.json")
    others = run.json("pictures-of-training.json") if tested else pictures
    features = {one.get("sample"): one.get("differences") or [] for one in run.objects("differences.json")}
    cards = [_card(issue, pictures, others, features.get(issue.get("sample")) or []) for issue in shown]
    digest = (tested or r).get("digest") or run.data
    return [
        tag("h2", "Labels to look at"),
        tag("p", "The predictor was not shown the label it judges. Decide for each whether the label is right.",
            f" The {MOST} worst of {len(issues):,}; scores.csv has all." if len(issues) > MOST else "", class_="note"),
        tag("p", "Correct test labels, by looking at the samples. Never drop one because a model contradicts it: that "
                 "makes every model look better than it is.", class_="problem") if tested else None,
        tag("section", _bar(r, drops=not tested), cards, _saved(), id="walk", class_="walk",
            aria_label="Walk through the labels", data_key=f"zeroloss audit {digest}", data_file="decisions.csv",
            data_numbers=r.get("task") == "regression"),
        details(f"All {len(shown):,} in a table", _table(shown))]


def drawn(run: Run, r: Json) -> Content:
    """The samples that were drawn, without what is predicted of them; nothing where none were."""
    samples = r.get("drawn") or []
    if not samples:
        return None
    tested, pictures = r.get("test") or None, run.json("pictures.json")
    digest, seed = (tested or r).get("digest") or run.data, (r.get("options") or {}).get("seed")
    keys = (*KEYS[:3], ("W", "it is wrong"), KEYS[-1])
    bar = tag("div", tag("div", _button("previous", "←"), _button("next", "→"), tag("output", class_="place"),
                         class_="row"),
              tag("div", _button("keep", "K"), _button("wrong", "W"), _button("undecide", "U"), class_="row"),
              _keys(keys), class_="bar", hidden=True)
    rows = {one.get("sample"): one.get("features") or [] for one in run.objects("drawn.json")}
    cards = [tag("article", tag("h3", f"Is it {one.get('label')}?"),
                 tag("p", f"Sample {name(one)} is labelled {one.get('label')}."),
                 tag("div", image(pictures, one), class_="own") if image(pictures, one) else _row(
                     rows.get(one.get("sample")) or []),
                 class_="issue", data_sample=one.get("sample"), data_id=one.get("id") or "",
                 data_label=one.get("label")) for one in samples]
    return [
        tag("h2", "Samples drawn at random"),
        tag("p", "Say of each whether its label is right, without looking at what is predicted. Then give the saved "
                 "file to --checked: rates and probabilities will be those that your answers support.", class_="note"),
        tag("section", bar, cards, _saved(), id="drawn", class_="walk", aria_label="Walk through the drawn samples",
            data_key=f"zeroloss drawn {digest} {seed}", data_file="drawn.csv", data_drawn=len(samples),
            data_seed=seed)]


def _row(features: list[Json]) -> Content:
    """What the data say of a sample that has no picture."""
    return table(["column", "value"], [[str(one.get("feature")), number(one.get("value"), 6)] for one in features]
                 ) if features else None


def chance(score: float | None) -> Html:
    """The probability that a label is right."""
    return Number("< 0.01 %", score) if score is not None and score < LEAST_SCORE else percent(score)


def name(sample: Json) -> str:
    """Its number, and its name where it has one."""
    known = sample.get("id")
    return f"{sample.get('sample')}" + (f" {known}" if known not in (None, "") else "")


# ---- what is decided ----


def _bar(r: Json, drops: bool) -> Html:
    known = [*(r.get("predicted") or []), *(one.get("label") for one in r.get("issues") or [])]
    classes = [] if r.get("task") == "regression" else sorted(set(map(str, known)), key=lambda one: (len(one), one))
    decisions = [("keep", "K"), ("relabel", "R"), *[("drop", "D")] * drops, ("undecide", "U")]
    keys = tuple((key, means) for key, means in KEYS if drops or key != "D")
    return tag(
        "div",
        tag("div", _button("previous", "←"), _button("next", "→"), tag("output", class_="place"), class_="row"),
        tag("div", [_button(does, key) for does, key in decisions[:2]], tag(
            "form", tag("label", "Another ", tag("kbd", "O"), " ", tag("input", list="classes", autocomplete="off")),
            tag("button", "Set")), [_button(does, key) for does, key in decisions[2:]], class_="row"),
        tag("datalist", [tag("option", value=one) for one in classes], id="classes"),
        _keys(keys), class_="bar", hidden=True)


def _keys(keys: tuple[tuple[str, str], ...]) -> Html:
    return tag("p", [[tag("span", tag("kbd", key), f" {means}", "" if key == "U" else ",", class_="whole"), " "]
                     for key, means in keys], class_="note")


def _button(does: str, key: str) -> Html:
    said = "Undecided" if does == "undecide" else does.capitalize()
    return tag("button", tag("span", said), " ", tag("kbd", key), type="button", data_does=does)


def _saved() -> Html:
    return tag("div", tag("div", tag("button", "Save decisions as CSV", type="button", data_does="save"),
                          tag("output", class_="count"), class_="row"),
               tag("p", "This browser keeps nothing: save your decisions before you close the page.", class_="problem",
                   hidden=True), class_="bar", hidden=True)


def _table(issues: list[Json]) -> Html:
    return table(
        ["sample", "id", "label", "predicted", "right with", "labels agree", "decision"],
        [[Number(tag("button", one.get("sample"), type="button", class_="go", data_sample=one.get("sample")),
                 one.get("sample")), one.get("id") or "", label(one.get("label")), label(one.get("predicted")),
          chance(one.get("score")), percent(one.get("confidence")),
          tag("span", class_="decided", data_of=one.get("sample"), data_in="walk")] for one in issues])


# ---- one label ----


def _card(issue: Json, pictures: Json, others: Json, features: list[Json]) -> Html:
    given, predicted = issue.get("label"), issue.get("predicted")
    agree = issue.get("confidence")
    against, support = (_reasons(issue.get(key) or [], others) for key in ("against", "support"))
    own = image(pictures, issue)
    return tag(
        "article",
        tag("h3", f"{given}, or {predicted}?"),
        tag("p", f"Sample {name(issue)} is labelled {given}, which is right with probability ",
            chance(issue.get("score")), "" if agree is None else [
                ". Labels agree with ", percent(agree), " of predictions like this one"], "."),
        tag("div", tag("div", own, class_="own") if own else _differences(features),
            tag("div", tag("h4", f"Against {given}"), against),
            tag("div", tag("h4", f"For {given}"), support), class_="evidence"),
        class_="issue", data_sample=issue.get("sample"), data_id=issue.get("id") or "", data_label=given,
        data_predicted=predicted)


def _reasons(reasons: list[Json], pictures: Json) -> Content:
    """Samples with their labels, pictures where there are any."""
    if not reasons:
        return "–"
    said = [[tag("b", one.get("label")), tag("br"), tag("small", f"sample {name(one)}")] for one in reasons]
    if pictures:
        return gallery([([one], words) for one, words in zip(reasons, said)], pictures)
    return tag("ul", [tag("li", words) for words in said], class_="reasons")


def _differences(features: list[Json]) -> Content:
    rows = [[one.get("feature"), number(one.get("value")), number(one.get("theirs")),
             number(one.get("labels")), number(one.get("deviations"), 2)]
            for one in features if one.get("deviations")]
    return None if not rows else tag("div", tag("h4", "What tells it from its label"),
               table(["feature", "value", "as predicted", "as labelled", "off its label, in deviations"], rows))
