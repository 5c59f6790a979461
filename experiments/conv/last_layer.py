"""What is proved of the last convolution, before training and after: its J J^T on 500 training images.

    python experiments/conv/last_layer.py build/release/bin/zeroloss CIFAR-FOLDER RUN [--n 500]

RUN is a run folder of `zeroloss conv train CIFAR-FOLDER`; images are the first n of data_batch_1.bin. Needs the Python
package zeroloss, numpy and safetensors.

Outputs are P' mean(h + B r), where r is the last block's relu, with c channels, B its second convolution, h its
shortcut, P the fixed projection, and the mean is over pixels. The mean of B r over pixels is B times nine means of r,
each over the pixels that one place of the kernel sees: 9c numbers z of an image. So with all other layers as they are
the network is linear in B, outputs = P' (mean h + B z), and

    J J^T = Z Z' (x) P'P,    lambda_min(J J^T) = lambda_min(Z Z') lambda_min(P'P).

Where that is positive, some B gives these images any outputs, the nearest one is at most misfit/sqrt(lambda_min) away,
and gradient descent on B of the squared loss goes to one: nothing has to be small, since J does not change. Both
eigenvalues are bounded from below, rounding included, by zeroloss.kernel.lambda_min, which takes rows of unit length:
lambda_min(Z Z') >= min |z|^2 times that. What is proved is proved of the numbers z as NumPy computes them in float64
from the stored weights, and of P as it is stored. The nearest exact B is computed as well, without a proof. The misfit
is to targets 1 for the label and -1 for the others.

The start is the network of the run's seed and options after one step of rate 1e-30, which changes no weight.
"""
import argparse
import decimal
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from safetensors import safe_open

import zeroloss

SIDE = 32


def read_images(folder, n):
    records = np.fromfile(folder / "data_batch_1.bin", np.uint8).reshape(-1, 1 + 3 * SIDE * SIDE)[:n]
    x = records[:, 1:].reshape(-1, 3, SIDE, SIDE).transpose(0, 2, 3, 1).astype(np.float64)
    mean, deviation = x.mean((1, 2, 3), keepdims=True), x.std((1, 2, 3), keepdims=True)
    return (x - mean) / np.maximum(deviation, 1 / np.sqrt(3 * SIDE * SIDE)), records[:, 0].astype(int)


def places(x, stride=1):
    """For each place of a 3 x 3 kernel, what it sees: images x rows x columns x channels."""
    size = x.shape[1] // stride
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    for i in range(3):
        for j in range(3):
            yield i, j, padded[:, i:i + stride * size:stride, j:j + stride * size:stride]


def convolve(x, weight, stride=1):
    return sum(seen @ weight[:, :, i, j].T for i, j, seen in places(x, stride))


def pool(x, stride):
    n, size, _, channels = x.shape
    return x.reshape(n, size // stride, stride, size // stride, stride, channels).mean((2, 4))


def last_layer(model, x):
    """z, mean h, B as c x 9c, and P."""
    with safe_open(model, "np") as file:
        names = file.keys()
        weights = {name: file.get_tensor(name).astype(np.float64) for name in names}
        stages = json.loads(file.metadata()["architecture"])["stages"]
    h = convolve(x, weights["stem.weight"])
    blocks = [(s + 1, b + 1, stage["stride"] if b == 0 else 1)
              for s, stage in enumerate(stages) for b in range(stage["blocks"])]
    for stage, block, stride in blocks:
        first, second = (weights[f"stage{stage}.block{block}.conv{k}.weight"] for k in (1, 2))
        r = np.maximum(convolve(h, first, stride), 0)
        shortcut = pool(h, stride)
        h = np.pad(shortcut, ((0, 0),) * 3 + ((0, second.shape[0] - shortcut.shape[3]),))
        if (stage, block) != blocks[-1][:2]:
            h = h + convolve(r, second)
    z = np.concatenate([seen.mean((1, 2)) for _, _, seen in places(r)], 1)
    B = np.concatenate([second[:, :, i, j] for i in range(3) for j in range(3)], 1)
    return z, h.mean((1, 2)), B, weights["projection"]


def smallest(rows):
    """A proved lower bound of lambda_min(rows rows'), and its computed value."""
    found = zeroloss.kernel.lambda_min(rows, zeroloss.kernel.power(1))
    lengths = np.einsum("ij,ij->i", rows, rows)
    proved = found.verified.lambda_min if found.verified.holds else 0.0
    # Each length is rounded by less than (its terms) units in the last place.
    below = lengths.min() * (1 - rows.shape[1] * 2.0**-52) * proved * (1 - 2.0**-50)
    return below, np.linalg.eigvalsh(rows @ rows.T)[0]


def printed(number, rounding):
    """Four digits that are still a bound."""
    return decimal.Context(prec=4, rounding=rounding).create_decimal_from_float(number)


def describe(name, model, x, labels):
    z, h, B, P = last_layer(model, x)
    outputs = (h + z @ B.T) @ P
    targets = np.where(np.arange(P.shape[1]) == labels[:, None], 1.0, -1.0)
    rest = targets - outputs
    misfit = np.linalg.norm(rest)
    nearest = np.linalg.norm(P @ np.linalg.solve(P.T @ P, rest.T @ np.linalg.solve(z @ z.T, z)))
    (z_below, z_computed), (p_below, p_computed) = smallest(z), smallest(P.T.copy())
    below, computed = z_below * p_below * (1 - 2.0**-52), z_computed * p_computed
    away = misfit / np.sqrt(below) * (1 + 1e-9) if below > 0 else np.inf  # outputs are rounded by some 1e-12
    wrong = int((outputs.argmax(1) != labels).sum())
    print(f"| {name} | {wrong} | {printed(below, decimal.ROUND_FLOOR)} | {computed:.4g} | {misfit:.4g} "
          f"| {printed(away, decimal.ROUND_CEILING)} | {nearest:.4g} | {np.linalg.norm(B):.4g} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("zeroloss", help="the command")
    parser.add_argument("cifar", type=pathlib.Path, help="folder of CIFAR-10's binary files")
    parser.add_argument("run", type=pathlib.Path, help="a run folder of conv train")
    parser.add_argument("--n", type=int, default=500, help="images [500]")
    options = parser.parse_args()
    x, labels = read_images(options.cifar, options.n)
    said = json.loads((options.run / "manifest.json").read_text())["options"]
    same = [word for name in ("architecture", "depth", "width", "start", "seed")
            if name in said for word in (f"--{name}", str(said[name]))]
    print("| network | wrong | lambda_min(J J^T), proved >= | computed | misfit | an exact B within, proved "
          "| the nearest one at, computed | length of B |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        start = pathlib.Path(folder) / "start"
        subprocess.run([options.zeroloss, "conv", "train", options.cifar, *same, "--n", "10", "--batch", "10",
                        "--steps", "1", "--learning-rate", "1e-30", "--no-test", "--out", start],
                       check=True, stdout=subprocess.DEVNULL)
        describe("at the start", start / "model.safetensors", x, labels)
    describe("trained", options.run / "model.safetensors", x, labels)


if __name__ == "__main__":
    main()
