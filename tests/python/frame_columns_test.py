"""Columns of data frames: which are the targets, what they are called, and what sweeps and linear maps make of them."""

import numpy as np
import pytest

import zeroloss
from bounds import solution_error

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(5)
N = 30
SMALL = {"width": 40, "max_steps": 5}
COLUMNS = {
    "a": RNG.normal(size=N).tolist(),
    "colour": [("red", "blue")[i % 2] for i in range(N)],
    "b": RNG.normal(size=N).tolist(),
    "price": RNG.normal(size=N).tolist(),
    "species": [("oak", "elm", "fir")[i % 3] for i in range(N)],
}
MADE = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "pyarrow": pyarrow.table}


@pytest.fixture(params=MADE)
def made(request):
    """made(columns) -> a frame."""
    return MADE[request.param]


def some(*names):
    return {name: COLUMNS[name] for name in names}


def test_targets_by_name_and_position(made):
    frame = made(COLUMNS)
    for function, more in ((zeroloss.certify, {}), (zeroloss.memorize, {}), (zeroloss.fit, SMALL),
                           (zeroloss.describe, {}), (zeroloss.sweep, {"width": [9], "trials": 1, "max_steps": 5})):
        said = [function(frame, target=target, **more).to_dict() for target in ("species", 4, np.int64(4), -1)]
        assert len({repr(answer.get("conclusion", answer.get("classes"))) for answer in said}) == 1, function
    by_position, by_name = (zeroloss.read_dataset(frame, target=target) for target in (3, "price"))
    assert by_position.feature_names == by_name.feature_names and by_position.task == "regression"
    with pytest.raises(zeroloss.DataError, match=r"no target column 'prize'; .* 5 columns: a, colour, b, price"):
        zeroloss.read_dataset(frame, target="prize")


def test_targets_are_a_column_or_a_frame_of_one(made):
    X = made(some("a", "b", "colour"))
    of_list = zeroloss.certify(X, COLUMNS["species"]).to_dict()
    for y in (made(COLUMNS)["species"], made(some("species")), np.array(COLUMNS["species"])):
        answer = zeroloss.certify(X, y).to_dict()
        assert (answer["classes"], answer["conclusion"]) == (of_list["classes"], of_list["conclusion"])
    numbers = np.random.default_rng(1).normal(size=(N, 3))
    for y in (made(some("species")), made(COLUMNS)["species"]):
        assert zeroloss.read_dataset(numbers, y).class_names == ["elm", "fir", "oak"]
        assert zeroloss.memorize(numbers, y).correct == N
        run = zeroloss.fit(numbers, y, **SMALL)
        assert zeroloss.predict(run, numbers, y).error == zeroloss.predict(run, numbers, COLUMNS["species"]).error
    assert zeroloss.memorize(X, made(some("price", "a"))).network.V_out.shape[0] == 2
    with pytest.raises(ValueError, match=r"y must be 30 targets; its shape is \(30, 2\)"):
        zeroloss.certify(X, made(some("price", "a")))


def test_names_are_kept_and_checked(made):
    run = zeroloss.fit(made(COLUMNS), target="species", **SMALL)
    expected = zeroloss.predict(run, made(COLUMNS), target="species")
    other = made(some("species", "price", "b", "colour", "a"))  # found by name, wherever they stand
    np.testing.assert_array_equal(zeroloss.predict(run, other, target="species").outputs, expected.outputs)
    np.testing.assert_array_equal(zeroloss.predict(run, made(some("b", "price", "a", "colour"))).outputs,
                                  expected.outputs)
    with pytest.raises(zeroloss.DataError, match="needs columns that are not there: a, b; there are price, colour"):
        zeroloss.predict(run, made(some("price", "colour")))


def test_integers_are_names_unless_they_are_positions():
    numbers = np.column_stack([RNG.normal(size=(N, 3)), np.arange(N) % 2])
    named = pandas.DataFrame(numbers, columns=[10, 20, 30, 40])
    data = zeroloss.read_dataset(named, target=40)
    assert data.feature_names == ["10", "20", "30"] and data.class_names == ["0", "1"]
    for same in (3, -1, "40"):
        assert zeroloss.read_dataset(named, target=same).target_name == data.target_name
    assert zeroloss.read_dataset(named[[20, 10, 30]], named[40]).feature_names == ["20", "10", "30"]
    first = pandas.DataFrame(numbers, columns=[1, 2, 3, 0])
    assert zeroloss.read_dataset(first, target=0).feature_names == ["1", "2", "3"]
    run = zeroloss.fit(named, target=40, **SMALL)
    expected = zeroloss.predict(run, named, target=40)
    np.testing.assert_array_equal(zeroloss.predict(run, named[[40, 30, 20, 10]]).outputs, expected.outputs)
    with pytest.raises(zeroloss.DataError, match="needs a column that is not there: 30"):
        zeroloss.predict(run, named[[10, 20]])
    plain = zeroloss.read_dataset(pandas.DataFrame(numbers), target=3)
    assert plain.feature_names == [] and plain.class_names == ["0", "1"]
    np.testing.assert_array_equal(plain.points, data.points)


def outcomes(data, **options):
    swept = zeroloss.sweep(data, width=[20, 80], trials=2, max_steps=20, tolerance=0.5, seed=4,
                           optimizer="gauss_newton", precision="float64", **options)  # fmt: skip
    return [(cell.successes, cell.median_misfit) for cell in swept.cells]


@pytest.mark.parametrize("options", [
    {"target": "species"}, {"target": "species", "features": ["a", "b"]}, {"target": -1, "one_hot": ["colour"]},
    {"target": "price", "drop": ["colour"], "standardize": "robust", "bias": 0.5},
    {"target": "species", "missing": "drop", "classes": ["oak", "fir"], "n": [9, 15]},
])  # fmt: skip
def test_sweeps_read_tables_as_every_function(made, options, tmp_path):
    frame = pandas.DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet")
    expected = outcomes(tmp_path / "table.csv", **options)
    for data in (made(COLUMNS), tmp_path / "table.parquet"):
        assert outcomes(data, **options) == expected


def test_linear_maps_of_frames(made):
    R = np.eye(2) + 0.1 * RNG.normal(size=(2, 2))
    X = np.column_stack([COLUMNS["a"], COLUMNS["b"]])
    Y = made({"u": (X @ R.T)[:, 0].tolist(), "v": (X @ R.T)[:, 1].tolist()})
    off = solution_error(len(X), np.linalg.cond(X) ** 2) * np.linalg.norm(R)  # of normal equations at worst
    np.testing.assert_allclose(zeroloss.linear.factorize(made(some("a", "b")), Y).problem.R, R, rtol=0, atol=off)
    for function in (zeroloss.linear.factorize, zeroloss.linear.train):
        with pytest.raises(TypeError, match="X must be real numbers; its type is object"):
            function(made(some("a", "colour")), Y)


def test_numbers_that_pandas_keeps_as_objects():
    whole = pandas.DataFrame({"u": pandas.array([2, 0], dtype="Int64"), "v": [0.5, 1.0]})
    np.testing.assert_array_equal(zeroloss.linear.factorize(whole).problem.R, [[2, 0.5], [0, 1]])
    whole.loc[1, "u"] = pandas.NA
    with pytest.raises(zeroloss.DataError, match=r"linear.factorize: R\[1, 0\] is <NA>; expected a number"):
        zeroloss.linear.factorize(whole)


def test_test_points_of_frames(made, tmp_path):
    X, y, all_of_it = made(some("a", "colour", "b")), made(COLUMNS)["species"], made(COLUMNS)
    shuffled = made(some("species", "b", "colour", "price", "a"))
    run = zeroloss.fit(X, y, test=(X, y), **SMALL)
    said = zeroloss.predict(run, X, y)
    assert run.test.n == N and run.test.error == said.error
    assert run.test.wrong == round(said.error * N)
    named = [] if made is MADE["pyarrow"] else [shuffled, all_of_it]  # whose columns do not know their names
    for test in ((X, COLUMNS["species"]), (X, made(some("species"))), (shuffled, y), *named):
        assert zeroloss.fit(X, y, test=test, **SMALL).test.error == said.error
    pandas.DataFrame(COLUMNS).to_parquet(tmp_path / "test.parquet")
    by_name = zeroloss.fit(all_of_it, target="species", **SMALL)
    for test in (shuffled, (made(some("colour", "b", "price", "a")), y), tmp_path / "test.parquet"):
        again = zeroloss.fit(all_of_it, target="species", test=test, **SMALL)
        assert again.test.error == zeroloss.predict(by_name, all_of_it, target="species").error
        np.testing.assert_array_equal(again.network.outputs[0].W, by_name.network.outputs[0].W)
    for test in (made(some("a", "colour", "b")), made(some("b"))):
        with pytest.raises(zeroloss.DataError, match=r"test has no column of targets .* give \(X_test, y_test\)"):
            zeroloss.fit(X, y, test=test, **SMALL)
    with pytest.raises(zeroloss.DataError, match="needs columns that are not there: colour, b"):
        zeroloss.fit(X, y, test=(made(some("a", "price")), y), **SMALL)
    with pytest.raises(zeroloss.DataError, match="class 'yew' is none of those trained on: elm, fir, oak"):
        zeroloss.fit(X, y, test=(X, ["yew"] * N), **SMALL)
