"""Data frames, and the files that hold them, are read as the csv that they are."""

import datetime
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import zeroloss
from bounds import U, backward_error, entry_error, gamma, row_error
from zeroloss.api import frames

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(3)
N = 40
COLUMNS = {
    "size": [None if i == 4 else float(x) for i, x in enumerate(RNG.normal(size=N))],
    "count": [int(k) for k in RNG.integers(1, 9, size=N)],
    "colour": [None if i == 7 else ("red", "light blue", 'so "so"')[k] for i, k in enumerate(RNG.integers(3, size=N))],
    "sold": [bool(k) for k in RNG.integers(2, size=N)],
    "day": [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(k)) for k in RNG.integers(90, size=N)],
    "a;b;c": [float(x) for x in RNG.normal(size=N)],
    "species": [("oak", "elm", "fir")[k] for k in RNG.integers(3, size=N)],
}


def of_pandas():
    frame = pandas.DataFrame(COLUMNS)
    frame["colour"] = frame["colour"].astype("category")
    frame["day"] = pandas.to_datetime(frame["day"])
    frame["count"] = frame["count"].astype("Int64")
    return frame


def of_polars():
    return polars.DataFrame(COLUMNS).with_columns(polars.col("colour").cast(polars.Categorical))


FRAMES = {"pandas": of_pandas, "polars": of_polars}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]()


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "frame.csv"
    if frames._maker(frame) == "pandas":
        frame.to_csv(path, index=False)
    else:
        frame.write_csv(path)
    return path


def same(data, other):
    np.testing.assert_array_equal(data.X, other.X)
    np.testing.assert_array_equal(data.y, other.y)
    np.testing.assert_array_equal(data.points, other.points)
    for name in ("task", "class_names", "feature_names", "ids", "remarks", "standardize", "bias"):
        assert getattr(data, name) == getattr(other, name), name


def without(frame, name):
    return frame.drop(columns=name) if frames._maker(frame) == "pandas" else frame.drop(name)


def test_a_frame_is_its_csv(frame, csv):
    for options in ({}, {"target": "species"}, {"target": "size"}, {"target": "sold", "drop": ["day"]},
                    {"target": "none", "missing": "drop", "standardize": "robust"}):  # fmt: skip
        same(zeroloss.read_dataset(frame, **options), zeroloss.read_dataset(csv, **options))
    data = zeroloss.read_dataset(frame, target="species")
    assert data.feature_names[:3] == ["size", "size is missing", "count"] and "colour is missing" in data.feature_names
    assert data.standardize == "yes" and data.bias > 0
    assert data.class_names == ["elm", "fir", "oak"]
    assert data.digest != zeroloss.read_dataset(frame[:20], target="species").digest
    with pytest.raises(TypeError, match="target goes with a file or a name"):
        zeroloss.read_dataset(without(frame, "species"), frame["species"], target="size")


@pytest.mark.parametrize("target", ["species", "size", "sold", "day", "count"])
def test_targets_beside_a_frame_are_its_last_column(frame, csv, target):
    data = zeroloss.read_dataset(without(frame, target), frame[target])
    of_csv = zeroloss.read_dataset(csv, target=target)
    np.testing.assert_array_equal(data.points, of_csv.points)
    np.testing.assert_array_equal(data.y, of_csv.y)
    assert data.class_names == of_csv.class_names and data.task == of_csv.task
    assert data.n == N - (target == "size")
    as_list = zeroloss.read_dataset(without(frame, "species"), COLUMNS["species"])
    assert as_list.class_names == ["elm", "fir", "oak"]
    with pytest.raises(ValueError, match="y must be 40 targets"):
        zeroloss.read_dataset(frame, [1, 2])


def lasting(answer):
    """An answer without what differs from run to run, and from source to source."""
    if isinstance(answer, dict):
        apart = {"data", "digest", "seconds", "peak_bytes", "build_s", "verify_s"}
        return {key: lasting(value) for key, value in answer.items() if key not in apart}
    return [lasting(value) for value in answer] if isinstance(answer, list) else answer


def test_every_function_takes_frames(frame, csv):
    small = {"width": 60, "max_steps": 30}
    for function, more in ((zeroloss.certify, {}), (zeroloss.memorize, {}), (zeroloss.fit, small)):
        of_frame, of_csv = function(frame, target="species", **more), function(csv, target="species", **more)
        assert lasting(of_frame.to_dict()) == lasting(of_csv.to_dict())
    fitted = zeroloss.fit(frame, target="species", **small)
    by_csv = zeroloss.predict(fitted, csv, target="species")
    for said in (zeroloss.predict(fitted, frame, target="species"),
                 zeroloss.predict(fitted, without(frame, "species"), frame["species"])):  # fmt: skip
        np.testing.assert_array_equal(said.outputs, by_csv.outputs)
        assert list(said.predictions) == list(by_csv.predictions) and said.error == by_csv.error
    with pytest.raises(zeroloss.DataError, match="needs a column that is not there: size"):
        zeroloss.predict(fitted, without(frame, "size"), target="species")
    two = zeroloss.memorize(without(frame, "species"), RNG.normal(size=(N, 2)))
    assert two.network is not None
    swept, of_csv = (zeroloss.sweep(data, target="species", width=[20], max_steps=20) for data in (frame, csv))
    assert swept.to_dict()["conclusion"] == of_csv.to_dict()["conclusion"]


def test_kernels_of_frames_are_those_of_certify(frame):
    points = without(frame, "species")
    data = zeroloss.read_dataset(points)
    assert np.linalg.norm(data.points, axis=1).min() > 0
    answer = zeroloss.certify(frame, target="species")
    lowest = zeroloss.kernel.lambda_min(points).lowest
    off = 2 * backward_error(N) * answer.lambda_max + 2 * lowest.residual * lowest.value
    assert lowest.value == pytest.approx(answer.lambda_min, rel=0, abs=off)
    unit, sigma = zeroloss.kernel.unit_rows(points), zeroloss.kernel.sigma("relu")
    d = unit.shape[1]
    off = entry_error(sigma, unit @ unit[:5].T, gamma(2 * d) + 2 * row_error(d))
    assert (np.abs(zeroloss.kernel.cross_gram(points, points[:5]) - zeroloss.kernel.gram(points).K[:, :5]) <= off).all()
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, rtol=0, atol=row_error(d) + gamma(d / 2 + 1))


def test_frames_without_names_and_of_one_column():
    X = RNG.normal(size=(20, 3))
    unnamed = zeroloss.read_dataset(pandas.DataFrame(X))
    np.testing.assert_array_equal(unnamed.X, X)
    assert unnamed.feature_names == []
    for one in (pandas.DataFrame({"v": [1.5, None, 3.0]}), polars.DataFrame({"v": [1.5, None, 3.0]})):
        data = zeroloss.read_dataset(one)
        np.testing.assert_array_equal(data.X, [[1.5, 0], [1.5, 1], [3, 0]])
    same_names = zeroloss.read_dataset(pandas.DataFrame({"y": [1.5, 2, 3]}), pandas.Series(["u", "v", "u"], name="y"))
    assert same_names.class_names == ["u", "v"] and same_names.feature_names == ["y"]


BIG = [9007199254740993, 9007199254740992, 9007199254740993]


def test_durations_are_hours_and_lone_carriage_returns_are_text():
    minutes = pandas.to_timedelta(np.arange(12) * 37, unit="min")
    frame = pandas.DataFrame({"took": minutes, "a\rb": ["u\rv", "w", "x"] * 4, "y": np.arange(12) % 2})
    data = zeroloss.read_dataset(frame, target="y", standardize="no", bias=0)
    assert data.feature_names[0] == "took"
    np.testing.assert_array_equal(data.X[:, 0], np.arange(12) * 37 * 60.0 / 3600)
    assert len(data.feature_names) == 4


def test_numbers_of_a_categorical_type_are_categories(tmp_path):
    numbers = [17, 3, 99, 4] * 5
    frame = pandas.DataFrame({"kind": pandas.Categorical(numbers), "x": np.arange(20.0) ** 2, "y": np.arange(20) % 2})
    arrow = pyarrow.Table.from_pandas(frame)
    frame.to_parquet(tmp_path / "kinds.parquet")
    for one in (frame, arrow, tmp_path / "kinds.parquet"):
        data = zeroloss.read_dataset(one, target="y")
        assert data.feature_names == ["kind = 17", "kind = 3", "kind = 4", "kind = 99", "x"]
        assert data.remarks == ["categories: column 0 ('kind'), 4 indicators"]
    plain = zeroloss.read_dataset(frame.assign(kind=numbers), target="y")
    assert plain.feature_names == ["kind", "x"]


def test_names_of_features_with_commas_are_refused():
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=["a,b", "a", "b"])
    with pytest.raises(ValueError, match="features are separated by commas, and 'a,b' has one: give its number"):
        zeroloss.read_dataset(frame, frame["a"] > 0, features=["a,b"])
    assert zeroloss.read_dataset(frame, frame["a"] > 0, features=[0]).feature_names == ["a,b"]


@pytest.mark.parametrize("y", [BIG, np.array(BIG), np.array(BIG, dtype=object), pandas.Series(BIG), polars.Series(BIG)])
def test_labels_of_64_bits_stay(y):
    for X in (np.eye(3), pandas.DataFrame(np.eye(3), columns=["a", "b", "c"]),
              polars.DataFrame(np.eye(3), schema=["a", "b", "c"])):  # fmt: skip
        data = zeroloss.read_dataset(X, y)
        assert data.class_names == ["9007199254740992", "9007199254740993"]
        assert list(data.y) == [1, 0, 1]
        assert zeroloss.read_dataset(X, y, task="regression").task == "regression"
    with pytest.raises(zeroloss.DataError, match="0 records of 3 numbers"):
        zeroloss.read_dataset(np.empty((0, 3)), np.array([], dtype=int))


@pytest.mark.parametrize("end", [".parquet", ".feather", ".arrow", ".xlsx"])
def test_files_of_frames(end, tmp_path, monkeypatch):
    table = of_pandas().reset_index(drop=True)
    table["colour"] = table["colour"].astype(object)
    path = tmp_path / f"frame{end}"
    if end == ".xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel(path, index=False)
    elif end == ".parquet":
        table.to_parquet(path)
    else:
        table.to_feather(path, compression="uncompressed")
    expected = zeroloss.read_dataset(table, target="species")
    readers = frames.READERS[end]
    for reader in readers:
        monkeypatch.setitem(frames.READERS, end, [("no.such.module", "read"), reader])
        data = zeroloss.read_dataset(path, target="species")
        digits = 5e-16 + 2 * U if end == ".xlsx" else 0  # 16 of them
        np.testing.assert_allclose(data.X, expected.X, rtol=digits, err_msg=str(reader))
        assert data.feature_names == expected.feature_names and data.class_names == expected.class_names
        assert data.name == str(path)
    assert zeroloss.certify(path, target="species").to_dict()["data"] == str(path)
    monkeypatch.setitem(frames.READERS, end, [("no.such.module", "read")])
    with pytest.raises(ImportError, match=rf"frame\{end}: to read \{end} files install no: pip install no"):
        zeroloss.read_dataset(path)
    monkeypatch.setitem(frames.READERS, end, readers)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(zeroloss.DataError, match=rf"frame\{end}: .* cannot read it"):
        zeroloss.read_dataset(path)
    with pytest.raises(zeroloss.DataError, match="no such file"):
        zeroloss.read_dataset(tmp_path / f"absent{end}")


ESTIMATORS = [zeroloss.NTKClassifier(ridge=0), zeroloss.MemorizingClassifier(),
              zeroloss.TwoLayerClassifier(width=1000, optimizer="output_layer")]  # fmt: skip


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_estimators_take_frames(estimator, frame):
    X, y = without(frame, "species"), frame["species"]
    learned = clone(estimator).fit(X, y)
    assert learned.score(X, y) == 1
    assert list(learned.feature_names_in_) == list(X.columns) and learned.n_features_in_ == 6
    again = pickle.loads(pickle.dumps(learned))
    np.testing.assert_array_equal(again.predict(X[:9]), learned.predict(X)[:9])
    rows = np.array(X.rows() if frames._maker(X) == "polars" else X, dtype=object)
    with pytest.warns(UserWarning, match="feature names"):
        np.testing.assert_array_equal(learned.predict(rows), learned.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        learned.predict(without(X, "size"))


def test_an_estimator_of_a_frame_is_that_of_its_standardised_columns(frame):
    X, y = without(frame, "species"), COLUMNS["count"]
    data = zeroloss.read_dataset(X, target="none")
    of_frame = zeroloss.NTKRegressor(ridge=0.1).fit(X, y)
    of_array = zeroloss.NTKRegressor(ridge=0.1).fit(data.X * data.scale, y)
    np.testing.assert_array_equal(of_frame.predict(X), of_array.predict(data.X * data.scale))
    # The csv's points: scaled, less the mean, a constant in root mean square lengths.
    size = np.abs(data.X * data.scale).max(axis=0)
    lengths = np.linalg.norm(data.points, axis=1).min()
    off = gamma(2 * N + 2 * data.d + 16) * np.linalg.norm(size) / lengths  # means of N, and lengths
    np.testing.assert_allclose(of_frame.X_fit_, zeroloss.kernel.unit_rows(data.points), rtol=0, atol=off)
    refitted = of_frame.fit(data.X, y)
    assert refitted.n_features_in_ == data.d


def test_describe_is_data_info(frame, csv, command):
    facts = command("data", "info", csv)
    said = zeroloss.describe(csv)
    assert {**said.to_dict(), "next": 0} == {**facts, "next": 0}
    assert said.proposed_target == "species"
    assert said.next == f"zeroloss.certify({str(csv)!r}, target='species')"
    assert said.to_dict()["next"] == {"why": facts["next"]["why"], "command": said.next}
    assert str(said).endswith(f"\nnext: {facts['next']['why']}\n  {said.next}\n") and "column  name" in str(said)
    types = [column["type"] for column in said.columns]
    assert types == ["number", "number", "text", "truth", "date", "number", "text"]
    assert zeroloss.describe(frame).columns == said.columns
    assert zeroloss.describe(frame).next == "zeroloss.certify(X, target='species')"
    assert zeroloss.describe(without(frame, "species"), COLUMNS["species"]).next == "zeroloss.certify(X, y)"
    of_array = zeroloss.describe(np.eye(4), [0, 1, 0, 1])
    assert of_array.columns == [] and of_array.next == "zeroloss.certify(X, y)"
    assert "4 points, 4 features" in str(of_array)
    of_dataset = zeroloss.describe(zeroloss.read_dataset(np.eye(4), [0, 1, 0, 1]))
    assert str(of_dataset).split("\nnext")[0] == str(of_array).split("\nnext")[0]


def test_nothing_is_imported_for_arrays(fresh):
    loaded = "sorted({m.split('.')[0] for m in __import__('sys').modules} & {'pandas', 'polars', 'pyarrow'})"
    assert fresh(f"(zeroloss.certify([[1, 0], [0, 1]], ['a', 'b']), {loaded})[1]") == []
