"""zeroloss report: its pages, read as text, its numbers and pictures, and the command."""

import base64
import hashlib
import json
import random
import re
import shlex
import shutil
import sys
from fractions import Fraction

import pytest

from run_folders import EVIL, KINDS, ROOT, Page, audited, decoded, evil_run, make_conv, run, run_of
from zeroloss import figures, report
from zeroloss.report import answer, elements, maths, samples


def page_of(folder):
    return figures.read_run(folder), Page(report.page(figures.read_run(folder)))


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_whole_and_asks_for_nothing(kind, tmp_path):
    folder = run_of(kind)
    path = report.write(folder, tmp_path / "page.html")
    assert [beside.name for beside in tmp_path.iterdir()] == ["page.html"]
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 2e6
    run, page = figures.read_run(folder), Page(text)
    drawn = figures.of(run)
    assert page.all("html") == [{"lang": "en"}]
    first = run.result["conclusion"].split("\n")[0].rstrip(":").replace(">=", "≥").replace("<=", "≤")
    assert page.text("title").startswith(run.kind)
    assert page.text("title").replace(" (first at", "").split(": ", 1)[1].lower().startswith(first[:40].lower())
    assert len(page.all("h1")) == 1
    # One script for all figures, and the specification of each.
    assert len(drawn) >= 1
    kinds = [script.get("type") for script in page.all("script")]
    assert kinds == ["application/json"] * len(drawn) + [None]
    # Every figure says what it shows, every table what its columns are, every picture whose it is.
    descriptions = [div["aria-label"] for div in page.all("div") if div.get("role") == "img"]
    assert len(descriptions) == len(drawn)
    assert all(re.search(r"\d", description) or "map" in description for description in descriptions)
    assert all(th.get("scope") == "col" for th in page.all("th"))
    assert all(img["alt"] and img["src"].startswith("data:image/png;base64,") for img in page.all("img"))
    # Nothing that a browser would fetch, and a policy that forbids it.
    assert not page.all("link") and not page.all("a") and not page.all("iframe")
    assert not any("src" in script for script in page.all("script"))
    assert "url(" not in page.text("style") and "@import" not in page.text("style")
    policy = next(meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "unsafe-inline' 'unsafe-eval" not in policy
    # The command that made it, as a shell reads it.
    typed = ["zeroloss", *run.manifest["command"][1:]]
    assert page.text("code", " ").endswith(shlex.join(typed))


def test_what_the_checker_found_is_shown_while_its_claims_stand(tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run_of("certify"), folder)
    claims = folder / "claims.json"

    def shown():
        return page_of(folder)[1].text("dd", "|")

    claims.unlink(missing_ok=True)
    assert "check" not in shown()
    claims.write_text('{"claims": []}')
    assert "not checked; zeroloss check decides them again" in shown()
    found = {"version": "0.1.0", "flint": "2.9.0", "finished": "2026-11-28T06:00:00Z", "seconds": 7.123, "holds": 2,
             "does_not_hold": 1, "not_decided": 0, "claims_sha256": hashlib.sha256(claims.read_bytes()).hexdigest()}
    (folder / "checked.json").write_text(json.dumps(found))
    assert "2 checked, 1 do not hold: zeroloss-check 0.1.0 with FLINT 2.9.0, 2026-11-28 06:00 UTC, 7.1 s" in shown()
    claims.write_text('{"claims": [1]}')  # they are others now
    assert "not checked; zeroloss check decides them again" in shown()


def copied(kind, to, **changes):
    """A copy of a run folder, with other values in its result.json."""
    shutil.copytree(run_of(kind), to)
    result = json.loads((to / "result.json").read_text())
    (to / "result.json").write_text(json.dumps({**result, **changes}))
    return to


def headings(page):
    return [text for element, text in page.texts if element in ("h1", "h2")]


def test_page_says_what_to_do_next(tmp_path):
    _, page = page_of(copied("fit", tmp_path / "a", next={"why": "apply <b>it", "command": "zeroloss predict 'a b'"}))
    assert headings(page)[1] == "What to do next"
    assert "Apply <b>it" in page.text("p") and "zeroloss predict 'a b'" in page.text("code", " ")
    for nothing in (None, {"why": "", "command": None}):
        _, page = page_of(copied("fit", tmp_path / str(nothing), next=nothing))
        assert "What to do next" not in headings(page)
    _, page = page_of(copied("fit", tmp_path / "b", next={"why": "give the points targets", "command": None}))
    assert "Give the points targets." in page.text("p", " ")
    _, page = page_of(run_of("sweep"))  # to look at the figures, which they are doing
    assert "What to do next" not in headings(page)


def test_page_has_first_what_to_act_on(tmp_path):
    wrong = {"sample": 3, "label": "3", "predicted": "8", "score": 1.5}
    pair = {"samples": [3, 9], "labels": ["3", "8"], "distance": 1e-8, "antipodal": False}
    equal = [[{"sample": 3, "label": "3"}, {"sample": 9, "label": "8"}]]
    _, page = page_of(copied("certify", tmp_path / "run", suspects=[wrong], conflicts=equal, nearest=pair,
                             next={"why": "look", "command": None}))
    order = ["What to do next", "Labels that look wrong", "Equal points with different labels", "Points next to equal",
             "Closest pairs", "Figures", "Theorems about random weights", "What theory says", "How this was made"]
    assert [heading for heading in headings(page) if heading in order] == order
    assert "3, or 8?" in page.text("b")


@pytest.mark.parametrize("kind", ["certify", "fit", "sweep"])
def test_zero_loss_and_steps_are_said_with_their_loss(kind, tmp_path):
    _, page = page_of(copied(kind, tmp_path / "run"))
    said = page.text("dd", "|").split("|")
    assert said.count("‖f − y‖²/2, y = −1 or 1 for classes; summed over samples, steps multiply its gradient") == 1


def test_steps_agree_with_the_headline(tmp_path):
    """A conclusion of an earlier version does not say when the proof held first."""
    for first in ("", " (first at step 500)"):
        said = f"zero loss: certified at step 1304{first}: near"
        folder = tmp_path / f"run{len(first)}"
        _, page = page_of(copied("fit", folder, conclusion=said, steps=1304, certified_at=500, status="certified"))
        assert page.text("h1") == "Zero loss: certified at step 1304 (first at step 500): near"
        assert "1,304, certified (first at step 500)" in page.text("dd")
        assert "first certified at step" not in page.text("dt")


@pytest.mark.parametrize("first, status, shown", [
    (1304, "certified", "1,304, certified"), (None, "budget_spent", "1,304"), (500, "diverged", "1,304")])
def test_steps_that_need_no_more_words(first, status, shown, tmp_path):
    said = "zero loss: certified at step 1304: near"
    _, page = page_of(copied("fit", tmp_path / "run", conclusion=said, steps=1304, certified_at=first, status=status))
    assert shown in page.text("dd", "|").split("|")
    assert status != "certified" or page.text("h1") == "Zero loss: certified at step 1304: near"


@pytest.mark.parametrize("rows, said", [(["1,0", "0,1"], "in 0 steps."), (["1.05,0", "0,1.2"], " to ")])
def test_as_many_steps_at_every_depth_are_said_once(rows, said, tmp_path):
    """In 9 steps, not in 9 to 9."""
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "map.npy", numpy.array([[float(x) for x in row.split(",")] for row in rows]))
    run("linear", "--map", tmp_path / "map.npy", "--layers", "2:6", "--out", tmp_path / "run")
    _, page = page_of(tmp_path / "run")
    sentence = next(text for element, text in page.texts if element == "p" and "depths, in" in text)
    assert sentence.endswith(said) if said.startswith("in") else re.search(r"in (\d+) to (?!\1 )\d+ steps\.$", sentence)


def test_lines_of_the_conclusion_begin_as_sentences_do(tmp_path):
    said = "no network can fit these labels:\nsamples 0 and 1 are the same\nlambda_min >= 0.1"
    _, lines = answer.conclusion(figures.read_run(copied("certify", tmp_path / "run", conclusion=said)))
    assert lines == ["Samples 0 and 1 are the same", "lambda_min ≥ 0.1"]


def test_what_is_typed_breaks_between_words():
    parts = elements.typed(["zeroloss", "fit", "a", "--n", "60", "--center", "--map", "-1", "b"])
    assert re.findall("<code>(.*?)</code>", parts) == ["zeroloss", "fit", "a", "--n 60", "--center", "--map -1", "b"]


def test_options_of_several_values_are_words(tmp_path):
    start = {"start": {"source": "gaussian", "digest": None}, "layers": [2, 3], "test": {"source": None}}
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "fit", "options": start}))
    _, page = page_of(tmp_path)
    shown = [text for element, text in page.texts if element in ("dt", "dd")]
    assert shown[0] == "loss" and shown[2:] == ["start", "source gaussian", "layers", "2, 3"]


def test_labels_that_are_numbers_stand_as_numbers():
    assert elements.label("-8.5").numeric and elements.label("-8.5").value == -8.5 and elements.label("-8.5") == "-8.5"
    assert not elements.label("<b>").numeric and elements.label("<b>") == "&lt;b&gt;" and elements.label(None) == ""


def test_error_on_points_that_were_not_fitted_by_class(tmp_path):
    folder = copied("classes", tmp_path / "run")
    lines = (folder / "metrics.csv").read_text().splitlines()
    head = [*lines[0].split(","), "test_error"] if "test_error" not in lines[0] else lines[0].split(",")
    rows = [[*line.split(","), ""][: len(head) - 1] for line in lines[1:]]
    (folder / "metrics.csv").write_text("\n".join(map(",".join, [head, *[[*row, "0.125"] for row in rows]])) + "\n")
    _, page = page_of(folder)
    assert page.text("th").endswith("test error") and page.text("td", "|").count("12.5 %") == 10


def test_accuracy_where_it_is_known(tmp_path):
    _, page = page_of(copied("fit", tmp_path / "run", test={"n": 80, "wrong": 2, "error": 0.025}))
    assert "97.5 %" in page.text("dd") and "accuracy" in page.text("dt")
    _, page = page_of(run_of("conv"))
    assert page.text("dt").startswith("accuracy on test images") and page.text("dd").startswith("90 %")


def test_memorize_shows_its_hardest_pair_where_it_has_pictures(tmp_path):
    folder = copied("memorize", tmp_path / "run")
    closest = json.loads((folder / "result.json").read_text())["closest"]
    samples_ = {str(one["sample"]): "00" * 64 for one in closest}
    (folder / "pictures.json").write_text(json.dumps({"height": 8, "width": 8, "channels": 1, "samples": samples_}))
    _, page = page_of(folder)
    assert [image["alt"].split()[1] for image in page.all("img")] == list(samples_)


@pytest.mark.parametrize("words, shown, rest", [
    ("lambda_min = 0.02 (verified)", "lambda_min", " = 0.02 (verified)"),
    ("every ||A_i||, 0.5", "||A_i||", " 0.5"),
    ("mu_1^2 lambda_min(G o G)", "mu_1^2 lambda_min(G o G)", ""),
])
def test_names_of_mathematics_are_set_as_such(words, shown, rest):
    made = maths.worded(words)
    assert f'<math alttext="{shown}">' in made and made.endswith(f"</span>{elements.text(rest)}")
    assert elements.plain(made) == words


@pytest.mark.parametrize("words, shown", [
    ("within 2.95e-08.", '<span class="whole">2.95 × 10<sup>−8</sup>.</span>'),  # all digits: it may be a bound
    ("a factor 4.5e+04 below", "a factor 45,000 below"),
    ("a factor 1e+32", '<span class="whole">10<sup>32</sup></span>'),
    ("of lambda_min, -1e-3", "</math>,</span> −0.001"),
    ("m >= C n; p <= 1", "m ≥ C n; p ≤ 1"),
])
def test_numbers_and_signs_in_sentences_are_for_people(words, shown):
    assert shown in maths.worded(words)


@pytest.mark.parametrize("words", ["A = 0.5", "xlambda_min", "lambda_minimum", "<b>", None, 3, "fit --tolerance 1e-6",
                                   "noise:1e-3 of a=1e5", "v1.2e-4 3.1e-5.2"])
def test_other_words_stay_as_they_are(words):
    assert maths.worded(words) == words


@pytest.mark.parametrize("command, shown", [
    (["/usr/bin/zeroloss", "fit", "a b.csv"], "zeroloss fit 'a b.csv' "),
    (["/usr/bin/zeroloss-torch", "conv", "train", "cifar10"], "zeroloss conv train cifar10 "),
    (["/usr/bin/zeroloss-conv", "train", "cifar10"], "zeroloss conv train cifar10 "),
    (["/usr/bin/zeroloss-torch", "certify", "digits"], "zeroloss certify digits "),
    (['zeroloss.fit("a/b.csv", width=7)'], 'zeroloss.fit("a/b.csv", width=7)'),
])
def test_command_can_be_typed_again(command, shown, tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "fit", "command": command}))
    page = Page(report.page(figures.read_run(tmp_path)))
    start = "".join(text for element, text in page.texts if element in ("pre", "code"))
    assert start.startswith(shown)


def test_page_of_certify_shows_its_images():
    run, page = page_of(run_of("certify"))
    pictures = run.json("pictures.json")["samples"]
    shown = {record for pair in run.result["closest"][:12] for record in pair["samples"]}
    shown |= {suspect["sample"] for suspect in [*run.result["suspects"][:24], *run.result["bottleneck"]]}
    drawn = {}
    for image in page.all("img"):
        record = image["alt"].split()[1]
        drawn[int(record)] = decoded(base64.b64decode(image["src"].partition(",")[2]))
    assert set(drawn) == shown
    for record, (width, height, channels, pixels) in drawn.items():
        assert (width, height, channels) == (8, 8, 1)
        assert pixels == bytes.fromhex(pictures[str(record)])


def made(to, kind, **result):
    """A run folder of these values alone."""
    to.mkdir()
    (to / "manifest.json").write_text(json.dumps({"kind": kind}))
    (to / "result.json").write_text(json.dumps({"conclusion": "as it is", **result}))
    return to


def test_bounds_of_certify_are_rounded_to_the_safe_side(tmp_path):
    flow = {"theorem": "Thm 3.1", "id": "du_flow", "width": 1e20, "step": None, "rate": 0.5, "steps": 27.59,
            "flow": True, "holds": True, "verified": True, "failure_probability": 0.01 + 2e-18, "lambda_from": "x"}
    steps = {**flow, "flow": False, "steps": 27_599.5, "failure_probability": 1e-14}
    _, page = page_of(made(tmp_path / "run", "certify", separation=0.32036448601, guarantees=[flow, steps]))
    assert "0.3203" in page.text("dd", "|").split("|")
    cells = page.text("td", "|").split("|")
    assert "time 27.6" in cells and "27,600" in cells  # a flow takes no steps
    assert "0.01001" in cells and "0" not in cells  # of a probability that is none


def test_widths_beyond_what_is_counted_are_rounded_up(tmp_path):
    row = {"title": "enough for any", "source": "here", "width": 1.23401e20}
    _, page = page_of(made(tmp_path / "run", "width", rows=[row]))
    assert "1.24 × 10" in page.text("dd", "|").split("|")


@pytest.mark.parametrize("opposite, said", [(False, "0.3204 apart."), (True, "opposite up to 0.3204.")])
def test_what_holds_lambda_min_down_is_near_or_opposite(opposite, said, tmp_path):
    ends = [{"sample": 0, "label": "x", "weight": 0.5}, {"sample": 1, "label": "y", "weight": 0.5}]
    pair = {"samples": [0, 1], "labels": ["x", "y"], "distance": 0.3204, "antipodal": opposite}
    _, page = page_of(made(tmp_path / "run", "certify", bottleneck=ends, bottleneck_distance=0.3204,
                           bottleneck_antipodal=opposite, closest=[pair]))
    assert f"Samples 0 (x) and 1 (y) most of all, {said}" in page.text("p", " ")
    assert ("to minus the other" in page.text("td", "|").split("|")) is opposite


@pytest.mark.parametrize("kind", ["certify", "fit"])
def test_different_points_are_not_said_to_be_0_apart(kind, tmp_path):
    pair = {"samples": [3, 9], "labels": [None, None], "distance": 0, "antipodal": False}
    _, page = page_of(made(tmp_path / "run", kind, d=2, nearest=pair))
    assert "≤ 3 × 10" in page.text("td", "|").split("|")  # 2.1 (1.25 + 3/2048) 2^-53, rounded up


@pytest.mark.parametrize("task, error, heading, said", [
    ("classification", 0.1, "Labels that look wrong", "Worst first."),
    ("classification", 0.4, "Labels that the other samples predict otherwise", "wrong about 40 % of all, so this says"),
    ("regression", 0.4, "Labels that look wrong", "at the edge of the data"),
    ("regression", 1.2, "Labels that the other samples predict otherwise", "1.2 of the targets’ spread off, so this"),
])
def test_labels_are_accused_where_others_predict_something(task, error, heading, said, tmp_path):
    one = {"sample": 3, "label": "3", "predicted": "8", "score": 1.5}
    _, page = page_of(made(tmp_path / "run", "certify", task=task, leave_one_out_error=error, suspects=[one]))
    assert headings(page)[1] == heading and said in page.text("p", " ")


def test_page_of_points_without_labels():
    _, page = page_of(run_of("points"))
    assert "Closest pairs" in page.text("h2") and "wrong" not in page.text("h2")
    assert not page.all("img")
    assert len([text for element, text in page.texts if element == "td"]) > 20


def test_page_of_memorize_names_its_samples():
    earlier = ROOT / "tests/fixtures/before_rooms/memorize"  # which spells them otherwise
    run, page = page_of(earlier)
    shown = [text for element, text in page.texts if element in ("h2", "td")]
    start = shown.index("The two points that are hardest to tell apart") + 1
    closest = [[str(sample["record"]), sample["label"]] for sample in run.result["closest"]]
    assert [shown[start : start + 2], shown[start + 2 : start + 4]] == closest
    run, page = page_of(run_of("memorize"))  # with pictures
    said = " ".join(text for _, text in page.texts)
    said = said[said.index("The two points that are hardest to tell apart") :]
    first, second = run.result["closest"]
    assert f"{first['sample']} ({first['label']}) {second['sample']} ({second['label']})" in said
    assert (run_of("memorize") / "pictures.json").exists()


# ---- audits ----


def cards(page):
    return [one for one in page.all("article") if one["class"] == "issue"]


@pytest.mark.parametrize("kind", ["digits", "table", "test", "numbers"])
def test_every_label_that_looks_wrong_can_be_decided_on(kind):
    run, page = page_of(run_of("audit") if kind == "digits" else audited(kind))
    issues = run.result["issues"]
    assert len(issues) > 3
    keys = ("sample", "label", "predicted", "id")
    shown = [[card[f"data-{key}"] for key in keys] for card in cards(page)]
    assert shown == [[str(one[key] if one[key] is not None else "") for key in keys] for one in issues]
    does = [button["data-does"] for button in page.all("button") if "data-does" in button]
    assert ("drop" in does) is (kind != "test")
    assert set(does) >= {"next", "previous", "keep", "relabel", "undecide", "save"}
    assert ("Never drop one" in page.text("p")) is (kind == "test")
    walk = next(one for one in page.all("section") if one.get("id") == "walk")
    assert walk["data-key"].endswith((run.result["test"] or run.result)["digest"])
    assert ("data-numbers" in walk) is (kind == "numbers")
    options = {option["value"] for option in page.all("option")}
    assert options == (set() if kind == "numbers" else set(run.result["predicted"]) | {one["label"] for one in issues})
    decided = [one["data-of"] for one in page.all("span") if one.get("class") == "decided"]
    assert decided == [str(one["sample"]) for one in issues]


def test_an_audit_says_first_how_many_labels_are_wrong():
    run, page = page_of(run_of("audit"))
    rate = run.result["noise_rate"]
    assert f"({100 * rate['low']:.1f} to {100 * rate['high']:.1f})" in page.text("dd", "|").split("|")[0]
    order = ["Labels to look at", "Figure", "Classes that are mistaken for others", "How this was made"]
    assert [heading for heading in headings(page) if heading in order] == order
    assert page.text("h1").lower().startswith(run.result["conclusion"][:20].lower())


@pytest.mark.parametrize("not_judged", [0, 7, 60])
def test_labels_that_cannot_be_judged_are_counted(not_judged, tmp_path):
    rate = {"value": 0, "low": 0, "high": 1}
    _, page = page_of(made(tmp_path / "run", "audit", task="regression", n=60, not_judged=not_judged, noise_rate=rate))
    known = dict(zip(page.text("dt", "|").split("|"), page.text("dd", "|").split("|")))
    assert known.get("labels that cannot be judged") == (str(not_judged) if not_judged else None)
    assert ("wrong labels, estimated (95 % interval)" in known) is (not_judged < 60)


def test_a_label_stands_beside_those_that_speak_for_and_against_it():
    run, page = page_of(run_of("audit"))
    pictures, worst = run.json("pictures.json")["samples"], run.result["issues"][0]
    assert page.text("h3", "|").startswith(f"{worst['label']}, or {worst['predicted']}?|")
    beside = [worst, *worst["against"], *worst["support"]]
    for one, image in zip(beside, page.all("img")):
        assert image["alt"] == f"sample {one['sample']} ({one['label']})"
        assert decoded(base64.b64decode(image["src"].partition(",")[2]))[3].hex() == pictures[str(one["sample"])]


def test_a_row_stands_beside_what_it_differs_in():
    folder = audited("table")
    differences = json.loads((folder / "differences.json").read_text())
    _, page = page_of(folder)
    told = [one["feature"] for one in differences[0]["differences"] if one["deviations"]]
    assert page.text("td", "|").startswith(f"{told[0]}|") and not page.all("img")
    assert "<b>up" in page.text("b") and "<b>up" in page.text("h4")
    assert "train-" in page.text("small")


def test_what_leaks_from_training_into_test_is_named():
    run, page = page_of(audited("test"))
    assert headings(page).index("Test samples next to equal to training samples") > 0
    assert "3 test-3" in page.text("td", "|").split("|") and "0 train-0" in page.text("td", "|").split("|")
    assert "labels differ" in page.text("td") and "Leakage" in page.text("p")
    assert "Far from every training sample" in headings(page) and "test-80" in page.text("td")
    assert run.result["test"]["data"] in page.text("dd")


def test_pictures_of_test_and_training_samples_are_not_mixed(tmp_path):
    """Both have a sample 3."""
    run, _ = page_of(run_of("audit"))
    third = {"sample": 3, "label": "7", "id": None}
    issue = {**run.result["issues"][0], "sample": 3, "against": [third], "support": []}
    twin = {"first": third, "second": third, "distance": 0.0, "same_label": True}
    test = {"data": "new", "digest": "d", "n": 9}
    folder = copied("audit", tmp_path / "run", issues=[issue], twins=[twin], test=test)
    for name, byte in (("pictures", "11"), ("pictures-of-training", "22")):
        (folder / f"{name}.json").write_text(json.dumps(
            {"height": 8, "width": 8, "channels": 1, "samples": {"3": byte * 64}}))
    _, page = page_of(folder)
    drawn = [decoded(base64.b64decode(image["src"].partition(",")[2]))[3][0] for image in page.all("img")]
    assert drawn == [0x11, 0x22, 0x11, 0x22]


def test_a_clean_audit_has_no_walk(tmp_path):
    text = report.page(figures.read_run(copied("audit", tmp_path / "run", issues=[])))
    assert "walk" not in Page(text).text("script") and not cards(Page(text))


def test_of_very_many_labels_the_worst_are_walked_through(tmp_path):
    issue = figures.read_run(run_of("audit")).result["issues"][0]
    _, page = page_of(copied("audit", tmp_path / "run", issues=[{**issue, "sample": k} for k in range(700)]))
    assert len(cards(page)) == 500 and "500 worst of 700" in page.text("p")


def test_influence_names_the_samples_that_matter():
    run, page = page_of(audited("influence"))
    worst, tests = run.result["worst"][0], run.result["tests"]
    cells = page.text("td", "|").split("|")
    assert cells[:3] == [str(worst["sample"]), worst["id"], worst["label"]] and cells[4] == "harms"
    wrong = [one for one in tests if one["label"] != one["predicted"]]
    assert wrong and "Wrong predictions" in headings(page)
    first = wrong[0]["support"][0]
    assert f"{first['sample']} {first['id']} ({first['label']})" in page.text("small")


def test_prove_shows_what_is_proved_of_each_network(tmp_path):
    model = ROOT / "examples" / "digits.onnx"
    run("prove", model, "digits", "--divide", "16", "--n", "40", "--polish", "--out", tmp_path / "run")
    whole = figures.read_run(tmp_path / "run")
    page = Page(report.page(whole))
    given, polished = whole.result["networks"]
    cells = page.text("td", "|").split("|")
    at = cells.index("labels right")
    assert cells[at + 1 : at + 4] == [str(given["right"]), "40", "40"]  # the file's float32 numbers last
    assert "an exact network within" in cells and polished["certificate"]["exists"]
    assert "What is proved" in headings(page)


# ---- numbers and theorems ----


def test_bounds_are_rounded_to_their_safe_side():
    run, page = page_of(run_of("certify"))
    verified = run.result["lambda_min_verified"]
    shown = float(re.search(r"≥ ([\d.]+)", page.text("dd", " ")).group(1))
    assert verified * (1 - 1e-5) < shown <= verified  # six digits are shown


@pytest.mark.parametrize("kind", ["certify", "fit"])
def test_theorems_say_what_they_say(kind):
    _, page = page_of(run_of(kind))
    assert "eta = 1/(3 ||X||^2)" in [formula["alttext"] for formula in page.all("math")]
    assert "λ" in page.text("mi") and "\\" not in page.text("mi")


def test_values_are_there_with_all_digits():
    run, page = page_of(run_of("fit"))
    assert (
        json.loads(page.text("pre")[page.text("pre").index("{") :])["relative_misfit"] == run.result["relative_misfit"]
    )


def test_markup_in_the_data_stays_text():
    run, page = page_of(evil_run())
    drawn = figures.of(run)
    assert len(page.all("script")) == len(drawn) + 1
    assert not page.all("img")  # of the label; the points are no images
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert EVIL in page.text("dd") and EVIL in page.text("td")
    assert EVIL.replace("/", "") in page.text("title") + page.text("p")


def test_a_manifest_of_markup_stays_text(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    hostile = {
        "kind": EVIL,
        "command": ["zeroloss", EVIL],
        "options": {EVIL: EVIL},
        "data": {"name": EVIL},
        "machine": {EVIL: [EVIL]},
    }
    (folder / "manifest.json").write_text(json.dumps(hostile))
    (folder / "result.json").write_text(json.dumps({"conclusion": f"{EVIL}\n{EVIL}", EVIL: EVIL}))
    spec = json.loads((run_of("fit") / "curve.vl.json").read_text())
    spec["title"]["text"] = f"</script>{EVIL}"
    spec["data"]["values"][0]["curve"] = f"</script>{EVIL}"
    spec["usermeta"] = {"embedOptions": {"loader": "https://example.org"}}
    (folder / f"{EVIL.replace('/', '')}.vl.json").write_text(json.dumps(spec))
    page = Page(report.page(figures.read_run(folder)))
    assert len(page.all("script")) == 2
    assert page.text("h1") == EVIL
    figure = next(json.loads(text) for element, text in page.texts if element == "script")
    assert "usermeta" not in figure
    assert f"</script>{EVIL}" in json.dumps(figure)


def test_missing_files_are_done_without(tmp_path):
    folder = tmp_path / "run"
    make_conv(folder)
    assert set(figures.of(folder)) == {"loss", "learning_rate", "classes", "confusion"}
    (folder / "evaluation.json").unlink()
    assert set(figures.of(folder)) == {"loss", "learning_rate"}
    (folder / "metrics.csv").unlink()
    assert not figures.of(folder)
    page = Page(report.page(figures.read_run(folder)))
    assert len(page.all("script")) == 1 and not page.all("figure")
    assert len(report.page(figures.read_run(folder))) < 1e5  # without figures there is no need of Vega
    for name in ("certify", "width", "fit", "sweep", "linear", "memorize", "audit", "influence", "prove"):
        # a manifest alone
        (folder / "manifest.json").write_text(json.dumps({"kind": name}))
        assert Page(report.page(figures.read_run(folder))).text("h1")


def shortened(value):
    """The same with at most three of each list's records: a page of it is soon read."""
    if isinstance(value, dict):
        return {key: shortened(kept) for key, kept in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [shortened(record) for record in value[:3]]
    return value


@pytest.mark.parametrize("kind", ["certify", "classes", "width", "sweep", "linear", "memorize", "conv", "audit", "test",
                                  "influence"])
def test_damaged_values_are_an_error_or_a_page(kind, tmp_path):
    folder = audited(kind) if kind in ("test", "influence") else run_of(kind)
    for name in ("manifest.json", "result.json", "evaluation.json", "metrics.csv", "pictures.json", "differences.json"):
        if (folder / name).is_file():
            (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "metrics.csv").write_text("step\n")  # no figures: only words are of interest here
    result = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(shortened(result)))
    Page(report.page(figures.read_run(tmp_path)))
    refused = 0
    for name in ("manifest.json", "result.json", "evaluation.json", "pictures.json"):
        if not (tmp_path / name).is_file():
            continue
        whole = json.loads((tmp_path / name).read_text())
        for key in whole:
            for wrong in (3, "x", [], {}, [3], [[]], [{}], {"a": {}}, True, -1e400, None):
                (tmp_path / name).write_text(json.dumps({**whole, key: wrong}))
                try:
                    text = report.page(figures.read_run(tmp_path))
                except figures.RunError:
                    refused += 1
                else:
                    Page(text)
        (tmp_path / name).write_text(json.dumps(whole))
    assert refused > 0


def test_a_figure_that_is_none_says_so_in_its_place(tmp_path):
    folder = tmp_path / "run"
    make_conv(folder)
    (folder / "broken.vl.json").write_text('{"mark": {"type": "no such mark"}, "encoding": 3}')
    page = Page(report.page(figures.read_run(folder)))
    assert "broken.vl.json cannot be drawn" in page.text("p")
    assert len(page.all("figure")) == 5


# ---- numbers and pictures ----


@pytest.mark.parametrize(
    "value, digits, rounding, shown",
    [
        (1797, 4, "nearest", "1,797"),
        (True, 4, "nearest", "yes"),
        (None, 4, "nearest", "–"),
        (0.0, 4, "nearest", "0"),
        (0.013460500028, 6, "down", "0.0134605"),
        (1234567.8, 4, "nearest", "1,234,568"),
        (43433.0, 2, "nearest", "43,433"),
        (-0.5, 4, "nearest", "−0.5"),
        (0.99996, 4, "nearest", "1"),
        (0.99996, 4, "down", "0.9999"),
        (float("inf"), 4, "nearest", "∞"),
        (6.770469734e39, 4, "up", "6.78 × 10<sup>39</sup>"),
        (9.999e-12, 3, "up", "10<sup>−11</sup>"),
        (1.0420895665e-9, 3, "down", "1.04 × 10<sup>−9</sup>"),
        (float("nan"), 4, "nearest", "not a number"),
        ("<b>", 4, "nearest", "&lt;b&gt;"),
        (100000.0, 4, "nearest", "100,000"),
    ],
)
def test_numbers_are_for_people(value, digits, rounding, shown):
    assert elements.number(value, digits, rounding) == shown


def test_numbers_round_as_they_are_told():
    source = random.Random(5)

    def read(shown):
        shown = shown.replace(",", "").replace("−", "-").replace("</sup>", "")
        mantissa, _, power = shown.partition("10<sup>") if "<sup>" in shown else (shown, "", "0")
        return Fraction(mantissa.replace(" × ", "") or "1") * Fraction(10) ** int(power)

    for _ in range(2000):
        value = source.choice([-1, 1]) * 10 ** source.uniform(-40, 40)
        digits = source.randint(2, 6)
        exact = Fraction(repr(value))  # as people write this double
        below, above, near = (read(elements.number(value, digits, rounding)) for rounding in ("down", "up", "nearest"))
        assert below <= exact <= above
        assert near in (below, above)
        assert above - below <= abs(exact) * Fraction(10) ** (1 - min(digits, 3))


def test_png_holds_its_pixels():
    for height, width, channels in ((8, 8, 1), (28, 28, 1), (32, 32, 3), (1, 5, 3)):
        pixels = random.Random(height).randbytes(height * width * channels)
        assert decoded(samples.png(pixels, height, width, channels)) == (width, height, channels, pixels)
    for arguments in ((b"abc", 2, 2, 1), (b"", 0, 0, 1), (b"ab", 1, 1, 2)):
        with pytest.raises(ValueError):
            samples.png(*arguments)
    with pytest.raises(figures.RunError, match="sample 3"):
        samples.picture({"height": 8, "width": 8, "channels": 1, "samples": {"3": "ff"}}, 3, "")


# ---- the command ----


def test_command_writes_a_page_or_files(tmp_path, capsys):
    folder = run_of("certify")
    assert report.main([str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'page.html'} (")
    for form, magic in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert report.main([str(folder), "--format", form, "--out", str(tmp_path / form)]) == 0
        assert {path.name for path in (tmp_path / form).iterdir()} == {f"{name}.{form}" for name in figures.of(folder)}
        assert all(path.read_bytes().startswith(magic) for path in (tmp_path / form).iterdir())
    assert report.main([str(folder)]) == 0
    assert (folder / "report.html").is_file()


def test_command_tells_what_is_wrong(tmp_path, capsys, monkeypatch):
    def refuses(arguments, code, message):
        assert report.main([str(argument) for argument in arguments]) == code
        written = capsys.readouterr()
        assert written.out == "" and message in written.err, written

    refuses([tmp_path / "absent"], 2, "no such folder")
    refuses([tmp_path], 2, "no manifest.json")
    refuses([tmp_path, "--format", "gif"], 2, "gif")
    refuses([], 2, "run")
    (tmp_path / "manifest.json").write_text("{")
    refuses([tmp_path], 2, "manifest.json")
    (tmp_path / "manifest.json").write_text("[1]")
    refuses([tmp_path], 2, "expected a JSON object, found list")
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe{")
    refuses([tmp_path], 2, "manifest.json")
    (tmp_path / "manifest.json").write_text('{"kind": "fit"}')
    (tmp_path / "curve.vl.json").write_text("nonsense")
    refuses([tmp_path], 2, "curve.vl.json")
    (tmp_path / "curve.vl.json").write_text('{"mark": 3}')
    refuses([tmp_path, "--format", "svg"], 2, str(tmp_path))
    refuses([run_of("fit"), "--out", tmp_path / "no" / "page.html"], 3, "page.html")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    refuses([run_of("fit")], 3, "pip install vl-convert-python")
    assert report.main(["--help"]) == 0


def test_files_beside_a_page_stay(tmp_path):
    """The page has a name of its own until it is whole; report.html.partial may be of somebody."""
    beside = tmp_path / "report.html.partial"
    beside.write_text("of somebody")
    for content in ("first", "second"):
        assert report._replaced(tmp_path / "report.html", content).read_text() == content
    with pytest.raises(UnicodeEncodeError):
        report._replaced(tmp_path / "report.html", "\ud800")
    assert beside.read_text() == "of somebody" and (tmp_path / "report.html").read_text() == "second"
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.html.partial"}
