"""Pages of zeroloss report in Chromium, opened from a file without a network."""

import os
import re
import struct

import pytest

import browser
from run_folders import EVIL, KINDS, evil_run, run_of
from zeroloss import figures, report


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


def test_figures_follow_the_window(chromium, tmp_path):
    chromium.open(report.write(run_of("fit"), tmp_path / "page.html"), 1280)
    wide = chromium.evaluate('document.querySelector(".chart svg").getBoundingClientRect().width')
    chromium("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
    chromium.evaluate("new Promise(done => setTimeout(done, 500))")
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
