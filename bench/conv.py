"""Times a step of training the all-convolutional residual network, ours and PyTorch's, in turn, and compares their
gradients; writes bench/results/conv-DEVICE.json and .md, or conv-small-DEVICE of the recipe `small`.

    python3 bench/conv.py --bin build/conv-peer/bin --env build/bench-env [--bin build/release/bin] [--device cuda]
        [--recipe small --batch 128]

after `bench/setup.sh torch`; README.md says how conv_bench is built with PyTorch's own LibTorch. All keep the memory
that they free, as zeroloss-torch has glibc do and as PyTorch gains from (7 % of a step). Standard library only.
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

from run import HERE, Program, interleave, processor, revision

PRECISIONS = ("float32", "bfloat16")
BATCHES = {"cpu": [32], "cuda": [128, 512]}
COUNT = {"cpu": 5, "cuda": 50}  # steps of a measurement
BUSY = 0.1  # share of the processors that others may use during a measurement
MEMORY = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 1 << 30, "MALLOC_TOP_PAD_": 64 << 20}
LEAST = 5  # rounds that have to be undisturbed
ERROR = 1e-5  # relative, of logits, loss and the gradient of every layer in float32


def ticks(pid):
    """What all processors did so far, all and idle, and what one process did."""
    words = [int(w) for w in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    own = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(words), words[3] + words[4], int(own[11]) + int(own[12])


def asked(program, *words):
    answer = program.ask(*words)
    if "error" in answer:
        sys.exit(f"conv: {' '.join(map(str, words))}: {answer['error']}")
    return answer


def watched(program, *words):
    """Its answer, with the share of the processors that others used meanwhile."""
    before = ticks(program.process.pid)
    answer = asked(program, *words)
    all_, idle, own = (b - a for a, b in zip(before, ticks(program.process.pid)))
    return answer | {"others": max(0, all_ - idle - own) / max(1, all_), "cpu_s": own / os.sysconf("SC_CLK_TCK")}


def undisturbed(question, patience):
    """Its answer without disturbance; or, after `patience` seconds, its last one."""
    deadline = time.monotonic() + patience
    while True:
        answer = question()
        if answer["others"] <= BUSY or time.monotonic() > deadline:
            return answer
        time.sleep(1)


def counted(answers):
    """The rounds that count: those nobody disturbed, or all where they are too few."""
    quiet = [a for a in answers if a["others"] <= BUSY]
    return quiet if len(quiet) >= LEAST else answers


def rates(answers, batch, clock):
    """Images a second: median, least, most."""
    all_ = [batch * a["steps"] / a[clock] for a in counted(answers)]
    return statistics.median(all_), min(all_), max(all_)


def measure(options, save):
    """All measurements; handed to `save` after every round, so that one that is cut off has not been in vain."""
    kind, programs = options.device.split(":")[0], {}
    os.environ.update({name: str(value) for name, value in MEMORY.items()})
    peer = Program(options.env / "torch/bin/python", HERE / "conv_peers.py", options.device, options.threads,
                   options.recipe)
    with peer:
        found = {"peer": peer.ask("info"), "zeroloss": {}, "batches": options.batch or BATCHES[kind]}
        for folder in options.bin:
            program = Program(folder / "conv_bench", options.device, options.threads, options.recipe)
            info = program.ask("info")
            name = f"zeroloss, {info['libtorch'].split(',')[0]}"
            programs[name], found["zeroloss"][name] = program, info
        with tempfile.TemporaryDirectory() as folder:
            found["errors"] = {}
            for name, program in programs.items():
                path = pathlib.Path(folder) / "batch.safetensors"
                program.ask("write", path, options.check)
                found["errors"][name] = asked(peer, "check", path)
        questions, found["failed"] = {}, {}
        for batch in found["batches"]:
            for precision in PRECISIONS:
                for name, program in programs.items():
                    questions[f"{name}|{precision}|{batch}"] = functools.partial(watched, program, "step", precision,
                                                                                 batch, COUNT[kind])
            for variant in peer.ask("variants"):
                way, precision = variant.split("-")
                if options.way and way not in options.way:
                    continue
                name = f"PyTorch, {way}|{precision}|{batch}"
                tried = peer.ask("step", variant, batch, 1)  # compiles it
                if "error" in tried:
                    print(f"conv: {name}: {tried['error']}", file=sys.stderr)
                    found["failed"][name] = tried["error"]
                    continue
                questions[name] = functools.partial(watched, peer, "step", variant, batch, COUNT[kind])
        for precision in PRECISIONS:
            questions[f"product|{precision}|{0}"] = functools.partial(watched, peer, "gemm", precision)
        interleave(questions, 0, 2)  # to warm up and compile
        quiet = {name: functools.partial(undisturbed, question, options.patience)
                 for name, question in questions.items()}
        found["answers"] = {name: [] for name in quiet}
        for _ in range(options.rounds):
            for name, answers in interleave(quiet, 1, 0).items():
                found["answers"][name] += answers
            save(found)
        for program in programs.values():
            program.process.stdin.close()
            program.process.wait()
    return found


def worst(errors):
    """(largest error, where) of each comparison."""
    return {who: max((error, name) for name, error in found.items()) for who, found in errors.items()}


def same_version(found):
    """Our program with PyTorch's own LibTorch, or None."""
    version = re.match(r"[\d.]+", found["peer"]["torch"])[0]  # of 2.15.0+cu132, 1.13.0a0
    return next((name for name in found["zeroloss"] if name.endswith(f"LibTorch {version}")), None)


def quietness(found):
    """What the reader has to know about the others who used the machine."""
    runs = found["answers"].values()
    if found["clock"] == "cpu_s":
        return "Rates are those of the programs' own processor time, as the machine was not idle."
    disturbed, total = sum(a["others"] > BUSY for r in runs for a in r), sum(map(len, runs))
    text = f"Others used more than {100 * BUSY:.0f} % of the processors during {disturbed} of {total} measurements"
    if all(sum(a["others"] <= BUSY for a in r) >= LEAST for r in runs):
        return text + ("; those do not count." if disturbed else ".")
    return text + ", so that all had to count: not for publishing."


def table(found, date, version):
    answers, peer = found["answers"], found["peer"]
    info = next(iter(found["zeroloss"].values()))
    flops = 6 * info["multiply_adds"]  # of an image: forward, and two products as large backward
    peak = {p: max(a["flops"] / a[found["clock"]] for a in counted(answers[f"product|{p}|0"])) for p in PRECISIONS}
    device = peer["device"] if found["device"] != "cpu" else f"{processor()}, {peer['threads']} threads"
    lines = [
        f"{info['weights']:,} weights, {flops / 1e9:.2f} GFLOP an image and step. {device}; PyTorch {peer['torch']}. "
        f"{date}, zeroloss {version}; "
        f"medians of {min(map(len, answers.values()))} rounds or more. {quietness(found)}", "",
        "| batch | program | precision | images/s | GFLOP/s | of a matrix product's rate |",
        "|---|---|---|---|---|---|"]
    for name, runs in answers.items():
        program, precision, batch = name.split("|")
        if program == "product":
            continue
        median, least, most = rates(runs, int(batch), found["clock"])
        lines.append(f"| {batch} | {program} | {precision} | {median:,.4g} ({least:,.4g} to {most:,.4g}) "
                     f"| {median * flops / 1e9:,.0f} "
                     f"| {100 * median * flops / peak[precision]:.0f} % of {peak[precision] / 1e9:,.0f} GF/s |")
    lines += ["", "| batch | precision | zeroloss, with | images/s | PyTorch at its best | images/s | ratio |",
              "|---|---|---|---|---|---|---|"]
    for batch in found["batches"]:
        for precision in (*PRECISIONS, None):
            chosen = {n: rates(r, batch, found["clock"])[0] for n, r in answers.items()
                      if n.split("|")[2] == str(batch) and (precision is None or n.split("|")[1] == precision)}
            theirs = max((n for n in chosen if n.startswith("PyTorch")), key=chosen.get)
            for program in found["zeroloss"]:
                ours = max((n for n in chosen if n.split("|")[0] == program), key=chosen.get)
                lines.append(f"| {batch} | {precision or 'any'} | {program.split(', ')[1]}, {ours.split('|')[1]} | "
                             f"{chosen[ours]:,.4g} "
                             f"| {' '.join(theirs.split(', ')[1].split('|')[:2])} | {chosen[theirs]:,.4g} | "
                             f"{chosen[ours] / chosen[theirs]:.2f} |")
    lines += ["", f"Relative errors in norm, of logits, loss and the gradient of every layer, the largest of all; "
                  f"batch of {found['check']}, float32:", "",
              "| | of zeroloss, against float64 | of PyTorch, against float64 | between the two |", "|---|---|---|---|"]
    for name, errors in found["errors"].items():
        of = worst(errors)
        lines.append(f"| {name} | " + " | ".join(f"{of[k][0]:.1e} ({of[k][1]})"
                                                 for k in ("zeroloss", "PyTorch", "between")) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--bin", type=pathlib.Path, action="append", required=True,
                        help="folder of conv_bench; may be given again")
    parser.add_argument("--env", type=pathlib.Path, required=True, help="folder of the peers' environments")
    parser.add_argument("--device", default="cpu", help="cpu or cuda [cpu]")
    parser.add_argument("--recipe", choices=("paper", "small"), default="paper", help="whose network [paper]")
    parser.add_argument("--batch", type=int, action="append", help="may be given again [cpu: 32; cuda: 128, 512]")
    parser.add_argument("--way", choices=("eager", "compiled", "tuned"), action="append",
                        help="of PyTorch; may be given again [all]")
    parser.add_argument("--check", type=int, default=64, help="images of the batch whose gradients are compared [64]")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both [all]")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: count the program's own processor time, for one thread on a machine that is not "
                             "idle [wall]")
    parser.add_argument("--patience", type=float, default=20,
                        help="seconds to repeat a disturbed measurement, each time [20]")
    options = parser.parse_args()
    settings = {"device": options.device, "recipe": options.recipe, "check": options.check,
                "clock": {"wall": "seconds", "cpu": "cpu_s"}[options.clock]}
    date, version = datetime.date.today().isoformat(), revision()
    options.results.mkdir(parents=True, exist_ok=True)
    which = "" if options.recipe == "paper" else f"{options.recipe}-"
    path = options.results / f"conv-{which}{options.device.split(':')[0]}"

    def save(found):
        record = {"date": date, "revision": version, "processor": processor()} | settings | found
        path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
        path.with_suffix(".md").write_text(table(settings | found, date, version))

    found = measure(options, save)
    print(path.with_suffix(".md").read_text())
    if same_version(found) is None:
        print(f"conv: no conv_bench here is built with PyTorch's LibTorch, {found['peer']['torch']}: the ratios "
              f"compare versions too", file=sys.stderr)
    wrong = {name: worst(errors)["zeroloss"]
             for name, errors in found["errors"].items() if worst(errors)["zeroloss"][0] > ERROR}
    if wrong:
        sys.exit(f"conv: relative errors above {ERROR}: {wrong}")


if __name__ == "__main__":
    main()
