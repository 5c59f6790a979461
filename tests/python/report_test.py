"""zeroloss report: pages and figures of real run folders, read as text and opened in Chromium without a network."""
import base64
import html.parser
import json
import math
import os
import random
import re
import struct
import subprocess
import sys
import zlib
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python"))  # an installed package comes first
sys.path.append(str(Path(__file__).parent))

import browser  # noqa: E402
import zeroloss.figures as figures  # noqa: E402
import zeroloss.report as report  # noqa: E402
from zeroloss import _charts, _page, _sections  # noqa: E402

COMMAND = os.environ.get("ZEROLOSS_COMMAND", str(ROOT / "build/release/bin/zeroloss"))
EVIL = "<script>window.hacked=1</script>"
RUNS = {
    "certify": ["certify", "digits", "--classes", "3,8", "--n", "200", "--spectrum"],
    "points": ["certify", "sphere:n=30,d=4,y=none"],
    "fit": ["fit", "digits", "--classes", "3,8", "--n", "100", "--center", "--width", "128", "--max-steps", "300"],
    "classes": ["fit", "digits", "--n", "60", "--width", "64", "--max-steps", "50"],
    "sweep": ["sweep", "sphere:n=12,y=normal", "--width", "1:8", "--d", "1:8", "--max-steps", "500", "--trials", "4"],
    "column": ["sweep", "sphere:n=12,d=4,y=normal", "--width", "1:8", "--max-steps", "300", "--trials", "4"],
    "words": ["sweep", "sphere:n=12,d=4,y=normal", "--width", "4:16:4", "--activation", "relu,tanh", "--max-steps", "300",
              "--trials", "4"],
    "linear": ["linear", "rotation:d=4", "--layers", "6"],
    "depth": ["linear", "gaussian:d=4", "--layers", "2:8"],
    "memorize": ["memorize", "digits", "--n", "120"],
}
KINDS = [*RUNS, "conv"]


def make_conv(folder):
    """The files of a convolutional run: 2,500 steps, 12 blocks, 10 classes."""
    folder.mkdir()
    names = "airplane automobile bird cat deer dog frog horse ship truck".split()
    manifest = {"command": ["zeroloss", "conv", "cifar10", "--out", "run"], "kind": "conv", "options": {"epochs": 5},
                "data": {"name": "cifar10"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    rows = ["step,epoch,learning_rate,train_loss,train_error,test_error,images_per_s"]
    for step in range(2500):
        tested = f"{0.1 + 0.5 * math.exp(-step / 500)}" if step % 500 == 499 else ""
        rows.append(f"{step},{step / 500},{0.1 if step < 1500 else 0.01},{2.3 * math.exp(-step / 600)},"
                    f"{0.9 * math.exp(-step / 400)},{tested},{1000 + step % 7}")
    (folder / "metrics.csv").write_text("\n".join(rows) + "\n")
    rows = ["step," + ",".join(f"block{k}" for k in range(1, 13))]
    rows += [f"{step}," + ",".join(f"{1 + k / 10 + step / 9000}" for k in range(12)) for step in range(0, 2500, 100)]
    (folder / "norms.csv").write_text("\n".join(rows) + "\n")
    confusion = [[90 if i == j else (10 if j == (i + 1) % 10 else 0) for j in range(10)] for i in range(10)]
    (folder / "evaluation.json").write_text(json.dumps(
        {"confusion": confusion, "class_names": names, "top1_error": 0.1, "top5_error": 0.01, "per_class_error": [0.1] * 10}))


@pytest.fixture(scope="session")
def run_of(tmp_path_factory):
    """The run folder of a kind, made once."""
    made = {}

    def make(kind):
        if kind not in made:
            folder = tmp_path_factory.mktemp(kind) / "run"
            if kind == "conv":
                make_conv(folder)
            else:
                done = subprocess.run([COMMAND, *RUNS[kind], "--out", folder], capture_output=True, text=True)
                assert done.returncode == 0, done.stderr
            made[kind] = folder
        return made[kind]

    return make


@pytest.fixture
def evil(tmp_path):
    """A run whose data, labels, columns and name are markup."""
    points = tmp_path / f"{EVIL.replace('/', '')}.csv"
    rows = [f"{math.cos(k)},{math.sin(k)},{math.cos(2 * k)},{EVIL if k % 2 else '</script><img src=x onerror=hacked=1>'}"
            for k in range(12)]
    points.write_text(f"a,b,c,label\n{chr(10).join(rows)}\n")
    folder = tmp_path / "run"
    done = subprocess.run([COMMAND, "certify", points, "--spectrum", "--out", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


class Page(html.parser.HTMLParser):
    """A page taken apart. Elements must be closed in the order in which they were opened."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in _page.EMPTY_ELEMENTS:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open and self.open.pop() == name

    def handle_data(self, text):
        self.texts.append((self.open[-1] if self.open else "", text))

    def all(self, name):
        return [attributes for element, attributes in self.elements if element == name]

    def text(self, name, between=""):
        return between.join(text for element, text in self.texts if element == name)


def page_of(folder):
    return figures.read_run(folder), Page(report.page(figures.read_run(folder)))


# ---- the page as text ----

@pytest.mark.parametrize("kind", KINDS)
def test_page_is_whole_and_asks_for_nothing(run_of, kind, tmp_path):
    folder = run_of(kind)
    path = report.write(folder, tmp_path / "page.html")
    assert not (tmp_path / "page.html.partial").exists()
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 2e6
    run, page = figures.read_run(folder), Page(text)
    drawn = figures.of(run)
    assert page.all("html") == [{"lang": "en"}]
    assert page.text("title").startswith(run.kind)
    first = (run.result.get("conclusion") or "10.00 % of the test images").split("\n")[0].rstrip(":").replace(">=", "≥")
    assert page.text("h1").lower().startswith(first.replace("<=", "≤").lower())
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
    assert Path(run.manifest["command"][0]).name == "zeroloss"
    assert " ".join(run.manifest["command"][1:]) in page.text("span", " ")


def test_page_of_certify_shows_its_images(run_of):
    run, page = page_of(run_of("certify"))
    pictures = run.json("pictures.json")["samples"]
    shown = {record for pair in run.result["closest"][:12] for record in pair["samples"]}
    shown |= {suspect["sample"] for suspect in run.result["suspects"][:24]}
    drawn = {}
    for image in page.all("img"):
        record = image["alt"].split()[1]
        drawn[int(record)] = decoded(base64.b64decode(image["src"].partition(",")[2]))
    assert set(drawn) == shown
    for record, (width, height, channels, pixels) in drawn.items():
        assert (width, height, channels) == (8, 8, 1)
        assert pixels == bytes.fromhex(pictures[str(record)])


def test_page_of_points_without_labels(run_of):
    run, page = page_of(run_of("points"))
    assert "Closest pairs" in page.text("h2") and "wrong" not in page.text("h2")
    assert not page.all("img")
    assert len([text for element, text in page.texts if element == "td"]) > 20


def test_bounds_are_rounded_to_their_safe_side(run_of):
    run, page = page_of(run_of("certify"))
    verified = run.result["lambda_min_verified"]
    shown = float(re.search(r"≥ ([\d.]+)", page.text("dd", " ")).group(1))
    assert verified * (1 - 1e-5) < shown <= verified


def test_values_are_there_with_all_digits(run_of):
    run, page = page_of(run_of("fit"))
    assert json.loads(page.text("pre")[page.text("pre").index("{"):])["relative_misfit"] == run.result["relative_misfit"]


def test_markup_in_the_data_stays_text(evil):
    run, page = page_of(evil)
    drawn = figures.of(run)
    assert len(page.all("script")) == len(drawn) + 1
    assert not page.all("img")  # of the label; the points are no images
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert EVIL in page.text("dd") and EVIL in page.text("td")
    assert EVIL.replace("/", "") in page.text("title") + page.text("p")


def test_a_manifest_of_markup_stays_text(run_of, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    hostile = {"kind": EVIL, "command": ["zeroloss", EVIL], "options": {EVIL: EVIL}, "data": {"name": EVIL}, "machine": {EVIL: [EVIL]}}
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


def test_missing_files_are_done_without(run_of, tmp_path):
    folder = tmp_path / "run"
    make_conv(folder)
    assert set(figures.of(folder)) == {"error", "loss", "learning_rate", "norms", "classes", "confusion"}
    (folder / "evaluation.json").unlink()
    assert set(figures.of(folder)) == {"error", "loss", "learning_rate", "norms"}
    (folder / "norms.csv").unlink()
    (folder / "metrics.csv").unlink()
    assert not figures.of(folder)
    page = Page(report.page(figures.read_run(folder)))
    assert not page.all("script") and not page.all("figure")
    for name in ("certify", "fit", "sweep", "linear", "memorize"):  # a manifest alone
        (folder / "manifest.json").write_text(json.dumps({"kind": name}))
        assert Page(report.page(figures.read_run(folder))).text("h1")


def test_a_figure_that_is_none_says_so_in_its_place(run_of, tmp_path):
    folder = tmp_path / "run"
    make_conv(folder)
    (folder / "broken.vl.json").write_text('{"mark": {"type": "no such mark"}, "encoding": 3}')
    page = Page(report.page(figures.read_run(folder)))
    assert "broken.vl.json cannot be drawn" in page.text("p")
    assert len(page.all("figure")) == 7


@pytest.mark.parametrize("value, digits, rounding, shown", [
    (1797, 4, "nearest", "1,797"), (True, 4, "nearest", "yes"), (None, 4, "nearest", "–"), (0.0, 4, "nearest", "0"),
    (0.013460500028, 6, "down", "0.0134605"), (1234567.8, 4, "nearest", "1,234,568"), (43433.0, 2, "nearest", "43,433"),
    (-0.5, 4, "nearest", "−0.5"), (0.99996, 4, "nearest", "1"), (0.99996, 4, "down", "0.9999"), (float("inf"), 4, "nearest", "∞"),
    (6.770469734e39, 4, "up", "6.78 × 10<sup>39</sup>"), (9.999e-12, 3, "up", "10<sup>−11</sup>"),
    (1.0420895665e-9, 3, "down", "1.04 × 10<sup>−9</sup>"), (float("nan"), 4, "nearest", "not a number"),
    ("<b>", 4, "nearest", "&lt;b&gt;"), (100000.0, 4, "nearest", "100,000")])
def test_numbers_are_for_people(value, digits, rounding, shown):
    assert _page.number(value, digits, rounding) == shown


def test_numbers_round_as_they_are_told():
    source = random.Random(5)

    def read(shown):
        shown = shown.replace(",", "").replace("−", "-").replace("</sup>", "")
        mantissa, _, power = shown.partition("10<sup>") if "<sup>" in shown else (shown, "", "0")
        return Fraction(mantissa.replace(" × ", "") or "1") * Fraction(10) ** int(power)

    for _ in range(2000):
        value = source.choice([-1, 1]) * 10 ** source.uniform(-40, 40)
        digits = source.randint(2, 6)
        below, above, near = (read(_page.number(value, digits, rounding)) for rounding in ("down", "up", "nearest"))
        assert below <= Fraction(value) <= above
        assert near in (below, above)
        assert above - below <= abs(Fraction(value)) * Fraction(10) ** (1 - min(digits, 3))


def decoded(file):
    """(width, height, channels, pixels) of a PNG file; its checksums are checked."""
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(file):
        size, kind = struct.unpack(">I4s", file[at:at + 8])
        data = file[at + 8:at + 8 + size]
        assert struct.unpack(">I", file[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + data)
        chunks[kind] = data
        at += 12 + size
    width, height, depth, colour = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert depth == 8 and list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    channels = {0: 1, 2: 3}[colour]
    rows, stride = zlib.decompress(chunks[b"IDAT"]), 1 + width * channels
    assert len(rows) == height * stride and all(rows[k] == 0 for k in range(0, len(rows), stride))
    return width, height, channels, b"".join(rows[k + 1:k + stride] for k in range(0, len(rows), stride))


def test_png_holds_its_pixels():
    for height, width, channels in ((8, 8, 1), (28, 28, 1), (32, 32, 3), (1, 5, 3)):
        pixels = random.Random(height).randbytes(height * width * channels)
        assert decoded(_page.png(pixels, height, width, channels)) == (width, height, channels, pixels)
    for arguments in ((b"abc", 2, 2, 1), (b"", 0, 0, 1), (b"ab", 1, 1, 2)):
        with pytest.raises(ValueError):
            _page.png(*arguments)
    with pytest.raises(figures.RunError, match="sample 3"):
        _page.picture({"height": 8, "width": 8, "channels": 1, "samples": {"3": "ff"}}, 3, "")


def test_colours_can_be_read():
    """WCAG 2.2: 4.5 for text, 3 for lines of figures, on their background."""
    def luminance(colour):
        parts = [int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def contrast(a, b):
        dark, light = sorted([luminance(a), luminance(b)])
        return (light + 0.05) / (dark + 0.05)

    for colours in (figures.LIGHT, figures.DARK):
        for ground in ("paper", "wash"):
            assert contrast(colours["ink"], colours[ground]) >= 7
            assert contrast(colours["muted"], colours[ground]) >= 4.5
        for colour in [*colours["series"], *_charts.BLOCKS]:
            assert contrast(colour, colours["paper"]) >= 3, colour


# ---- figures ----

@pytest.mark.parametrize("kind", KINDS)
def test_figures_compile_without_a_warning(run_of, kind, capfd, tmp_path):
    drawn = figures.of(run_of(kind))
    expected = {"certify": {"widths", "forecast", "spectrum"}, "points": {"widths"}, "fit": {"curve", "distance"},
                "classes": {"curve", "distance"}, "sweep": {"heat"}, "column": {"heat"}, "words": {"heat"},
                "linear": {"descent", "layers"}, "depth": {"norm", "layers", "convergence"}, "memorize": {"margins"},
                "conv": {"error", "loss", "learning_rate", "norms", "classes", "confusion"}}[kind]
    assert set(drawn) == expected
    vl_convert = figures.renderer()
    for name, figure in drawn.items():
        figure.vega()
        spec = {**figure.spec, "config": figures.theme(figures.LIGHT)}
        for shown in (figure.spec, spec):  # as the command wrote it, and in our colours
            vl_convert.vegalite_to_vega(shown, vl_version=figures.vega_lite_version(), show_warnings=True)
            assert "<svg" in vl_convert.vegalite_to_svg(shown, vl_version=figures.vega_lite_version(), show_warnings=True)
        written = capfd.readouterr()
        assert written.out + written.err == "", name


def test_figures_are_saved_in_every_format(run_of, tmp_path):
    figure = figures.of(run_of("fit"))["curve"]
    assert figure.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert figure.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert figure.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads(figure.save(tmp_path / "a.json").read_text()) == figure.spec
    with pytest.raises(ValueError, match="svg, .png, .pdf or .json"):
        figure.save(tmp_path / "a.gif")


def test_figures_draw_themselves_in_a_notebook(run_of):
    drawn = figures.of(run_of("fit"))
    assert list(drawn) == ["curve", "distance"]  # in reading order
    for shown in (drawn["curve"], drawn):
        bundle = shown._repr_mimebundle_()
        assert bundle["application/vnd.vegalite.v5+json"]["$schema"] == _charts.SCHEMA
        assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert len(drawn._repr_mimebundle_()["application/vnd.vegalite.v5+json"]["vconcat"]) == 2
    assert figures.Figures()._repr_mimebundle_() == {"text/plain": "no figures"}


def test_figures_can_be_had_without_vl_convert(run_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    figure = figures.of(run_of("fit"))["curve"]
    assert set(figure._repr_mimebundle_()) == {"application/vnd.vegalite.v5+json", "text/plain"}
    with pytest.raises(ImportError, match="pip install vl-convert-python"):
        figure.save("curve.svg")


def test_descriptions_say_the_numbers(run_of):
    run = figures.read_run(run_of("fit"))
    rows = run.table("metrics.csv")
    description = figures.of(run)["curve"].description
    assert f"to {rows[-1]['relative_misfit']:,.4g} at {rows[-1]['step']:,.4g}" in description
    widths = figures.of(run_of("certify"))["widths"].description
    assert "Du et al. 2018, Thm 4.1" in widths and "e+" in widths


def test_long_tables_are_thinned_but_keep_what_is_rare(run_of):
    values = figures.of(run_of("conv"))["error"].spec["data"]["values"]
    tested = [point for point in values if point["curve"] == "test"]
    assert [point["x"] for point in tested] == [499, 999, 1499, 1999, 2499]
    assert len(values) <= _charts.MOST_POINTS + 10
    rows = [{"step": k} for k in range(5000)]
    kept = _charts.thinned(rows)
    assert len(kept) <= _charts.MOST_POINTS + 1 and kept[0] == rows[0] and kept[-1] == rows[-1]
    assert _charts.thinned([]) == [] and _charts.thinned(rows[:7]) == rows[:7]


def test_confusion_is_true_by_predicted(run_of):
    values = figures.of(run_of("conv"))["confusion"].spec["data"]["values"]
    count = {(v["true"], v["predicted"]): v["count"] for v in values}
    assert count["airplane", "automobile"] == 10 and count["automobile", "airplane"] == 0
    assert len(values) == 100
    assert "airplane taken for automobile: 10 of 100" in {v["note"] for v in values}
    _, after = _sections.of(figures.read_run(run_of("conv")))
    assert "<td>airplane</td>" in _page.text(after) and "<td>automobile</td>" in _page.text(after)


# ---- the command ----

def test_command_writes_a_page_or_files(run_of, tmp_path, capsys):
    folder = run_of("certify")
    assert report.main([str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'page.html'} (")
    for form, magic in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert report.main([str(folder), "--format", form, "--out", str(tmp_path / form)]) == 0
        assert {path.name for path in (tmp_path / form).iterdir()} == {f"{name}.{form}" for name in figures.of(folder)}
        assert all(path.read_bytes().startswith(magic) for path in (tmp_path / form).iterdir())
    assert report.main([str(folder)]) == 0
    assert (folder / "report.html").is_file()


def test_command_tells_what_is_wrong(run_of, tmp_path, capsys, monkeypatch):
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


# ---- the page in a browser ----

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
    const labels = Array.from(axis.querySelectorAll("text")).filter(text => text.textContent && text.getAttribute("opacity") !== "0");
    const boxes = labels.map(text => text.getBoundingClientRect()).filter(at => at.width);
    boxes.forEach((a, i) => boxes.slice(i + 1).forEach(b => {
      if (a.left < b.right && b.left < a.right && a.top < b.bottom - 3 && b.top < a.bottom - 3) wrong.push("overlap: " + axis.textContent);
    }));
  }
  return wrong;
}).flat()"""

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
    window.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # scrolling hides the tooltip
    window.point_at(*at)
    return window.evaluate("""(() => {
      const tip = document.getElementById("tip"), box = tip.getBoundingClientRect();
      if (tip.hidden) return null;
      const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight;
      return inside ? tip.textContent : "outside the window";
    })()""")


@pytest.mark.parametrize("kind", KINDS)
def test_page_in_a_browser(run_of, kind, chromium, tmp_path):
    page = report.write(run_of(kind), tmp_path / "page.html")
    number = len(figures.of(run_of(kind)))
    chromium.problems.clear()
    chromium.requests.clear()
    for width in (1280, 360):
        for dark in (False, True):
            chromium.open(page, width, dark)
            marks = chromium.evaluate('Array.from(document.querySelectorAll(".chart"), '
                                      'chart => chart.querySelectorAll("svg .role-mark path").length)')
            assert len(marks) == number and min(marks) > 0
            described = chromium.evaluate('Array.from(document.querySelectorAll(".chart[role=img]"), chart => chart.ariaLabel)')
            assert described == [figure.description for figure in figures.of(run_of(kind)).values()]
            assert chromium.evaluate("document.documentElement.scrollWidth") <= width
            assert chromium.evaluate(LAYOUT) == []
            ground = (figures.DARK if dark else figures.LIGHT)["paper"]
            wanted = "rgb({}, {}, {})".format(*(int(ground[k:k + 2], 16) for k in (1, 3, 5)))
            assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == wanted
            for k in range(number):
                said = point_into(chromium, k)
                assert said and re.search(r"\d", said) and "outside" not in said, (k, said, width, dark)
            assert chromium.evaluate("Array.from(document.images).every(image => image.complete && image.naturalWidth > 0)")
            shot = chromium.screenshot(tmp_path / f"{width}-{'dark' if dark else 'light'}.png").read_bytes()
            assert struct.unpack(">I", shot[16:20])[0] in range(width - 20, width + 1)  # less a scroll bar
    assert chromium.problems == []
    assert {url for url in chromium.requests if not url.startswith("data:image/png;base64,")} == {page.resolve().as_uri()}


def test_figures_follow_the_window(run_of, chromium, tmp_path):
    chromium.open(report.write(run_of("fit"), tmp_path / "page.html"), 1280)
    wide = chromium.evaluate('document.querySelector(".chart svg").getBoundingClientRect().width')
    chromium("Emulation.setDeviceMetricsOverride", width=500, height=900, deviceScaleFactor=1, mobile=False)
    chromium.evaluate("new Promise(done => setTimeout(done, 500))")
    narrow = chromium.evaluate('document.querySelector(".chart svg").getBoundingClientRect().width')
    assert narrow < 500 < wide
    assert chromium.evaluate("document.documentElement.scrollWidth") <= 500
    assert chromium.evaluate(LAYOUT) == []
    assert re.search(r"\d", point_into(chromium, 0))


def test_markup_does_not_run_in_a_browser(evil, chromium, tmp_path):
    chromium.problems.clear()
    chromium.open(report.write(evil, tmp_path / "page.html"), 1280)
    assert chromium.evaluate("typeof window.hacked") == "undefined"
    assert chromium.evaluate('document.querySelectorAll(".chart svg").length') == len(figures.of(evil))
    assert chromium.problems == []


def test_page_refuses_scripts_and_connections(run_of, chromium, tmp_path):
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


def test_page_is_printed_on_white(run_of, chromium, tmp_path):
    chromium.open(report.write(run_of("fit"), tmp_path / "page.html"), 1280, dark=True)
    chromium("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert chromium.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert chromium.evaluate('getComputedStyle(document.querySelector(".chart .mark-line path")).stroke') == "rgb(11, 107, 203)"
    assert chromium.pdf(tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    chromium("Emulation.setEmulatedMedia", media="", features=[])
