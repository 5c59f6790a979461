#!/usr/bin/env python3
"""`zeroloss certify` by two processes of one thread beside one process of two, in turns: bench/processes.py ZEROLOSS

Prints medians of the seconds that certify itself tells, and their ratio: what two processes lose or gain."""

import argparse
import json
import os
import statistics
import subprocess


def seconds(command, environment):
    command = [*command, "--quiet", "--json"]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result = json.loads(answer.stdout)
    return result["seconds"], result["lambda_min_verified"], result["peak_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--data", default="sphere:n=8000,d=784,y=normal")
    parser.add_argument("--cache")
    parser.add_argument("--n", type=int)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--proof", default="residual")
    parser.add_argument("--method", default="factor")
    parser.add_argument("--block", type=int, default=128)
    options = parser.parse_args()
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    asked = [options.program, "certify", options.data, "--method", options.method]
    if options.method == "factor":
        asked += ["--proof", options.proof, "--block", str(options.block)]
    if options.cache:
        asked += ["--cache", options.cache]
    if options.n:
        asked += ["--n", str(options.n)]
    found = {"threads": [], "processes": []}
    for _ in range(options.times):
        found["threads"].append(seconds(asked, environment))
        found["processes"].append(seconds(["mpirun", "-n", "2", *asked], environment))
    medians = {who: statistics.median(s for s, _, _ in runs) for who, runs in found.items()}
    print(json.dumps({
        "data": options.data, "n": options.n, "method": options.method, "proof": options.proof, "block": options.block,
        **{f"{who}_s": round(value, 3) for who, value in medians.items()},
        "speed_of_processes": round(medians["threads"] / medians["processes"], 3),
        "all": {who: [round(s, 2) for s, _, _ in runs] for who, runs in found.items()},
        "lambda_min_verified": {who: runs[0][1] for who, runs in found.items()},
        "peak_bytes": {who: runs[0][2] for who, runs in found.items()},
    }))  # fmt: skip


if __name__ == "__main__":
    main()
