"""zeroloss.figures: every figure of every kind of run, its formats, its words and its colours."""

import base64
import json
import math
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import zeroloss
from run_folders import KINDS, make_conv, run_of
from zeroloss import figures
from zeroloss.figures import charts, colours
from zeroloss.figures.signs import signs
from zeroloss.report import elements, sections


@pytest.mark.parametrize("kind", KINDS)
def test_figures_compile_without_a_warning(kind, capfd, tmp_path):
    drawn = figures.of(run_of(kind))
    expected = {
        "certify": {"widths", "forecast", "spectrum"},
        "width": {"widths", "scales"},
        "points": {"widths"},
        "fit": {"curve", "distance"},
        "classes": {"curve", "distance"},
        "sweep": {"heat"},
        "column": {"heat"},
        "words": {"heat"},
        "linear": {"descent", "layers"},
        "depth": {"norm", "layers", "convergence"},
        "memorize": {"margins"},
        "audit": {"scores"},
        "conv": {"loss", "learning_rate", "classes", "confusion"},
    }[kind]
    assert set(drawn) == expected
    vl_convert = figures.renderer()
    for name, figure in drawn.items():
        figure.vega()
        spec = {**figure.spec, "config": figures.theme(figures.LIGHT)}
        for shown in (figure.spec, spec):  # as the command wrote it, and in our colours
            vl_convert.vegalite_to_vega(shown, vl_version=figures.vega_lite_version(), show_warnings=True)
            assert "<svg" in vl_convert.vegalite_to_svg(
                shown, vl_version=figures.vega_lite_version(), show_warnings=True
            )
        written = capfd.readouterr()
        assert written.out + written.err == "", name


def test_figures_are_saved_in_every_format(tmp_path):
    figure = figures.of(run_of("fit"))["curve"]
    assert figure.save(tmp_path / "a.svg").read_text().startswith("<svg")
    assert figure.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert figure.save(tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert json.loads(figure.save(tmp_path / "a.json").read_text()) == figure.spec
    with pytest.raises(ValueError, match=r"svg, \.png, \.pdf or \.json"):
        figure.save(tmp_path / "a.gif")
    assert 'opacity="0"' not in (tmp_path / "a.svg").read_text()  # points that only a pointer finds


RESULTS = {
    "certify": (lambda: zeroloss.certify("digits", classes=["3", "8"], n=60, spectrum=True),
                ["spectrum", "widths", "forecast"]),
    "width": (lambda: zeroloss.width("sphere:n=12,d=4", seed=3, restarts=1), ["widths", "scales"]),
    "fit": (lambda: zeroloss.fit("digits", classes=["3", "8"], n=40, width=64, max_steps=30), ["curve", "distance"]),
    "kernel": (lambda: zeroloss.fit("digits", classes=["3", "8"], n=40, optimizer="kernel"), ["curve"]),
    "sweep": (lambda: zeroloss.sweep("sphere:n=9,y=normal", d=[2, 4], width=[2, 4], trials=2, max_steps=20), ["heat"]),
    "linear": (lambda: zeroloss.linear.train("rotation:d=4", layers=6, max_steps=20), ["descent", "layers"]),
    "depths": (lambda: zeroloss.linear.train("gaussian:d=4", layers=[2, 6], max_steps=2), ["norm", "layers"]),
    "memorize": (lambda: zeroloss.memorize("digits", n=60), ["margins"]),
    "audit": (lambda: zeroloss.audit("digits", n=90, labels="noise:0.1"), ["scores"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", RESULTS)
def test_every_figure_of_a_result_in_one_call(kind, tmp_path):
    """Those of its run folder, but for what has no point (no depth of two steps reached the tolerance)."""
    make, names = RESULTS[kind]
    result = make()
    drawn = figures.of(result)
    assert list(drawn) == list(result.plot()) == names
    result.save(tmp_path / "run")
    assert {name: figure.spec for name, figure in figures.of(tmp_path / "run").items()} == {
        name: figure.spec for name, figure in drawn.items()}
    written = drawn.save(tmp_path / "paper" / "figures", "svg", "pdf")
    assert written == [tmp_path / "paper" / "figures" / f"{name}.{form}" for name in names for form in ("svg", "pdf")]
    for path in written:
        assert path.read_bytes().startswith(b"<svg" if path.suffix == ".svg" else b"%PDF")
    (together,) = drawn.save(tmp_path / "all.svg")
    text = together.read_text()
    assert all(figure.title.split(":")[0] in text for figure in drawn.values())
    assert "image/png" in drawn._repr_mimebundle_()


def test_figures_in_one_drawing_keep_their_own_legends(tmp_path):
    drawn = figures.of(RESULTS["linear"][0]())
    drawn.save(tmp_path / "all.json")
    said = json.loads((tmp_path / "all.json").read_text())
    channels = {channel for row in said["vconcat"] for layer in (row, *row.get("layer", []))
                for channel in layer.get("encoding", {}) if channel not in ("tooltip", "detail", "text")}
    assert "strokeDash" in channels  # of a theorem's curve: no legend of the other figure names it
    assert channels <= {channel for channel, kind in said["resolve"]["scale"].items() if kind == "independent"} | {"y2"}


def test_what_has_no_figures_says_what_has(tmp_path):
    run = zeroloss.fit("digits", classes=["3", "8"], n=12, width=48, max_steps=5)
    proved = zeroloss.prove(run, "digits", classes=["3", "8"], n=12)
    single = zeroloss.sweep("sphere:n=9,d=4,y=normal", width=4, trials=2, max_steps=5)
    for result in (proved, single):
        for drawn in (figures.of, lambda one: one.plot()):
            with pytest.raises(ValueError, match=f"this {type(result).__name__} has no figure; results of audit, "):
                drawn(result)
    for other in (run.network, zeroloss.read_dataset("digits", n=9), 3, None):
        with pytest.raises(TypeError, match=f"takes a result of audit, .*; got {type(other).__name__}$"):
            figures.of(other)
    drawn = figures.of(run)
    for arguments in ((tmp_path / "a",), (tmp_path / "a.gif",), (tmp_path / "a", "gif"), (tmp_path / "a", "svg", "")):
        with pytest.raises(ValueError, match="svg, png, pdf or json"):
            drawn.save(*arguments)
    with pytest.raises(ValueError, match="there are no figures to save"):
        figures.Figures().save(tmp_path / "a.svg")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"^broken\.vl\.json: "):
        figures.Figures(broken=figures.Figure("broken", {"mark": 3})).save(tmp_path, "svg")


def test_figures_fetch_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        data = {"url": f"http://127.0.0.1:{server.getsockname()[1]}/data.json"}
        spec = {"data": data, "mark": "point", "encoding": {"x": {"field": "a"}}}
        (tmp_path / "a.json").write_text(json.dumps(spec))
        code = ("import json, sys; import run_folders; from zeroloss import figures; "
                "figure = figures.Figure('a', json.load(open(sys.argv[1]))); figure.vega(); figure.save(sys.argv[2])")
        line = [sys.executable, "-c", code, tmp_path / "a.json", tmp_path / "a.svg"]
        subprocess.run(line, cwd=Path(__file__).parent, capture_output=True, timeout=60)  # refused
        with pytest.raises(BlockingIOError):  # nobody has called
            server.accept()


def test_figures_draw_themselves_in_a_notebook():
    drawn = figures.of(run_of("fit"))
    assert list(drawn) == ["curve", "distance"]  # in reading order
    for shown in (drawn["curve"], drawn):
        bundle = shown._repr_mimebundle_()
        assert bundle["application/vnd.vegalite.v5+json"]["$schema"] == charts.SCHEMA
        assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    assert len(drawn._repr_mimebundle_()["application/vnd.vegalite.v5+json"]["vconcat"]) == 2
    assert figures.Figures()._repr_mimebundle_() == {"text/plain": "no figures"}


def test_figures_can_be_had_without_vl_convert(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    figure = figures.of(run_of("fit"))["curve"]
    assert set(figure._repr_mimebundle_()) == {"application/vnd.vegalite.v5+json", "text/plain"}
    with pytest.raises(ImportError, match="pip install vl-convert-python"):
        figure.save("curve.svg")


def test_descriptions_say_the_numbers():
    run = figures.read_run(run_of("fit"))
    rows = run.table("metrics.csv")
    description = figures.of(run)["curve"].description
    assert f"to {rows[-1]['relative_misfit']:,.4g} at {rows[-1]['step']:,.4g}" in description
    widths = figures.of(run_of("certify"))["widths"].description
    assert "Du et al. 2018, Thm 4.1" in widths and "e+" in widths


def test_long_tables_are_thinned():
    values = figures.of(run_of("conv"))["loss"].spec["data"]["values"]
    assert len(values) <= charts.MOST_POINTS + 1
    assert [values[0]["x"], values[1]["x"], values[-1]["x"]] == [1, 4, 2500]
    assert values[-1]["y"] == 2.3 * math.exp(-2500 / 600)


def test_figures_of_the_folder_come_before_those_made_here(tmp_path):
    folder = tmp_path / "run"
    make_conv(folder)
    (folder / "loss.vl.json").write_text((run_of("fit") / "curve.vl.json").read_text())
    assert figures.of(folder)["loss"].title.startswith("digits")


def test_confusion_is_true_by_predicted():
    values = figures.of(run_of("conv"))["confusion"].spec["data"]["values"]
    count = {(v["true"], v["predicted"]): v["count"] for v in values}
    assert count["airplane", "automobile"] == 10 and count["automobile", "airplane"] == 0
    assert len(values) == 100
    assert "airplane taken for automobile: 10 of 100" in {v["note"] for v in values}
    after = sections.of(figures.read_run(run_of("conv"))).after
    assert "<td>airplane</td>" in elements.text(after) and "<td>automobile</td>" in elements.text(after)


def colours_of(figure):
    """The colour of each name in a figure, and the names that are dashed."""
    spec = figure.shown(figures.LIGHT)
    found, dashed = {}, set()
    for layer in (spec, *spec.get("layer", [])):
        encoding = layer.get("encoding", {})
        for channel, into in (("color", found), ("strokeDash", {})):
            scale = encoding.get(channel, {}).get("scale", {})
            into.update(zip(scale.get("domain", []), map(str, scale.get("range", []))))
            dashed |= {name for name, dash in into.items() if channel == "strokeDash" and dash != "[1, 0]"}
    return found, dashed


@pytest.mark.parametrize("kind", ["certify", "fit", "depth", "linear"])
def test_one_thing_has_one_colour_on_a_page(kind):
    seen = {}
    for figure in figures.of(run_of(kind)).values():
        found, dashed = colours_of(figure)
        assert found and dashed == {name for name in found if colours.is_theory(name)}
        for name, one in found.items():
            assert seen.setdefault(name, one) == one
    measured = {name: one for name, one in seen.items() if not colours.is_theory(name)}
    assert len(set(measured.values())) == len(measured)  # and no two things the same


def line_figure(curves, log=True):
    spec = charts.lines("", {name: list(enumerate(ys, 1)) for name, ys in curves.items()}, "x", "y")
    if not log:
        spec["layer"][0]["encoding"]["y"]["scale"] = {"zero": False}
    return figures.Figure("a", spec).shown(figures.LIGHT)


def domain(spec):
    return spec["layer"][0]["encoding"]["y"]["scale"].get("domain")


def test_a_theorem_far_away_does_not_stretch_the_axis():
    spec = line_figure({"measured": [1, 0.1], "Thm 4.1": [2000, 2000]})
    low, high = domain(spec)
    assert 0.05 < low < 0.1 and 5 < high < 20
    assert {v["curve"] for v in spec["data"]["values"]} == {"measured"}
    notes = [v["note"] for layer in spec["layer"][1:] for v in layer["data"]["values"]]
    assert set(notes) == {"↑ beyond this axis: 2,000 (Thm 4.1)"}
    low, high = domain(line_figure({"measured": [105, 106], "bound": [1, 2]}, log=False))
    assert 104 < low < 105 and 106 <= high < 106.5


@pytest.mark.parametrize("curves", [
    {"measured": [1, 0.1], "Thm 4.1": [2, 2]},  # near enough
    {"measured": [1, 0.1]}, {"Thm 4.1": [1, 2000]}, {"forecast": [1, 1e-20]},
])
def test_other_axes_are_left_alone(curves):
    assert domain(line_figure(curves)) is None


def test_a_forecast_that_leaves_the_axis_is_cut():
    spec = line_figure({"measured": [1, 0.01], "forecast (infinite width)": [1, 1e-30]})
    assert domain(spec)[0] > 1e-4 and spec["layer"][0]["mark"]["clip"] and len(spec["layer"]) == 1
    assert len(spec["data"]["values"]) == 4


def test_mathematics_in_figures_is_in_signs():
    assert signs({"title": "max ||A_i||", "field": "||"}) == {"title": "max ‖Aᵢ‖", "field": "||"}
    spec = figures.of(run_of("certify"))["widths"].shown(figures.LIGHT)
    names = [v["name"] for v in spec["data"]["values"]]
    assert any("λ_min" in name for name in names) and not any("lambda" in name for name in names)


def test_maps_of_whole_numbers_have_no_ticks_between():
    spec = figures.of(run_of("sweep"))["heat"].shown(figures.LIGHT)
    assert [spec["layer"][0]["encoding"][key]["axis"]["values"] for key in "xy"] == [list(range(1, 9))] * 2
    axes = figures.of(run_of("sweep"))["heat"].vega()["axes"]
    assert [axis["values"] for axis in axes if axis.get("labels") is not False] == [list(range(1, 9))] * 2


def test_colours_can_be_read():
    """WCAG 2.2: 4.5 for text, 3 for lines of figures, on their background."""

    def luminance(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    def contrast(a, b):
        dark, light = sorted([luminance(a), luminance(b)])
        return (light + 0.05) / (dark + 0.05)

    for theme in (figures.LIGHT, figures.DARK):
        for ground in ("paper", "wash"):
            assert contrast(theme["ink"], theme[ground]) >= 7
            assert contrast(theme["muted"], theme[ground]) >= 4.5
        for colour in theme["series"]:  # of lines, and of the words at the edge of a figure
            assert contrast(colour, theme["paper"]) >= 4.5, colour
    viridis = {0.0: "#440154", 0.4: "#2a788e", 0.433: "#27818e", 0.5: "#21918d", 0.7: "#43bf71", 1.0: "#fde725"}
    for place, colour in viridis.items():
        numbers = "#000000" if place**2 > charts.BRIGHT else "#ffffff"
        assert contrast(numbers, colour) >= 4.5, place
