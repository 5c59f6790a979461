"""zeroloss.audit and zeroloss.influence: against NumPy, as the command, with frames, pickled."""

import json
import pickle
from statistics import NormalDist

import numpy as np
import pytest

import zeroloss
from bounds import gamma, prediction_error
from zeroloss.report.samples import png

RIDGE = 0.2


def normal_scores(column):
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    scores = np.array([NormalDist().inv_cdf(m / len(column)) for m in middle])[places]
    return scores / np.sqrt(np.mean(scores**2))


def kernel(X):
    """As theory 14 has it."""
    d = X.shape[1]
    Z = (X - X.mean(0)) / X.std(0)
    ranks = np.apply_along_axis(normal_scores, 0, X)
    unit = np.hstack([Z, np.full((len(Z), 1), 0.1 * np.sqrt(d))])
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    rho = np.clip(unit @ unit.T, -1, 1)
    network = rho * (np.pi - np.arccos(rho)) / np.pi
    single = [np.exp(-np.abs(A[:, None] - A[None]).mean(2)) for A in (Z, ranks)]
    K = network / 2 + (single[0] + single[1]) / 4
    np.fill_diagonal(K, 1)
    return K


def entries(X):
    """What two ways to compute it differ by in norm: d + 1 products are off by n + d roundings of the columns, whose
    deviations are small beside their numbers, and arccos by as much over sin."""
    n, d = X.shape
    points = np.hstack([(X - X.mean(0)) / X.std(0), np.full((n, 1), 0.1 * np.sqrt(d))])
    unit = points / np.linalg.norm(points, axis=1, keepdims=True)
    sine = np.sqrt(1 - (unit @ unit.T)[~np.eye(n, dtype=bool)] ** 2)
    return gamma(2 * (n + 2 * d) + 16) * np.max(np.abs(X) / X.std(0)) * np.linalg.norm(1 / sine)


@pytest.fixture
def numbers():
    draws = np.random.default_rng(0)
    X = draws.normal(size=(60, 4)) * [1, 100, 1e-3, 5] + [0, 7, 0, 1e3]
    X[:, 3] = np.round(X[:, 3] / 5)  # ties
    y = np.sin(X[:, 0]) + X[:, 1] / 100 + 0.05 * draws.normal(size=60)
    y[[4, 33]] += 3
    return X, y


def test_predictions_are_those_of_training_without_each_sample(numbers):
    X, y = numbers
    answer = zeroloss.audit(X, y, activation="relu", scale="columns", ridge=RIDGE)
    K, centred = kernel(X), y - y.mean()
    for i in range(len(y)):
        rest = np.delete(np.arange(len(y)), i)
        C = np.linalg.solve(K[np.ix_(rest, rest)] + RIDGE * np.eye(len(rest)), centred[rest])
        off = prediction_error(K[i, rest], K[np.ix_(rest, rest)] + RIDGE * np.eye(len(rest)), C, entries(X))
        off += gamma(len(y)) * np.abs(y).mean()
        assert float(answer.predicted[i]) == pytest.approx(y.mean() + K[i, rest] @ C, rel=0, abs=off)
    assert {issue.position for issue in answer.issues} >= {4, 33}


def test_influences_are_those_of_training_without_each_sample(numbers):
    X, y = numbers
    n = 50
    answer = zeroloss.influence(X[:n], y[:n], test=(X[:n], y[:n]), activation="relu", scale="columns", ridge=RIDGE,
                                top=n)  # fmt: skip
    K, middle = kernel(X[:n]), y[:n].mean()
    C = np.linalg.solve(K + RIDGE * np.eye(n), y[:n] - middle)
    f, off = K @ C, prediction_error(K, K + RIDGE * np.eye(n), C, entries(X[:n]))
    for j in (0, 4, 33, 49):
        rest = np.delete(np.arange(n), j)
        g = K[:, rest] @ np.linalg.solve(K[np.ix_(rest, rest)] + RIDGE * np.eye(n - 1), y[rest] - middle)
        for i in (0, 7, 33):
            found = [r.influence for r in answer.tests[i].support + answer.tests[i].against if r.record == j]
            assert found == pytest.approx([f[i] - g[i]], rel=0, abs=2 * off)


def test_is_the_command(tmp_path, command, fresh):
    rows = [f"{i % 7},{i % 2 + 0.1 * (i % 5)},{'xy'[(i + (i == 20)) % 2]}\n" for i in range(60)]
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "".join(rows))
    said = command("audit", "t.csv", "--target", "kind")
    answer = zeroloss.audit(str(tmp_path / "t.csv"), target="kind")
    assert fresh("list(zeroloss.audit('t.csv', target='kind').scores)") == said["scores"]
    assert [issue.record for issue in answer.issues] == [issue["sample"] for issue in said["issues"]] == [20]
    assert fresh("zeroloss.audit('t.csv', target='kind').noise_rate.value") == said["noise_rate"]["value"]
    assert answer.to_dict().keys() == said.keys()


def test_frames_and_parts(numbers):
    pandas = pytest.importorskip("pandas")
    X, y = numbers
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.loc[3, "a"] = np.nan
    frame["colour"] = ["red", "blue", "green"] * 20
    answer = zeroloss.audit(frame, y)
    assert len(answer.scores) == 60
    scores = answer.to_frame("scores")
    assert list(scores)[:4] == ["given_label", "predicted_label", "label_score", "is_label_issue"]
    assert scores.record.tolist() == scores.index.tolist() == list(range(60))
    assert scores.is_label_issue.sum() == len(answer.issues)
    assert (scores.label_score == answer.scores).all()
    assert len(answer.to_frame()) == len(answer.issues)
    for part in ("confusions", "twins", "outliers"):
        assert len(answer.to_frame(part)) == len(getattr(answer, part))
    influences = zeroloss.influence(X, y, test=(X[:5], y[:5]))
    assert len(influences.to_frame()) == 5
    assert len(influences.to_frame("values")) == 60


def test_tables_of_samples_say_which_they_are_of(numbers):
    pandas = pytest.importorskip("pandas")
    X, y = numbers
    kinds = np.array(["u", "v"], object)[(np.asarray(y) > 0).astype(int)]
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(kind=kinds)
    frame.loc[[0, 1, 2, 10, 40], "kind"] = None
    for table in (frame, frame.dropna(), frame.dropna().rename(index="row {}".format), frame.dropna().iloc[::-1]):
        answer = zeroloss.audit(table, target="kind")
        scores = answer.to_frame("scores")
        assert (table.loc[scores.index].kind == scores.given_label).all()
        assert (table.iloc[scores.record].kind.to_numpy() == scores.given_label).all()
        assert [scores[scores.is_label_issue].record.tolist()] == [sorted(i.record for i in answer.issues)]
        values = zeroloss.influence(table, target="kind", test=frame[:5].fillna("u")).to_frame("values")
        assert values.index.equals(scores.index) and (values.record == scores.record).all()
        some = zeroloss.audit(table, target="kind", n=40, shuffle=True).to_frame("scores")
        assert (table.loc[some.index].kind == some.given_label).all()
        assert pickle.loads(pickle.dumps(answer)).to_frame("scores").equals(scores)
    named = zeroloss.audit(frame.dropna(), target="kind", id="a")
    assert named.ids[0] == str(frame.a[3]) == named.to_frame("scores").id[0]


def test_pictures_of_any_size(tmp_path):
    rng = np.random.default_rng(0)
    for kind, least in (("dark", 0), ("light", 90)):
        (tmp_path / "set" / kind).mkdir(parents=True)
        for k in range(12):
            pixels = rng.integers(least, least + 120, 5 * 7, dtype=np.uint8)
            (tmp_path / "set" / kind / f"p{k}.png").write_bytes(png(pixels.tobytes(), 5, 7, 1))
    (tmp_path / "set" / "dark" / "p3.png").rename(tmp_path / "set" / "light" / "q.png")
    answer = zeroloss.audit(tmp_path / "set")
    assert [issue.id for issue in answer.issues] == ["light/q.png"]
    assert answer.to_dict()["issues"][0]["id"] == "light/q.png"
    answer.save(tmp_path / "run")
    pictures = json.loads((tmp_path / "run" / "pictures.json").read_text())
    assert (pictures["height"], pictures["width"], pictures["channels"]) == (5, 7, 3)
    assert str(answer.issues[0].record) in pictures["samples"]


def test_pickles(numbers):
    X, y = numbers
    for answer in (zeroloss.audit(X, y), zeroloss.audit(X, y, test=(X[:9], y[:9])),
                   zeroloss.influence(X, y, test=(X[:9], y[:9]))):
        again = pickle.loads(pickle.dumps(answer))
        assert str(again) == str(answer)
        assert again.to_dict() == answer.to_dict()


def test_saves_a_run_folder(numbers, tmp_path):
    X, y = numbers
    zeroloss.audit(X, y).save(tmp_path / "run")
    assert {p.name for p in (tmp_path / "run").iterdir()} >= {"result.json", "scores.csv", "manifest.json"}
    zeroloss.influence(X, y, test=(X[:9], y[:9])).save(tmp_path / "influence")
    assert len((tmp_path / "influence" / "values.csv").read_text().splitlines()) == 61


def test_refuses(numbers):
    X, y = numbers
    with pytest.raises(TypeError, match="test"):
        zeroloss.influence(X, y, test=None)
    with pytest.raises(ValueError, match="ridge"):
        zeroloss.audit(X, y, ridge=-1)
    with pytest.raises(TypeError, match="ridge"):
        zeroloss.audit(X, y, ridge="small")
    with pytest.raises(zeroloss.DataError, match="3 samples"):
        zeroloss.audit(X[:3], y[:3])
    with pytest.raises(zeroloss.DataError, match="features"):
        zeroloss.audit(X, y, test=(X[:, :2], y))
    with pytest.raises(zeroloss.DataError):
        zeroloss.audit(X)
