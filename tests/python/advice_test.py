"""Errors speak of keywords: no message that Python shows names a flag of the command, or says what Python would."""

import inspect
import math
import re
from functools import partial

import numpy as np
import pytest

import zeroloss
from zeroloss.api.data import Read

FLAG = re.compile(r"(?<![\w-])--[a-z]")
DATA = "sphere:n=9,d=2,y=normal"
SMALL = {"fit": {"width": 4, "max_steps": 2}, "sweep": {"width": [4], "trials": 1, "max_steps": 2}}
FUNCTIONS = {f.__name__: f for f in (zeroloss.certify, zeroloss.fit, zeroloss.memorize, zeroloss.sweep,
                                     zeroloss.read_dataset, zeroloss.describe, zeroloss.linear.factorize,
                                     zeroloss.linear.train)}  # fmt: skip
UNCLEAR = re.compile(r"object is not iterable|incompatible function arguments|NoneType|PosixPath")
BAD = (-1, 0.5, math.nan, "nonsense", None, ["nonsense"], object())
FILES = {
    "empty.csv": "",
    "header.csv": "a,b\n",
    "ragged.csv": "1,2,3\n1,2\n",
    "text.csv": "5.1,x\n4.9,y\n",
    "missing.csv": "a,b,k\n1,,x\n2,3,y\n4,NA,x\n",
    "conflict.csv": "a,k\n1,x\n1,y\n2,x\n",
    "names.csv": "y,y,a\n1,2,3\n2,3,4\n",
    "single.csv": "a,k\n1,x\n2,x\n",
    "wide.csv": "name,a,k\nann,1,x\nbob,2,y\ncid,3,x\n",
    "model.safetensors": "no model",
    "odd.npz": "PK",
    "odd.npy": "nothing",
    "idx1-ubyte": "??",
}
READ = [{}, {"target": "zz"}, {"target": 9}, {"target": "none"}, {"features": "zz"}, {"drop": ["zz"]}, {"id": "zz"},
        {"one_hot": ["zz"]}, {"missing": "error"}, {"missing": "drop"}, {"classes": ["zz"]}, {"labels": "noise:2"},
        {"task": "regression"}, {"task": "classification"}, {"split": "test"}, {"n": 99}, {"d": 99}, {"bias": -1.0},
        {"features": "all"}, {"shuffle": True, "n": 99}, {"standardize": "min-max"}]  # fmt: skip


def check(call, said=None):
    """The message of a call, which may also succeed."""
    try:
        call()
    except (ValueError, TypeError, RuntimeError, OSError, IndexError) as error:
        assert not FLAG.search(str(error)), str(error)
        assert not UNCLEAR.search(str(error)), str(error)
        if said is not None:
            said.append(str(error))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("function", FUNCTIONS)
def test_options_that_cannot_be(function):
    called = FUNCTIONS[function]
    data = "gaussian:d=3" if called.__module__.endswith("linear") else DATA
    taken = [p.name for p in inspect.signature(called).parameters.values() if p.kind is p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(called).parameters.values()):
        taken += Read.__annotations__
    said = []
    for name in set(taken) - {"progress"}:
        for value in BAD:
            check(partial(called, data, **{**SMALL.get(function, {}), name: value}), said)
    assert len(said) > len(taken)


@pytest.mark.parametrize("name", [*FILES, "absent.csv", ".", "mnist", "cifar10", "sphere:d=3", "sphere:n=0,d=2",
                                  "sphere:n=3,d=2,z=1", "digits", "digits:n=3"])  # fmt: skip
def test_data_that_cannot_be_read(name):
    said = []
    for read in READ:
        check(partial(zeroloss.describe, name, cache="cache", **read), said)
    for function in (zeroloss.certify, zeroloss.fit, zeroloss.memorize, zeroloss.sweep):
        if name != "digits":
            check(partial(function, name, cache="cache", **SMALL.get(function.__name__, {})), said)
    check(lambda: zeroloss.linear.factorize(name), said)
    check(lambda: zeroloss.load(name), said)
    check(lambda: zeroloss.fit(DATA, test=name, **SMALL["fit"]), said)
    check(lambda: zeroloss.fit(DATA, start=name, **SMALL["fit"]), said)
    assert said


def test_results_and_what_they_do_not_fit(folder):
    said, X = [], np.eye(4)
    run = zeroloss.fit(DATA, checkpoint="checkpoint", **SMALL["fit"])
    run.save("run")
    zeroloss.sweep(DATA, store="trials.db", **SMALL["sweep"])
    calls = [
        lambda: run.save("run"),
        lambda: run.save("no/such/folder/run"),
        lambda: zeroloss.fit(DATA, checkpoint="checkpoint", resume=True, width=5, max_steps=2),
        lambda: zeroloss.fit(DATA, checkpoint="text.csv", resume=True, **SMALL["fit"]),
        lambda: zeroloss.fit(DATA, resume=True, **SMALL["fit"]),
        lambda: zeroloss.fit(DATA, start=np.eye(3), width=9),
        lambda: zeroloss.fit(DATA, width=10**9),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], optimizer="gauss_newton", precision="float32"),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], optimizer="flow", step=1.0),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], optimizer="sgd", batch=9),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], normalize=False, center=True),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], polish=True, activation="tanh", **SMALL["fit"]),
        lambda: zeroloss.fit(X, [0, 1, 0, 1], test=(X[:2], [5, 6])),
        lambda: zeroloss.fit(2 * X, [0, 1, 0, 1], normalize=False),
        lambda: zeroloss.sweep(DATA, store="trials.db", width=[4], trials=1, max_steps=3),
        lambda: zeroloss.sweep(DATA, store="text.csv", **SMALL["sweep"]),
        lambda: zeroloss.sweep(X, [0, 1, 0, 1], n=[9], **SMALL["sweep"]),
        lambda: zeroloss.sweep(X, [0, 1, 0, 1], **SMALL["sweep"]).fit_command(0),
        lambda: zeroloss.predict("run", X),
        lambda: zeroloss.predict("text.csv", X),
        lambda: zeroloss.predict(run, "digits"),
        lambda: zeroloss.predict(run, X[:, :2], ["a", "b", "a", "b"]),
        lambda: zeroloss.memorize(np.ones((4, 2)), [0, 1, 0, 1]),
        lambda: zeroloss.memorize(X, [0, 1, 0, 1], construction="paper", hidden=1),
        lambda: zeroloss.memorize(X, np.ones((4, 2)), margin=0.9),
        lambda: zeroloss.certify(np.zeros((3, 2))),
        lambda: zeroloss.certify(np.ones((3, 2)), normalize=False),
        lambda: zeroloss.certify(X, ["a"] * 4),
        lambda: zeroloss.linear.factorize(-np.eye(2), reflection="flip"),
        lambda: zeroloss.linear.factorize(np.ones((3, 3))),
        lambda: zeroloss.linear.factorize(X, sigma=np.zeros((4, 4))),
        lambda: zeroloss.linear.factorize(X, np.ones((3, 4))),
        lambda: zeroloss.linear.train("rotation:d=0"),
        lambda: zeroloss.kernel.activation("nonsense"),
        lambda: zeroloss.kernel.power(0),
        lambda: zeroloss.kernel.sigma("relu")(2.0),
        lambda: zeroloss.kernel.lambda_min(np.zeros((2, 2))),
        lambda: zeroloss.set_thread_count(0),
    ]
    for call in calls:
        check(call, said)
    assert len(said) > 30
