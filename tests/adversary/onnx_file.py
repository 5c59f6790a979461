"""ONNX files from lists of nodes, written by hand: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto."""

import struct
from dataclasses import dataclass, field

import numpy as np

TYPES = {"float32": 1, "int32": 6, "int64": 7, "text": 8, "bool": 9, "float64": 11}
ML = {"LabelEncoder", "ZipMap", "ArrayFeatureExtractor"}


@dataclass
class Node:
    op: str
    inputs: list
    output: str
    attributes: dict = field(default_factory=dict)


@dataclass
class Graph:
    """Of "x", n x d of `points`, or n x `sizes`; constants are (type, shape, values) by their names."""

    points: str
    d: int
    constants: dict
    nodes: list
    outputs: dict  # their types, by their names; "scores by name" of a ZipMap
    sizes: list = None


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(key, value):
    return varint(key << 3) + varint(value)


def text(key, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(key << 3 | 2) + varint(len(data)) + data


def real(key, value):
    return varint(key << 3 | 5) + struct.pack("<f", value)


def tensor(name, kind, shape, values):
    parts = [*(number(1, size) for size in shape), number(2, TYPES[kind]), text(8, name)]
    if kind == "text":
        return b"".join([*parts, *(text(6, value) for value in values)])
    return b"".join([*parts, text(9, np.asarray(values, kind).tobytes())])


def attribute(name, value):
    parts = text(1, name)
    if isinstance(value, float):
        return parts + real(2, value) + number(20, 1)
    if isinstance(value, int):
        return parts + number(3, value) + number(20, 2)
    if isinstance(value[0], str):
        return parts + b"".join(text(9, one) for one in value) + number(20, 8)
    return parts + b"".join(number(8, one) for one in value) + number(20, 7)


def node(one):
    parts = [*(text(1, name) for name in one.inputs), text(2, one.output), text(3, one.output), text(4, one.op)]
    parts += [text(5, attribute(name, value)) for name, value in one.attributes.items()]
    return b"".join([*parts, text(7, "ai.onnx.ml")] if one.op in ML else parts)


def value(name, kind, sizes):
    if kind == "scores by name":
        scores = text(1, number(1, TYPES["float32"]))
        return text(1, name) + text(2, text(4, text(1, text(5, number(1, TYPES["text"]) + text(2, scores)))))
    if sizes is None:
        return text(1, name) + text(2, text(1, number(1, TYPES[kind])))
    dims = b"".join(text(1, text(2, "n") if size is None else number(1, size)) for size in sizes)
    return text(1, name) + text(2, text(1, number(1, TYPES[kind]) + text(2, dims)))


def write(path, graph):
    parts = [text(1, node(one)) for one in graph.nodes] + [text(2, "drawn")]
    parts += [text(5, tensor(name, *numbers)) for name, numbers in graph.constants.items()]
    parts.append(text(11, value("x", graph.points, [None, *(graph.sizes or [graph.d])])))
    parts += [text(12, value(name, kind, None)) for name, kind in graph.outputs.items()]
    sets = text(8, text(1, "") + number(2, 17)) + text(8, text(1, "ai.onnx.ml") + number(2, 3))
    path.write_bytes(number(1, 8) + text(7, b"".join(parts)) + sets)
