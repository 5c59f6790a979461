"""make_steps.py: training steps of a small network in PyTorch, double precision, for train_test.cpp to compare with.
Writes data/steps.safetensors beside itself. Needs torch, numpy and safetensors."""
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from safetensors.numpy import save_file

STAGES = [(2, 4, 1), (2, 8, 2), (1, 12, 2)]  # blocks, channels, stride of the first block
STEM, CLASSES, SIZE, BATCH = 3, 5, 8, 4
WEIGHT_DECAY, RATE, MOMENTUM, SMOOTHING, CLIP = 1e-2, 0.05, 0.9, 0.1, 2.0

random = numpy.random.default_rng(20161114)


def draw(*shape, scale=1.0):
    return (scale * random.standard_normal(shape)).astype(numpy.float32)


def initial():
    """Weights by name, large enough that every block matters."""
    named = {"stem": draw(STEM, 3, 3, 3, scale=0.4)}
    channels = STEM
    for s, (blocks, out, _) in enumerate(STAGES, 1):
        for b in range(1, blocks + 1):
            named[f"stage{s}.block{b}.conv1"] = draw(out, channels, 3, 3, scale=(9 * channels) ** -0.5)
            named[f"stage{s}.block{b}.conv2"] = draw(out, out, 3, 3, scale=(9 * out) ** -0.5)
            channels = out
    return named


def logits_of(weights, projection, x):
    h = F.conv2d(x, weights["stem"], padding=1)
    for s, (blocks, out, stride) in enumerate(STAGES, 1):
        for b in range(1, blocks + 1):
            step = stride if b == 1 else 1
            inner = F.conv2d(h, weights[f"stage{s}.block{b}.conv1"], stride=step, padding=1).relu()
            if step > 1:
                h = F.avg_pool2d(h, step)
            h = F.pad(h, (0, 0, 0, 0, 0, out - h.shape[1])) + F.conv2d(inner, weights[f"stage{s}.block{b}.conv2"],
                                                                       padding=1)
    return h.mean((2, 3)) @ projection


start = initial()
projection = draw(STAGES[-1][1], CLASSES, scale=STAGES[-1][1] ** -0.5)
batches = [(draw(BATCH, SIZE, SIZE, 3), random.integers(0, CLASSES, BATCH)) for _ in range(3)]
file = {f"start.{name}": value for name, value in start.items()}
file |= {"projection": projection, "x": numpy.stack([x for x, _ in batches]),
         "labels": numpy.stack([y for _, y in batches]).astype(numpy.int64)}

def standardized(weights, gains):
    """Kernels of blocks: a gain times the kernel less its mean, of length 1, for each output channel."""
    kernels = {}
    for name, v in weights.items():
        if name in gains:
            v = v - v.mean((1, 2, 3), keepdim=True)
            v = gains[name].view(-1, 1, 1, 1) * v / v.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        kernels[name] = v
    return kernels


# nesterov: with label smoothing and clipping, too; standardized: and with gains, which do not decay; fixed: and with a
# stem that is not trained.
for kind in ("plain", "nesterov", "standardized", "fixed"):
    double = lambda value: torch.tensor(value, dtype=torch.float64, requires_grad=True)
    weights = {name: double(value) for name, value in start.items()}
    gains = {}
    if kind in ("standardized", "fixed"):
        gains = {name: double([numpy.linalg.norm(channel - channel.mean()) for channel in value.astype(numpy.float64)])
                 for name, value in start.items() if name != "stem"}
    decaying = [value for name, value in weights.items() if kind != "fixed" or name != "stem"]
    everything = decaying + list(gains.values())
    groups = [{"params": decaying, "weight_decay": WEIGHT_DECAY}, {"params": list(gains.values()), "weight_decay": 0}]
    optimizer = torch.optim.SGD(groups if gains else groups[:1], RATE, MOMENTUM, nesterov=kind != "plain")
    losses = []
    for step, (x, y) in enumerate(batches):
        logits = logits_of(standardized(weights, gains), torch.tensor(projection).double(),
                           torch.tensor(x).double().permute(0, 3, 1, 2))
        loss = F.cross_entropy(logits, torch.tensor(y), label_smoothing=0.0 if kind == "plain" else SMOOTHING)
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        if step == 0 and kind == "plain":
            file["logits"] = logits.detach().numpy()
            file |= {f"gradient.{name}": value.grad.numpy().copy() for name, value in weights.items()}
        if kind != "plain":
            torch.nn.utils.clip_grad_norm_(everything, CLIP)
        optimizer.step()
    file[f"{kind}.losses"] = numpy.array(losses)
    file |= {f"{kind}.{name}": value.detach().numpy() for name, value in standardized(weights, gains).items()}

# How far bfloat16 is off when PyTorch chooses where to round: the largest relative error of a layer's gradient.
weights = {name: torch.tensor(value, requires_grad=True) for name, value in start.items()}
x, y = batches[0]
with torch.autocast("cpu", torch.bfloat16):
    logits = logits_of(weights, torch.tensor(projection), torch.tensor(x).permute(0, 3, 1, 2))
F.cross_entropy(logits.float(), torch.tensor(y)).backward()
norm, exact = numpy.linalg.norm, lambda name: file[f"gradient.{name}"]
errors = [norm(value.grad.double().numpy() - exact(name)) / norm(exact(name))
          for name, value in weights.items()]
file["bfloat16.error"] = numpy.array(max(errors))

save_file({name: numpy.ascontiguousarray(value) for name, value in file.items()},
          Path(__file__).parent / "data" / "steps.safetensors")
print(Path(__file__).parent / "data" / "steps.safetensors", sum(v.nbytes for v in file.values()), "bytes")
