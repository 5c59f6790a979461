"""make.py: writes the networks of this folder, with onnx 1.23; it needs numpy and onnx.

Each looks like a chain of layers, and something in it decides what it computes: names of classes, types, attributes,
operator sets, constants that two nodes share."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).parent
F, D, I32, I64, B, S = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
                        TensorProto.STRING)  # fmt: skip
NUMBERS = np.random.default_rng(7).normal(size=200).round(3)


def drawn(*shape, start=0, dtype="f4"):
    count = int(np.prod(shape))
    return NUMBERS[start : start + count].reshape(shape).astype(dtype)


def constant(name, values):
    values = np.asarray(values)
    if values.dtype.kind in "US":
        return helper.make_tensor(name, S, values.shape, [text.encode() for text in values.ravel().tolist()])
    return numpy_helper.from_array(values, name)


def node(op, inputs, output, **attributes):
    ml = op in ("ArrayFeatureExtractor", "LabelEncoder", "ZipMap", "Scaler")
    name = attributes.pop("name", output)
    return helper.make_node(op, inputs.split(), [output], name=name, domain="ai.onnx.ml" if ml else "", **attributes)


def write(name, nodes, output="o", kind=F, constants=None, points=(F, [None, 3]), opset=17, shape=None):
    constants = {"W": drawn(3, 4), "V": drawn(4, 1, start=20), **(constants or {})}
    used = {entry for one in nodes for entry in one.input}
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", *points)],
        [helper.make_tensor_value_info(output, kind, shape)],
        [constant(key, values) for key, values in constants.items() if key in used])  # fmt: skip
    if name.startswith("zipmap"):
        del graph.output[:]
        keys = helper.make_map_type_proto(S, helper.make_tensor_type_proto(F, None))
        graph.output.append(helper.make_value_info(output, helper.make_sequence_type_proto(keys)))
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=sets)
    model.ir_version = 8 if opset > 6 else 3
    if model.ir_version == 3:  # every constant is an input as well
        for one in graph.initializer:
            model.graph.input.append(helper.make_tensor_value_info(one.name, one.data_type, one.dims))
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


LAYER = [node("MatMul", "x W", "z"), node("Tanh", "z", "a")]
REGRESSION = [*LAYER, node("MatMul", "a V", "o")]
SCORES = {"V": drawn(4, 3, start=30)}
LABEL = [*LAYER, node("MatMul", "a V", "s"), node("ArgMax", "s", "i", axis=1, keepdims=0)]


def names():
    def labels(name, *tail, kind=I64, **constants):
        write(name, [*LABEL, *tail], "label", kind, {**SCORES, **constants})

    labels("gather", node("Gather", "names i", "label"), names=np.array([2, 0, 1]))
    labels("extractor_text", node("ArrayFeatureExtractor", "names i", "label"), kind=S, names=np.array(["c", "a", "b"]))
    labels("gather_large", node("Gather", "names i", "label"), names=np.array([2**53 + 1, 2**53, 5]))
    labels("gather_large_as_double", node("Gather", "names i", "j"), node("Cast", "j", "label", to=D), kind=D,
           names=np.array([2**53 + 1, 2**53, 5]))  # fmt: skip
    labels("gather_floats", node("Gather", "names i", "label"), kind=F, names=np.array([0.1, 0.5, 3], "f4"))
    labels("encoder", node("LabelEncoder", "i", "label", keys_int64s=[2, 0, 1], values_int64s=[1, 2, 0]))
    labels("encoder_text", node("LabelEncoder", "i", "label", keys_int64s=[0, 1, 2], values_strings=["c", "a", "b"]),
           kind=S)  # fmt: skip
    labels("encoder_twice", node("LabelEncoder", "i", "j", keys_int64s=[0, 1, 2], values_int64s=[2, 0, 1]),
           node("Gather", "names j", "label"), names=np.array([10, 20, 30]))  # fmt: skip
    labels("encoder_short", node("LabelEncoder", "i", "label", keys_int64s=[0, 1], values_int64s=[5, 6]))
    labels("gather_short", node("Gather", "names i", "label"), names=np.array([2, 0]))
    labels("gather_same", node("Gather", "names i", "label"), names=np.array([2, 0, 2]))
    labels("gather_of_labels", node("Gather", "i zero", "label"), zero=np.array([0]))
    labels("label_as_bool", node("Cast", "i", "b", to=B), node("Cast", "b", "label", to=I64))
    scores = [*LAYER, node("MatMul", "a V", "s"), node("Softmax", "s", "p", axis=1)]
    zip_map = node("ZipMap", "p", "label", classlabels_strings=["c", "a", "b"])
    write("zipmap", [*scores, zip_map], "label", S, SCORES)
    above = [*LAYER, node("MatMul", "a V", "s"), node("Greater", "s zero", "g"), node("Cast", "g", "i", to=I64),
             node("Gather", "names i", "label")]  # fmt: skip
    write("greater", above, "label", I64, {"zero": np.zeros(1, "f4"), "names": np.array([1, 0])})
    write("sigmoid", [*LAYER, node("MatMul", "a V", "l"), node("Sigmoid", "l", "o")])


def types():
    integers = [node("Cast", "q", "xf", to=F), node("MatMul", "xf W", "z"), node("Tanh", "z", "a"),
                node("MatMul", "a V", "o")]  # fmt: skip
    write("int64_div", [node("Div", "x two", "q"), *integers], points=(I64, [None, 3]),
          constants={"two": np.array([2])})  # fmt: skip
    write("int32_mul", [node("Mul", "x two", "q"), *integers], points=(I32, [None, 3]),
          constants={"two": np.array([1 << 30], "i4")})  # fmt: skip
    integers[0] = node("Cast", "x", "xf", to=F)
    write("int64_points", integers, points=(I64, [None, 3]))
    write("double_points", integers, points=(D, [None, 3]))
    doubles = {"W": drawn(3, 4, dtype="f8"), "V": drawn(4, 1, start=20, dtype="f8")}
    narrow = [node("MatMul", "x W", "z0"), node("Cast", "z0", "zf", to=F), node("Cast", "zf", "z", to=D)]
    write("narrow_inside", [*narrow, *REGRESSION[1:]], kind=D, points=(D, [None, 3]), constants=doubles)
    end = [*LAYER, node("MatMul", "a V", "y"), node("Cast", "y", "o", to=F)]
    write("narrow_end", end, points=(D, [None, 3]), constants=doubles)
    write("half_points", [node("Cast", "x", "xf", to=F), *integers[1:]], points=(TensorProto.FLOAT16, [None, 3]))


def attributes():
    leak = node("LeakyRelu", "z", "a", alpha=0.5)
    leak.attribute[0].ClearField("type")
    write("leak_without_type", [LAYER[0], leak, REGRESSION[2]])
    leak = node("LeakyRelu", "z", "a", alpha=1)
    write("leak_integer", [LAYER[0], leak, REGRESSION[2]])
    square = {"W": drawn(3, 3), "U": drawn(3, 3, start=40), "V": drawn(3, 1, start=20)}
    for name, order in {"perm_01": [0, 1], "perm_10": [1, 0]}.items():
        turned = [*LAYER, node("Transpose", "U", "T", perm=order), node("MatMul", "a T", "z2"), node("Relu", "z2", "h"),
                  node("MatMul", "h V", "o")]  # fmt: skip
        write(name, turned, constants=square)
    write("unknown_attribute", [LAYER[0], node("Tanh", "z", "a", alpha=0.5), REGRESSION[2]])
    bias = [node("MatMul", "x W", "z0"), node("Add", "z0 b", "z", broadcast=1, axis=0), *REGRESSION[1:]]
    write("add_axis_0", bias, constants={"b": drawn(4, start=50)}, points=(F, [4, 3]), opset=6)
    bias[1] = node("Add", "z0 b", "z", broadcast=1, axis=1)
    write("add_axis_1", bias, constants={"b": drawn(4, start=50)}, points=(F, [4, 3]), opset=6)
    for name, test in {"dropout_trains": 0, "dropout_tests": 1}.items():
        dropped = [LAYER[0], node("Tanh", "z", "a0"), node("Dropout", "a0", "a", is_test=test), REGRESSION[2]]
        write(name, dropped, opset=6)
    write("opset_99", REGRESSION, opset=99)
    empty = {"e": np.zeros(0, "f4")}
    write("empty_factor", [node("Mul", "x e", "x1"), node("MatMul", "x1 W", "z"), *REGRESSION[1:]], constants=empty)
    write("empty_beside", [*LAYER, node("Mul", "a e", "m"), REGRESSION[2]], constants=empty)
    # 12 numbers in rows of 3 become rows of another 3.
    cut = [node("Shape", "x", "size"), node("Gather", "size zero", "n"), node("Concat", "rest n", "to", axis=0),
           node("Reshape", "x to", "x1"), node("MatMul", "x1 W", "z"), *REGRESSION[1:]]  # fmt: skip
    write("reshape_turned", cut, constants={"zero": np.array([0]), "rest": np.array([-1])}, points=(F, [None, None]))


def sizes():
    rest = [node("Shape", "x", "s"), node("Slice", "s one most zero", "r"), node("Gather", "s first", "b"),
            node("Concat", "b r", "to", axis=0)]  # fmt: skip
    write("slice_to_the_end", [*rest, node("Reshape", "x to", "x1"), node("MatMul", "x1 W", "z"), *REGRESSION[1:]],
          constants={"one": np.array([1]), "most": np.array([2**63 - 1]), "zero": np.array([0]),
                     "first": np.array([0])})  # fmt: skip
    write("cast_of_two", [LAYER[0], node("Cast", "z x", "z1", to=F), node("Tanh", "z1", "a"), *REGRESSION[2:]])
    write("relu_of_two", [LAYER[0], node("Relu", "z x", "a"), *REGRESSION[2:]])
    doubles = {"W": drawn(3, 4, dtype="f8"), "V": drawn(4, 1, start=20, dtype="f8")}
    write("single_points_double_weights", [node("Cast", "x", "xd", to=D), node("MatMul", "xd W", "z"), *REGRESSION[1:]],
          kind=D, constants=doubles)  # fmt: skip


def shared():
    bias = drawn(4, start=60)
    points = (F, [None, 4])
    square = {"W": drawn(4, 4, start=80), "V": drawn(4, 1, start=20), "b": bias}
    write("shared_shift_bias", [node("Sub", "x b", "xs"), node("MatMul", "xs W", "z0"), node("Add", "z0 b", "z"),
                                *REGRESSION[1:]], constants=square, points=points)  # fmt: skip
    one, half, root = (np.array([value], "f4") for value in (1, 0.5, 0.5**0.5))
    gelu = [node("MatMul", "x W", "z"), node("Mul", "z root", "zs"), node("Erf", "zs", "e"), node("Add", "e one", "e1"),
            node("Mul", "z half", "zh"), node("Mul", "zh e1", "a"), node("MatMul", "a V", "y"),
            node("Add", "y one", "o")]
    write("shared_one_bias", gelu, constants={"one": one, "half": half, "root": root})
    whole = {"W": (10 * drawn(3, 4)).astype("i8"), "V": (10 * drawn(4, 1, start=20)).astype("i8")}
    casts = [node("Cast", "W", "Wf", to=D), node("Cast", "V", "Vf", to=D), node("MatMul", "x Wf", "z"), LAYER[1],
             node("MatMul", "a Vf", "o")]  # fmt: skip
    write("int64_weights", casts, kind=D, points=(D, [None, 3]), constants=whole)
    wide = {"W": drawn(3, 4).astype("f8"), "V": drawn(4, 1, start=20).astype("f8")}
    casts[:2] = [node("Cast", "W", "Wf", to=F), node("Cast", "V", "Vf", to=F)]
    write("double_weights", casts, constants=wide)
    turned = [node("Transpose", "U", "T", perm=[1, 0]), node("MatMul", "x T", "z"), LAYER[1],
              node("MatMul", "a V", "y"), node("Cast", "U", "Ud", to=D), node("Identity", "Ud", "u")]  # fmt: skip
    write("weights_seen_twice", [*turned, node("Identity", "y", "o")], constants={"U": drawn(4, 3, start=100)})


names()
types()
attributes()
sizes()
shared()
