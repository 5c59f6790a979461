"""What each ingredient of a recipe is worth: the recipe, and the recipe without one of them at a time.

    python experiments/conv/ablation.py build/release/bin/zeroloss DATA [--seeds 0,1,2] [--minutes 9] [OPTION...]
    python experiments/conv/ablation.py build/release/bin/zeroloss DATA --recipe small --epochs 3

The recipe is `modern`, for a GPU, or `small`, for a processor. Further OPTIONs are handed on to every `zeroloss conv
train`. Run folders, --minutes and the status are those of run.py. When all runs are complete, it writes
OUT/ablation-RECIPE.md, a table with the time of a run, and prints it. Standard library only.
"""
import statistics
import sys

from run import INTERRUPTED, arguments, percent, train

# Without an ingredient: what the recipe `paper` has in its place.
BOTH = {
    "nothing": {},
    "warm-up": {"warm-up": "0"},
    "label smoothing": {"label-smoothing": "0"},
    "Nesterov momentum": {"nesterov": "false"},
    "clipping": {"clip-norm": "0"},
    "larger weight decay": {"weight-decay": "1e-4"},
}
WITHOUT = {
    "modern": BOTH | {
        "cosine schedule": {"schedule": "steps"},
        "averaged weights": {"average": "0"},
        "cutout": {"cutout": "0"},
        "larger batch": {"batch": "128", "learning-rate": "0.05"},
    },
    "small": BOTH | {
        "linear schedule": {"schedule": "steps"},
        "whitened stem": {"start": "scaled"},
        "start of the blocks": {"start": "paper"},
        "standardized kernels": {"weight-standardization": "false"},
        "smaller images first": {"early-size": "0"},
        "bfloat16": {"precision": "float32"},
        "larger steps": {"learning-rate": "0.05"},
    },
}


def words_of(changes):
    return [word for name, value in changes.items() for word in (f"--{name}", value)]


def table(without, found):
    lines = ["| left out | instead | test error, median | least to most | against all | "
             "training images wrong, median | minutes |",
             "|---|---|---|---|---|---|---|"]
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
        minutes = statistics.median(r["seconds"] for r in results) / 60
        lines.append(f"| {name} | {' '.join(words_of(without[name]))} | {percent(error)} | {span} | {against} "
                     f"| {'' if wrong is None else f'{wrong:,.0f}'} | {minutes:.3g} |")
    return "\n".join(lines) + "\n"


def main():
    options, words = arguments(__doc__, recipe={"default": "modern", "choices": tuple(WITHOUT),
                                                "help": "modern or small [modern]"})
    without, found = WITHOUT[options.recipe], {}
    for seed in options.seeds:  # each seed is a whole table
        for name, changes in without.items():
            out = options.out / f"{options.recipe}-without-{name.replace(' ', '-').lower()}-{seed}"
            result = train(options.command, out,
                           ["--recipe", options.recipe, "--seed", str(seed), *words, *words_of(changes)],
                           options.deadline)
            if result is None:
                print(f"ablation: {out} is not complete; the same command goes on", file=sys.stderr)
                sys.exit(INTERRUPTED)
            found.setdefault(name, []).append(result)
    text = table(without, found)
    (options.out / f"ablation-{options.recipe}.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
