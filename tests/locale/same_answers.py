#!/usr/bin/env python3
"""The command answers alike in every locale: same_answers.py COMMAND LIBRARY FOLDER asks it in the locale "C" and in
the German one (see in_locale.py), and prints what differs."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import in_locale

QUESTIONS = """
certify digits --classes 3,8 --n 60
certify digits --classes 3,8 --n 60 --step 0.07 --require lambda_min>=0.02 --json
certify table.csv --target price --center
width digits --classes 3,8 --n 40 --restarts 1 --require measured<=1e2
fit digits --classes 3,8 --n 40 --width 30 --step 1.5e-3 --max-steps 2000 --json
fit digits --n 1000 --max-steps 0 --width 2000 --print-config
fit table.csv --target price --optimizer output_layer --tolerance 1e-9
fit digits --classes 3,8 --n 30 --step 0,5
fit --help
conv train --help
linear random:d=6 --layers 2:8:3
memorize digits --n 50
sweep digits --n 8:24:*1.5 --width 16 --noise 0.0:0.2:0.1 --step 0.05 --trials 2 --max-steps 50
audit table.csv --target price --require noise<=0.5
influence table.csv --target price --test table.csv --top 3
prove {examples}/digits.onnx digits --divide 16 --n 40
predict model table.csv --target price
predict model table.csv --target price --json
export model -
data info table.csv
data info sphere:n=2000,d=3
data info sphere:n=1.5,d=3
""".strip().split("\n")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
#: What a machine takes, and may have.
MEASURED = re.compile(rb'"[a-z_]*seconds": .*|"peak_[a-z_]*": .*|"(?:started|finished|time)": .*|[\d.,]+ s\b'
                      rb"|[\d.,]+ [kMG]B|[\d.,]+ trials/s")  # fmt: skip


def write_table(file):
    rows = [f"{k * 0.37 % 5:.3f},{1000 + 7 * k},{0.5 * k + k * 0.37 % 5:.2f},{'ab'[k % 2]}" for k in range(60)]
    file.write("\n".join(["size,place,price,kind", *rows]) + "\n")


def answer(command, question, folder, environment):
    words = [word.format(examples=EXAMPLES) for word in question.split()]
    ended = subprocess.run([command, *words], capture_output=True, cwd=folder, timeout=300,
                           env={**os.environ, **environment, "OMP_NUM_THREADS": "1"})  # fmt: skip
    return ended.returncode, MEASURED.sub(b"..", ended.stdout), MEASURED.sub(b"..", ended.stderr)


def main():
    command, library, folder = sys.argv[1:]
    german = in_locale.environment(library, folder) or in_locale.refuse()
    different = 0
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/table.csv", "w") as file:
            write_table(file)
        made = answer(command, "memorize table.csv --target price --out model", work, {"LC_ALL": "C"})
        if made[0] != 0:
            sys.exit(made[2].decode())
        for question in QUESTIONS:
            usual = answer(command, question, work, {"LC_ALL": "C"})
            there = answer(command, question, work, german)
            if usual == there:
                continue
            different += 1
            print(f"$ zeroloss {question}\nexits with {usual[0]} and {there[0]}")
            for ours, theirs in zip(usual[1:], there[1:]):
                lines = (text.decode(errors="replace").split("\n") for text in (ours, theirs))
                print("\n".join(f"- {a}\n+ {b}" for a, b in zip(*lines) if a != b))
    print(f"{len(QUESTIONS) - different} of {len(QUESTIONS)} answers are the same")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
