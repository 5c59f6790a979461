"""Pages of zeroloss report in Chromium, opened from a file without a network."""

import contextlib
import csv
import json
import os
import re
import shutil
import sqlite3
import struct
import threading
import time

import pytest

import browser
from run_folders import EVIL, KINDS, ROOT, audited, evil_run, fit_of_width, run_of, worked_on
from zeroloss import figures, report
from zeroloss.report import watch


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if not browser.chromium():
        if os.environ.get("CI"):
            pytest.fail("no Chromium: scripts/setup.sh full installs it")
        pytest.skip("no Chromium: scripts/setup.sh full installs it")
    window = browser.Browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.close()


# Texts of figures that stick out of their figure, and labels of one axis that touch each other.
LAYOUT = """Array.from(document.querySelectorAll(".chart svg"), svg => {
  const box = svg.getBoundingClientRect(), wrong = [];
  for (const text of svg.querySelectorAll("text")) {
    const at = text.getBoundingClientRect();
    if (text.textContent && at.width && getComputedStyle(text).opacity !== "0" &&
        (at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1))
      wrong.push("clipped: " + text.textContent);
  }
  for (const axis of svg.querySelectorAll(".role-axis-label, .role-legend-label")) {
    const shown = text => text.textContent && text.getAttribute("opacity") !== "0";
    const boxes = Array.from(axis.querySelectorAll("text")).filter(shown).map(text => text.getBoundingClientRect());
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3)
        wrong.push("overlap: " + axis.textContent);
    }));
  }
  return wrong;
}).flat()"""


def rgb(colour):
    return "rgb({}, {}, {})".format(*(int(colour[k : k + 2], 16) for k in (1, 3, 5)))


def point_into(window, number):
    """Points at a mark of figure `number`; returns what the tooltip says, None if there is none."""
    at = window.evaluate(f"""(() => {{
      const chart = document.querySelectorAll(".chart")[{number}];
      const marks = chart.querySelectorAll(".mark-symbol.role-mark path, .mark-rect.role-mark path");
      const mark = marks[Math.floor(marks.length / 2)];
      mark.scrollIntoView({{block: "center"}});
      const box = mark.getBoundingClientRect();
      return [box.left + box.width / 2, box.top + box.height / 2];
    }})()""")
    window.evaluate(
        "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )  # scrolling hides the tooltip
    window.point_at(*at)
    return window.evaluate("""(() => {
      const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
      if (tip.hidden) return null;
      const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
      return inside ? tip.textContent : "outside the window";
    })()""")


@pytest.mark.parametrize("kind", KINDS)
def test_page_in_a_browser(kind, chromium, tmp_path):
    page = report.write(run_of(kind), tmp_path / "page.html")
    drawn = figures.of(run_of(kind))
    chromium.problems.clear()
    chromium.requests.clear()
    for width in (1280, 360):
        chromium.open(page, width)
        marks = chromium.evaluate(
            'Array.from(document.querySelectorAll(".chart"), '
            'chart => chart.querySelectorAll("svg .role-mark path").length)'
        )
        assert len(marks) == len(drawn) and min(marks) > 0
        described = chromium.evaluate(
            'Array.from(document.querySelectorAll(".chart[role=img]"), chart => chart.ariaLabel)'
        )
        assert described == [figure.description for figure in drawn.values()]
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
        assert chromium.evaluate(LAYOUT) == []
        assert chromium.evaluate("Array.from(document.images).every(image => image.complete && image.naturalWidth > 0)")
        for k in range(len(drawn)):
            said = point_into(chromium, k)
            assert said and re.search(r"\d", said) and "outside" not in said, (k, said, width)
        for name, colours in (("light", figures.LIGHT), ("dark", figures.DARK)):  # the same drawing in other colours
            chromium("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
            assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(colours["paper"])
            label = 'getComputedStyle(document.querySelector(".role-axis-label text, .role-legend-label text")).fill'
            assert chromium.evaluate(label) in (rgb(colours["muted"]), rgb(colours["ink"]))
            shot = chromium.screenshot(tmp_path / f"{width}-{name}.png").read_bytes()
            assert struct.unpack(">I", shot[16:20])[0] in range(width - 20, width + 1)  # less a scroll bar
    assert chromium.problems == []
    assert {url for url in chromium.requests if not url.startswith("data:image/png;base64,")} == {
        page.resolve().as_uri()
    }


# The first cells of the rows that are shown, of the table in a box that this selects.
FIRST_CELLS = """selector => Array.from(document.querySelectorAll(selector + " tbody tr"))
  .filter(row => !row.hidden).map(row => row.cells[0].textContent)"""


def first_cells(window, selector):
    return window.evaluate(f"({FIRST_CELLS})({json.dumps(selector)})")


def test_tables_sort_and_filter(chromium, tmp_path):
    chromium.problems.clear()
    chromium.open(report.write(run_of("points"), tmp_path / "page.html"), 1280)  # closest pairs: samples, distance
    box = '.scroll[aria-label="Distances of the normalised points, up to sign"]'
    given = first_cells(chromium, box)
    assert len(given) == 12
    sorts = []
    for _ in range(3):
        chromium.click(f"{box} th:first-child .sort")
        sorts.append((chromium.evaluate(f"document.querySelector('{box} th').ariaSort"), first_cells(chromium, box)))
    by_number = sorted(given, key=lambda cell: [int(n) for n in re.findall(r"\d+", cell)])
    assert sorts == [("ascending", by_number), ("descending", by_number[::-1]), ("none", given)]
    chromium.click(".filter input")
    wanted = given[3].split(", ")[0]
    chromium("Input.insertText", text=wanted)
    kept = first_cells(chromium, box)
    assert given[3] in kept and len(kept) < 12
    assert chromium.evaluate("document.querySelector('.filter output').textContent") == f"{len(kept)} of 12 rows"
    assert chromium.problems == []


def test_a_page_without_figures_sorts_too(chromium, tmp_path):
    chromium.problems.clear()
    chromium.open(report.write(ROOT / "tests/fixtures/before_rooms/fit_classes", tmp_path / "page.html"), 1280)
    box = ".scroll[aria-label^='table of class']"
    given = first_cells(chromium, box)
    for _ in range(2):
        chromium.click(f"{box} .sort")
    assert first_cells(chromium, box) == given[::-1] and len(given) == 10
    assert chromium.problems == []


def test_numbers_sort_by_their_value(chromium, tmp_path):
    chromium.open(report.write(run_of("certify"), tmp_path / "page.html"), 1280)
    theorems = "Array.from(document.querySelectorAll('table')).find(t => t.innerText.startsWith('theorem'))"
    cells = f'{theorems}.querySelectorAll("td[data-value]:nth-child(2)")'
    widths = f"Array.from({cells}, cell => Number(cell.dataset.value))"
    chromium.evaluate(f"{theorems}.querySelector('th:nth-child(2) .sort').click()")
    shown = chromium.evaluate(widths)
    assert len(shown) > 3 and shown == sorted(shown) and shown[-1] > 1e30  # 10^40 comes after 9 x 10^31


def test_wide_tables_say_that_they_scroll(chromium, tmp_path):
    page = report.write(run_of("certify"), tmp_path / "page.html")
    for width, hidden in ((1400, True), (390, False)):
        chromium.open(page, width)
        chromium.evaluate("new Promise(done => setTimeout(done, 100))")
        said = chromium.evaluate("document.querySelector('table').closest('.scroll').previousElementSibling.hidden")
        assert said is hidden, width


def test_pictures_open_large(chromium, tmp_path):
    chromium.problems.clear()
    chromium.open(report.write(run_of("certify"), tmp_path / "page.html"), 1280)
    sizes = chromium.evaluate("Array.from(document.images, image => image.getBoundingClientRect().width)")
    assert sizes and min(sizes) >= 96
    shown = "document.querySelector('#enlarged[open] img')?.alt ?? null"
    alts = chromium.evaluate("Array.from(document.querySelectorAll('button.picture img'), image => image.alt)")
    assert chromium.evaluate(shown) is None
    chromium.click("button.picture")
    assert chromium.evaluate(shown) == alts[0]
    assert chromium.evaluate("document.querySelector('#enlarged img').getBoundingClientRect().width") > 300
    assert chromium.evaluate("document.getElementById('enlarged').ariaLabel") == f"{alts[0]}, enlarged"
    chromium.press("ArrowRight")
    assert chromium.evaluate(shown) == alts[1]
    for _ in range(2):
        chromium.press("ArrowLeft")
    assert chromium.evaluate(shown) == alts[-1]
    chromium.press("Escape")
    assert chromium.evaluate(shown) is None
    focused = "document.activeElement.querySelector('img')?.alt"
    end = time.monotonic() + 10
    while chromium.evaluate(focused) != alts[-1]:  # once the event of closing has come
        assert time.monotonic() < end
        time.sleep(0.02)
    chromium.press("Enter")  # the keyboard opens it too
    assert chromium.evaluate(shown) == alts[-1]
    chromium.press("Escape")
    assert chromium.problems == []


# Which label the walk is at, and what it says of it.
AT = """[Array.from(document.querySelectorAll(".issue")).findIndex(one => one.offsetParent !== null),
  document.querySelectorAll(".issue:not([hidden])").length, document.querySelector(".place").textContent]"""


def decisions(window, folder, walk="walk", name="decisions.csv", more=()):
    """The rows of the file that a click on the button saves."""
    window("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    saved = folder / name
    for _ in range(3):  # a busy browser may lose a download
        window.click(f"#{walk} [data-does=save]")
        end = time.monotonic() + 10
        while time.monotonic() < end and not (saved.is_file() and saved.stat().st_size):
            time.sleep(0.05)
        if saved.is_file():
            break
    with open(saved, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    saved.unlink()
    assert rows[0] == ["sample", "id", "label", "decision", "new_label", *more]
    return rows[1:]


def fresh_walk(window, folder, page, width=1280):
    """Opens the page of an audit on which nothing is decided; returns its issues."""
    window.problems.clear()
    window.open(report.write(folder, page), width)
    window.evaluate("localStorage.clear()")
    window.open(page, width)
    window.evaluate("document.getElementById('walk').scrollIntoView()")
    return figures.read_run(folder).result["issues"]


def row_of(issue, decision, to):
    return [str(issue["sample"]), issue["id"] or "", issue["label"], decision, to]


def test_labels_are_decided_on_by_keys(chromium, tmp_path):
    page = tmp_path / "page.html"
    issues = fresh_walk(chromium, audited("table"), page)
    count = len(issues)

    def at(k, said):
        assert chromium.evaluate(AT) == [k, 1, f"{k + 1} of {count}: sample {issues[k]['sample']}, {said}"]

    at(0, "undecided")
    for key, k in (("ArrowRight", 1), ("n", 2), ("ArrowLeft", 1), ("p", 0), ("p", 0)):
        chromium.press(key)
        at(k, "undecided")
    for key, k in (("k", 1), ("r", 2), ("d", 3), ("K", 4)):
        chromium.press(key)
        at(k, "undecided")
    chromium.press("p")
    at(3, "kept")
    pressed = "document.querySelector('[data-does=keep]').ariaPressed"
    assert chromium.evaluate(pressed) == "true"
    chromium.press("u")
    at(3, "undecided")
    assert chromium.evaluate(pressed) == "false"
    wanted = [row_of(issues[0], "keep", issues[0]["label"]), row_of(issues[1], "relabel", issues[1]["predicted"]),
              row_of(issues[2], "drop", "")]
    assert decisions(chromium, tmp_path) == wanted
    chromium.open(page, 1280)  # again: decisions are still there, and it goes on with the first without one
    at(3, "undecided")
    assert chromium.evaluate("document.querySelector('.count').textContent") == f"3 of {count} decided"
    told = "Array.from(document.querySelectorAll('.decided'), one => one.textContent)"
    assert chromium.evaluate(told)[:4] == ["kept", f"relabelled to {issues[1]['predicted']}", "dropped", ""]
    assert decisions(chromium, tmp_path) == wanted
    assert chromium.problems == []


def test_drawn_samples_are_right_or_wrong(chromium, tmp_path):
    folder, page = audited("drawn"), tmp_path / "page.html"
    issues, drawn = fresh_walk(chromium, folder, page), figures.read_run(folder).result["drawn"]
    place = "document.querySelector('#drawn .place').textContent"
    chromium.evaluate("document.getElementById('drawn').scrollIntoView()")
    for key in ("k", "w", "r", "w", "u", "p", "n"):  # there is nothing to relabel to
        chromium.press(key)
    assert chromium.evaluate(place) == f"4 of 12: sample {drawn[3]['sample']}, undecided"
    chromium.evaluate("document.getElementById('walk').scrollIntoView()")
    chromium.press("r")
    rows = [[str(one["sample"]), one["id"] or "", one["label"], decision, "", "12", "0"]
            for one, decision in zip(drawn, ["keep", "wrong", "wrong", *[""] * 9])]
    rows[0][4] = rows[0][2]
    assert decisions(chromium, tmp_path, "drawn", "drawn.csv", ("drawn", "seed")) == rows
    assert decisions(chromium, tmp_path) == [row_of(issues[0], "relabel", issues[0]["predicted"])]
    chromium.open(page, 1280)
    assert chromium.evaluate("document.querySelector('#drawn .count').textContent") == "3 of 12 decided"
    assert chromium.problems == []


def test_another_class_is_one_that_the_data_have(chromium, tmp_path):
    issues = fresh_walk(chromium, audited("table"), tmp_path / "page.html")
    focus = "document.activeElement.localName"
    chromium.press("o")
    assert chromium.evaluate(focus) == "input"
    for letter in "drk":  # letters are letters there
        chromium.press(letter)
    chromium.press("Enter")
    assert chromium.evaluate(AT)[0] == 0 and chromium.evaluate(focus) == "input"
    assert chromium.evaluate("document.querySelector('[data-does=save]').disabled")
    chromium.evaluate("document.activeElement.select()")
    chromium("Input.insertText", text=issues[0]["predicted"])
    chromium.press("Enter")
    assert chromium.evaluate(AT)[0] == 1 and chromium.evaluate(focus) != "input"
    chromium.press("o")
    chromium("Input.insertText", text=issues[1]["label"])
    chromium.press("Enter")
    assert decisions(chromium, tmp_path) == [row_of(issues[0], "relabel", issues[0]["predicted"]),
                                             row_of(issues[1], "keep", issues[1]["label"])]
    assert chromium.problems == []


def test_another_number_is_any(chromium, tmp_path):
    issues = fresh_walk(chromium, audited("numbers"), tmp_path / "page.html", 390)
    chromium.press("o")
    for words, k in (("twelve", 0), ("12.5", 1)):
        chromium.evaluate("document.activeElement.select()")
        chromium("Input.insertText", text=words)
        chromium.press("Enter")
        assert chromium.evaluate(AT)[0] == k
    assert decisions(chromium, tmp_path) == [row_of(issues[0], "relabel", "12.5")]
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 390


def test_test_labels_are_never_dropped(chromium, tmp_path):
    fresh_walk(chromium, audited("test"), tmp_path / "page.html")
    chromium.press("d")
    assert chromium.evaluate(AT)[0] == 0 and chromium.evaluate("document.querySelector('[data-does=save]').disabled")
    assert chromium.evaluate("document.querySelector('[data-does=drop]')") is None


def test_nothing_is_decided_out_of_sight(chromium, tmp_path):
    fresh_walk(chromium, run_of("audit"), tmp_path / "page.html")
    chromium.evaluate("scrollTo(0, document.body.scrollHeight)")
    chromium.press("k")
    assert chromium.evaluate(AT)[2].endswith("undecided") and chromium.evaluate(AT)[0] == 0
    assert 0 <= chromium.evaluate("document.querySelector('#walk .bar').getBoundingClientRect().top") < 900
    chromium.press("k")
    assert chromium.evaluate(AT)[0] == 1


def test_a_row_of_the_table_leads_to_its_label(chromium, tmp_path):
    issues = fresh_walk(chromium, run_of("audit"), tmp_path / "page.html")
    chromium.evaluate("document.querySelector('#walk + details summary').click()")
    chromium.click(f".go[data-sample='{issues[7]['sample']}']")
    assert chromium.evaluate(AT)[0] == 7
    chromium.click(".issue:not([hidden]) .picture")  # arrows go on to the pictures that are shown, not to the others
    shown = chromium.evaluate("document.querySelectorAll('.issue:not([hidden]) .picture').length")
    alt = "document.querySelector('#enlarged img').alt"
    first = chromium.evaluate(alt)
    for _ in range(shown):
        chromium.press("ArrowRight")
    assert chromium.evaluate(alt) == first and chromium.evaluate(AT)[0] == 7
    chromium.press("Escape")


def test_decisions_are_of_the_label_that_was_seen(chromium, tmp_path):
    """Other noise makes other labels of the same data."""
    page = tmp_path / "page.html"
    issues = fresh_walk(chromium, audited("table"), page)
    key = chromium.evaluate("document.getElementById('walk').dataset.key")
    others = {str(issues[0]["sample"]): {"label": "another", "decision": "drop", "to": ""}}
    for kept in ("[3", "3", '{"3": 3}', json.dumps(others)):
        chromium.evaluate(f"localStorage.setItem({json.dumps(key)}, {json.dumps(kept)})")
        chromium.open(page, 1280)
        assert chromium.evaluate("document.querySelector('.count').textContent").startswith("0 of ")
    chromium.press("k")
    assert chromium.evaluate("document.querySelector('.count').textContent").startswith("1 of ")
    assert chromium.problems == []


def test_influence_in_a_browser(chromium, tmp_path):
    chromium.problems.clear()
    for width in (1280, 390):
        chromium.open(report.write(audited("influence"), tmp_path / "page.html"), width)
        assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.problems == []


def test_figures_stand_side_by_side_where_there_is_room(chromium, tmp_path):
    page = report.write(run_of("fit"), tmp_path / "page.html")
    tops = "Array.from(document.querySelectorAll('figure'), figure => figure.getBoundingClientRect().top)"
    for width, side_by_side in ((1400, True), (390, False)):
        chromium.open(page, width)
        assert (len(set(chromium.evaluate(tops))) == 1) is side_by_side, width


def test_what_is_folded_is_printed(chromium, tmp_path):
    chromium.open(report.write(run_of("depth"), tmp_path / "page.html"), 1280)
    opened = "document.querySelectorAll('details[open]').length"
    assert chromium.evaluate(opened) == 0
    chromium.evaluate("window.addEventListener('beforeprint', () => { window.unfolded = " + opened + "; })")
    chromium.pdf(tmp_path / "page.pdf")
    assert chromium.evaluate("window.unfolded") >= 4
    assert chromium.evaluate(opened) == 0


@pytest.mark.parametrize("width", [1400, 390])
def test_comparison_in_a_browser(chromium, tmp_path, width):
    chromium.problems.clear()
    chromium.requests.clear()
    page = report.compare([run_of("fit"), fit_of_width(256)], tmp_path / "page.html")
    chromium.open(page, width)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate(LAYOUT) == []
    for k in range(chromium.evaluate("document.querySelectorAll('.chart').length")):
        said = point_into(chromium, k)
        assert said and re.search(r"run: .*\d", said), (k, said)
    box = '.scroll[aria-label$="conclusion, finished"]'
    assert first_cells(chromium, box) == ["run", "width-256"]
    for _ in range(2):
        chromium.click(f"{box} .sort")
    assert first_cells(chromium, box) == ["width-256", "run"]
    assert chromium.problems == []
    assert set(chromium.requests) == {page.resolve().as_uri()}


def test_a_page_follows_a_run(chromium, tmp_path):
    """From before it begins to its end, asking its own server alone."""
    chromium.problems.clear()
    chromium.requests.clear()
    finished = run_of("fit")
    lines = (finished / "metrics.csv").read_text().splitlines()
    partial = tmp_path / "run.partial"
    heading = "document.querySelector('h1').textContent"

    def wait(expression, wanted):
        end = time.monotonic() + 30
        while not (found := chromium.evaluate(expression)) or not re.search(wanted, str(found)):
            assert time.monotonic() < end, (found, wanted)
            time.sleep(0.1)

    with watch.server(tmp_path / "run") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        chromium.network(offline=False)
        try:
            chromium.open(address, 1400)
            assert chromium.evaluate(heading).startswith("Nothing there yet")
            with worked_on(partial):
                for count in (20, 40):
                    (partial / "metrics.csv").write_text("\n".join(lines[:count]) + "\n")
                    step = lines[count - 1].split(",")[1]
                    wait(heading, f"At work: step {step},")
                    assert len(chromium.evaluate("Array.from(document.querySelectorAll('.chart svg'), one => 1)")) == 2
            assert re.search(r"\d", point_into(chromium, 0))
            shutil.rmtree(partial)
            shutil.copytree(finished, tmp_path / "run")
            wait("document.getElementById('watch').textContent", "This run is done")
            wait("document.querySelectorAll('.chart svg').length", "2")
            wait(heading, figures.read_run(finished).result["conclusion"][:20].capitalize())
            assert chromium.evaluate("window.refreshed") >= 3
        finally:
            chromium.network(offline=True)
            server.shutdown()
    assert chromium.problems == []
    assert all(url.startswith((address, "data:image/png;base64,")) for url in chromium.requests), chromium.requests


def sweep_in_work(folder, trials):
    """The database of a sweep over 24 cells, each with so many trials done."""
    folder.mkdir(exist_ok=True)
    columns = "cell, trial, n, d, width, activation, scaling, step, noise, tolerance, steps, status, success"
    with contextlib.closing(sqlite3.connect(folder / "trials.db")) as database, database:
        database.executescript("DROP TABLE IF EXISTS trials; DROP TABLE IF EXISTS sweep;"
                               f"CREATE TABLE trials({columns}); CREATE TABLE sweep(key, value);")
        database.executemany("INSERT INTO sweep VALUES(?, ?)",
                             [("d", "201,202"), ("width", "101,102"), *((f"option_{k}", "x" * 30) for k in range(40))])
        database.executemany(f"INSERT INTO trials VALUES({', '.join('?' * 13)})", [
            (cell, trial, 12, cell % 4 + 201, cell // 4 + 101, "relu", "ntk", None, 0, 0.1, 9, "converged", trial % 2)
            for cell in range(24) for trial in range(trials)])


# What a reader has done to the page.
DONE = """[Array.from(document.querySelectorAll("details[open] summary"), one => one.textContent),
  document.querySelector("[aria-sort=descending]")?.textContent, document.querySelector(".filter input").value,
  Array.from(document.querySelectorAll("tbody tr:not([hidden])"), row => row.cells[1].textContent),
  Math.round(document.querySelector(".scroll").scrollLeft), Math.round(scrollY), document.activeElement.type,
  document.activeElement.selectionStart]"""


def test_news_leave_the_page_as_the_reader_has_made_it(chromium, tmp_path):
    chromium.problems.clear()
    sweep_in_work(tmp_path / "run.partial", 1)
    with worked_on(tmp_path / "run.partial") as partial, watch.server(tmp_path / "run") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium.network(offline=False)
        try:
            chromium.open(f"http://127.0.0.1:{server.server_port}/", 300)
            chromium.evaluate("""(() => {
              const cells = document.querySelector(".scroll"), filter = document.querySelector(".filter input");
              document.querySelector("summary").click();
              const width = Array.from(cells.querySelectorAll(".sort")).find(one => one.textContent === "width");
              width.click();
              width.click();
              filter.value = "203";
              filter.dispatchEvent(new Event("input"));
              cells.scrollLeft = 40;
              filter.focus();
              filter.setSelectionRange(2, 2);
              scrollTo(0, cells.getBoundingClientRect().top + scrollY - 200);
            })()""")
            done = chromium.evaluate(DONE)
            widths = [int(cell) for cell in done[3]]
            assert done[:3] == [["Options"], "width", "203"] and done[4] == 40 and done[5] > 300
            assert widths == sorted(widths, reverse=True) and len(widths) == 6 and done[6:] == ["search", 2]
            for trials in (2, 3):
                before = chromium.evaluate("window.refreshed")
                sweep_in_work(partial, trials)
                end = time.monotonic() + 60
                headline = f"At work: {24 * trials} trials done"
                while chromium.evaluate("document.title").startswith(headline) is False:
                    assert time.monotonic() < end
                    time.sleep(0.1)
                chromium.evaluate("window.drawn")
                assert chromium.evaluate(DONE) == done and chromium.evaluate("window.refreshed") >= before
                assert chromium.evaluate("document.querySelectorAll('.chart .mark-rect path').length") >= 24
            chromium("Page.navigate", url="about:blank")  # which asks for no more news
        finally:
            chromium.network(offline=True)
            server.shutdown()
    assert chromium.problems == []


@pytest.mark.parametrize("kind", ["certify", "sweep", "linear", "memorize", "conv"])
def test_comparisons_ask_for_nothing(kind, chromium, tmp_path):
    shutil.copytree(run_of(kind), tmp_path / "other")
    page = report.compare([run_of(kind), tmp_path / "other"], tmp_path / "page.html")
    chromium.problems.clear()
    chromium.requests.clear()
    chromium.open(page, 390)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 390
    assert chromium.evaluate(LAYOUT) == []
    assert chromium.problems == [] and set(chromium.requests) == {page.resolve().as_uri()}


def test_heads_are_on_every_sheet(chromium, tmp_path):
    """Chromium repeats no head that holds buttons."""
    chromium.open(report.write(run_of("sweep"), tmp_path / "page.html"), 1280)
    buttons = "document.querySelectorAll('button.sort').length"
    before = chromium.evaluate(buttons)
    chromium.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {buttons}; }})")
    chromium.pdf(tmp_path / "page.pdf")
    assert (chromium.evaluate("window.printed"), chromium.evaluate(buttons)) == (0, before) and before > 0
    chromium.evaluate("document.querySelector('.sort').click()")
    assert chromium.evaluate("document.querySelector('th').ariaSort") == "ascending"


def test_figures_follow_the_window(chromium, tmp_path):
    chromium.open(report.write(run_of("fit"), tmp_path / "page.html"), 1280)
    wide = chromium.evaluate('document.querySelector(".chart svg").getBoundingClientRect().width')
    chromium("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
    chromium.evaluate("new Promise(done => setTimeout(done, 500)).then(() => window.drawn)")
    narrow = chromium.evaluate('document.querySelector(".chart svg").getBoundingClientRect().width')
    assert narrow < 500 < wide
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 500
    assert chromium.evaluate(LAYOUT) == []
    assert re.search(r"\d", point_into(chromium, 0))


def test_markup_does_not_run_in_a_browser(chromium, tmp_path):
    chromium.problems.clear()
    chromium.open(report.write(evil_run(), tmp_path / "page.html"), 1280)
    assert chromium.evaluate("typeof window.hacked") == "undefined"
    assert chromium.evaluate('document.querySelectorAll(".chart svg").length') == len(figures.of(evil_run()))
    assert chromium.problems == []


def test_page_refuses_scripts_and_connections(chromium, tmp_path):
    """Were there a gap in the escaping, the policy would still close it."""
    page = report.write(run_of("memorize"), tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("</main>", "<img src='x' onerror='window.hacked=1'></main>" + EVIL), encoding="utf-8")
    chromium.open(page, 1280)
    assert chromium.evaluate("typeof window.hacked") == "undefined"
    answer = chromium.evaluate("fetch('https://example.org').then(() => 'fetched', error => error.name)")
    assert answer == "TypeError"
    assert any("Content Security Policy" in problem for problem in chromium.problems)
    chromium.problems.clear()


def test_page_is_printed_on_white(chromium, tmp_path):
    chromium.open(report.write(run_of("fit"), tmp_path / "page.html"), 1280, dark=True)
    chromium("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.evaluate('getComputedStyle(document.querySelector(".chart .mark-line path")).stroke') == rgb(
        figures.LIGHT["series"][0]
    )
    assert chromium.pdf(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    chromium("Emulation.setEmulatedMedia", media="", features=[])
