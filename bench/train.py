"""Times a step of gradient descent, ours and PyTorch's, in turn; writes bench/results/train.json and train.md.

    python bench/train.py --bin build/release/bin --env build/bench-env

after bench/run.sh has built train_bench and `bench/setup.sh torch` has installed PyTorch. n = 1,000 points, 8,192
hidden units, d = 784 (MNIST) and 3,072 (CIFAR-10), relu, float32. Standard library only.
"""
import argparse
import datetime
import json
import pathlib
import sys

from run import HERE, Program, busy_share, interleave, median, processor, revision, use_the_commands_blas

N, M, FEATURES = 1000, 8192, (784, 3072)
PEERS = ("autograd", "formula", "in_place", "transposed", "fused", "fused_transposed", "compiled", "compiled_grad",
         "compiled_tuned")


def measure(options, d):
    torch = (options.env / "torch/bin/python", HERE / "train_peers.py", N, d, M, "--ask")
    with Program(options.bin / "train_bench", N, d, M) as ours, Program(*torch) as peer:
        found = {"d": d, "machine": ours.ask("info"), "peer": peer.ask("info")}
        steps = {f"zeroloss {space}": lambda space=space: ours.ask("step", space) for space in ("gram", "weights")}
        steps |= {f"PyTorch {way}": lambda way=way: peer.ask("step", way) for way in PEERS}
        steps["sgemm zeroloss's BLAS, one thread"] = lambda: ours.ask("sgemm", N, d, M)
        steps["sgemm PyTorch"] = lambda: peer.ask("sgemm", N, d, M)
        found["answers"] = interleave(steps, options.rounds, 2)
    return found


def table(results, date, version):
    machine, peer = results[0]["machine"], results[0]["peer"]
    lines = [
        f"n = {N:,}, {M:,} hidden units, relu, float32, full batch. {processor()}, {machine['threads']} threads, BLAS "
        f"kernel "
        f"{machine['blas_kernel']}; PyTorch {peer['torch']} ({peer['simd']}). {date}, zeroloss {version}; medians.", "",
        "| d | zeroloss, a step | PyTorch at its best | ratio | rate if done by two dense products | of the sgemm rate "
        "|",
        "|---|---|---|---|---|---|",
    ]
    for found in results:
        answers, d = found["answers"], found["d"]
        ours = median(answers[f"zeroloss {found['machine']['cheaper']}"])
        best = min((name for name in answers if name.startswith("PyTorch")), key=lambda name: median(answers[name]))
        theirs, work = median(answers[best]), 4 * N * d * M
        sgemm = max(work / 2 / median(answers[name]) for name in answers if name.startswith("sgemm"))
        lines.append(f"| {d:,} | {1e3 * ours:.1f} ms ({found['machine']['cheaper']}) | {1e3 * theirs:.1f} ms "
                     f"({best.split()[1]}) "
                     f"| {theirs / ours:.1f}x | {work / ours / 1e9:.0f} GF/s | {100 * work / ours / sgemm:.0f} % of "
                     f"{sgemm / 1e9:.0f} GF/s |")
    lines += ["", "| ms a step | " + " | ".join(f"d = {found['d']:,}" for found in results) + " |",
              "|---|" + "---|" * len(results)]
    for name in results[0]["answers"]:
        runs = [[1e3 * a["seconds"] for a in found["answers"][name]] for found in results]
        cells = [f"{1e3 * median(found['answers'][name]):.1f} ({min(run):.1f} to {max(run):.1f})"
                 for found, run in zip(results, runs)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results")
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of train_bench and zeroloss")
    parser.add_argument("--env", type=pathlib.Path, required=True, help="folder of the peers' environments")
    options = parser.parse_args()
    busy = busy_share()
    if busy > 0.1:
        print(f"train: others use {100 * busy:.0f} % of the processors: these times are no good for publishing",
              file=sys.stderr)
    use_the_commands_blas(options.bin)
    results = [measure(options, d) for d in FEATURES]
    date, version = datetime.date.today().isoformat(), revision()
    text = table(results, date, version)
    options.results.mkdir(parents=True, exist_ok=True)
    record = {"date": date, "revision": version, "busy_before": busy, "n": N, "m": M, "results": results}
    (options.results / "train.json").write_text(json.dumps(record, indent=1) + "\n")
    (options.results / "train.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
