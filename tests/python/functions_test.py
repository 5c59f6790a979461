"""The functions are the commands: same answers to the last bit, same files, same errors."""

import copy
import inspect
import json
import os
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zeroloss
import zeroloss.figures
from bounds import backward_error, gamma, solution_error
from rounding import two_layers
from zeroloss import _core
from zeroloss.api.data import Read

ROOT = Path(__file__).resolve().parents[2]
TIMES = {"seconds", "peak_bytes", "build_s", "verify_s"}


def timeless(answer):
    """An answer without what differs from run to run."""
    if isinstance(answer, dict):
        return {key: timeless(value) for key, value in answer.items() if key not in TIMES}
    return [timeless(value) for value in answer] if isinstance(answer, list) else answer


SAME = {
    "certify": ("certify digits --classes 3,8 --activation gelu --center --spectrum --n 120 --seed 3",
                "zeroloss.certify('digits', classes=['3', '8'], activation='gelu', center=True, spectrum=True, n=120, "
                "seed=3)"),
    "certify without labels": ("certify sphere:n=40,d=5,y=none", "zeroloss.certify('sphere:n=40,d=5,y=none')"),
    "fit": ("fit digits --n 60 --width 200 --max-steps 300 --step 0.01 --labels noise:0.1 --seed 5",
            "zeroloss.fit('digits', n=60, width=200, max_steps=300, step=0.01, labels='noise:0.1', seed=5)"),
    "fit, gauss_newton": ("fit digits --classes 3,8 --optimizer gauss_newton --width 300",
                          "zeroloss.fit('digits', classes=[3, 8], optimizer='gauss_newton', width=300)"),
    "fit, float32": ("fit sphere:n=30,d=9 --activation softplus --scaling balanced --precision float32 --max-steps 200",
                     "zeroloss.fit('sphere:n=30,d=9', activation='softplus', scaling='balanced', precision='float32', "
                     "max_steps=200)"),
    "width": ("width sphere:n=12,d=4 --seed 3 --draws 2 --restarts 1",
              "zeroloss.width('sphere:n=12,d=4', seed=3, draws=2, restarts=1)"),
    "prove": (f"prove '{ROOT}/examples/digits.onnx' digits --n 30 --divide 16 --polish --layers last2",
              f"zeroloss.prove('{ROOT}/examples/digits.onnx', 'digits', n=30, divide=16, polish=True, layers='last2')"),
    "memorize": ("memorize digits --labels random --precision float32",
                 "zeroloss.memorize('digits', labels='random', precision='float32')"),
    "sweep": ("sweep sphere:n=30,y=normal --width 2:10:4 --d 2,5 --activation softplus --scaling balanced --step 0.15 "
              "--max-steps 2000 --tolerance 0.01 --trials 3",
              "zeroloss.sweep('sphere:n=30,y=normal', width=range(2, 11, 4), d=[2, 5], activation='softplus', "
              "scaling='balanced', step=0.15, max_steps=2000, tolerance=0.01, trials=3)"),
    "linear": ("linear gaussian:d=5,seed=2 --layers 4:8:2 --max-steps 50",
               "zeroloss.linear.train('gaussian:d=5,seed=2', layers=range(4, 9, 2), max_steps=50)"),
    "linear, factors only": ("linear rotation:d=4 --layers 6 --no-train",
                             "zeroloss.linear.factorize('rotation:d=4', layers=6)"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAME)
def test_function_and_command_agree_to_the_last_bit(what, command, fresh):
    line, call = SAME[what]
    by_command = command(*shlex.split(line))
    assert by_command["conclusion"]
    assert by_command["next"]["why"]
    by_function = fresh(call + ".to_dict()")
    by_command["next"] = None  # a line of the shell
    assert timeless(by_function) == timeless(by_command)


def test_arrays_are_the_file_with_these_arrays(tmp_path):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 6)), rng.integers(3, size=40)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    of_file = zeroloss.fit(tmp_path / "data.npz", width=50, max_steps=40)
    for X_as, y_as in ((X, y), (np.asfortranarray(X), y.astype(float)), (X.tolist(), list(y)),
                       (X[:, ::-1][:, ::-1], y)):
        of_arrays = zeroloss.fit(X_as, y_as, width=50, max_steps=40)
        for output, other in zip(of_file.network.outputs, of_arrays.network.outputs):
            np.testing.assert_array_equal(output.W, other.W)
        different = {"data", "digest"} | TIMES
        assert {k: v for k, v in timeless(of_arrays.to_dict()).items() if k not in different} == {
            k: v for k, v in timeless(of_file.to_dict()).items() if k not in different
        }
    assert zeroloss.read_dataset(X, y).digest == zeroloss.read_dataset(X.copy(), y).digest
    assert zeroloss.read_dataset(X, y).digest != zeroloss.read_dataset(X + 1, y).digest


def test_a_dataset_is_a_copy_and_read_only():
    X = np.eye(4)
    data = zeroloss.read_dataset(X, [0, 1, 0, 1])
    X[0, 0] = 7
    assert data.X[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 7
    view = data.X
    del data
    assert view.sum() == 4  # its owner lives on


def test_tasks_are_told_from_targets():
    X = np.arange(8.0).reshape(4, 2)
    assert zeroloss.read_dataset(X).task == "none"
    assert zeroloss.read_dataset(X, ["b", "a", "b", "b"]).class_names == ["a", "b"]
    assert zeroloss.read_dataset(X, [3, 1, 3, 10]).class_names == ["1", "3", "10"]
    assert zeroloss.read_dataset(X, [True, False, True, True]).class_names == ["0", "1"]
    assert zeroloss.read_dataset(X, [0.5, 1, 2, 3]).task == "regression"
    assert zeroloss.read_dataset(X, [1, 2, 1, 2], task="regression").task == "regression"
    kept = zeroloss.read_dataset(X, ["b", "a", "b", "c"], classes=["c", "a"])
    assert list(kept.records) == [1, 3] and kept.X[0, 0] == 2


KEYWORDS = {
    zeroloss.certify: [_core.CertifyOptions],
    zeroloss.fit: [_core.FitOptions],
    zeroloss.memorize: [_core.MemorizeOptions],
    zeroloss.prove: [_core.ProveOptions],
    zeroloss.sweep: [_core.SweepOptions, _core.FitOptions],
    zeroloss.linear.train: [_core.LinearOptions, _core.DescentOptions],
    zeroloss.linear.factorize: [_core.LinearOptions],
}


def fields(options):
    return {name for name in dir(options) if not name.startswith("_")}


@pytest.mark.parametrize("function", KEYWORDS, ids=lambda f: f.__name__)
def test_keywords_have_the_library_s_names_and_defaults(function):
    structs = [kind() for kind in KEYWORDS[function]]
    keywords = {
        name: p.default
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY and name not in ("progress", "threads", "sigma", "comm")
        and not (function is zeroloss.prove and name in ("activation", "layout", "shape", "output_name"))
    }
    axes = fields(_core.SweepAxes()) if function is zeroloss.sweep else set()
    for name, default in keywords.items():
        if name in axes:
            assert default is None
            continue
        owners = [s for s in structs if hasattr(s, name)]
        if name == "seed" and not owners:
            owners = [_core.ReadOptions()]
        assert owners, name
        expected = getattr(owners[0], name)
        if name == "precision" and function is zeroloss.sweep:
            expected = "float32"
        if name == "layers" and function not in (zeroloss.prove, zeroloss.fit):
            default = [default]
        if name == "class_names":
            default = [] if default is None else default
        if name in ("start", "test"):
            expected = {"start": expected.source, "test": expected.source or None}[name]
        assert default == (os.fspath(expected) if isinstance(expected, os.PathLike) and str(expected) != "." else
                           "" if isinstance(expected, os.PathLike) else expected), name  # fmt: skip
    if function in (zeroloss.certify, zeroloss.fit, zeroloss.memorize):
        assert fields(structs[0]) == set(keywords)  # none is missing


@pytest.mark.parametrize("function", KEYWORDS, ids=lambda f: f.__name__)
def test_every_keyword_is_described(function):
    names = inspect.getdoc(function).partition("Parameters\n")[2].partition("Returns\n")[0]
    described = {name for line in re.findall(r"^[^ ].*", names, re.MULTILINE) for name in re.findall(r"\w+", line)}
    assert set(inspect.signature(function).parameters) <= described


def test_keywords_are_made_of_the_structs():
    """Between the markers of zeroloss/api stands what scripts/keywords.py writes there."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "keywords.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"run scripts/keywords.py: {done.stdout}{done.stderr}"


def test_read_keywords_are_those_of_the_library():
    assert Read.__optional_keys__ | {"seed"} == fields(_core.ReadOptions())


FOLDERS = {
    "certify": ("certify digits --n 40", lambda: zeroloss.certify("digits", n=40)),
    "fit": ("fit digits --classes 3,8 --n 40 --width 40 --max-steps 50",
            lambda: zeroloss.fit("digits", classes=["3", "8"], n=40, width=40, max_steps=50)),
    "memorize": ("memorize digits --n 50", lambda: zeroloss.memorize("digits", n=50)),
    "linear": ("linear rotation:d=3 --layers 4", lambda: zeroloss.linear.train("rotation:d=3", layers=4)),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_save_writes_the_run_folder_of_the_command(name, command, tmp_path):
    line, call = FOLDERS[name]
    command(*shlex.split(line), "--out", tmp_path / "by_command")
    call().save(tmp_path / "by_python")
    names = sorted(os.listdir(tmp_path / "by_command"))
    assert "manifest.json" in names and "result.json" in names
    assert sorted(os.listdir(tmp_path / "by_python")) == names
    manifests = [json.loads((tmp_path / by / "manifest.json").read_text()) for by in ("by_command", "by_python")]
    for manifest in manifests:
        manifest["command"] = [manifest["command"][0].split("(")[0].split(".")[-1]]
    for key in ("kind", "version", "options"):
        assert manifests[0][key] == manifests[1][key]
    with pytest.raises(ValueError, match="exists"):
        call().save(tmp_path / "by_python")


def test_a_run_on_a_dataset_records_how_it_was_read(tmp_path):
    read = dict(classes=["3", "8"], n=50, shuffle=True, labels="noise:0.3", seed=4)
    zeroloss.certify("digits", **read).save(tmp_path / "named")
    data = zeroloss.read_dataset("digits", **read)
    twin = pickle.loads(pickle.dumps(data))
    zeroloss.certify(data, seed=7).save(tmp_path / "read")
    zeroloss.memorize(twin).save(tmp_path / "pickled")
    named, *others = (json.loads((tmp_path / n / "manifest.json").read_text()) for n in ("named", "read", "pickled"))
    for other in others:
        assert other["data"] == named["data"]
    again = "zeroloss.read_dataset('digits', classes=['3', '8'], n=50, shuffle=True, labels='noise:0.3', seed=4)"
    assert [m["command"] for m in others] == [[f"zeroloss.certify({again}, seed=7)"], [f"zeroloss.memorize({again})"]]
    assert eval(data.call).y.tolist() == data.y.tolist()

    X, y = data.X.copy(), data.y.copy()
    array = zeroloss.read_dataset(X, y, task="regression", n=20)
    assert array.call == "zeroloss.read_dataset(X, y, task='regression', n=20)"


def test_datasets_pickle():
    for data in (zeroloss.read_dataset("digits", n=30, seed=1), zeroloss.read_dataset(np.eye(3), [0.5, 1.5, 2.0])):
        for twin in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
            np.testing.assert_array_equal(twin.X, data.X)
            np.testing.assert_array_equal(twin.y, data.y)
            for name in ("task", "class_names", "records", "name", "digest", "feature_names", "target_name",
                         "label_treatment", "call"):  # fmt: skip
                assert getattr(twin, name) == getattr(data, name)


def test_arrays_of_results_are_read_only():
    run = zeroloss.fit("digits", classes=["3", "8"], n=20, width=5, max_steps=1, center=True)
    built = zeroloss.memorize("digits", n=20).network
    problem = zeroloss.linear.factorize(np.eye(3) * 1.1, layers=3).problem
    data = zeroloss.read_dataset("digits", n=20)
    for array in (run.network.outputs[0].W, run.network.outputs[0].v, run.network.mean, built.U, built.s, problem.R,
                  data.X, data.y, zeroloss.kernel.lambda_min(np.eye(3)).lowest.vector):  # fmt: skip
        assert array.size > 0
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_save_of_a_sweep_without_its_store_leaves_nothing(tmp_path):
    swept = zeroloss.sweep("sphere:n=10,y=normal", d=2, width=1, max_steps=20, trials=1, store=tmp_path / "trials.db")
    (tmp_path / "trials.db").unlink()
    with pytest.raises(zeroloss.ResourceError, match=r"trials\.db cannot be copied: No such file"):
        swept.save(tmp_path / "saved")
    assert [p for p in os.listdir(tmp_path) if p.startswith("saved")] == []


def test_save_of_a_sweep_brings_its_trials(tmp_path, command):
    swept = zeroloss.sweep("sphere:n=10,y=normal", d=2, width=[1, 30], max_steps=200, trials=2,
                           store=tmp_path / "trials.db")
    swept.save(tmp_path / "saved")
    command("sweep", "sphere:n=10,y=normal", "--d", 2, "--width", "1,30", "--max-steps", 200, "--trials", 2, "--out",
            tmp_path / "run")  # fmt: skip
    assert sorted(os.listdir(tmp_path / "saved")) == sorted(os.listdir(tmp_path / "run"))
    again = zeroloss.sweep("sphere:n=10,y=normal", d=2, width=[1, 30], max_steps=200, trials=2,
                           store=tmp_path / "saved" / "trials.db")  # fmt: skip
    assert again.before == again.trials == 4


@pytest.mark.parametrize("labels", [[1.0, 2.0, 10.0], ["a", "c", "b"], None])
def test_trials_of_arrays_are_runs_of_fit(labels, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(24, 5))
    y = X @ rng.normal(size=5) if labels is None else np.array(labels)[rng.integers(3, size=24)]
    options = dict(width=[4, 60], activation="softplus", max_steps=300, tolerance=0.05, precision="float64", trials=2)
    swept = zeroloss.sweep(X, y, n=[10, 20], store=tmp_path / "trials.db", **options)
    assert swept.trials == 8 and not swept.source.startswith("/")
    steps = {}
    for cell, result in enumerate(swept.cells):
        runs = [zeroloss.fit(X, y, **swept.fit_options(cell, trial)) for trial in range(2)]
        assert [run.n for run in runs] == [result.cell.n] * 2
        assert np.mean([run.steps for run in runs]) == result.mean_steps
        steps[cell] = [run.steps for run in runs]
    assert len({count for pair in steps.values() for count in pair}) > 1
    with pytest.raises(ValueError, match="fit_options"):
        swept.fit_command(0)
    with pytest.raises(IndexError):
        swept.fit_options(9)
    data = zeroloss.read_dataset(X, y)
    assert [c.mean_steps for c in zeroloss.sweep(data, n=[10, 20], **options).cells] == [c.mean_steps
                                                                                         for c in swept.cells]
    again = zeroloss.sweep(X, y, n=[10, 20], store=tmp_path / "trials.db", **options)
    assert again.before == 8
    with pytest.raises(ValueError, match="data"):
        zeroloss.sweep(X + 1, y, n=[10, 20], store=tmp_path / "trials.db", **options)
    swept.save(tmp_path / "run")


def test_a_trial_of_a_name_is_a_run_of_fit():
    swept = zeroloss.sweep("sphere:y=normal", n=[12], d=[3], width=[5, 40], max_steps=200, trials=1)
    for cell, result in enumerate(swept.cells):
        assert zeroloss.fit(**swept.fit_options(cell)).steps == result.mean_steps


def test_predict_says_what_the_command_says(command, fresh, tmp_path):
    run = zeroloss.fit("digits", classes=["1", "7", "9"], n=60, width=80, max_steps=100)
    run.save(tmp_path / "run")
    said = command("predict", tmp_path / "run", "digits", "--n", 300)
    assert fresh("zeroloss.predict('run', 'digits', n=300).outputs.tolist()") == said["outputs"]
    for model in (run, run.network, tmp_path / "run", zeroloss.load(tmp_path / "run")):
        answer = zeroloss.predict(model, "digits", n=300)
        off = two_layers(run.network, zeroloss.read_dataset("digits", n=300).X)
        assert (np.abs(answer.outputs - said["outputs"]) <= off).all()  # other BLAS kernels
        assert list(answer.predictions) == said["predictions"]
        assert answer.error == said["error"]
    with pytest.raises(zeroloss.DataError, match="none of its classes"):
        zeroloss.predict(run, "digits", classes=["3", "4"])
    with pytest.raises(zeroloss.DataError, match="features"):
        zeroloss.predict(run, np.ones((2, 3)))

    regression = zeroloss.fit("sphere:n=20,d=5,y=normal", optimizer="gauss_newton", width=200)
    points = zeroloss.read_dataset("sphere:n=20,d=5,y=normal")
    assert regression.relative_misfit <= regression.tolerance
    for answer in (zeroloss.predict(regression, points), zeroloss.predict(regression, points.X, points.y)):
        assert_misfit(answer, regression, points)
    assert zeroloss.predict(regression, points.X).error is None


def assert_misfit(answer, run, data):
    """The error at the points of training is their misfit."""
    off = np.linalg.norm(two_layers(run.network, data.X)) / np.linalg.norm(data.y) + gamma(2 * data.n)
    assert answer.error == pytest.approx(run.relative_misfit, rel=0, abs=off)


def test_predict_compares_like_with_like():
    digits = zeroloss.read_dataset("digits", classes=["3", "8"], n=60)
    classifier = zeroloss.fit(digits, width=400, optimizer="gauss_newton").network
    number = zeroloss.read_dataset(digits.X, digits.y, task="regression")
    run = zeroloss.fit(number, width=400, optimizer="gauss_newton")
    assert run.relative_misfit <= run.tolerance
    regression = run.network
    assert_misfit(zeroloss.predict(regression, number), run, number)
    with pytest.raises(ValueError, match=r"targets of classification; .* trained for regression: .* task='regression'"):
        zeroloss.predict(regression, digits)
    with pytest.raises(ValueError, match="targets of regression; the model was trained for classification"):
        zeroloss.predict(classifier, number)

    labels = np.asarray(digits.class_names)[digits.y.astype(int)]
    threes = labels == "3"
    for y in (labels, labels.astype(int), labels.astype(float), labels.astype(object)):
        assert zeroloss.predict(classifier, digits.X, y).error == 0
        assert zeroloss.predict(classifier, digits.X[threes], y[threes]).error == 0  # labels of one class
        assert zeroloss.predict(classifier, digits.X, y, n=1, shuffle=True, seed=2).error == 0
    assert zeroloss.predict(classifier, digits.X, ["3"] * 60).error == np.mean(~threes)
    with pytest.raises(zeroloss.DataError, match=r"none of its classes \(a\) is one of the model's \(3, 8\)"):
        zeroloss.predict(classifier, digits.X[:5], ["a"] * 5)
    with pytest.raises(zeroloss.DataError, match="record 1: target nan is not finite"):
        zeroloss.predict(classifier, digits.X[:2], [3, np.nan])
    for data in ("digits", digits):
        with pytest.raises(TypeError, match=r"y goes with an array|has its targets"):
            zeroloss.predict(classifier, data, labels)


def test_targets_are_what_they_are():
    X = np.eye(4)
    assert zeroloss.read_dataset(X, np.array([0.5, 1.5, 2.0, 3], dtype=object)).task == "regression"
    assert zeroloss.read_dataset(X, np.array(["a", "b", 3, "b"], dtype=object)).class_names == ["3", "a", "b"]
    assert zeroloss.read_dataset(np.ma.array(X), np.ma.array([0.5, 1.5, 2.0, 3])).task == "regression"  # none masked


def test_networks_are_called_with_whatever_arrays_are_made_of():
    network = zeroloss.fit("digits", n=20, width=5, max_steps=1).network
    X = zeroloss.read_dataset("digits", n=3).X
    for points in (X.tolist(), X.astype(np.float32), X.astype(int), np.asfortranarray(X)):
        np.testing.assert_array_equal(network(points), network(X))


def test_memorize_takes_targets_of_several_columns():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(70, 4)), rng.normal(size=(70, 3))
    result = zeroloss.memorize(X, Y)
    assert result.status == "memorized" and result.r == 3
    np.testing.assert_allclose(result.network(X), Y, rtol=0, atol=result.max_error)
    assert result.max_error < 1e-6 * np.abs(Y).max()  # the usual tolerance


def test_linear_takes_maps_and_data():
    rng = np.random.default_rng(0)
    R = np.eye(4) + 0.2 * rng.normal(size=(4, 4))
    result = zeroloss.linear.factorize(R, layers=12)
    for factors in result.depths[-1].factorizations:
        if factors.missing:
            continue
        product = size = np.eye(4)
        for A in factors.network.A:
            product, size = (np.eye(4) + A) @ product, (np.eye(4) + np.abs(A)) @ size
        off = gamma(12 * (4 + 1)) * np.linalg.norm(size)  # 12 products of sums of 4, whose I + A is rounded
        assert np.linalg.norm(product - R) <= factors.reconstruction_error + off
        assert factors.reconstruction_error < 2 * off
        norm = max(np.linalg.norm(A, 2) for A in factors.network.A)
        assert abs(factors.max_norm - norm) <= backward_error(4) * norm + factors.correction
        s_min = np.linalg.svd(R)[1][-1] - factors.reconstruction_error
        assert factors.correction <= 1.01 * factors.reconstruction_error * (1 + factors.max_norm) / s_min  # theory 9
    X = rng.normal(size=(50, 4))
    learned = zeroloss.linear.train(X, X @ R.T, layers=12)
    off = solution_error(50, np.linalg.cond(X) ** 2) * np.linalg.norm(R)  # of normal equations at worst
    assert np.linalg.norm(learned.problem.R - R) <= off
    assert learned.depths[0].descent.status == "converged"
    s_min, s_max = np.linalg.svd(X)[1][[-1, 0]]
    far = np.linalg.norm(R) * s_max / s_min  # the misfit is relative to the targets
    assert np.linalg.norm(learned.depths[0].descent.network.product() - R) <= 1e-6 * far  # the usual tolerance
    sigma = np.diag([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(zeroloss.linear.factorize(R, sigma=sigma).problem.Sigma, sigma)
    with pytest.raises(zeroloss.DataError, match="rank"):
        zeroloss.linear.factorize(np.ones((3, 3)))


def test_the_tail_needs_no_kernel():
    whole = zeroloss.certify("digits", classes=["3", "8"])
    answer = zeroloss.certify("digits", classes=["3", "8"], method="tail", passes=2)
    assert (whole.method, answer.method, whole.tail, whole.left_out) == ("factor", "tail", None, "")
    assert 0.5 * whole.lambda_min_verified < answer.lambda_min_verified < whole.lambda_min_verified
    assert np.isnan(answer.lambda_min) and answer.to_dict()["lambda_min"] is None and answer.forecast is None
    assert answer.tail.power > 1 and answer.tail.diagonal > answer.tail.row_sum and len(answer.tail.passes) == 2
    assert pickle.loads(pickle.dumps(answer)).tail.diagonal == answer.tail.diagonal
    X = zeroloss.read_dataset("digits", classes=["3", "8"]).X
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    rho = np.clip(unit @ unit.T, -1, 1)
    exact = np.linalg.eigvalsh(rho * (np.pi - np.arccos(rho)) / (2 * np.pi))[0]
    assert answer.lambda_min_verified < exact
    with pytest.raises(ValueError, match="spectrum needs the kernel itself"):
        zeroloss.certify("digits", n=20, method="tail", spectrum=True)
    with pytest.raises(ValueError, match="method"):
        zeroloss.certify("digits", n=20, method="lanczos")


def test_results_have_fields_and_texts():
    answer = zeroloss.certify("digits", classes=["3", "8"])
    assert 0 < answer.lambda_min_verified <= answer.lambda_min
    assert answer.bottleneck[0].sample.record == 339 and answer.bottleneck[0].sample.label == "3"
    assert answer.guarantees[0].theorem.startswith("Du et al.") and answer.guarantees[0].width > 1e20
    assert answer.forecast.misfit[0] == 1
    assert answer.conclusion in str(answer) and answer.conclusion in repr(answer)
    html = answer._repr_html_()
    assert "lambda_min &gt;=" in html and html.count("<pre>") == 1 and "<=" not in html

    run = zeroloss.fit("digits", classes=["3", "8"], center=True, optimizer="gauss_newton")
    assert run.status == "certified" and run.certificate.holds and run.certificate.kind == "descent"
    assert run.outputs[0].curve[-1].relative_misfit <= run.tolerance
    network = run.network
    W = network.outputs[0].W
    assert W.shape == (1024, 64) and W.flags.c_contiguous
    del run, network
    assert np.isfinite(W).all()  # its owner lives on


def test_results_plot_themselves(tmp_path):
    run = zeroloss.fit("digits", classes=["3", "8"], n=30, width=20, max_steps=10, center=True)
    figures = run.plot()
    run.save(tmp_path / "run")
    saved = zeroloss.figures.of(tmp_path / "run")
    assert list(figures) == list(saved) and "curve" in figures
    assert all(figures[name].spec == saved[name].spec for name in saved)


def test_models_pickle_and_travel(tmp_path):
    run = zeroloss.fit("digits", classes=["3", "8"], n=30, width=20, max_steps=10, center=True)
    built = zeroloss.memorize("digits", n=100)
    X = zeroloss.read_dataset("digits", n=200).X
    for network in (run.network, built.network):
        twin = pickle.loads(pickle.dumps(network))
        np.testing.assert_array_equal(twin(X), network(X))
        assert (twin.task, twin.class_names) == (network.task, network.class_names)
        network.save(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(zeroloss.load(tmp_path / "model.safetensors")(X), network(X))
        network.export_onnx(tmp_path / "model.onnx")
        assert (tmp_path / "model.onnx").stat().st_size > 1000


class Sparse:
    """What scipy's matrices look like."""

    def toarray(self):
        return np.ones((3, 2))


X, Y01 = np.ones((3, 2)), [0, 1, 0]


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: zeroloss.fit("digits", width=-1), ValueError, "fit: width must be >= 1, or 0 for the usual one"),
        (lambda: zeroloss.fit("digits", width=1.5), TypeError, "fit: width has to be of type int; got 1.5"),
        (lambda: zeroloss.fit("digits", nonsense=1), TypeError, "unexpected keyword argument 'nonsense'"),
        (lambda: zeroloss.fit("digits", seed=-1), ValueError, r"seed must be in \[0, 2\^53\); got -1"),
        (lambda: zeroloss.fit("digits", seed=2**53), ValueError, "seed"),
        (lambda: zeroloss.fit("digits", step="quick"), ValueError, "step"),
        (lambda: zeroloss.certify("digits", accuracy=2.0), ValueError, r"accuracy must be in \(0, 1\); got 2"),
        (lambda: zeroloss.certify("digits", activation="swish2"), ValueError, "swish2"),
        (lambda: zeroloss.certify("nowhere.csv"), zeroloss.DataError, "nowhere.csv"),
        (lambda: zeroloss.certify("digits", classes="38"), TypeError, "list of names"),
        (lambda: zeroloss.certify("digits", Y01), TypeError, "y goes with an array"),
        (lambda: zeroloss.certify(X, Y01, target="y"), TypeError, "target goes with a file"),
        (lambda: zeroloss.certify(X[0]), ValueError, "two dimensions"),
        (lambda: zeroloss.certify(X.astype(complex)), TypeError, "real numbers"),
        (lambda: zeroloss.certify(X, [1, 2]), ValueError, "3 targets"),
        (lambda: zeroloss.certify(0 * X), zeroloss.DataError, "zero rows"),
        (lambda: zeroloss.certify(X + np.nan), zeroloss.DataError, "record 0, column 0: nan"),
        (lambda: zeroloss.certify(zeroloss.read_dataset(X), n=2), TypeError, "read already"),
        (lambda: zeroloss.sweep("digits", Y01), TypeError, "y goes with an array"),
        (lambda: zeroloss.sweep(X, Y01, split="test"), TypeError, "split goes with a file"),
        (lambda: zeroloss.sweep(X), zeroloss.DataError, "targets"),
        (lambda: zeroloss.sweep("sphere:n=9,d=2", width=[0]), ValueError, "width"),
        (lambda: zeroloss.memorize(X, Y01), zeroloss.DataError, "same point"),
        (lambda: zeroloss.fit("sphere:n=9,d=2,y=none"), zeroloss.DataError, "targets"),
        (lambda: zeroloss.certify(X, ["a", None, "b"]), zeroloss.DataError, r"certify: y\[1\] is None"),
        (lambda: zeroloss.certify(X, np.array([1.5, 2, np.nan], dtype=object)), zeroloss.DataError, r"y\[2\] is nan"),
        (lambda: zeroloss.certify(X, [1j, 2, 3]), TypeError, "y must be real numbers or names of classes"),
        (lambda: zeroloss.certify(X, np.ma.array(Y01, mask=Y01)), zeroloss.DataError, r"y\[1\] is masked"),
        (lambda: zeroloss.certify(np.ma.masked_equal(X, 1), Y01), zeroloss.DataError, r"X\[0, 0\] is masked"),
        (lambda: zeroloss.certify(X, ["\udc80", "a", "a"]), zeroloss.DataError, r"y\[0\] is '.udc80', which is no"),
        (lambda: zeroloss.certify([[1, 2], [1]], Y01), ValueError, "its rows are not alike"),
        (lambda: zeroloss.certify([[10**400, 1.0], [1, 2]], Y01), zeroloss.DataError, "beyond the range of float64"),
        (lambda: zeroloss.certify(Sparse()), TypeError, r"X is sparse; use .toarray\(\)"),
        (lambda: zeroloss.fit(X, Y01, step=None), TypeError, "fit: step has to be a number or a word; got None"),
        (lambda: zeroloss.linear.factorize(X, layers=[2.9]), TypeError, r"layers has to be an integer .* \[2.9\]"),
        (lambda: zeroloss.linear.factorize(X, layers="13"), TypeError, "layers has to be an integer .* '13'"),
        (lambda: zeroloss.linear.factorize(X, seed=-1), ValueError, r"linear.factorize: seed must be in \[0, 2\^53\)"),
        (lambda: zeroloss.linear.train(X, step=None), TypeError, "linear.train: step has to be"),
        (lambda: zeroloss.kernel.gram(X, np.tanh), TypeError, "kernel has to be a Kernel or the name"),
        (lambda: zeroloss.kernel.sigma(np.tanh), TypeError, "activation has to be a name or an Activation"),
        (lambda: zeroloss.kernel.gram(np.ones((10**6, 1))), zeroloss.ResourceError, "needs .* free"),
    ],
)
def test_errors_have_the_library_s_words(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_errors_are_python_s():
    assert issubclass(zeroloss.DataError, ValueError)
    assert issubclass(zeroloss.BackendError, RuntimeError)
    assert issubclass(zeroloss.ResourceError, RuntimeError)


def test_messages_advise_in_keywords(tmp_path):
    """The library marks what it advises; the command says a flag, Python a keyword."""
    (tmp_path / "text.csv").write_text("5.1,x\n4.9,y\n")
    with pytest.raises(zeroloss.DataError, match=r"the last column is text; say target=-1$"):
        zeroloss.fit(tmp_path / "text.csv")
    with pytest.raises(zeroloss.DataError, match=r"get it with: python -m zeroloss data get mnist$"):
        zeroloss.read_dataset("mnist", cache=tmp_path)
    with pytest.raises(ValueError, match=r"the number of points is missing: add n=$"):
        zeroloss.sweep("sphere:d=3")
    with pytest.raises(zeroloss.ResourceError, match=r"try n=\d+$"):
        zeroloss.certify("sphere:n=500000,d=2", method="factor")


def test_training_begins_at_weights_of_one_s_own(tmp_path):
    data, options = "sphere:n=30,d=9", {"seed": 5, "max_steps": 20}
    drawn = zeroloss.fit(data, width=40, **options)
    zero = zeroloss.fit(data, width=40, seed=5, max_steps=0)
    zero.save(tmp_path / "zero")
    (first,) = zero.network.outputs
    np.savez(tmp_path / "W.npz", W=first.W, v=first.v)
    for start in ((first.W, first.v), (first.W[None], first.v[None]), (np.asfortranarray(first.W), list(first.v)),
                  first.W, (first.W, None), tmp_path / "zero", str(tmp_path / "W.npz")):
        given = zeroloss.fit(data, start=start, **options)
        np.testing.assert_array_equal(given.network.outputs[0].W, drawn.network.outputs[0].W)
        np.testing.assert_array_equal(given.network.outputs[0].v, drawn.network.outputs[0].v)
        assert not given.outputs[0].theorem.holds and "N(0, 1)" in given.outputs[0].theorem.reason
    given = zeroloss.fit(data, start=(first.W, first.v), **options)
    assert given.to_dict()["options"]["width"] == 40
    given.save(tmp_path / "given")
    manifest = json.loads((tmp_path / "given" / "manifest.json").read_text())
    assert manifest["command"] == [f"zeroloss.fit({data!r}, max_steps=20, seed=5, start=(W, v))"]
    assert manifest["options"]["start"]["source"] == "arrays" and len(manifest["options"]["start"]["digest"]) == 64
    plain = zeroloss.fit(data, start="gaussian", width=40, **options)
    np.testing.assert_array_equal(plain.network.outputs[0].W, drawn.network.outputs[0].W)


def test_certificate_of_given_weights():
    X = np.eye(4)
    y = np.array([1.0, -1, 2, 0.5])
    W = np.linspace(0.1, 1, 24).reshape(6, 4)
    v = np.array([1.0, -1, 1, -1, 1, 1])
    run = zeroloss.fit(X, y, task="regression", start=(W, v), max_steps=0)
    residual = np.maximum(X @ W.T, 0) @ v - y
    size = np.maximum(X @ W.T, 0) @ np.abs(v) + np.abs(y)  # of sums of 4 and of 6 products, twice
    off = gamma(2 * (4 + 6 + 4)) * np.linalg.norm(size) / np.linalg.norm(y)
    assert run.relative_misfit == pytest.approx(np.linalg.norm(residual) / np.linalg.norm(y), rel=0, abs=off)
    np.testing.assert_array_equal(run.network.outputs[0].W, W)


def test_points_that_are_not_fitted():
    rng = np.random.default_rng(3)
    X, X_test = rng.normal(size=(40, 5)), rng.normal(size=(25, 5))
    y, y_test = np.sin(X[:, 0]), np.sin(X_test[:, 0])
    options = {"width": 60, "max_steps": 30, "center": True}
    plain, run = zeroloss.fit(X, y, **options), zeroloss.fit(X, y, test=(X_test, y_test), **options)
    np.testing.assert_array_equal(plain.network.outputs[0].W, run.network.outputs[0].W)
    error = np.sqrt(np.mean((run.network(X_test)[:, 0] - y_test) ** 2))
    off = two_layers(run.network, X_test).max() + gamma(2 * 25) * error
    assert run.test.error == pytest.approx(error, rel=0, abs=off) and run.test.n == 25 and run.test.wrong is None
    assert run.outputs[0].curve[-1].test_error == pytest.approx(error, rel=0, abs=off)
    assert plain.test is None and plain.outputs[0].curve[-1].test_error is None
    assert "test" in run.plot()
    again = zeroloss.fit(X, y, test=zeroloss.read_dataset(X_test, y_test), **options)
    assert again.test.error == run.test.error

    labels, labels_test = np.where(X[:, 0] > 0, "up", "down"), np.where(X_test[:, 1] > 0, "up", "down")
    run = zeroloss.fit(X, labels, test=(X_test, labels_test), **options)
    wrong = np.sum(np.where(run.network(X_test)[:, 0] >= 0, "up", "down") != labels_test)
    assert run.test.wrong == wrong and run.test.error == wrong / 25
    assert zeroloss.fit(X, labels, test=(X_test, ["up"] * 25), **options).test.n == 25
    with pytest.raises(zeroloss.DataError, match="class 'over' is none of those trained on: down, up"):
        zeroloss.fit(X, labels, test=(X_test, ["over"] * 25), **options)
    with pytest.raises(TypeError, match=r"test has to be a path, a frame, a Dataset or \(X, y\)"):
        zeroloss.fit(X, labels, test=X_test, **options)


def test_test_tables_are_read_as_the_data_were(tmp_path):
    (tmp_path / "train.csv").write_text("a,b,price\n" + "".join(f"{i},{i * i % 7},{i + 0.5}\n" for i in range(20)))
    (tmp_path / "test.csv").write_text("price,b,a\n" + "".join(f"{i + 0.25},{i * i % 5},{i}\n" for i in range(9)))
    read = {"target": "price"}
    run = zeroloss.fit(tmp_path / "train.csv", test=tmp_path / "test.csv", width=50, max_steps=20, **read)
    said = zeroloss.predict(run, tmp_path / "test.csv", **read)
    y = np.arange(9) + 0.25
    error = np.sqrt(np.mean((said.predictions - y) ** 2))
    off = two_layers(run.network, np.column_stack([np.arange(9), np.arange(9) ** 2 % 5])).max() + gamma(2 * 9) * error
    assert run.test.error == pytest.approx(error, rel=0, abs=off)
    own = zeroloss.read_dataset(tmp_path / "test.csv", **read)
    with pytest.raises(ValueError, match="give its path"):
        zeroloss.fit(tmp_path / "train.csv", test=own, width=50, max_steps=20, **read)


@pytest.mark.parametrize(
    ("start", "error", "words"),
    [
        ((np.ones((3, 2)), np.ones(4)), ValueError, r"v must have the shape \(3,\)"),
        (np.ones(3), ValueError, "W must be m x d"),
        ((np.ones((3, 2)), np.ones(3), 1), TypeError, r"start has to be \(W, v\); got 3 values"),
        (np.ones((3, 5)), zeroloss.DataError, "has W of 5 columns"),
        (np.full((3, 2), np.nan), ValueError, "not finite"),
        ("absent.npz", zeroloss.DataError, "no such file"),
    ],
)
def test_starts_that_cannot_be_are_refused(start, error, words):
    with pytest.raises(error, match=words):
        zeroloss.fit(np.eye(2), np.array([0.5, 1.5]), start=start)


@pytest.mark.parametrize("what", ["certify", "fit", "memorize", "sweep", "factorize", "train"])
def test_results_pickle_and_copy(what, tmp_path):
    result = {
        "certify": lambda: zeroloss.certify("digits", n=60, spectrum=True),
        "fit": lambda: zeroloss.fit("digits", n=60, width=80, optimizer="gauss_newton", polish=True,
                                    test=zeroloss.read_dataset("digits", n=90)),
        "memorize": lambda: zeroloss.memorize("digits", n=60),
        "sweep": lambda: zeroloss.sweep("sphere:n=20,y=normal", d=[2, 9], width=[2, 9], trials=2, max_steps=50),
        "factorize": lambda: zeroloss.linear.factorize(np.diag([2.0, 3, 0.5]), sigma=np.diag([1.0, 2, 3]), layers=9),
        "train": lambda: zeroloss.linear.train("gaussian:d=4", layers=[4, 9], max_steps=30, seed=3),
    }[what]()  # fmt: skip
    result.save(tmp_path / "run")
    for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert str(other) == str(result) and other.to_dict() == result.to_dict()
        folder = tmp_path / f"other{len(list(tmp_path.iterdir()))}"
        other.save(folder)
        files = sorted(p.name for p in (tmp_path / "run").iterdir())
        assert sorted(p.name for p in folder.iterdir()) == files
        for name in set(files) - {"manifest.json"}:  # the time of writing
            assert (folder / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name


BIG = 2**60


def remarks_of(X, y=None, **options):
    return [line for line in zeroloss.read_dataset(X, y, **options).remarks if line.startswith("rounded")]


def test_integers_that_become_other_numbers_are_said():
    said = "of X to the nearest double: what differs in later digits alone is the same"
    apart = np.array([[BIG, 1], [BIG + 1, 1], [-BIG - 1, 2**53], [BIG, -(2**63)]])
    assert remarks_of(apart) == [f"rounded: 2 numbers {said}"]
    assert remarks_of(apart.astype(np.uint64)) == [f"rounded: 2 numbers {said}"]  # 2^64 - 2^60 - 1, too
    assert remarks_of(apart.tolist()) == [f"rounded: 2 numbers {said}"]
    assert remarks_of([[BIG + 1, 0.5], [2.0, 3.0]]) == [f"rounded: 1 number {said}"]
    assert remarks_of(apart.astype(object)) == [f"rounded: 2 numbers {said}"]
    assert remarks_of([[2**64 + 1, -1], [0, 1]]) == [f"rounded: 1 number {said}"]
    for exact in (apart[:1], apart.astype(float), [[2.0**660, 1], [1, 2]], np.array([[2**62, -(2**63)]]),
                  np.array([[2**53, 2**53 - 1]]), np.array([[2**63]], dtype=np.uint64)):  # fmt: skip
        assert remarks_of(exact) == []
    assert remarks_of(np.array([[0.1]], dtype=np.longdouble) / 3) == [f"rounded: 1 number {said}"]

    y = np.array([BIG, BIG + 1])
    assert remarks_of(np.eye(2), y, task="regression") == [f"rounded: 1 number {said}".replace("X", "y")]
    assert remarks_of(np.eye(2), y.tolist(), task="regression") == remarks_of(np.eye(2), y, task="regression")
    assert remarks_of(np.eye(2), y) == []  # names of classes, with all their digits
    same = zeroloss.certify(apart[:2], ["a", "b"])
    assert same.outcome == "impossible" and "rounded: 1 number" in str(same)


def test_functions_without_remarks_warn_of_rounding():
    with pytest.warns(UserWarning, match="gram: rounded: 1 number of X to the nearest double"):
        zeroloss.kernel.gram(np.array([[BIG + 1, 1]]), zeroloss.kernel.sigma("relu"))
    with pytest.warns(UserWarning, match="linear.factorize: rounded: 1 number of R"):
        zeroloss.linear.factorize([[2**53 + 1, 0], [0, 2**53]])


def test_frames_have_no_numbers_of_what_does_not_exist(tmp_path):
    pytest.importorskip("pandas")
    result = zeroloss.linear.factorize([[-1.0, 0.5], [0.0, -1.0]], layers=3)
    by_name = {one.name: one for one in result.depths[0].factorizations}
    assert by_name["paper"].missing and by_name["logarithm"].missing and not by_name["polar"].missing
    table = result.to_frame().set_index("name")
    numbers = ["max_norm", "reconstruction_error", "correction"]
    assert table.loc[["paper", "logarithm"], numbers].isna().all(axis=None)
    assert table.loc["polar", numbers].notna().all()
    assert all(getattr(by_name["logarithm"], name) == np.inf for name in numbers)

    one = zeroloss.fit(np.eye(3), [1.0, 2.0, 3.0], width=4, max_steps=1, task="regression")
    assert not one.outputs[0].certificate.holds
    row = one.to_frame("outputs").iloc[0]
    assert row[["certificate_radius", "certificate_step", "certificate_rate", "certificate_norm_J"]].isna().all()
    nothing = zeroloss.prove(one, np.eye(3), [1.0, 2.0, 3.0])
    assert nothing.to_frame().iloc[0][["certificate_radius", "certificate_kink", "certificate_sample"]].isna().all()


def test_pickles_name_what_they_hold():
    data = zeroloss.read_dataset(np.eye(3), [0.5, 1.5, 2.0])
    run = zeroloss.fit(data, width=4, max_steps=3)
    deep = zeroloss.prove(run, data)
    for value in (data, run, run.network, deep, zeroloss.memorize(data).network):
        kind, state = type(value).__name__, value.__getstate__()
        assert state["format"] == 2 and state["version"] == zeroloss.__version__
        content = state["content"]
        empty = type(value).__new__(type(value))
        for other, words in [
            (tuple(content.values()), f"of {kind} was written by an earlier version .* make it again with this"),
            ({**state, "format": 3, "version": "9.0"}, f"of {kind} has format 3 of zeroloss 9.0; 2 is known"),
            ({**state, "content": {name: None for name in content}}, f"of {kind} by zeroloss"),
        ]:
            with pytest.raises(zeroloss.DataError, match=words):
                empty.__setstate__(other)
    state = run.network.__getstate__()
    content, made = state["content"], type(run.network).__new__(type(run.network))
    for other, words in [
        ({**content, "strange": 1}, "has 1 values of names that are not known"),
        ({name: content[name] for name in content if name != "outputs"}, "has no 'outputs'"),
        ({**content, "task": "clustering"}, "has the unknown word 'clustering'"),
    ]:
        with pytest.raises(zeroloss.DataError, match=f"a pickle of Network by zeroloss .* {words}; make it again"):
            made.__setstate__({**state, "content": other})
    task = zeroloss.read_dataset("digits", n=30).__getstate__()["content"]["task"]
    assert task == "classification"  # by name, too
