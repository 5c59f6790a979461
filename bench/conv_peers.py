"""conv_peers.py DEVICE THREADS RECIPE: a training step of an all-convolutional residual network in PyTorch at its best.

    echo "step compiled-bfloat16 128 20" | python conv_peers.py cuda 8 paper

Reads one measurement a line, answers with one JSON line: the peer of conv_bench.cpp, with the same network (RECIPE:
paper or small), momentum 0.9 and weight decay 1e-4 by torch.optim.SGD (fused, since PyTorch 2.3), batches copied to the
device every step (from pinned memory to a GPU), everything channels-last. As the recipe small has it, its kernels are
trained as a gain times a direction in `step`, and its stem is not trained.

    step VARIANT BATCH COUNT  seconds of COUNT steps, and their last loss; first steps of compiled variants compile too
      eager-T                   as one writes it; T: float32, or bfloat16 by autocast
      compiled-T                torch.compile
      tuned-T                   torch.compile(mode="max-autotune"): on a GPU with CUDA graphs
    check FILE                what conv_bench wrote: relative errors, norm by norm, of its logits, loss and gradients,
                              and of PyTorch's in float32, against PyTorch's in float64 on the processor
    gemm T                    seconds of a product of two 4096 x 4096 matrices
    variants, info

What fails is answered with {"error": ..}. No float32 is TF32.
"""
import inspect
import json
import struct
import sys
import time

import torch
import torch.nn.functional as F

# Channels of the stem; blocks, channels and stride of each stage.
NETWORKS = {"paper": (16, ((9, 64, 1), (9, 128, 2), (9, 256, 2))),
            "small": (32, ((2, 64, 2), (2, 128, 2), (2, 256, 2)))}
SIDE = 4096
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class Standardized(torch.nn.Conv2d):
    """Its kernel is a gain times the parameter less its mean, of length 1, for each output channel."""

    def __init__(self, *shape, **options):
        super().__init__(*shape, **options)
        self.gain = torch.nn.Parameter(torch.ones(self.out_channels, 1, 1, 1))

    def forward(self, x):
        v = self.weight - self.weight.mean((1, 2, 3), keepdim=True)
        return self._conv_forward(x, v * (self.gain / v.square().sum((1, 2, 3), keepdim=True).sqrt()), None)


class Block(torch.nn.Module):
    def __init__(self, into, channels, stride, convolution):
        super().__init__()
        self.stride, self.more = stride, channels - into
        self.conv1 = convolution(into, channels, 3, stride, 1, bias=False)
        self.conv2 = convolution(channels, channels, 3, 1, 1, bias=False)

    def forward(self, h):
        inner = self.conv2(F.relu(self.conv1(h), inplace=True))
        if self.stride > 1:
            h = F.avg_pool2d(h, self.stride)
        if self.more:
            h = F.pad(h, (0, 0, 0, 0, 0, self.more))
        return h + inner


class Network(torch.nn.Module):
    def __init__(self, recipe, classes=10, convolution=torch.nn.Conv2d):
        super().__init__()
        channels, stages = NETWORKS[recipe]
        self.stem, blocks = torch.nn.Conv2d(3, channels, 3, 1, 1, bias=False), {}
        for s, (count, width, stride) in enumerate(stages):
            for b in range(count):
                blocks[f"stage{s + 1}block{b + 1}"] = Block(channels, width, stride if b == 0 else 1, convolution)
                channels = width
        self.blocks = torch.nn.ModuleDict(blocks)
        self.register_buffer("projection", torch.randn(channels, classes) / channels**0.5)
        for name, conv in self.named_modules():
            if isinstance(conv, torch.nn.Conv2d):
                fan = conv.out_channels**0.5 * 3 if name == "stem" else 9 * conv.out_channels
                torch.nn.init.normal_(conv.weight, std=1 / fan)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks.values():
            h = block(h)
        return h.to(self.projection.dtype).mean((2, 3)) @ self.projection

    def convolutions(self):
        """Weights by the names that zeroloss gives them."""
        yield "stem", self.stem.weight
        for name, block in self.blocks.items():
            name = name.replace("block", ".block")
            yield f"{name}.conv1", block.conv1.weight
            yield f"{name}.conv2", block.conv2.weight


class Training:
    def __init__(self, recipe, variant, batch, device):
        way, self.precision = variant.split("-")
        torch.manual_seed(0)
        self.device = torch.device(device)
        small = recipe == "small"
        self.network = Network(recipe, convolution=Standardized if small else torch.nn.Conv2d)
        self.network.stem.requires_grad_(not small)
        self.network.to(device, memory_format=torch.channels_last)
        fused = "fused" in inspect.signature(torch.optim.SGD).parameters  # since PyTorch 2.3
        self.optimizer = torch.optim.SGD([p for p in self.network.parameters() if p.requires_grad], lr=1e-3,
                                         momentum=0.9, weight_decay=1e-4, **{"fused" if fused else "foreach": True})
        self.x = torch.randn(batch, 3, 32, 32).contiguous(memory_format=torch.channels_last)
        self.labels = torch.randint(0, 10, (batch,))
        if self.device.type == "cuda":
            self.x, self.labels = self.x.pin_memory(), self.labels.pin_memory()
        modes = {"compiled": {}, "tuned": {"mode": "max-autotune"}}
        self.loss = self.loss_of if way == "eager" else torch.compile(self.loss_of, **modes[way])

    def loss_of(self, x, labels):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            logits = self.network(x)
        return F.cross_entropy(logits.float(), labels)

    def step(self):
        x, labels = (t.to(self.device, non_blocking=True) for t in (self.x, self.labels))
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(x, labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def read_tensors(path):
    """A safetensors file as tensors by name."""
    types = {"F32": torch.float32, "I64": torch.int64}
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        body = bytearray(file.read())
    found = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            found[name] = torch.frombuffer(body[begin:end], dtype=types[entry["dtype"]]).reshape(entry["shape"])
    return found


def outcome(recipe, given, dtype, device):
    """{what: tensor} of one batch with the given weights: logits, loss, gradients by layer."""
    network = Network(recipe).to(device, dtype, memory_format=torch.channels_last)
    with torch.no_grad():
        network.projection.copy_(given["projection"])
        for name, weight in network.convolutions():
            weight.copy_(given[f"{name}.weight"].permute(0, 3, 1, 2))
    logits = network(given["images"].to(device, dtype).permute(0, 3, 1, 2))
    loss = F.cross_entropy(logits, given["labels"].to(device))
    loss.backward()
    found = {"logits": logits, "loss": loss.reshape(1)}
    found |= {f"{name}.gradient": weight.grad.permute(0, 2, 3, 1) for name, weight in network.convolutions()}
    return {name: tensor.detach().double().cpu() for name, tensor in found.items()}


def check(recipe, path, device):
    given = read_tensors(path)
    exact, theirs = (outcome(recipe, given, *how) for how in ((torch.float64, "cpu"), (torch.float32, device)))
    ours = {name: given[name].double() for name in exact}
    error = lambda found, right: {name: ((found[name] - right[name]).norm() / right[name].norm()).item()
                                  for name in exact}
    return {"zeroloss": error(ours, exact), "PyTorch": error(theirs, exact), "between": error(ours, theirs)}


class Peer:
    def __init__(self, device, threads, recipe):
        self.device, self.recipe, self.running, self.matrices = device, recipe, {}, {}
        self.cuda = torch.device(device).type == "cuda"
        if self.cuda:
            torch.backends.cudnn.benchmark = True
            torch.backends.cudnn.allow_tf32 = False  # float32 is float32, as in zeroloss
        torch.set_num_threads(threads)

    def finish(self):
        if self.cuda:
            torch.cuda.synchronize()

    def seconds(self, work):
        self.finish()
        begin = time.perf_counter()
        work()
        self.finish()
        return time.perf_counter() - begin

    def step(self, variant, batch, count):
        if (variant, batch) not in self.running:
            self.running[variant, batch] = Training(self.recipe, variant, batch, self.device)
        training = self.running[variant, batch]
        losses = []
        seconds = self.seconds(lambda: losses.extend(training.step() for _ in range(count)))
        return {"seconds": seconds, "steps": count, "loss": losses[-1].item()}

    def gemm(self, dtype):
        if dtype not in self.matrices:
            self.matrices[dtype] = [torch.randn(SIDE, SIDE, device=self.device, dtype=DTYPES[dtype]) for _ in range(3)]
        a, b, c = self.matrices[dtype]
        return {"seconds": self.seconds(lambda: torch.mm(a, b, out=c)), "flops": 2 * SIDE**3}

    def answer(self, words):
        match words:
            case ["step", variant, batch, count]:
                return self.step(variant, int(batch), int(count))
            case ["check", path]:
                return check(self.recipe, path, self.device)
            case ["gemm", dtype]:
                return self.gemm(dtype)
            case ["variants"]:
                ways = ("eager", "compiled") + (("tuned",) if self.cuda else ())
                return [f"{way}-{dtype}" for way in ways for dtype in DTYPES]
            case ["info"]:
                return {"torch": torch.__version__, "threads": torch.get_num_threads(),
                        "device": torch.cuda.get_device_name(self.device) if self.cuda else "cpu"}
        sys.exit(f"conv_peers: not a measurement: {' '.join(words)}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    peer = Peer(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    for line in sys.stdin:
        try:
            answer = peer.answer(line.split())
        except Exception as error:  # a compiler that is missing, memory: others may still work
            first = next(iter(str(error).strip().splitlines()), "")
            answer = {"error": f"{type(error).__name__}: {first}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
