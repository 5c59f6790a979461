#!/usr/bin/env python3
"""Random bytes for every reader of files, by libFuzzer: run.py [--seconds S] [--runs N] [--write PAGE] [READER ..]

`cmake --preset fuzz && cmake --build --preset fuzz` makes its program, with clang and its sanitizers. Each reader is
run until it has had N files or S seconds, whichever comes first, and goes on from the files that were worth keeping
before (build/fuzz/corpus). Prints a table; what went wrong lies in build/fuzz/found and, once mended, belongs into
tests/fuzz/corpus, which every build of the tests reads again. Exit code 1 if anything did."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = SOURCE / "build" / "fuzz"
PROGRAM = BUILD / "tests" / "fuzz_readers"
CORPUS = Path(__file__).parent / "corpus"
HEAD = ("reader", "files read", "branches covered", "went wrong")
sys.path.append(str(SOURCE / "tests" / "faults"))

from table import write_table  # noqa: E402


def fuzz(reader, seconds, runs):
    """Its row of the table."""
    kept, found, log = BUILD / "corpus" / reader, BUILD / "found" / reader, BUILD / f"{reader}.log"
    kept.mkdir(parents=True, exist_ok=True)
    found.mkdir(parents=True, exist_ok=True)
    # No file of some KB asks for 512 MB, or takes ten seconds to read.
    limits = ["-malloc_limit_mb=512", "-rss_limit_mb=2048", "-timeout=10", "-max_len=16384"]
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with log.open("w") as out:
        ended = subprocess.run(
            [PROGRAM, f"--reader={reader}", f"-runs={runs}", f"-max_total_time={seconds}", *limits, "-detect_leaks=1",
             "-print_final_stats=1", f"-artifact_prefix={found}/", kept, CORPUS / reader.split("-")[0]],
            stdout=out, stderr=subprocess.STDOUT, check=False, env=alone,
        )  # fmt: skip
    text = log.read_text(errors="replace")
    last = re.findall(r"^#(\d+)\s.*cov: (\d+) .*", text, re.MULTILINE)
    done = re.search(r"number_of_executed_units: (\d+)", text)
    count = int(done.group(1)) if done else int(last[-1][0]) if last else 0
    said = re.search(r"(ERROR: .*|runtime error: .*|SUMMARY: .*|what\(\): .*)", text)
    what = "nothing" if ended.returncode == 0 else said.group(1)[:100] if said else f"exit code {ended.returncode}"
    row = (reader, f"{count:,}", last[-1][1] if last else "0", what)
    print("| " + " | ".join(row) + " |", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", help="[all]")
    parser.add_argument("--seconds", type=int, default=600, help="for each reader [600]")
    parser.add_argument("--runs", type=int, default=1_000_000, help="of each reader [1000000]")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    readers = options.readers or subprocess.run([PROGRAM], capture_output=True, text=True, check=False).stdout.split()
    rows = [fuzz(reader, options.seconds, options.runs) for reader in readers]
    if options.write:
        write_table(options.write, "fuzz", HEAD, rows)
    sys.exit(any(row[-1] != "nothing" for row in rows))


if __name__ == "__main__":
    main()
