"""What each ingredient of the recipe `modern` is worth: the recipe, and the recipe without one of them at a time.

    python experiments/conv/ablation.py build/release/bin/zeroloss DATA [--seeds 0,1,2] [--minutes 9] [OPTION...]
    python experiments/conv/ablation.py build/release/bin/zeroloss DATA --seeds 0 --depth 1 --width 16 --n 2000 \\
        --n-test 1000 --epochs 3

Further OPTIONs are handed on to every `zeroloss conv train`; the second line is small enough for a processor. Run
folders, --minutes and the status are those of run.py. When all runs are complete, it writes OUT/ablation.md, a table,
and prints it. Standard library only.
"""
import statistics
import sys

from run import INTERRUPTED, arguments, percent, train

# Without an ingredient: what the recipe `paper` has in its place.
WITHOUT = {
    "nothing": {},
    "cosine schedule": {"schedule": "steps"},
    "warm-up": {"warm-up": "0"},
    "label smoothing": {"label-smoothing": "0"},
    "averaged weights": {"average": "0"},
    "cutout": {"cutout": "0"},
    "Nesterov momentum": {"nesterov": "false"},
    "clipping": {"clip-norm": "0"},
    "larger weight decay": {"weight-decay": "1e-4"},
    "larger batch": {"batch": "128", "learning-rate": "0.05"},
}


def words_of(changes):
    return [word for name, value in changes.items() for word in (f"--{name}", value)]


def table(found):
    lines = ["| left out | instead | test error, median | least to most | against all | "
             "training images wrong, median |",
             "|---|---|---|---|---|---|"]
    middle = lambda numbers: statistics.median(numbers) if None not in numbers else None
    errors = {name: [r["test"]["top1_error"] if r["test"] else None for r in results]
              for name, results in found.items()}
    all_of_it = middle(errors["nothing"])
    for name, results in found.items():
        error = middle(errors[name])
        span = "" if error is None else f"{percent(min(errors[name]))} to {percent(max(errors[name]))}"
        # Runs with one option changed may diverge, which leaves nothing to evaluate.
        alone = name == "nothing" or all_of_it is None
        against = "diverged" if error is None else "" if alone else f"{100 * (error - all_of_it):+.2f} points"
        wrong = middle([r["train"]["wrong"] if r["train"] else None for r in results])
        lines.append(f"| {name} | {' '.join(words_of(WITHOUT[name]))} | {percent(error)} | {span} | {against} "
                     f"| {'' if wrong is None else f'{wrong:,.0f}'} |")
    return "\n".join(lines) + "\n"


def main():
    options, words = arguments(__doc__)
    found = {}
    for seed in options.seeds:  # each seed is a whole table
        for name, changes in WITHOUT.items():
            out = options.out / f"without-{name.replace(' ', '-').lower()}-{seed}"
            result = train(options.command, out,
                           ["--recipe", "modern", "--seed", str(seed), *words, *words_of(changes)], options.deadline)
            if result is None:
                print(f"ablation: {out} is not complete; the same command goes on", file=sys.stderr)
                sys.exit(INTERRUPTED)
            found.setdefault(name, []).append(result)
    text = table(found)
    (options.out / "ablation.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
