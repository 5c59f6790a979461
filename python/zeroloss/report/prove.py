"""What a page says of a network that was given: what it gets right, what is proved beside it."""

from __future__ import annotations

from ..figures.run import Json, Run
from .elements import Content, Facts, Parts, at_least, at_most, number, record, table, tag
from .loss import LOSS

MOST = 200  # samples that are named
NONE = "not proved"
NAMED = (
    ("wrong_samples", "Samples proved wrong"),
    ("undecided_samples", "Samples too close to tell"),
    ("single_samples", "Samples that float32 may decide otherwise"),
)


def prove(run: Run, r: Json) -> Parts:
    networks = r.get("networks") or []
    polished = len(networks) > 1
    numbers: Facts = [
        ("network", r.get("network")),
        ("samples", r.get("n")),
        ("distinct points", r.get("n_distinct") if r.get("n_distinct") != r.get("n") else None),
        ("features", r.get("d")),
        ("outputs", r.get("outputs")),
        LOSS,
        ("weights that may move", r.get("moving")),
        ("distance of the polished weights", at_most(r.get("distance")) if polished else None),
        ("steps of polishing", r.get("steps") if polished else None),
        ("its factorisations", r.get("factorizations") if polished else None),
    ]
    written = r.get("written")
    return Parts(numbers, [_remarks(r), _table([*networks, *([written] if written else [])]),
                           *(_samples(one, key, title) for one in networks[-1:] for key, title in NAMED)])  # fmt: skip


def _table(networks: list[Json]) -> Content:
    """A column a network, a row a statement; bounds are rounded to the safe side."""
    if not networks:
        return None
    proofs = [one.get("certificate") or {} for one in networks]
    classes = any(one.get("right") or one.get("wrong") or one.get("undecided") for one in networks)
    labels = [
        ["labels right", *(one.get("right") for one in networks)],
        ["labels wrong", *(one.get("wrong") for one in networks)],
        ["too close to tell", *(one.get("undecided") for one in networks)],
        ["least margin", *(at_least(one.get("margin")) for one in networks)],
    ]
    largest = ["largest error, at most", *(at_most(one.get("largest_error")) for one in networks)]
    rows: list[list[Content]] = [
        *(labels if classes else [largest]),
        ["outputs computed to within", *(at_most(one.get("output_error")) for one in networks)],
        ["misfit, at most", *(at_most(one.get("misfit")) for one in networks)],
        ["relative to the targets", *(at_most(one.get("relative_misfit")) for one in networks)],
        ["lambda_min(J J^T)", *(at_least(p.get("lambda_min")) if p.get("lambda_min") else NONE for p in proofs)],
        ["h, at most 1/2 is needed", *(at_most(p.get("h")) if p.get("lambda_min") else "" for p in proofs)],
        ["an exact network within", *(at_most(p.get("radius")) if p.get("exists") else NONE for p in proofs)],
        ["descent: steps up to", *(number(p.get("step"), 3, "down") if p.get("descends") else NONE for p in proofs)],
        ["what is in the way", *(p.get("reason") or "" for p in proofs)],
    ]
    names = {"given": "as given", "polished": "polished", "written": "polished.onnx"}
    return [tag("h2", "What is proved"), table(["", *(names.get(str(one.get("which")), "") for one in networks)], rows)]


def _remarks(r: Json) -> Content:
    """On the order of classes, and on what did not fit into memory."""
    return [tag("p", str(remark)) for remark in r.get("remarks") or []]


def _samples(network: Json, key: str, title: str) -> Content:
    samples = network.get(key) or []
    if not samples:
        return None
    more = f" and {len(samples) - MOST} more" if len(samples) > MOST else ""
    parts: list[Content] = [[", " if k else "", record(sample)] for k, sample in enumerate(samples[:MOST])]
    return [tag("h2", title), tag("p", *parts, more)]
