#!/usr/bin/env python3
"""commands.py ZEROLOSS ZEROLOSS_CHECK [--no-lies]: what the command proves is decided again, a lie is seen.

Each command writes a run folder; each statement of its answer has to be a claim, and all claims have to hold. Then each
number of each claim is moved to where it cannot be true, and an array is changed by a bit: none of that may pass."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

DIGITS = ["digits", "--classes", "3,8"]
RUNS = {
    "certify": ["certify", *DIGITS],
    "certify tanh": ["certify", *DIGITS, "--n", "60", "--activation", "tanh"],
    "certify of three layers": ["certify", *DIGITS, "--n", "60", "--depth", "3"],
    "certify of residual blocks": ["certify", *DIGITS, "--n", "60", "--depth", "3", "--residual"],
    "certify of a table": ["certify", "{folder}/table.csv", "--center"],
    "certify of equal and opposite points": ["certify", "{folder}/same.csv", "--standardize", "no", "--bias", "0"],
    "certify of a conflict": ["certify", "{folder}/conflict.csv"],
    "fit": ["fit", *DIGITS, "--n", "100", "--optimizer", "gauss_newton"],
    "fit by descent, on kinks": ["fit", *DIGITS, "--n", "30", "--width", "500"],
    "fit of output weights": ["fit", *DIGITS, "--n", "100", "--optimizer", "output_layer"],
    "certify softplus, with all bounds": ["certify", *DIGITS, "--n", "40", "--activation", "softplus", "--all-bounds"],
    "certify of ten classes": ["certify", "digits", "--n", "60", "--all-bounds"],
    "fit of three layers": ["fit", *DIGITS, "--n", "40", "--depth", "3", "--width", "60", "--activation", "tanh",
                            "--optimizer", "gauss_newton"],
    "fit of a network a class": ["fit", "digits", "--classes", "1,3,8", "--n", "30", "--depth", "2", "--width", "40",
                                 "--activation", "tanh", "--optimizer", "gauss_newton", "--separate"],
    "fit of a conflict": ["fit", "{folder}/conflict.csv", "--max-steps", "100"],
    "memorize": ["memorize", "digits", "--n", "200"],
    "memorize in floats": ["memorize", *DIGITS, "--n", "200", "--precision", "float32"],

    "certify of points as they are": ["certify", "{folder}/unit.csv", "--no-normalize"],
    "fit of points as they are": ["fit", "{folder}/unit.csv", "--no-normalize", "--width", "40", "--max-steps", "3000"],
    "width of points as they are": ["width", "{folder}/unit.csv", "--no-normalize"],
    "width": ["width", *DIGITS, "--n", "90", "--restarts", "0"],
    "width of a conflict": ["width", "{folder}/conflict.csv"],
    "width that was found": ["width", *DIGITS, "--n", "30", "--draws", "0"],
    "width of ten classes, leaky": ["width", "digits", "--n", "40", "--restarts", "0", "--activation", "leaky_relu"],
    "width of z^2, which is never enough": ["width", "{folder}/table.csv", "--activation", "quadratic", "--features",
                                            "a,b", "--draws", "0", "--restarts", "0"],
    "width of centred points": ["width", "{folder}/table.csv", "--center", "--draws", "0", "--restarts", "0"],
    "linear": ["linear", "gaussian:d=12", "--layers", "6", "--no-train"],
    "prove": ["prove", "{folder}/fit/model.safetensors", *DIGITS, "--n", "100"],
    "prove above a threshold": ["prove", "{folder}/fit/model.safetensors", *DIGITS, "--n", "100", "--threshold", "1"],
    "prove polished": ["prove", "{folder}/fit/model.safetensors", *DIGITS, "--n", "100", "--polish"],
}  # fmt: skip
#: What the answers above state, each at least once.
KINDS = ["lambda_min", "separation", "conflict", "equal_points", "antipodal", "memorised", "theorem", "too_few",
         "biased", "descent", "existence", "last_layer", "labels", "factorisation"]  # fmt: skip
TABLE = "a,b,c,label\n" + "".join(f"{i % 7 + 0.25},{i * i % 11},{i / 8},{'xy'[i % 2]}\n" for i in range(20))
SAME = "a,b,label\n1,2,x\n2,1,y\n1,2,x\n3,1,y\n-2,-1,y\n"
CONFLICT = "a,b,label\n1,2,x\n2,1,y\n1,2,y\n2,1,y\n"

UNIT = "a,b,label\n.6,.8,x\n.8,.6,x\n.6,-.8,y\n.8,-.6,x\n1,0,y\n0,1,x\n"
#: By how much a number of a claim is moved, to where it is false: lower bounds up, upper bounds down.
UP = {"at_least", "margin", "rate", "step", "lambda_min", "lambda", "distance"}
DOWN = {"at_most", "misfit", "max_norm", "width"}


def run(arguments):
    return subprocess.run([str(word) for word in arguments], capture_output=True, text=True)


def fail(what, done):
    sys.exit(f"{what}: exit status {done.returncode}\n{done.stdout}{done.stderr}")


def statements(answer):
    """How many claims of each kind an answer asks for."""
    kinds = Counter()
    kinds["lambda_min"] = bool(answer.get("lambda_min_verified"))
    kinds["separation"] = (answer.get("separation") or 0) > 0 and not answer["antipodal"]
    kinds["conflict"] = bool(answer.get("conflicts"))
    kinds["equal_points"] = bool(answer.get("duplicates"))
    kinds["antipodal"] = bool(answer.get("antipodal"))
    kinds["memorised"] = answer.get("status") == "memorized" and answer.get("r") != 1  # of numbers there is none
    for row in answer.get("guarantees", []):
        kinds["theorem"] += row.get("verified", False) and row.get("width") is not None
    for row in answer.get("rows", answer.get("widths", [])):
        never = row["id"] == "too_few" and row["status"] == "proved" and not row.get("width")
        kinds["too_few"] += never
        if row["status"] == "proved" and row.get("width") and row["width"] > (row["id"] == "too_few"):
            of = {"too_few": "too_few", "biased": "biased", "any_labels": "descent", "these_labels": "descent"}
            several = answer.get("outputs", 1) if row["id"] == "these_labels" else 1
            kinds[of.get(row["id"], "theorem")] += several
        if row["id"] == "measured" and row["says"].startswith("certified"):
            kinds["exact network"] += answer["outputs"]
    for output in answer.get("per_class", []):
        proof = output["certificate"]
        kinds[{"output_weights": "last_layer"}.get(proof["kind"], proof["kind"])] += proof["holds"]
    for network in answer.get("networks", []):
        kinds["labels"] += bool(network.get("right") or network.get("wrong"))
        kinds["existence"] += network["certificate"]["exists"]
        kinds["descent"] += network["certificate"]["descends"]
    factorisations = answer.get("factorizations")
    kinds["factorisation"] += len(factorisations) if isinstance(factorisations, list) else 0
    kinds["exact network"] += kinds["existence"] + kinds["descent"]
    return +kinds


def lies(folder):
    """Pairs of a name and what claims.json says then; only what cannot be true."""
    told = json.loads((folder / "claims.json").read_text())
    for k, claim in enumerate(told["claims"]):
        for key in claim.keys() & (UP | DOWN):
            factor = 1e6 if key in UP else 1e-9
            lie = json.loads(json.dumps(told))
            lie["claims"] = [lie["claims"][k]]
            if claim["kind"] == "theorem" and key == "step" and "rate" in claim:
                slow = json.loads(json.dumps(lie))
                slow["claims"][0][key] = (float.fromhex(claim[key]) * 1e-9).hex()
                yield "theorem of a small step with the rate of a large one", slow
            if claim["kind"] == "too_few":
                lie["claims"][0][key] *= 1000
            elif claim["kind"] == "biased":
                lie["claims"][0][key] //= 5
            else:
                lie["claims"][0][key] = (float.fromhex(claim[key]) * factor).hex()
            yield f"{claim['kind']} with another {key}", lie


def main():
    zeroloss, check, *no_lies = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "table.csv").write_text(TABLE)
        (folder / "conflict.csv").write_text(CONFLICT)
        (folder / "same.csv").write_text(SAME)

        (folder / "unit.csv").write_text(UNIT)
        checked = seen = 0
        stated = Counter()
        for title, words in RUNS.items():
            out = folder / title.replace(" ", "-")
            words = [word.format(folder=folder) for word in words]
            run([zeroloss, *words, "--out", out])
            if not (out / "claims.json").is_file():
                sys.exit(f"{title}: no claims")
            told = json.loads((out / "claims.json").read_text())["claims"]
            asked = statements(json.loads((out / "result.json").read_text()))
            claimed = Counter(claim["kind"] for claim in told)
            claimed["exact network"] = claimed["existence"] + claimed["descent"]
            if missing := asked - claimed:
                sys.exit(f"{title}: without a claim: {dict(missing)}")
            stated += asked
            done = run([check, "--all", out])
            if done.returncode != 0:
                fail(title, done)
            checked += done.stdout.count("holds: ")
            if no_lies:
                continue
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
        if few := [kind for kind in KINDS if stated[kind] < 1]:
            sys.exit(f"no answer states {few}")
        if seen < 10 and not no_lies:
            sys.exit("too few lies were called false")


if __name__ == "__main__":
    main()
