"""Networks of many layers that are proved to be next to zero loss.

    python experiments/layers/certified.py build/release/bin/zeroloss [MNIST FOLDER] [--only WORD]

Three plain layers and eight residual ones of 256 units, tanh, gelu and relu, with the labels given and with random
ones, by Gauss-Newton until a certificate holds: the digits 3 and 8, 2,000 images of MNIST with a network a class, and
with one network of ten outputs (20,000 equations: some minutes each). Appends a row to certified.csv beside this file
as each ends; rows that are there are not computed again. Prints the table of README.md.
"""

import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
NAMES = ["data", "networks", "layers", "activation", "labels", "status", "steps", "misfit", "lambda_min", "h", "radius",
         "descent", "seconds"]  # fmt: skip
SHAPES = {"3 plain": ["--depth", "3"], "8 residual": ["--depth", "8", "--residual"]}


def cases(mnist):
    sets = [("digits 3, 8", "one", ["digits", "--classes", "3,8"])]
    if mnist:
        images = ["mnist", "--n", "2000", "--cache", mnist]
        sets += [("MNIST 2,000", "one a class", [*images, "--separate"]), ("MNIST 2,000", "ten outputs", images)]
    for data, networks, words in sets:
        for layers, shape in SHAPES.items():
            for activation in ("tanh", "gelu", "relu"):
                for labels in ("given", "random"):
                    yield data, networks, layers, activation, labels, [*words, *shape]


def main():
    words = sys.argv[1:]
    only = words.pop(words.index("--only") + 1) if "--only" in words else ""
    words = [word for word in words if word != "--only"]
    path = HERE / "certified.csv"
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    for *case, line in cases(words[1] if len(words) > 1 else ""):
        known = dict(zip(NAMES, case))
        if any(all(row[name] == value for name, value in known.items()) for row in rows) or only not in str(case):
            continue
        train = ["--width", "256", "--optimizer", "gauss_newton", "--stop", "certificate", "--max-steps", "300"]
        named = ["--activation", known["activation"], "--labels", known["labels"], "--json"]
        fit = [words[0], "fit", *line, *named, *train]
        r = json.loads(subprocess.run(fit, check=True, capture_output=True, text=True).stdout)
        c = r["certificate"]
        slowest = max(output["seconds"] for output in r["per_class"])
        row = known | {"status": r["status"], "steps": r["steps"], "misfit": r["relative_misfit"],
                       "lambda_min": c["lambda_min"], "h": 0.5 / c["margin"] if c["margin"] else None,
                       "radius": c["radius"], "descent": c["kind"] == "descent", "seconds": slowest}  # fmt: skip
        rows.append({name: str(value) for name, value in row.items()})
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, NAMES)
            writer.writeheader()
            writer.writerows(rows)
        print(rows[-1], flush=True)
    print("| data | networks | layers | phi | labels | | lambda_min >= | h <= | exact within | descent | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        number = lambda name, row=row: "" if row[name] in ("None", "") else f"{float(row[name]):.2g}"
        print(f"| {row['data']} | {row['networks']} | {row['layers']} | {row['activation']} | {row['labels']} | "
              f"{row['status']} | {number('lambda_min')} | {number('h')} | {number('radius')} | "
              f"{'yes' if row['descent'] == 'True' else 'no'} | {number('seconds')} |")  # fmt: skip


if __name__ == "__main__":
    main()
