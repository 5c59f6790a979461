#!/usr/bin/env python3
"""graphs.py ZEROLOSS ZEROLOSS_CHECK FOLDER: what prove says of graphs is decided again, from claims alone.

FOLDER has random graphs with their outputs, as tests/graph/files. Of each the labels, margins, misfits and last layers
that prove states are claims, which have to hold; right labels called wrong, margins and bounds moved to where the
outputs of the file, as another evaluation has them, refute them have to be seen."""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

MOST_UNWRITTEN = 2  # graphs that need more than the checker's nodes
LEAST = {"labels": 55, "misfit": 55, "last_layer": 20}  # of 64 graphs


def read(file):
    """Points and outputs of a graph, as the other evaluation has them."""
    rows = {}
    for line in file.read_text().splitlines():
        word, *numbers = line.split(",")
        rows.setdefault(word, []).append([float(number) for number in numbers])
    return rows["x"], rows["real"]


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def table(file, X, outputs):
    """With the class of the largest output, but that of the next one for each fourth sample."""
    classes = max(2, len(outputs[0]))
    lines = [",".join([*(f"x{k}" for k in range(len(X[0]))), "label"])]
    for i, (x, y) in enumerate(zip(X, outputs)):
        label = y.index(max(y)) if len(y) > 1 else int(y[0] > 0)
        lines.append(",".join([*map(repr, x), str((label + (i % 4 == 3)) % classes)]))
    file.write_text("\n".join(lines) + "\n")
    return classes


def lies(claims):
    for k, claim in enumerate(claims):
        def told(**keys):
            return [{key: value for key, value in {**claim, **keys}.items() if value is not None}]  # noqa: B023

        if claim["kind"] == "labels" and "right" in claim:
            yield f"{k}: right labels called wrong", told(right=claim.get("wrong"), wrong=claim["right"], margin=None)
        if "margin" in claim:
            yield f"{k}: a larger margin", told(margin=(float.fromhex(claim["margin"]) * 1.001 + 1e-9).hex())
        if claim["kind"] == "misfit":
            yield f"{k}: a smaller misfit", told(at_most=(float.fromhex(claim["at_most"]) * 0.999).hex())


def main():
    zeroloss, check, graphs = sys.argv[1:]
    kinds, unwritten, refuted = Counter(), [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for graph in sorted(Path(graphs).glob("*.onnx")):
            X, outputs = read(graph.with_suffix(".csv"))
            data, out = folder / "table.csv", folder / graph.stem
            classes = table(data, X, outputs)
            names = f"0..{classes - 1}"
            said = run(zeroloss, "prove", graph, data, "--class-names", names, "--target", "label", "--out", out)
            if not (out / "claims.json").is_file():
                sys.exit(f"{graph.name}: no claims\n{said.stdout}{said.stderr}")
            told = json.loads((out / "claims.json").read_text())
            claims = told["claims"]
            if any(claim["kind"].endswith("_of_file") for claim in claims):
                unwritten.append(f"{graph.name}: {told.get('note')}")
                continue
            done = run(check, out)
            if done.returncode != 0:
                sys.exit(f"{graph.name}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
            kinds.update(claim["kind"] for claim in claims)
            for what, lie in lies(claims):
                (out / "claims.json").write_text(json.dumps({**told, "claims": lie}))
                done = run(check, out)
                if done.returncode != 1:
                    sys.exit(f"{graph.name}: claim {what}: exit status {done.returncode}\n{done.stdout}")
                refuted += 1
    print(f"hold: {dict(kinds)}; {refuted} lies refuted")
    print(f"not written: {len(unwritten)}")
    for line in unwritten:
        print("   ", line)
    few = [kind for kind, least in LEAST.items() if kinds[kind] < least]
    if len(unwritten) > MOST_UNWRITTEN or few or refuted < 150:
        sys.exit("too few graphs are checked")


if __name__ == "__main__":
    main()
