"""Parts of results as data frames."""

import sys

import numpy as np
import pytest

import zeroloss
from zeroloss.api.tables import parts_of

pandas = pytest.importorskip("pandas")

SMALL = {"n": 60, "width": 8, "max_steps": 5}
RESULTS = {
    "certify": lambda: zeroloss.certify("digits", n=60),
    "fit": lambda: zeroloss.fit("digits", test=zeroloss.read_dataset("digits", n=9), **SMALL),
    "memorize": lambda: zeroloss.memorize("digits", n=60),
    "sweep": lambda: zeroloss.sweep("sphere:n=20,y=normal", d=[2, 9], width=[2, 9], trials=2, max_steps=50),
    "linear": lambda: zeroloss.linear.train("gaussian:d=4", layers=[4, 9], max_steps=30),
}
SAVED = {"fit": "curve", "memorize": "blocks", "sweep": "cells", "linear": "curve"}


@pytest.mark.parametrize("what", SAVED)
def test_curves_are_those_of_the_run_folder(what, tmp_path):
    result = RESULTS[what]()
    result.save(tmp_path / "run")
    saved = pandas.read_csv(tmp_path / "run" / "metrics.csv")
    made = result.to_frame(SAVED[what])
    # Parsers of pandas may be off by an ulp or two.
    pandas.testing.assert_frame_equal(made, saved, check_dtype=False, rtol=2.0**-50)


def test_records_are_rows():
    answer = zeroloss.certify("digits", n=60)
    frame = answer.to_frame()
    pandas.testing.assert_frame_equal(frame, answer.to_frame("suspects"))
    assert list(frame.columns) == ["record", "label", "id", "predicted", "score"]
    assert [tuple(row) for row in frame.itertuples(index=False)] == [
        (s.record, s.label, s.id, s.predicted, s.score) for s in answer.suspects]
    guarantees = answer.to_frame("guarantees")
    assert list(guarantees["theorem"]) == [g.theorem for g in answer.guarantees]
    assert guarantees["holds"].dtype == bool and guarantees["width"].dtype == float
    closest = answer.to_frame("closest")
    assert list(closest["first_record"]) == [pair.first.record for pair in answer.closest]
    np.testing.assert_array_equal(answer.to_frame("forecast")["misfit"], answer.forecast.misfit)


def test_widths_have_their_steps_and_scales():
    answer = zeroloss.certify("digits", classes=["3", "8"], n=60)
    widths = answer.to_frame("widths")
    assert list(widths["id"]) == [row.id for row in answer.widths]
    for name in ("width", "output_scale", "step", "steps"):
        of_rows = np.array([getattr(row, name) for row in answer.widths], dtype=float)  # None is NaN
        np.testing.assert_array_equal(widths[name].to_numpy(float), of_rows)
    last = widths.set_index("id").loc["any_labels"]
    assert last["status"] == "proved" and last["steps"] > 1 and 0 < last["step"] < 1 < last["output_scale"]


def test_sweeps_are_arrays(tmp_path):
    swept = zeroloss.sweep("sphere:n=12,y=normal", d=[4, 2], width=[2, 3, 9], activation=["tanh", "relu"],
                           tolerance=0.5, trials=3, max_steps=60)  # fmt: skip
    arrays = swept.to_arrays()
    axes = {"d": [4, 2], "width": [2, 3, 9], "activation": ["tanh", "relu"]}  # as given
    assert list(arrays)[:3] == list(axes)
    for name, values in axes.items():
        assert arrays[name].tolist() == values
    rest = list(arrays)[3:]
    assert rest == ["trials", "successes", "probability", "low", "high", "diverged", "certified", "mean_steps",
                    "median_misfit"]
    for cell in swept.cells:
        at = tuple(values.index(getattr(cell, name)) for name, values in axes.items())
        assert [arrays[name][at] for name in rest] == [getattr(cell, name) for name in rest]
    assert 0 < arrays["successes"].sum() < arrays["trials"].sum() == swept.trials
    assert all(arrays[name].shape == (2, 3, 2) for name in rest) and arrays["trials"].dtype.kind == "i"
    np.savez(tmp_path / "sweep.npz", **arrays)
    with np.load(tmp_path / "sweep.npz") as kept:
        assert all(np.array_equal(kept[name], arrays[name]) for name in arrays)


def test_axes_of_sweeps_are_numbers_where_they_can_be():
    small = {"width": 4, "trials": 1, "max_steps": 2}
    steps = zeroloss.sweep("sphere:n=9,d=4,y=normal", step=[0.5, 0.25], **small).to_arrays()
    assert steps["step"].tolist() == [0.5, 0.25] and steps["probability"].shape == (2,)
    mixed = zeroloss.sweep("sphere:n=9,d=4,y=normal", step=["auto", 0.25], noise=[0, 0.5], **small).to_arrays()
    assert mixed["step"].tolist() == ["auto", "0.25"] and mixed["noise"].tolist() == [0, 0.5]
    single = zeroloss.sweep("sphere:n=9,d=4,y=normal", **small).to_arrays()
    assert "width" not in single and single["trials"].shape == () and single["trials"] == 1


def test_outputs_have_their_certificates():
    run = zeroloss.fit("digits", **SMALL)
    outputs = run.to_frame("outputs")
    assert list(outputs["label"]) == run.network.class_names
    assert list(outputs["certificate_holds"]) == [one.certificate.holds for one in run.outputs]
    assert list(outputs["theorem_reason"]) == [one.theorem.reason for one in run.outputs]


@pytest.mark.parametrize("what", RESULTS)
def test_every_part_is_a_table(what):
    result = RESULTS[what]()
    parts = parts_of(type(result))
    pandas.testing.assert_frame_equal(result.to_frame(), result.to_frame(parts[0]))
    for part in parts:
        frame = result.to_frame(part)
        assert len(frame) and not any(isinstance(value, (list, dict)) for value in frame.iloc[0]), part
        assert not any("object at 0x" in str(value) for value in frame.iloc[0]), part
        assert f"{part}" in type(result).to_frame.__doc__
    with pytest.raises(ValueError, match=rf"^to_frame: part must be one of {', '.join(parts)}; got 'all'$"):
        result.to_frame("all")


def test_tables_without_rows_have_columns():
    answer = zeroloss.certify("sphere:n=9,d=3,y=none")
    assert list(answer.to_frame("suspects").columns) == ["record", "label", "id", "predicted", "score"]
    assert list(answer.to_frame("forecast").columns) == ["step", "misfit", "standard_error"]
    factors = zeroloss.linear.factorize("gaussian:d=4")
    trained = zeroloss.linear.train("gaussian:d=4", max_steps=2)
    for part in ("descent", "curve"):
        assert len(factors.to_frame(part)) == 0
        assert list(factors.to_frame(part).columns) == list(trained.to_frame(part).columns)


def test_without_pandas_it_says_what_to_install(monkeypatch):
    answer = zeroloss.certify("digits", n=60)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        answer.to_frame()
