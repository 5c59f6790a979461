"""make_keras.py: the ONNX files keras_*.onnx of this folder, as Keras (TensorFlow, tf2onnx) writes them.

For each a .csv as make.py writes it: five points a line, then the outputs before Softmax and the like, by the same
Keras model in float64. Needs keras, tensorflow-cpu and tf2onnx. (It writes gelu
as Erfc, which is not of ONNX, and the numbers of Normalization as inputs of the graph, not into the file.)
"""
import pathlib

import keras
import numpy as np
from keras import layers as L

HERE = pathlib.Path(__file__).parent
D, POINTS = 6, 6


def dense(units, activation=None):
    return L.Dense(units, activation=activation)


def residual():
    start = L.Input((D,))
    h = dense(6)(start)
    for _ in range(3):
        h = L.Add()([h, dense(6)(dense(8, "tanh")(h))])
    return keras.Model(start, dense(2)(h))


def networks(last):
    """Those with a last activation are made without it too."""
    after = {"softmax": L.Softmax, "sigmoid": lambda: L.Activation("sigmoid")}
    end = lambda name: [after[name]()] if last else []
    points = L.Input((D,))
    return {
        "plain": keras.Sequential([points, dense(7, "tanh"), dense(6, "silu"), dense(3), *end("softmax")]),
        "rescaled": keras.Sequential([points, L.Rescaling(1 / 16), dense(7, "sigmoid"), L.Dropout(0.3),
                                      dense(6, "leaky_relu"), dense(1), *end("sigmoid")]),
        "residual": residual(),
        "flatten": keras.Sequential([L.Input((2, D // 2)), L.Flatten(), dense(7, "softplus"), dense(3)]),
    }  # fmt: skip


def main():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((POINTS, D)).astype("float32")
    keras.config.set_floatx("float64")
    exact = networks(last=False)
    keras.config.set_floatx("float32")
    for name, model in networks(last=True).items():
        weights = [(0.5 * rng.standard_normal(w.shape)).astype("float32") for w in model.trainable_weights]
        for to in (model, exact[name]):
            for variable, value in zip(to.trainable_weights, weights):
                variable.assign(value)
        shape = (POINTS, *model.input_shape[1:])
        model.predict(X.reshape(shape), verbose=0)  # which exporting asks for
        model.export(HERE / f"keras_{name}.onnx", format="onnx", verbose=False)
        outputs = np.asarray(exact[name](X.astype("float64").reshape(shape), training=False))
        np.savetxt(HERE / f"keras_{name}.csv", np.hstack([X, outputs]), delimiter=",", fmt="%.17g")


if __name__ == "__main__":
    main()
