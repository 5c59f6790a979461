"""sweep_peers.py jax|torch: cells of the phase diagram of [OS, section 4] in JAX or PyTorch, on the CPU, at their best.

    echo "cell best softplus 20 20" | python sweep_peers.py jax       one line in, one JSON line out

N = 100 points, uniform on the unit sphere of R^D; y normal; W_0 (M x D) normal; v_j = +-||y||/sqrt(M N), the first
floor(M/2) plus, the last floor(M/2) minus, an odd one 0; float32; gradient descent on 1/2 ||relu(X W^T) v - y||^2 (or
softplus) by steps of 0.1 (0.15) until ||r||/||y|| < 2.5e-3, at most 15,000. A cell is 10 trials; a peer's variants and
both peers get the same.

    cell VARIANT ACTIVATION D M   seconds, steps of each trial, successes; nothing is compiled after the first time
    cold VARIANT ACTIVATION D M   the same, traced and compiled anew (JAX; without the device's own start)
    variants | info | protocol    the variants, from the best on; versions, cores; the numbers above

A variant differs from `best` in what its name says.
"""
import concurrent.futures
import contextlib
import functools
import json
import multiprocessing
import os
import sys
import time

import numpy as np

N, TRIALS, MAX_STEPS, TOLERANCE = 100, 10, 15000, 2.5e-3
STEP = {"relu": 0.1, "softplus": 0.15}
CORES = len(os.sched_getaffinity(0))


@functools.cache
def cell(d, m):
    """X (TRIALS x N x d), y (TRIALS x N), v (TRIALS x m) and W_0 (TRIALS x m x d) of the trials."""
    random = np.random.default_rng((d, m))
    X, y, W = (random.standard_normal((TRIALS, *shape)) for shape in ((N, d), (N,), (m, d)))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    signs = np.repeat([1, 0, -1], [m // 2, m % 2, m // 2])
    v = signs * np.linalg.norm(y, axis=1, keepdims=True) / np.sqrt(m * N)
    return tuple(a.astype(np.float32) for a in (X, y, v, W))


def result(seconds, steps, success):
    return {"seconds": seconds, "steps": [int(s) for s in steps], "successes": int(np.sum(success))}


class Jax:
    """A compiled loop that ends when all trials have; those that are through early stand still."""

    VARIANTS = {
        "best": {},  # a batch of trials on each core; Z = W X^T, X^T stored; softplus and its derivative from one tanh
        "trial_by_trial": {"spread": "threads"},  # a thread takes the next trial when it is done with one
        "one_core": {"spread": "batch"},  # all trials in one batch, which XLA leaves to one core
        "one_by_one": {"spread": "map"},  # lax.map in place of vmap, one core
        "four_steps": {"unroll": 4},  # in an iteration of the loop
        "by_rows": {"rows": True},  # Z = X W^T
        "library_softplus": {"library": True},  # jax.nn.softplus and jax.nn.sigmoid
        "as_written": {"spread": "batch", "rows": True, "library": True},
    }

    def __init__(self):
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_prefer_vector_width=512")  # softplus: 15 %
        import jax

        jax.config.update("jax_num_cpu_devices", CORES)
        self.jax, self.np = jax, jax.numpy
        self.pool = concurrent.futures.ThreadPoolExecutor(CORES)

    def close(self):
        self.pool.shutdown()

    def softplus(self, z, library):
        """softplus(z) and its derivative."""
        if library:
            return self.jax.nn.softplus(z), self.jax.nn.sigmoid(z)
        t = self.np.tanh(z / 2)
        return self.np.maximum(z, 0) - self.np.log(0.5 + 0.5 * abs(t)), 0.5 + 0.5 * t

    def relu(self, z, library):
        return self.np.maximum(z, 0), (z >= 0).astype(z.dtype)

    def train(self, X, y, v, W, *, activation, rows, library, unroll):
        """One trial: its steps, and whether it succeeded. X is X^T if not rows."""
        jnp, phi = self.np, getattr(self, activation)
        limit = TOLERANCE**2 * (y @ y)

        def step(taken, W, *_):
            value, slope = phi(X @ W.T if rows else W @ X, library)
            r = (value @ v if rows else v @ value) - y
            misfit = r @ r
            more = (misfit >= limit) & (taken < MAX_STEPS)
            gradient = (slope * jnp.outer(r, v)).T @ X if rows else (slope * jnp.outer(v, r)) @ X.T
            return taken + more, W - jnp.where(more, STEP[activation], 0) * gradient, misfit, more

        def steps(state):
            for _ in range(unroll):
                state = step(*state)
            return state

        taken, _, misfit, _ = self.jax.lax.while_loop(lambda state: state[3], steps, (0, W, jnp.inf, True))
        return taken, misfit < limit

    @functools.cache  # noqa: B019 - lives as long as the program
    def spread(self, way, **how):
        """A function of (X, y, v, W) of all trials: how they are laid out over the cores."""
        jax, train = self.jax, functools.partial(self.train, **how)
        if way == "batch":
            return jax.jit(jax.vmap(train))
        if way == "map":
            return jax.jit(lambda *trials: jax.lax.map(lambda trial: train(*trial), trials))
        if way == "threads":
            one = jax.jit(train)
            ask = lambda *trial: jax.block_until_ready(one(*trial))
            return lambda *trials: [np.array(a) for a in zip(*self.pool.map(ask, *trials))]
        along = jax.sharding.PartitionSpec("cores")
        cores = jax.sharding.Mesh(np.array(jax.devices()), ("cores",))
        each = jax.shard_map(jax.vmap(train), mesh=cores, in_specs=along, out_specs=along, check_vma=False)
        return jax.jit(each)

    def cell(self, variant, activation, d, m, cold=False):
        how = {"spread": "shards", "rows": False, "library": False, "unroll": 1} | self.VARIANTS[variant]
        way = how.pop("spread")
        X, y, v, W = cell(d, m)
        trials = X if how["rows"] else X.swapaxes(1, 2), y, v, W
        if way == "shards":  # as many trials for each core: the first ones again
            again = np.arange(-(-TRIALS // CORES) * CORES) % TRIALS
            trials = [a[again] for a in trials]
        spread = Jax.spread.__wrapped__ if cold else Jax.spread  # past the cache, or from it
        run = spread(self, way, activation=activation, **how)
        begin = time.perf_counter()
        steps, success = self.jax.block_until_ready(run(*trials))
        seconds = time.perf_counter() - begin
        return result(seconds, steps[:TRIALS], success[:TRIALS])

    def info(self):
        return {"jax": self.jax.__version__, "jaxlib": self.jax.lib.__version__, "cores": CORES}


class TorchTrials:
    """Some trials of a cell, in a process of their own; W goes from step to step."""

    CHECK, BLOCK = 50, 10  # steps: between looks at the misfits, in what torch.compile gets

    def __init__(self, activation, d, m, first, last):
        import torch

        torch._dynamo.config.recompile_limit = 1000  # sizes are constants in what it compiles
        self.torch, self.softplus = torch, activation == "softplus"
        self.step = STEP[activation]
        self.X, self.y, self.v, self.W_0 = (torch.tensor(a[first:last]) for a in cell(d, m))
        self.X_t = self.X.mT.contiguous()
        self.y_row, self.v_row, self.v_column = self.y[:, None, :], self.v[:, None, :], self.v[:, :, None]
        self.Z, self.S, self.P = (torch.empty(last - first, m, N) for _ in range(3))
        self.r = torch.empty_like(self.y_row)
        self.compiled = torch.compile(self.block, dynamic=False)
        self.limit = (TOLERANCE * torch.linalg.vector_norm(self.y, dim=1)) ** 2

    # Every variant: W -> (the next W, r before the last of its steps).

    def written(self, W):
        torch = self.torch
        Z = self.X @ W.mT
        value = torch.nn.functional.softplus(Z) if self.softplus else torch.relu(Z)
        slope = torch.sigmoid(Z) if self.softplus else (Z >= 0).float()
        r = (value * self.v_row).sum(2) - self.y
        return W - self.step * ((slope * r[:, :, None] * self.v_row).mT @ self.X), r

    def block(self, W):
        torch = self.torch
        for _ in range(self.BLOCK):
            Z = torch.bmm(W, self.X_t)
            slope = torch.sigmoid(Z) if self.softplus else (Z >= 0).float()
            value = Z - torch.log(slope) if self.softplus else torch.relu(Z)
            r = torch.baddbmm(self.y_row, self.v_row, value, beta=-1)
            W = torch.baddbmm(W, slope * (self.v_column * r), self.X, alpha=-self.step)
        return W, r

    def in_place(self, W):
        torch, Z, S, P = self.torch, self.Z, self.S, self.P
        torch.bmm(W, self.X_t, out=Z)
        if self.softplus:
            value = Z.sub_(torch.log(torch.sigmoid(Z, out=S), out=P))
        else:
            value = torch.clamp(Z, min=0, out=P)
        r = torch.baddbmm(self.y_row, self.v_row, value, beta=-1, out=self.r)
        torch.mul(self.v_column, r, out=P)
        if self.softplus:
            S.mul_(P)
        else:
            torch.ops.aten.threshold_backward.grad_input(P, Z, 0, grad_input=S)
        return W.baddbmm_(S, self.X, alpha=-self.step), r

    def train(self, variant):
        advance, W = getattr(self, variant), self.W_0.clone()
        taken = self.torch.full(self.limit.shape, MAX_STEPS)
        success = self.torch.zeros_like(self.limit, dtype=bool)
        for steps in range(self.CHECK, MAX_STEPS + 1, self.CHECK):
            for _ in range(self.CHECK // (self.BLOCK if variant == "compiled" else 1)):
                W, r = advance(W)
            new = ((r * r).flatten(1).sum(1) < self.limit) & ~success
            taken[new], success = steps, success | new
            if success.all():
                break
        return taken.numpy(), success.numpy()


torch_trials = functools.cache(TorchTrials)


def torch_train(trials, variant):
    import torch

    torch.set_num_threads(1)
    with torch.inference_mode():
        return torch_trials(*trials).train(variant)


class Torch:
    """A loop in Python that looks at the misfits every 50 steps, so counts steps in fifties, and ends when all trials
    have.

    Every operation stays on one core: shared among PyTorch's own threads, ones as small as these take longer.
    """

    VARIANTS = {
        # A process and a batch of trials for each core; memory in use already, softplus as z - log sigmoid(z).
        "best": {},
        "compiled": {"step": "compiled"},  # torch.compile of ten steps
        "one_core": {"processes": 1},
        "as_written": {"processes": 1, "step": "written"},
    }

    def __init__(self):
        start = multiprocessing.get_context("spawn")
        self.processes = [concurrent.futures.ProcessPoolExecutor(1, mp_context=start) for _ in range(CORES)]

    def close(self):
        for process in self.processes:
            process.shutdown()

    def cell(self, variant, activation, d, m):
        how = {"processes": min(CORES, TRIALS), "step": "in_place"} | self.VARIANTS[variant]
        bounds = np.linspace(0, TRIALS, how["processes"] + 1, dtype=int)
        begin = time.perf_counter()
        parts = [process.submit(torch_train, (activation, d, m, first, last), how["step"])
                 for process, first, last in zip(self.processes, bounds, bounds[1:])]
        steps, success = (np.concatenate(a) for a in zip(*(part.result() for part in parts)))
        return result(time.perf_counter() - begin, steps, success)

    def info(self):
        import torch

        return {"torch": torch.__version__, "simd": torch.backends.cpu.get_cpu_capability(), "cores": CORES}


def answer(peer, words):
    match words:
        case ["cell", variant, activation, d, m]:
            return peer.cell(variant, activation, int(d), int(m))
        case ["cold", variant, activation, d, m]:
            return peer.cell(variant, activation, int(d), int(m), cold=True)
        case ["protocol"]:
            return {"n": N, "trials": TRIALS, "max_steps": MAX_STEPS, "tolerance": TOLERANCE, "step": STEP}
        case ["variants"]:
            return list(peer.VARIANTS)
        case ["info"]:
            return peer.info()
    sys.exit(f"sweep_peers: not a measurement: {' '.join(words)}")


def main():
    with contextlib.closing({"jax": Jax, "torch": Torch}[sys.argv[1]]()) as peer:
        for line in sys.stdin:
            print(json.dumps(answer(peer, line.split())), flush=True)


if __name__ == "__main__":
    main()
