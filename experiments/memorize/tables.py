"""25 tables as they come, in networks that were written down.

    python experiments/memorize/tables.py build/release/bin/zeroloss PACKAGES     # half a minute; needs polars

Tables, PACKAGES and targets are those of ../tables/run.py; each is given to `zeroloss memorize TABLE --target COLUMN`
and nothing else. Prints the table of README.md.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tables"))
from run import TABLES, get  # noqa: E402


def row_of(result):
    r = result
    if r["status"] != "memorized":
        return [r["n"], r["d"], r["status"], "", "", "", ""]
    within = f"{r['exact_within']:.1e}" if r["exact_within"] is not None else ""
    error = f"{r['proved_error']:.1e}" if within else ""
    right = f"{r['proved_exact']}, {r['proved_any_order']}"
    return [r["n"], r["d"], r["hidden"], r["parameters"], right, error, within]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    command, packages = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])  # it runs elsewhere
    with tempfile.TemporaryDirectory() as temporary:
        for package, file, target in TABLES:
            path = pathlib.Path(temporary) / (pathlib.PurePath(file).name.removesuffix(".csv") + ".csv")
            path.write_bytes(get(packages, package, file))
            outcome = subprocess.run([command, "memorize", path.name, "--target", target, "--json"], cwd=temporary,
                                     capture_output=True, text=True)
            told = outcome.stderr.strip().split(": ", 2)[-1]
            row = row_of(json.loads(outcome.stdout)) if outcome.stdout else [told]
            print(f"| {' | '.join(str(value) for value in [path.stem, *row])} |", flush=True)


if __name__ == "__main__":
    main()
