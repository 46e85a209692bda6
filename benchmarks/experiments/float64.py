"""What does float64 cost against float32, and what of it does Keras cast away by itself?

Measured on TensorFlow 2.21, 2 cores: a matmul 2 times, a fit with float64 layers 1.3–1.6 times, and nothing
where only the arrays given to fit are float64: Keras casts them. tf.constant keeps NumPy's float64.
set_floatx after the first layer changes no later layer.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

ROUNDS = 7


def ratio(slow: Callable[[], object], fast: Callable[[], object]) -> tuple[float, float, float]:
    """Median milliseconds of both and the median of their ratios, measured alternately."""
    slow(), fast()
    pairs: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        slow()
        middle = time.perf_counter()
        fast()
        pairs.append(((middle - start) * 1e3, (time.perf_counter() - middle) * 1e3))
    a, b = zip(*pairs, strict=True)
    return statistics.median(a), statistics.median(b), statistics.median(x / y for x, y in pairs)


def matmul(dtype: tf.DType) -> Callable[[], object]:
    a = tf.cast(tf.random.normal((1024, 1024)), dtype)
    return lambda: (a @ a).numpy()


def fitting(data: str, floatx: str) -> Callable[[], object]:
    """Three epochs over arrays of dtype ``data`` by a model of dtype ``floatx``."""
    hidden, output = keras.layers.Dense(512, "relu", dtype=floatx), keras.layers.Dense(1, dtype=floatx)
    model = keras.Sequential([keras.Input((256,), dtype=floatx), hidden, output])
    model.compile("adam", "mse", jit_compile=False)
    x, y = np.ones((4096, 256), data), np.ones((4096, 1), data)

    def work() -> None:
        keras.backend.set_floatx(floatx)
        model.fit(x, y, batch_size=256, epochs=3, verbose=0)
        keras.backend.set_floatx("float32")

    return work


def seen(data: str) -> str:
    """The dtype that the first layer of a float32 model is handed by ``fit``."""
    found: list[str] = []

    class Watching(keras.layers.Layer):
        def call(self, inputs: tf.Tensor) -> tf.Tensor:
            found.append(inputs.dtype.name)
            return inputs

    model = keras.Sequential([Watching(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 4), data), np.ones((8, 1), data), verbose=0)
    return found[-1]


def main() -> None:
    print("a float32 model is handed", {data: seen(data) for data in ("float64", "float32", "int64")})
    print(f"{'work':34}{'float64 ms':>12}{'float32 ms':>12}{'ratio':>8}")
    cases = {
        "matmul 1024": (matmul(tf.float64), matmul(tf.float32)),
        "fit, set_floatx('float64')": (fitting("float64", "float64"), fitting("float32", "float32")),
        "fit, only the arrays float64": (fitting("float64", "float32"), fitting("float32", "float32")),
    }
    for name, (slow, fast) in cases.items():
        a, b, times = ratio(slow, fast)
        print(f"{name:34}{a:>12.1f}{b:>12.1f}{times:>8.2f}")
    keras.backend.set_floatx("float64")
    print("set_floatx('float64') after layers were made: a new Dense is", keras.layers.Dense(1).compute_dtype)
    print("tf.constant(np.ones(2)) is", tf.constant(np.ones(2)).dtype.name)


if __name__ == "__main__":
    main()
