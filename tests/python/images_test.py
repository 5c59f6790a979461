"""Images as arrays: PatchFeatures against its formula in NumPy, and what audits and classifies by it; what people and
other models say beside the features."""

import pickle

import numpy as np
import pytest

import zeroloss

pytest.importorskip("sklearn")
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from zeroloss import LabelAuditor, NTKClassifier, PatchFeatures


def gratings(n, seed=0, side=20):
    """Images whose class is the direction of a grating; its phase is random, so that pixels say nothing."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 3, n)
    angle, phase, wave = 1.05 * y + 0.2 * random.normal(size=n), 6.3 * random.random(n), 0.8 + 0.9 * random.random(n)
    r, c = np.mgrid[:side, :side]
    angle, phase, wave = (one[:, None, None] for one in (angle, phase, wave))
    waves = np.sin((np.cos(angle) * r + np.sin(angle) * c) * wave + phase)
    return np.clip(128 + 60 * waves + 15 * random.normal(size=waves.shape), 0, 255).astype(np.uint8), y


def by_formula(patches, image):
    """The features of one image, n x height x width x colours, as the documentation has them."""
    x = image.astype(float)
    x = (x - x.mean()) / (x.std() + 10)
    windows = np.lib.stride_tricks.sliding_window_view(x, (6, 6), axis=(0, 1))  # down, across, colours, 6, 6
    rows = windows.reshape(*windows.shape[:2], -1)
    rows = rows - rows.mean(axis=-1, keepdims=True)
    rows /= np.sqrt((rows**2).mean(axis=-1, keepdims=True) + 0.01)
    r = rows @ patches.filters_ - patches._shift
    made = []
    for a in range(3):
        for b in range(3):
            down, across = ((k * size // 3, -(-(k + 1) * size // 3)) for k, size in ((a, r.shape[0]), (b, r.shape[1])))
            part = r[slice(*down), slice(*across)].reshape(-1, r.shape[-1])
            made += [np.sqrt(np.maximum(sign * part - 0.25, 0).mean(axis=0)) for sign in (1, -1)]
    return np.concatenate(made)


def rounding(patches):
    """Of responses in single precision: patches of length sqrt(k), some 130 + k operations."""
    k = len(patches.filters_)
    return (130 + k) * 2.0**-24 * np.sqrt(k) * np.linalg.norm(patches.filters_, axis=0).max()


@pytest.mark.parametrize("shape", [(17, 22, 3), (16, 16, 1), (19, 18, 4)])
def test_patch_features_are_their_formula(shape):
    X = np.random.default_rng(1).integers(0, 256, (12, *shape))
    patches = PatchFeatures(filters=9).fit(X)
    made = patches.transform(X)
    assert made.shape == (12, 18 * 9) and patches.filters_.shape == (36 * shape[2], 9)
    off = rounding(patches)
    for row, image in zip(made, X):
        np.testing.assert_allclose(row**2, by_formula(patches, image) ** 2, rtol=0, atol=4 * off)
    planes = PatchFeatures(filters=9).fit(X.transpose(0, 3, 1, 2))
    assert np.array_equal(planes.transform(X.transpose(0, 3, 1, 2)), made)
    flat = PatchFeatures(filters=9, shape=shape).fit(X.reshape(12, -1))
    assert np.array_equal(flat.transform(X.reshape(12, -1)), made)


def test_patch_features_are_a_transformer():
    X, y = gratings(240)
    model = make_pipeline(PatchFeatures(filters=32), StandardScaler(), NTKClassifier()).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X[200:]), model.predict(X[200:]))
    assert len(model[0].get_feature_names_out()) == 18 * 32
    mirrored = PatchFeatures(filters=8, mirror=True).fit(X)
    off = np.sqrt(2 * rounding(mirrored))  # the root of a number that is off by e is off by sqrt(e) at most
    np.testing.assert_allclose(mirrored.transform(X[:, :, ::-1]), mirrored.transform(X), rtol=0, atol=off)
    with pytest.raises(ValueError, match="an image is height x width"):
        PatchFeatures().fit(X.reshape(240, -1))
    with pytest.raises(ValueError, match="20"):
        mirrored.transform(X[:, :16])
    with pytest.raises(zeroloss.DataError, match="16 pixels each way"):
        PatchFeatures().fit(X[:, :12])


def test_ntk_classifier_takes_images():
    X, y = gratings(260)
    model = NTKClassifier().fit(X[:200], y[:200])
    assert model.image_features_ == "patches"  # a mirror image is of another class
    assert model.score(X[200:], y[200:]) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X[200:]), model.decision_function(X[200:]))
    pixels = NTKClassifier(image_features="pixels").fit(X[:200], y[:200])
    flat = NTKClassifier().fit(X[:200].reshape(200, -1), y[:200])
    assert pixels.image_features_ == "pixels" and not hasattr(flat, "image_features_")
    assert np.array_equal(pixels.decision_function(X[200:]), flat.decision_function(X[200:].reshape(60, -1)))
    with pytest.raises(ValueError, match="image_features must be auto, pixels or patches"):
        NTKClassifier(image_features="both").fit(X, y)


def test_audit_sees_images():
    X, y = gratings(240)
    wrong = np.arange(0, 240, 12)
    y[wrong] = (y[wrong] + 1) % 3
    result = zeroloss.audit(X, y)
    assert result.image_features in ("patches", "both")
    assert len({issue.position for issue in result.issues} & set(wrong.tolist())) >= 14
    auditor = LabelAuditor().fit(X, y)
    assert auditor.scores_.tolist() == result.scores
    assert auditor.audit(X[:30], y[:30]).n == 30
    assert zeroloss.audit(X, y, image_features="pixels").image_features == "pixels"
    data = zeroloss.read_dataset(X, y)
    assert data.d == 400 and any("20 x 20 numbers" in remark for remark in data.remarks)
    assert zeroloss.audit(X.reshape(240, -1), y).image_features == ""  # 400 numbers are no image that anybody knows


def test_people_are_asked():
    X, y = gratings(200)
    truth = y.copy()
    wrong = np.arange(0, 200, 9)
    y[wrong] = (y[wrong] + 1) % 3
    drawn = zeroloss.audit(X, y, draw=60, seed=3).drawn
    right = np.array([truth[one.record] == y[one.record] for one in drawn])
    result = zeroloss.audit(X, y, draw=60, seed=3, checked=right)
    assert result.checked == 60 and result.checked_wrong == int((~right).sum())
    assert result.noise_rate.low <= len(wrong) / 200 <= result.noise_rate.high
    named = zeroloss.audit(X, y, draw=60, seed=3, checked=right, guarantee=0.3)
    assert named.guarantee == 0.3 and named.issues and "at most 30 % of such a list" in named.conclusion
    kept = result.issues[0].position
    assert kept not in [one.position for one in zeroloss.audit(X, y, accepted=[kept]).issues]
    with pytest.raises(ValueError, match="truth values, one for each"):
        zeroloss.audit(X, y, draw=10, checked=right)
    with pytest.raises(ValueError, match="needs samples that somebody checked"):
        zeroloss.audit(X, y, guarantee=0.1)


def test_other_models_are_heard():
    random = np.random.default_rng(4)
    y = random.integers(0, 2, 160)
    X, embedding = random.normal(size=(160, 3)), random.normal(size=(160, 2)) * 0.4 + (2 * y - 1)[:, None]
    p = 1 / (1 + np.exp(-2.0 * (2 * y - 1) - random.normal(size=160)))
    assert zeroloss.audit(X, y).error > 0.3
    assert zeroloss.audit(X, y, embedding=embedding).error < 0.05
    assert zeroloss.audit(X, y, probabilities=np.column_stack([1 - p, p])).error < 0.2
    some = zeroloss.audit(X[:120], y[:120], embedding=embedding[:120], test=(X[120:], y[120:]),
                          test_embedding=embedding[120:])  # fmt: skip
    assert some.n == 40 and some.error < 0.1
    with pytest.raises(zeroloss.DataError, match="embedding"):
        zeroloss.audit(X, y, embedding=embedding[:100])
    with pytest.raises(TypeError, match="go with test"):
        zeroloss.audit(X, y, test_embedding=embedding)


def test_several_targets_have_one_kernel():
    random = np.random.default_rng(6)
    X = random.normal(size=(200, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] + X[:, 2] > 0]).astype(int)
    wrong = [3, 70, 150]
    Y[wrong, 0] = 1 - Y[wrong, 0]
    both = zeroloss.audit_each(X, Y)
    assert len(both) == 2 and both[0].ridge == both[1].ridge
    assert {issue.position for issue in both[0].issues} >= {70} and both[0].error < 0.15 and both[1].error < 0.15
    one = zeroloss.audit(X, Y[:, 0], activation=both[0].activation, scale=both[0].scale, ridge=both[0].ridge)
    assert [issue.position for issue in both[0].issues] == [issue.position for issue in one.issues]
    assert both[0].predicted == one.predicted
    numbers = zeroloss.audit_each(X, X[:, :2] * [1, 100] + 0.01 * random.normal(size=(200, 2)))
    assert [result.task for result in numbers] == ["regression"] * 2
    with pytest.raises(ValueError, match="two dimensions"):
        zeroloss.audit_each(X, Y[:, 0])
    with pytest.raises(ValueError, match="for one target"):
        zeroloss.audit_each(X, Y, draw=5)
