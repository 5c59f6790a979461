"""Every function takes the seeds that NumPy takes."""

import numpy as np
import pytest

import zeroloss

DATA = "sphere:n=9,d=3,y=normal"
RUN = zeroloss.fit(DATA, width=9, max_steps=1)
FUNCTIONS = {
    "certify": lambda seed: zeroloss.certify(DATA, seed=seed),
    "fit": lambda seed: zeroloss.fit(DATA, seed=seed, width=9, max_steps=2),
    "memorize": lambda seed: zeroloss.memorize(DATA, seed=seed),
    "sweep": lambda seed: zeroloss.sweep(DATA, seed=seed, width=[5], max_steps=2, trials=1),
}
OTHERS = {
    "read_dataset": lambda seed: zeroloss.read_dataset(DATA, seed=seed).X,
    "describe": lambda seed: str(zeroloss.describe(DATA, seed=seed)),
    "predict": lambda seed: zeroloss.predict(RUN, DATA, seed=seed).outputs,
    "linear.factorize": lambda seed: zeroloss.linear.factorize("gaussian:d=3", seed=seed).problem.R,
    "linear.train": lambda seed: zeroloss.linear.train("gaussian:d=3", seed=seed, max_steps=1).problem.R,
}


def used(function, seed):
    return FUNCTIONS[function](seed).to_dict()["options"]["seed"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_seeds_become_integers(function):
    assert [used(function, seed) for seed in (5, np.int64(5), np.uint8(5), np.array(5))] == 4 * [5]
    fresh = {used(function, None), used(function, None)}
    assert len(fresh) == 2 and all(0 <= seed < 2**53 for seed in fresh)
    for made in (np.random.default_rng, np.random.PCG64, np.random.RandomState):
        first, second = (made(3) for _ in range(2))
        drawn = [used(function, first), used(function, first)]
        assert drawn == [used(function, second), used(function, second)] and drawn[0] != drawn[1]
    sequence = np.random.SeedSequence(3)
    assert used(function, sequence) == used(function, sequence) == used(function, np.random.SeedSequence(3))


@pytest.mark.parametrize("function", OTHERS)
def test_the_integer_alone_decides(function):
    made = OTHERS[function]
    np.testing.assert_array_equal(made(np.int32(5)), made(5))
    drawn = int(np.random.default_rng(3).integers(2**53))
    for seed in (np.random.default_rng(3), np.random.SeedSequence(3), np.random.PCG64(3)):
        np.testing.assert_array_equal(made(seed), made(drawn))
    assert np.any(np.asarray(made(None)) != np.asarray(made(None)))


@pytest.mark.parametrize("function", [*FUNCTIONS, *OTHERS])
def test_what_is_no_seed_is_refused(function):
    made = {**FUNCTIONS, **OTHERS}[function]
    for seed in (-1, 2**53, np.int64(-1)):
        with pytest.raises(ValueError, match=rf"^{function}: seed must be in \[0, 2\^53\); got {seed}$"):
            made(seed)
    for seed in (1.5, "7", [1, 2]):
        with pytest.raises(TypeError, match=rf"^{function}: seed has to be an integer, None, or a Generator"):
            made(seed)


def test_a_fresh_seed_stands_in_the_call():
    data = zeroloss.read_dataset(DATA, seed=None)
    np.testing.assert_array_equal(eval(data.call).X, data.X)
