"""Times cells of the phase diagram, ours, JAX's and PyTorch's, in turn; writes bench/results/sweep.json and sweep.md.

    python3 bench/sweep.py --bin build/release/bin --env build/bench-env

after `bench/setup.sh jax torch`. n = 100 points of the sphere, 10 trials a cell, at most 15,000 steps: the protocol of
sweep_peers.py, which has the peers. Standard library only.
"""
import argparse
import contextlib
import datetime
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import time

from run import HERE, Program, busy_share, interleave, median, processor, revision, use_the_commands_blas

# (activation, d, width): none, some, all trials succeed.
CELLS = (("softplus", 5, 5), ("softplus", 10, 15), ("softplus", 20, 20), ("relu", 3, 25), ("relu", 15, 10),
         ("relu", 25, 25))
PEERS = ("jax", "torch")
NAMES = {"zeroloss": "zeroloss", "jax": "JAX", "torch": "PyTorch"}
BUSY = 0.1  # share of the processors that others may use just before and after a measurement
DISAGREEMENT = 0.05  # of the peers' steps, relative: PyTorch counts in fifties


def zeroloss(folder, protocol, activation, d, m):
    """One cell by the command; seconds are those of the sweep, without starting the process."""
    options = {"d": d, "width": m, "activation": activation, "scaling": "balanced",
               "step": protocol["step"][activation],
               "max-steps": protocol["max_steps"], "tolerance": protocol["tolerance"], "trials": protocol["trials"]}
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    command = [folder / "zeroloss", "sweep", f"sphere:n={protocol['n']},y=normal", *words, "--json"]
    answer = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    (cell,) = answer["cells"]
    return {"seconds": answer["seconds"], "steps": round(cell["mean_steps"] * cell["trials"]),
            "successes": cell["successes"]}


def ask(peer, *words):
    """A peer's answer, the steps of its trials added up."""
    answer = peer.ask(*words)
    return answer | {"steps": sum(answer["steps"])}


def undisturbed(question, patience):
    """Its answer, from a moment at which others let the processors be; or, after `patience` seconds, from any."""
    deadline = time.monotonic() + patience
    while True:
        before = busy_share(0.1)
        if before <= BUSY or time.monotonic() > deadline:
            answer = question()
            others = max(before, busy_share(0.1))
            if others <= BUSY or time.monotonic() > deadline:
                return answer | {"others": others}
        time.sleep(1)


def measure(options):
    """{"answers": {"PROGRAM VARIANT": {cell: [answer of each round]}}, ..}"""
    found = {}
    with contextlib.ExitStack() as stack:
        python = lambda name: (options.env / name / "bin/python", HERE / "sweep_peers.py", name)
        peers = {name: stack.enter_context(Program(*python(name))) for name in PEERS}
        found["protocol"] = peers["jax"].ask("protocol")
        found["peers"] = {name: peer.ask("info") for name, peer in peers.items()}
        variants = [(name, variant) for name, peer in peers.items() for variant in peer.ask("variants")]
        questions = {}
        for cell in CELLS:
            questions["zeroloss", cell] = functools.partial(zeroloss, options.bin, found["protocol"], *cell)
            for name, variant in variants:
                questions[f"{name} {variant}", cell] = functools.partial(ask, peers[name], "cell", variant, *cell)
            questions["jax cold", cell] = functools.partial(ask, peers["jax"], "cold", "best", *cell)
        quiet = {name: functools.partial(undisturbed, question, options.patience)
                 for name, question in questions.items()}
        interleave(questions, 0, 1)  # to warm up
        rounds = interleave(quiet, options.rounds, 0)
    found["disturbed"] = sum(answer["others"] > BUSY for answers in rounds.values() for answer in answers)
    found["measurements"] = sum(map(len, rounds.values()))
    found["answers"] = {}
    for (name, cell), answers in rounds.items():
        found["answers"].setdefault(name, {})[" ".join(map(str, cell))] = answers
    return found


def fastest(answers, name, cell):
    """The variant of a peer that took least time for a cell."""
    variants = (v for v in answers if v.startswith(name) and not v.endswith("cold"))
    return min(variants, key=lambda v: median(answers[v][cell]))


def disagreement(answers):
    """How far the steps that a peer's variant takes for a cell are from those of JAX's first, at most, relative."""
    first = {cell: runs[0]["steps"] for cell, runs in answers["jax best"].items()}
    peers = [found for name, found in answers.items() if name.startswith(PEERS)]
    return max(abs(found[cell][0]["steps"] / steps - 1) for found in peers for cell, steps in first.items())


def per_step(answers):
    """Median seconds of a step of one trial."""
    return statistics.median(a["seconds"] / a["steps"] for a in answers)


def milliseconds(answers):
    times = [1e3 * a["seconds"] for a in answers]
    digits = 1 if max(times) < 100 else 0
    return f"{statistics.median(times):,.{digits}f} ({min(times):,.{digits}f} to {max(times):,.{digits}f})"


def markdown(lines):
    """A table; the first line is its head."""
    text = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([text[0], "|---" * len(lines[0]) + "|", *text[1:]])


def cell_name(cell):
    activation, d, m = cell.split()
    return f"{activation}, d = {d}, {m} units"


def times_table(answers, cells):
    """Times of a cell, and ratios, raw and of the time a step: to the fastest variants, and to programs as one writes
    them."""
    lines = [["cell", "zeroloss, ms", "JAX, ms", "JAX with compilation, ms", "PyTorch, ms", "JAX / ours", "per step",
              "with compilation", "PyTorch / ours", "per step", "JAX as written / ours", "PyTorch as written / ours"]]
    ratios = []
    for cell in cells:
        ours, cold = answers["zeroloss"][cell], answers["jax cold"][cell]
        jax, torch = (answers[fastest(answers, name, cell)][cell] for name in PEERS)
        ratios.append([])
        for peer, ways in ((jax, (median, per_step)), (cold, (median,)), (torch, (median, per_step))):
            ratios[-1] += [way(peer) / way(ours) for way in ways]
        ratios[-1] += [median(answers[f"{name} as_written"][cell]) / median(ours) for name in PEERS]
        lines.append([cell_name(cell), *(milliseconds(a) for a in (ours, jax, cold, torch)),
                      *(f"{r:.1f}x" for r in ratios[-1])])
    means = [statistics.geometric_mean(column) for column in zip(*ratios)]
    lines.append(["geometric mean", "", "", "", "", *(f"**{r:.1f}x**" for r in means)])
    return markdown(lines)


def steps_table(answers, cells, n):
    """Steps and successes of the three programs, and what a step takes."""
    lines = [["cell", "steps of all trials: zeroloss", "JAX", "PyTorch", "successes",
              "a step of one trial, us: zeroloss", "JAX",
              "PyTorch", "zeroloss, GF/s"]]
    for cell in cells:
        _, d, m = cell.split()
        runs = [answers["zeroloss"][cell], *(answers[fastest(answers, name, cell)][cell] for name in PEERS)]
        rate = 4 * n * int(d) * int(m) / per_step(runs[0])
        lines.append([cell_name(cell), *(f"{run[0]['steps']:,.0f}" for run in runs),
                      ", ".join(str(run[0]["successes"]) for run in runs),
                      *(f"{1e6 * per_step(run):.2f}" for run in runs),
                      f"{rate / 1e9:.0f}"])
    return markdown(lines)


def variants_table(answers, cells):
    """Milliseconds of every variant, the fastest of each peer in bold."""
    best = {(cell, fastest(answers, name, cell)) for cell in cells for name in PEERS}
    lines = [["ms", *(cell_name(cell) for cell in cells)]]
    for name, found in answers.items():
        if name.startswith(PEERS) and not name.endswith("cold"):
            times = [f"{1e3 * median(found[cell]):,.1f}" for cell in cells]
            peer, variant = name.split()
            lines.append([f"{NAMES[peer]}, {variant.replace('_', ' ')}",
                          *(f"**{t}**" if (cell, name) in best else t for cell, t in zip(cells, times))])
    return markdown(lines)


def table(found):
    answers, peers, protocol = found["answers"], found["peers"], found["protocol"]
    cells = [" ".join(map(str, cell)) for cell in CELLS]
    head = (
        f"n = {protocol['n']}, {protocol['trials']} trials a cell, at most {protocol['max_steps']:,} steps. "
        f"{processor()}, "
        f"{peers['jax']['cores']} cores; JAX {peers['jax']['jax']}, PyTorch {peers['torch']['torch']} "
        f"({peers['torch']['simd']}). "
        f"{found['date']}, zeroloss {found['revision']}; {found['rounds']} rounds: median (least to most); "
        f"{found['disturbed']} of "
        f"{found['measurements']} measurements disturbed by others."
    )
    tables = times_table(answers, cells), steps_table(answers, cells, protocol["n"]), variants_table(answers, cells)
    return "\n\n".join((head, *tables)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--patience", type=float, default=10,
                        help="seconds to wait for an idle machine, each time [10]")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of zeroloss")
    parser.add_argument("--env", type=pathlib.Path, required=True, help="folder of the peers' environments")
    options = parser.parse_args()
    use_the_commands_blas(options.bin)
    found = {"date": datetime.date.today().isoformat(), "revision": revision(), "rounds": options.rounds,
             **measure(options)}
    if found["disturbed"]:
        print("sweep: others used the processors: these times are no good for publishing", file=sys.stderr)
    text = table(found)
    options.results.mkdir(parents=True, exist_ok=True)
    (options.results / "sweep.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.results / "sweep.md").write_text(text)
    print(text)
    if disagreement(found["answers"]) > DISAGREEMENT:
        sys.exit("sweep: the peers do not take the same steps")


if __name__ == "__main__":
    main()
