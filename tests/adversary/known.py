"""Inputs on which proofs were once false: they stay as cases."""

from cases import Case

STAMPS = [[1.7e18 + 256 * x for x in row]
          for row in [[5, 9, 8], [0, 9, 10], [10, -9, -1], [2, -5, -3], [3, 6, 2], [-7, 4, 8],
                      [-6, 1, -3]]]  # fmt: skip
NEAR = [[1.0, 0.0], [1.0, 2.0**-51], [0.6, 0.8]]
GAUSS_NEWTON = {"activation": "relu", "optimizer": "gauss_newton", "scaling": "ntk", "seed": 0}
IDENTIFIERS = [[1e18 + 128 * k, x, z]
               for k, (x, z) in enumerate([(0.5, -1), (-1.5, 2), (0.25, 1), (1, 0), (-2, -1), (0, 3)])]


def certify(X, y=None, **options):
    return "certify", X, y, {"activation": "relu", **options}


def fit(X, y, **options):
    return "fit", X, y, {**GAUSS_NEWTON, "max_steps": 100, **options}


LIST = {
    "time stamps, centred": certify(STAMPS, center=True),
    "identifiers": certify(IDENTIFIERS),
    "identifiers, centred": certify(IDENTIFIERS, center=True),
    "identifiers, fitted": fit(IDENTIFIERS, [1.0, -1.0, 0.5, 2.0, 0.0, 1.0], width=32, center=True),
    "near points": fit(NEAR, [1.0, 1.0, 0.5], width=8),
    "near points, descent": fit(NEAR, [1.0, 1.0, 0.5], width=64, activation="softplus"),
    "near points certified": certify(NEAR, [1.0, 1.0, 0.5]),
    "near points, other labels": certify(NEAR, [1.0, -1.0, 0.5]),
    "near points, other labels fitted": fit(NEAR, [1.0, -1.0, 0.5], width=8),
    "a hundred equal points": fit([[0.6, 0.8]] * 100, [1.0] * 100, width=64, activation="softplus"),
    "lambda~ in words": certify([[0.9, 0.7, 0.7, 0.0], [0.0, -0.7, 0.8, 0.7], [-0.6, -0.6, 0.3, 0.6]], all_bounds=True),
    "the mean beside an outlier": certify([[1e16, 1.0], [0.1, 2.0], [0.3, 3.0]], center=True),
    "the distance of neighbours": certify([[-0.5, -0.8999999999999999], [-0.5, -0.9]]),
    "a hundred equal points and one": fit([[0.6, 0.8]] * 100 + [[1.0, 0.0]], [1.0] * 100 + [0.5], width=64,
                                          activation="tanh"),
}


def cases():
    return [Case(kind, name, X, y, options, "known") for name, (kind, X, y, options) in LIST.items()]
