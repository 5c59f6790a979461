"""zeroloss report A B ..: what differs between runs, what is the same, and what cannot be compared."""

import json

import pytest

from run_folders import Page, fit_of_width, make_conv, run_of
from zeroloss import figures, report
from zeroloss.figures.together import together
from zeroloss.report import comparison


def page_of(*folders):
    runs = comparison.read(list(folders))
    return runs, Page(comparison.page(runs))


def rows_of(page):
    """The cells of all tables, in order."""
    return [text for element, text in page.texts if element in ("th", "td")]


def test_options_that_differ_and_results():
    runs, page = page_of(run_of("fit"), fit_of_width(256))
    assert list(runs) == ["run", "width-256"]
    assert page.text("h1") == "2 runs of fit compared: digits"
    assert "They differ in width." in page.text("p")
    cells = rows_of(page)
    at = cells.index("option")
    assert cells[at : at + 6] == ["option", "run", "width-256", "width", "128", "256"]
    for run in runs.values():
        assert f"{run.result['relative_misfit']:.2g}"[:4] in " ".join(cells)
    assert "steps" in page.text("dt") + page.text("th") and "features" in page.text("dt")  # which is the same in all
    assert "max_steps" in page.text("dt")
    assert len(page.all("pre")) == 2  # how each was made


def test_curves_of_all_are_in_one_figure():
    drawn = comparison.of(comparison.read([run_of("fit"), fit_of_width(256)]))
    assert list(drawn) == ["curve", "distance"]
    values = drawn["curve"].spec["data"]["values"]
    assert {v["run"] for v in values} == {"run", "width-256"} and {v["what"] for v in values} == {"measured"}
    last = [v for v in values if v["run"] == "width-256"][-1]
    assert last["y"] == figures.read_run(fit_of_width(256)).table("metrics.csv")[-1]["relative_misfit"]
    assert {v["what"] for v in drawn["distance"].spec["data"]["values"]} == {"all weights", "farthest neuron"}
    shown = drawn["distance"].shown(figures.LIGHT)["encoding"]
    assert shown["color"]["scale"]["range"] == figures.LIGHT["series"][:2]
    assert shown["strokeDash"]["scale"]["domain"] == ["all weights", "farthest neuron"]
    assert drawn["distance"].title == "distance: all weights solid, farthest neuron dashed"
    assert "width-256, farthest neuron from" in drawn["distance"].description


def test_maps_stand_side_by_side_and_other_data_is_said(tmp_path):
    make_conv(tmp_path / "a")
    make_conv(tmp_path / "b")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    manifest["data"] = {"name": "other", "digest": "1"}
    manifest["machine"] = {"threads": 64}
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(manifest))
    (tmp_path / "b" / "metrics.csv").unlink()
    runs, page = page_of(tmp_path / "a", tmp_path / "b")
    assert list(comparison.of(runs)) == ["loss", "learning_rate", "classes", "confusion: a", "confusion: b"]
    said = page.text("li")
    assert "different data" in said and "different machines" in said
    assert "no figure “loss” in b" in said and "side by side" in said


@pytest.mark.parametrize("kind", ["certify", "sweep", "linear", "depth", "memorize"])
def test_every_kind_can_be_compared(kind, tmp_path):
    other = tmp_path / "other"
    other.symlink_to(run_of(kind))
    copied = tmp_path / "copied"
    copied.mkdir()
    for path in run_of(kind).iterdir():
        (copied / path.name).write_bytes(path.read_bytes())
    runs, page = page_of(run_of(kind), copied)
    assert "nothing that their options say" in page.text("p")
    assert len(page.all("figure")) >= len(figures.of(copied))
    for figure in comparison.of(runs).values():
        figure.vega()
    with pytest.raises(figures.RunError, match="named twice"):
        comparison.read([run_of(kind), other])


def test_runs_of_one_name_are_told_by_their_folders(tmp_path):
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        make_conv(tmp_path / place / "run")
    runs = comparison.read([tmp_path / "a" / "run", tmp_path / "b" / "run"])
    assert list(runs) == [str(tmp_path / "a" / "run"), str(tmp_path / "b" / "run")]


def test_colours_of_many_runs_are_told_apart_by_dashes():
    spec = figures.of(run_of("memorize"))["margins"].spec
    made = together("margins", {f"run {k}": spec for k in range(8)})
    shown = figures.Figure("margins", made, {f"run {k}": k for k in range(8)}).shown(figures.LIGHT)["encoding"]
    looks = list(zip(shown["color"]["scale"]["range"], map(tuple, shown["strokeDash"]["scale"]["range"])))
    assert len(set(looks)) == 8


def test_command_compares(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runs = [str(run_of("fit")), str(fit_of_width(256))]
    assert report.main(runs) == 0
    assert capsys.readouterr().out.startswith("comparison.html (")
    assert report.main([*runs, "--format", "svg", "--out", "drawn"]) == 0
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {"curve.svg", "distance.svg"}
    capsys.readouterr()
    assert report.main([runs[0], str(run_of("memorize"))]) == 2
    assert "of different kinds" in capsys.readouterr().err
    assert report.main([runs[0], str(tmp_path / "absent")]) == 2
    assert "no such folder" in capsys.readouterr().err
