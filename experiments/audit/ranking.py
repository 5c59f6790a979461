"""How well scores rank labels."""

import numpy as np


def average_precision(wrong, scores):
    """Of the labels that are wrong (n truth values), the lowest scores first."""
    hits = wrong[np.argsort(scores, kind="stable")]
    return (np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean()
