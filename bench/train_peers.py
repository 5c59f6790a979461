"""train_peers.py N D M: full-batch gradient descent of a two-layer relu network in PyTorch, float32, at its best.

    python train_peers.py 1000 784 8192 [--steps 9] [--threads CORES]     every variant: one JSON object
    echo "step compiled" | python train_peers.py 1000 784 8192 --ask      one measurement a line, one JSON line back

X: N random unit rows of R^D; y normal; W_0 (M x D) normal; v_j = +-1/sqrt(M); loss 1/2 ||r||^2, r = relu(X W^T) v - y;
step 0.1, on the CPU. All variants have to reach the same misfit. 4 N D M operations a step (two products) are useful.

    step VARIANT     seconds of one step, ||r||^2 at its start; first steps of compiled variants include compiling
      autograd         as one writes it
      formula          the gradient written out, a new W every step
      in_place         the same in memory that is in use already
      transposed       the same with W X^T for X W^T: a row is a hidden unit
      fused            as in_place, with all that lies between the two products in one compiled kernel
      fused_transposed as transposed, with that kernel
      compiled         torch.compile of `formula`
      compiled_grad    torch.compile of torch.func.grad_and_value: the compiler derives the backward pass
      compiled_tuned   torch.compile(mode="max-autotune") of `formula`
    sgemm I J K      seconds of C = A B in memory that is in use already: A I x J, B J x K
    info             versions, threads
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch

STEP = 0.1


def between(Z, S, y, v, units):
    """r of pre-activations Z, whose axis `units` runs over hidden units, and S = relu'(Z) r v in place."""
    r = (torch.relu(Z) * v).sum(units, keepdim=True) - y
    S.copy_((Z >= 0) * (r * v))
    return r


class Training:
    """One network for every variant, each from the same start."""

    def __init__(self, n, d, m):
        g = torch.Generator().manual_seed(0)
        self.X = torch.nn.functional.normalize(torch.randn(n, d, generator=g))
        self.y = torch.randn(n, generator=g)
        self.W_0 = torch.randn(m, d, generator=g)
        self.v = (2.0 * torch.randint(0, 2, (m,), generator=g) - 1) / m**0.5
        self.X_t = self.X.T.contiguous()
        self.Z, self.S = torch.empty(n, m), torch.empty(n, m)
        self.Z_t, self.S_t = torch.empty(m, n), torch.empty(m, n)
        self.between = torch.compile(between)
        eager = (self.autograd, self.formula, self.in_place, self.transposed, self.fused, self.fused_transposed)
        self.variants = {step.__name__: step for step in eager}
        self.variants |= {"compiled": torch.compile(self.formula), "compiled_grad": torch.compile(self.functional),
                          "compiled_tuned": torch.compile(self.formula, mode="max-autotune")}
        self.W = {}

    # Every variant: (W, X, y, v) -> (the next W, ||r||^2).

    def autograd(self, W, X, y, v):
        W = W.detach().requires_grad_(True)
        misfit = ((torch.relu(X @ W.T) @ v - y) ** 2).sum()
        (gradient,) = torch.autograd.grad(misfit / 2, W)
        return W.detach() - STEP * gradient, misfit.detach()

    def formula(self, W, X, y, v):
        Z = X @ W.T
        r = torch.relu(Z) @ v - y
        S = (Z >= 0) * (r[:, None] * v)
        return W - STEP * (S.T @ X), r @ r

    def in_place(self, W, X, y, v):
        Z = torch.mm(X, W.T, out=self.Z)
        r = torch.clamp(Z, min=0, out=self.S) @ v - y
        torch.outer(r, v, out=self.S).mul_(torch.ge(Z, 0, out=Z))
        return W.addmm_(self.S.T, X, alpha=-STEP), r @ r

    def transposed(self, W, X, y, v):
        Z = torch.mm(W, self.X_t, out=self.Z_t)
        r = v @ torch.clamp(Z, min=0, out=self.S_t) - y
        torch.outer(v, r, out=self.S_t).mul_(torch.ge(Z, 0, out=Z))
        return W.addmm_(self.S_t, X, alpha=-STEP), r @ r

    def fused(self, W, X, y, v):
        r = self.between(torch.mm(X, W.T, out=self.Z), self.S, y[:, None], v[None, :], 1)
        return W.addmm_(self.S.T, X, alpha=-STEP), (r * r).sum()

    def fused_transposed(self, W, X, y, v):
        r = self.between(torch.mm(W, self.X_t, out=self.Z_t), self.S_t, y[None, :], v[:, None], 0)
        return W.addmm_(self.S_t, X, alpha=-STEP), (r * r).sum()

    def functional(self, W, X, y, v):
        half = lambda W: ((torch.relu(X @ W.T) @ v - y) ** 2).sum() / 2
        gradient, loss = torch.func.grad_and_value(half)(W)
        return W - STEP * gradient, 2 * loss

    def step(self, variant):
        W = self.W.pop(variant, None)
        W = self.W_0.clone() if W is None else W
        begin = time.perf_counter()
        W, misfit = self.variants[variant](W, self.X, self.y, self.v)
        seconds = time.perf_counter() - begin
        self.W[variant] = W
        return {"seconds": seconds, "misfit": misfit.item()}


def sgemm(i, j, k, rounds=1):
    A, B, C = torch.randn(i, j), torch.randn(j, k), torch.empty(i, k)
    times = []
    for _ in range(rounds + 1):
        begin = time.perf_counter()
        torch.mm(A, B, out=C)
        times.append(time.perf_counter() - begin)
    return {"seconds": statistics.median(times[1:])}


def info():
    simd = torch.backends.cpu.get_cpu_capability()
    return {"torch": torch.__version__, "threads": torch.get_num_threads(), "simd": simd}


def answer(training, words):
    match words:
        case ["step", variant]:
            return training.step(variant)
        case ["sgemm", i, j, k]:
            return sgemm(int(i), int(j), int(k))
        case ["info"]:
            return info()
    sys.exit(f"train_peers: not a measurement: {' '.join(words)}")


def everything(training, n, d, m, steps):
    """Two steps of warm-up of each variant, then rounds of one step of each; medians, with least and most."""
    runs = {variant: [] for variant in training.variants}
    for variant in runs:
        for _ in range(2):
            training.step(variant)
    for _ in range(steps):
        for variant in runs:
            runs[variant].append(training.step(variant))
    found = {"n": n, "d": d, "m": m, **info(), "steps": {}, "sgemm": {}}
    for variant, answers in runs.items():
        times = [a["seconds"] for a in answers]
        seconds = statistics.median(times)
        found["steps"][variant] = {"seconds": seconds, "least": min(times), "most": max(times),
                                   "gflops": 4 * n * d * m / seconds / 1e9, "misfit": answers[-1]["misfit"]}
    for shape in ((n, d, m), (n, n, m), (m, n, d)):
        seconds = sgemm(*shape, rounds=steps)["seconds"]
        i, j, k = shape
        found["sgemm"][f"{i} x {j} x {k}"] = {"seconds": seconds, "gflops": 2 * i * j * k / seconds / 1e9}
    misfits = [step["misfit"] for step in found["steps"].values()]
    assert max(misfits) < (1 + 1e-4) * min(misfits), misfits
    found["best"] = min(found["steps"], key=lambda variant: found["steps"][variant]["seconds"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for size in ("n", "d", "m"):
        parser.add_argument(size, type=int)
    parser.add_argument("--steps", type=int, default=9, help="measured steps of each variant [9]")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ask", action="store_true", help="answer the lines of stdin instead")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    training = Training(options.n, options.d, options.m)
    if options.ask:
        for line in sys.stdin:
            print(json.dumps(answer(training, line.split())), flush=True)
    else:
        print(json.dumps(everything(training, options.n, options.d, options.m, options.steps), indent=1))


if __name__ == "__main__":
    main()
