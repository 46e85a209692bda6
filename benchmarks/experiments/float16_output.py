"""What does a float16 output layer lose that a float32 one keeps, when the rest is mixed_float16?

Measured on TensorFlow 2.21 with Keras 3.15 and 2.16 with Keras 3.3, the same: Keras computes losses in
float32, and still a float16 softmax gives a NaN gradient where the right class lies 12 below the top and
none at 20 below (float32 reads the logits behind the softmax; the cast to the loss's dtype loses them); a
sigmoid gives 0 and infinity. from_logits stays exact at ordinary logits. In fit the NaNs drive the loss
scale from 32768 below 1.
"""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

Array = npt.NDArray[np.float64]


def row(name: str, *columns: str) -> None:
    print(f"{name:46}" + "".join(f"{column:>16}" for column in columns))


def probabilities(logits: list[float], dtype: str) -> Array:
    return np.asarray(keras.layers.Softmax(dtype=dtype)(tf.constant([logits])), np.float64)


def loss(kind: str, logits: list[float], label: list[float], dtype: str) -> tuple[float, float]:
    """The Keras loss and its largest gradient by the logits, the output made in ``dtype``."""
    z = tf.Variable([logits])
    with tf.GradientTape() as tape:
        given, truth = tf.cast(z, dtype), tf.constant([label])
        if kind == "softmax":
            value = keras.losses.CategoricalCrossentropy()(truth, keras.ops.softmax(given))
        elif kind == "sigmoid":
            value = keras.losses.BinaryCrossentropy()(truth, keras.ops.sigmoid(given))
        elif kind == "mse":
            value = keras.losses.MeanSquaredError()(truth, given)
        else:
            value = keras.losses.CategoricalCrossentropy(from_logits=True)(truth, given)
    found = tape.gradient(value, z)
    return float(value), float(tf.reduce_max(tf.abs(found)))


def fitted(dtype: str) -> str:
    """Loss scale and steps taken of 12 epochs over 20 noisy classes under mixed_float16."""
    keras.mixed_precision.set_global_policy("mixed_float16")
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(0)
    right = random.integers(0, 20, 4096)
    x = random.normal(size=(20, 16))[right] + random.normal(0, 0.5, (4096, 16))
    y = np.where(random.random(4096) < 0.05, random.integers(0, 20, 4096), right)
    layers = [keras.layers.Dense(256, "relu"), keras.layers.Dense(256, "relu")]
    model = keras.Sequential([keras.Input((16,)), *layers, keras.layers.Dense(20, "softmax", dtype=dtype)])
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy")
    model.fit(x, y, epochs=12, batch_size=64, verbose=0)
    scale, taken = model.optimizer.dynamic_scale, model.optimizer.inner_optimizer.iterations
    return f"loss scale {float(scale.numpy()):g}, {768 - int(taken.numpy())} steps skipped"


def main() -> None:
    row("loss and largest gradient", "float32 loss", "float16 loss", "float32 grad", "float16 grad")
    cases: list[tuple[str, str, list[float], list[float]]] = [
        ("softmax, right class 12 below the top", "softmax", [12.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        ("softmax, right class 20 below the top", "softmax", [20.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        ("softmax, right class already 0.9999", "softmax", [10.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        ("sigmoid, logit 9, label 0", "sigmoid", [9.0], [0.0]),
        ("sigmoid, logit -12, label 1", "sigmoid", [-12.0], [1.0]),
        ("from_logits, right class 20 below the top", "logits", [20.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
        ("from_logits, logits 1000.3 and 1000.0", "logits", [1000.3, 1000.0, 0.0], [0.0, 1.0, 0.0]),
        ("mse, output 3001.4, target 3000", "mse", [3001.4], [3000.0]),
        ("mse, output 70000, target 69000", "mse", [70000.0], [69000.0]),
    ]
    for name, kind, logits, label in cases:
        full, half = loss(kind, logits, label, "float32"), loss(kind, logits, label, "float16")
        row(name, f"{full[0]:.6g}", f"{half[0]:.6g}", f"{full[1]:.3g}", f"{half[1]:.3g}")
    for classes in (1_000, 30_000):
        logits = np.random.default_rng(0).normal(0, 4, classes).tolist()
        exact, half = probabilities(logits, "float32"), probabilities(logits, "float16")
        row(f"zeros of {classes} probabilities", f"{np.mean(exact == 0):.1%}", f"{np.mean(half == 0):.1%}")
    for dtype in ("float16", "float32"):
        print(f"768 steps of fit, output in {dtype}: {fitted(dtype)}")


if __name__ == "__main__":
    main()
