"""Whatever a user may hold shows itself in a line or two, however large it is."""

import numpy as np
import pytest

import zeroloss
from zeroloss import _core, figures

X = np.random.default_rng(0).normal(size=(60, 300))
Y = [f"class {i % 3}" for i in range(60)]


def runs():
    return figures.Run("run", {"steps": list(range(9999))}, {"curve": list(range(9999))})


MADE = {
    "certify": lambda: zeroloss.certify(X, Y, spectrum=True),
    "fit": lambda: zeroloss.fit(X, Y, width=80, optimizer="gauss_newton", polish=True, test=(X[:9], Y[:9])),
    "memorize": lambda: zeroloss.memorize(X, Y),
    "sweep": lambda: zeroloss.sweep("sphere:n=20,y=normal", d=[2, 9], width=[2, 9], trials=2, max_steps=50),
    "linear": lambda: zeroloss.linear.train("gaussian:d=40", layers=[9, 12], max_steps=3),
    "data": lambda: zeroloss.read_dataset(X, Y),
    "describe": lambda: zeroloss.describe(X, Y),
    "predict": lambda: zeroloss.predict(zeroloss.memorize(X, Y), X, Y),
    "kernel": lambda: [zeroloss.kernel.gram(X), zeroloss.kernel.lambda_min(X), zeroloss.kernel.sigma("tanh"),
                       zeroloss.kernel.activation("relu"), zeroloss.kernel.dual_activation("gelu")],
    "others": lambda: [zeroloss.blas_info(), _core.theorems(), _core.FitOptions(), runs()],
    "figures": lambda: list(zeroloss.fit(X, Y, width=80, max_steps=9).plot().values()),
}  # fmt: skip


def parts(thing, seen):
    """One object of each class that a result is made of."""
    if isinstance(thing, (list, tuple)):
        for one in thing[:3]:
            yield from parts(one, seen)
    elif type(thing).__module__.startswith("zeroloss") and type(thing) not in seen:
        seen.add(type(thing))
        yield thing
        for name in dir(thing):
            if not name.startswith("_"):
                yield from parts(getattr(thing, name), seen)


@pytest.mark.parametrize("made", MADE)
def test_a_line_or_two(made):
    shown = [(type(thing).__name__, repr(thing)) for thing in parts(MADE[made](), set())]
    assert shown
    for kind, text in shown:
        assert len(text) < 300 and text.count("\n") <= 2 and " object at 0x" not in text, (kind, text)


def test_zero_loss_is_said_with_its_loss():
    loss, more = "||f - y||^2/2", ", y = -1 or 1 for classes"
    answers = [zeroloss.certify(X, Y), zeroloss.width(X, Y, restarts=0, draws=1, published=False),
               zeroloss.fit(X, Y, width=80, optimizer="gauss_newton")]  # fmt: skip
    for answer in answers:
        assert repr(answer).endswith(f"; loss {loss}{more}>"), repr(answer)
        assert str(answer).count(f"{loss}{more}; summed over samples, steps multiply its gradient") == 1
    assert repr(zeroloss.certify(X, X[:, 0], task="regression")).endswith(f"; loss {loss}>")


def test_lines_have_the_main_facts():
    answer = zeroloss.certify(X, Y)
    sample = answer.bottleneck[0].sample
    weight = f"{answer.bottleneck[0].weight:.4g}"
    assert repr(answer.bottleneck[0]) == (
        f"<Bottleneck: record={sample.record}, label={sample.label!r}, weight={weight}, sample={sample!r}>")
    assert repr(zeroloss.predict(zeroloss.memorize(X, Y), X, Y)) == "<Prediction: 60 x 3 outputs, error 0>"
    assert repr(zeroloss.predict(zeroloss.memorize(X, Y), X[:2])) == "<Prediction: 2 x 3 outputs>"
    assert "K=<60 x 60>" in repr(zeroloss.kernel.gram(X))
    layers = zeroloss.linear.factorize("gaussian:d=4", layers=12).depths[0].smallest().network
    assert repr(layers) == "<linear network of 12 layers>"
