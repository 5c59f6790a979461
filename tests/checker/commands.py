#!/usr/bin/env python3
"""commands.py ZEROLOSS ZEROLOSS_CHECK: what the command proves is decided again, and a lie about it is seen.

Each command writes a run folder; all of its claims have to hold. Then each number of each claim is moved to where it
cannot be true, and each array is changed by a bit: none of that may pass."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

DIGITS = ["digits", "--classes", "3,8"]
RUNS = {
    "certify": ["certify", *DIGITS],
    "certify tanh": ["certify", *DIGITS, "--n", "100", "--activation", "tanh"],
    "certify of three layers": ["certify", *DIGITS, "--n", "60", "--depth", "3"],
    "certify of residual blocks": ["certify", *DIGITS, "--n", "60", "--depth", "3", "--residual"],
    "certify of a table": ["certify", "{folder}/table.csv", "--center"],
    "certify of a conflict": ["certify", "{folder}/conflict.csv"],
    "fit": ["fit", *DIGITS, "--n", "100", "--optimizer", "gauss_newton"],
    "fit by descent, on kinks": ["fit", *DIGITS, "--n", "30", "--width", "500"],
    "fit of output weights": ["fit", *DIGITS, "--n", "100", "--optimizer", "output_layer"],
    "width": ["width", *DIGITS, "--n", "90", "--draws", "0", "--restarts", "0"],
    "width of centred points": ["width", "{folder}/table.csv", "--center", "--draws", "0", "--restarts", "0"],
    "linear": ["linear", "gaussian:d=12", "--layers", "6", "--no-train"],
    "prove": ["prove", "{folder}/fit/model.safetensors", *DIGITS, "--n", "100"],
    "prove polished": ["prove", "{folder}/fit/model.safetensors", *DIGITS, "--n", "100", "--polish"],
}  # fmt: skip
TABLE = "a,b,c,label\n" + "".join(f"{i % 7 + 0.25},{i * i % 11},{i / 8},{'xy'[i % 2]}\n" for i in range(20))
CONFLICT = "a,b,label\n1,2,x\n2,1,y\n1,2,y\n2,1,y\n"
#: By how much a number of a claim is moved, to where it is false: lower bounds up, upper bounds down.
UP, DOWN = {"at_least", "margin", "rate", "step", "lambda_min"}, {"at_most", "misfit", "max_norm"}


def run(arguments):
    return subprocess.run([str(word) for word in arguments], capture_output=True, text=True)


def fail(what, done):
    sys.exit(f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")


def lies(folder):
    """Pairs of a name and what claims.json says then; only what cannot be true."""
    told = json.loads((folder / "claims.json").read_text())
    for k, claim in enumerate(told["claims"]):
        for key in claim.keys() & (UP | DOWN):
            factor = 1e6 if key in UP else 1e-9
            lie = json.loads(json.dumps(told))
            lie["claims"] = [lie["claims"][k]]
            lie["claims"][0][key] = (float.fromhex(claim[key]) * factor).hex()
            yield f"{claim['kind']} with another {key}", lie


def main():
    zeroloss, check = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table.csv").write_text(TABLE)
        (folder / "conflict.csv").write_text(CONFLICT)
        checked = seen = 0
        for title, words in RUNS.items():
            out = folder / title.replace(" ", "-")
            words = [word.format(folder=folder) for word in words]
            run([zeroloss, *words, "--out", out])
            if not (out / "claims.json").is_file():
                sys.exit(f"{title}: no claims")
            done = run([check, "--all", out])
            if done.returncode != 0:
                fail(title, done)
            checked += done.stdout.count("holds: ")
            truth = (out / "claims.json").read_text()
            for what, lie in lies(out):
                (out / "claims.json").write_text(json.dumps(lie))
                done = run([check, out])
                if done.returncode not in (1, 4):
                    fail(f"{title}: {what} passed", done)
                seen += done.returncode == 1
            (out / "claims.json").write_text(truth)
            numbers = out / "claims.bin"
            changed = bytearray(numbers.read_bytes())
            changed[len(changed) // 2] ^= 1
            numbers.write_bytes(changed)
            done = run([check, out])
            if done.returncode != 1 or "changed" not in done.stdout:
                fail(f"{title}: a bit was changed", done)
        print(f"{checked} claims hold; {seen} lies are called false, others undecided, none passed")
        if seen < 10:
            sys.exit("too few lies were called false")


if __name__ == "__main__":
    main()
