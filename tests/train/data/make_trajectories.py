"""Writes trajectories.json: training of small two-layer networks by PyTorch's autograd, in float64.

    python3 make_trajectories.py        needs torch

f = phi(X W^T) v and r = f - y. X (unit rows), y, W_0 and the drawings of batches are shared by all trajectories.
  gd            W <- W - step J^T r, loss 1/2 ||r||^2
  sgd           the same with a batch of the points a step: the sum over the batch, of 1 or of 4, not the mean
  gauss_newton  W <- W - J^T (J J^T + damping I)^-1 r
misfit is ||r|| of all points before the first step and after each. spread is the largest difference of the final W
and of the misfits from a second run, with J in closed form and the step of Gauss-Newton as damped least squares:
what rounding does to this trajectory.
"""
import json
import math
import pathlib
from itertools import pairwise

import torch

SEED = 329  # relu keeps far from its kinks, and every trajectory passes the checks below
N, D, M = 12, 7, 31
GD_STEPS, SGD_STEPS, NEWTON_STEPS = 200, 60, 8
DAMPING = 1e-3
KINK_MARGIN = 1e-9  # no pre-activation of relu comes nearer to 0, so that rounding decides no sign

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
F = torch.nn.functional
gauss = lambda z: torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)
sigmoid = torch.sigmoid

# phi, for autograd, and phi' in closed form, for the second run. (F.softplus is z itself above its threshold.)
ACTIVATIONS = {
    "relu": (F.relu, lambda z: (z >= 0).to(z)),
    "softplus": (lambda z: F.softplus(z, threshold=100), sigmoid),
    "tanh": (torch.tanh, lambda z: 1 / torch.cosh(z) ** 2),
    "sigmoid": (sigmoid, lambda z: sigmoid(z) * sigmoid(-z)),
    "erf": (torch.erf, lambda z: 2 / math.sqrt(math.pi) * torch.exp(-z * z)),
    "gelu": (F.gelu, lambda z: torch.special.ndtr(z) + z * gauss(z)),
    "silu": (F.silu, lambda z: sigmoid(z) * (1 + z * sigmoid(-z))),
    "quadratic": (lambda z: z * z / 2, lambda z: z),
}


def problem(seed):
    """X, y, W_0, v by scaling, and the batches of 1 (drawn with replacement) and of 4 (epoch by epoch)."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(N, D, generator=g)
    X /= X.norm(dim=1, keepdim=True)
    y = torch.randn(N, generator=g)
    W_0 = torch.randn(M, D, generator=g)
    signs = 2 * torch.randint(0, 2, (M,), generator=g) - 1
    level = y.norm() / math.sqrt(M * N)
    half = torch.full((M // 2,), level.item())
    v = {"ntk": signs / math.sqrt(M), "balanced": torch.cat([half, torch.zeros(M % 2), -half])}
    ones = torch.randint(0, N, (SGD_STEPS, 1), generator=g).tolist()
    epochs = [torch.randperm(N, generator=g) for _ in range(SGD_STEPS * 4 // N)]
    return X, y, W_0, v, {1: ones, 4: torch.cat(epochs).reshape(-1, 4).tolist()}


class Model:
    """Residual and Jacobian, (points, M, D), of some of the points."""

    def __init__(self, X, y, v, activation, exact):
        self.X, self.y, self.v, self.exact = X, y, v, exact
        self.phi, self.dphi = ACTIVATIONS[activation]

    def outputs(self, W, rows):
        return self.phi(self.X[rows] @ W.T) @ self.v

    def residual(self, W, rows=slice(None)):
        return self.outputs(W, rows) - self.y[rows]

    def jacobian(self, W, rows=slice(None)):
        if self.exact:
            return torch.einsum("im,m,id->imd", self.dphi(self.X[rows] @ W.T), self.v, self.X[rows])
        return torch.autograd.functional.jacobian(lambda W: self.outputs(W, rows), W)

    def gradient(self, W, rows):
        if self.exact:
            return torch.einsum("i,imd->md", self.residual(W, rows), self.jacobian(W, rows))
        W = W.clone().requires_grad_(True)
        (gradient,) = torch.autograd.grad((self.residual(W, rows) ** 2).sum() / 2, W)
        return gradient

    def newton(self, W):
        J, r = self.jacobian(W).reshape(N, -1), self.residual(W)
        if self.exact:  # the minimiser of ||J p - r||^2 + damping ||p||^2
            stacked = torch.cat([J, math.sqrt(DAMPING) * torch.eye(M * D)])
            p = torch.linalg.lstsq(stacked, torch.cat([r, torch.zeros(M * D)])[:, None]).solution
        else:
            p = J.T @ torch.linalg.solve(J @ J.T + DAMPING * torch.eye(N), r)
        return p.reshape(W.shape)


def train(model, W, move, steps):
    """All W_k, k = 0..steps, and their misfits."""
    path = [W]
    for k in range(steps):
        path.append(path[-1] - move(path[-1], k))
    return path, torch.stack([model.residual(W).norm() for W in path])


def trajectory(X, y, W_0, v, activation, scaling, method, batches=None):
    runs = []
    for exact in (False, True):
        model = Model(X, y, v[scaling], activation, exact)
        J = model.jacobian(W_0).reshape(N, -1)
        # Full batch and batches of 4: 1/||J||^2 is stable. One point: its residual vanishes with 1/||J_i||^2.
        norm = J.norm(dim=1).max() if batches and len(batches[0]) == 1 else torch.linalg.matrix_norm(J, 2)
        step = float(f"{1 / norm.item() ** 2:.3g}")
        if method == "gauss_newton":
            runs.append(train(model, W_0, lambda W, k, model=model: model.newton(W), NEWTON_STEPS))
        else:
            rows = lambda k: batches[k] if batches else slice(None)
            move = lambda W, k, step=step, model=model, rows=rows: step * model.gradient(W, rows(k))
            runs.append(train(model, W_0, move, len(batches) if batches else GD_STEPS))
    (path, misfit), (path_2, misfit_2) = runs
    spread = max((path[-1] - path_2[-1]).abs().max(), (misfit - misfit_2).abs().max()).item()
    signs = [X @ W.T >= 0 for W in path]
    flips = sum((a != b).sum().item() for a, b in pairwise(signs))
    margin = min((X @ W.T).abs().min().item() for W in path)
    what = f"{method}{len(batches[0]) if batches else ''} {activation} {scaling}"
    print(f"{what:30} misfit {misfit[0]:.3f} -> {misfit[-1]:.2e}, "
          f"flips {flips}, margin {margin:.1e}, spread {spread:.1e}")

    assert spread < 1e-12 and misfit[-1] < 0.7 * misfit[0], what
    assert method == "sgd" or (misfit[1:] < misfit[:-1]).all(), what
    if activation == "relu":
        assert margin > KINK_MARGIN and flips > 0, what
    found = {"method": method, "activation": activation, "scaling": scaling}
    found |= {"damping": DAMPING} if method == "gauss_newton" else {"step": step}
    if batches:
        found["batches"] = batches
    return found | {"spread": spread, "misfit": misfit.tolist(), "W": path[-1].tolist()}


def main():
    X, y, W_0, v, batches = problem(SEED)
    make = lambda *what: trajectory(X, y, W_0, v, *what)
    scalings = ("ntk", "balanced")
    found = [make(a, s, "gd") for a in ACTIVATIONS for s in scalings]
    found += [make(a, s, "sgd", batches[b]) for b in (1, 4) for a in ("relu", "softplus") for s in scalings]
    found += [make(a, s, "gauss_newton") for a in ("relu", "softplus") for s in scalings]
    oracle = {
        "made_by": "make_trajectories.py", "torch": torch.__version__, "seed": SEED,
        "X": X.tolist(), "y": y.tolist(), "W_0": W_0.tolist(), "v": {s: v[s].tolist() for s in scalings},
        "trajectories": found,
    }
    # Python writes the shortest digits that read back as the same double. One line a trajectory.
    head = json.dumps(oracle | {"trajectories": []})[:-2]
    lines = ",\n".join(json.dumps(t) for t in found)
    path = pathlib.Path(__file__).parent / "trajectories.json"
    path.write_text(f"{head}\n{lines}\n]}}\n")
    assert json.loads(path.read_text()) == oracle


if __name__ == "__main__":
    main()
