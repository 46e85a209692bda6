"""Which arguments make a ``tf.function`` called in a loop trace again, and what does a trace cost?

Measured on TensorFlow 2.21, 2 cores: ten of ten for changing Python numbers and strings, lists and dicts of them, growing
lists, fresh lambdas, objects and optimizers; one for NumPy scalars, tensors, equal values and fresh variables.
reduce_retracing helps for shapes (2), not for numbers.  A step that traces takes 47 times as long.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

CALLS = 10


class Settings:
    """A plain object handed to a step."""

    def __init__(self, rate: float) -> None:
        self.rate = rate


def traces(argument: Callable[[int], Any], **options: Any) -> int:
    """Traces over CALLS calls whose i-th argument is ``argument(i)``."""
    count = 0

    @tf.function(**options)
    def step(x: tf.Tensor, given: Any) -> tf.Tensor:
        nonlocal count
        count += 1
        return x + 1.0

    x = tf.zeros((4,))
    kept = [argument(i) for i in range(CALLS)]
    for given in kept:
        step(x, given)
    return count


def rows() -> Iterator[tuple[str, int]]:
    same = Settings(0.1)
    four, any_length, number = tf.TensorSpec((4,)), tf.TensorSpec((None,)), tf.TensorSpec((), tf.int32)
    yield "Python int i", traces(lambda i: i)
    yield "Python int i, reduce_retracing", traces(lambda i: i, reduce_retracing=True)
    yield "Python float i / 10", traces(lambda i: i / 10)
    yield "bool i % 2 == 0", traces(lambda i: i % 2 == 0)
    yield "1 and 1.0 and True by turns", traces(lambda i: [1, 1.0, True][i % 3])
    yield "str", traces(lambda i: f"step {i}")
    yield "np.float32(i)", traces(lambda i: np.float32(i))
    yield "np.array of one shape", traces(lambda i: np.full(3, i, np.float32))
    yield "tf.constant(i)", traces(lambda i: tf.constant(i))
    yield "tensors of 10 lengths", traces(lambda i: tf.zeros((i + 1,)))
    yield "tensors of 10 lengths, reduce_retracing", traces(lambda i: tf.zeros((i + 1,)), reduce_retracing=True)
    yield "tensors of 10 lengths, signature", traces(lambda i: tf.zeros((i + 1,)), input_signature=[four, any_length])
    yield "Python int, signature int32", traces(lambda i: i, input_signature=[four, number])
    yield "list of floats, changing", traces(lambda i: [0.1, float(i)])
    yield "list of tensors", traces(lambda i: [tf.constant(0.1), tf.constant(float(i))])
    yield "list growing (tensors)", traces(lambda i: [tf.constant(0.1)] * (i + 1))
    yield "dict of floats, changing", traces(lambda i: {"rate": float(i)})
    yield "fresh lambda", traces(lambda i: lambda t: t * i)
    yield "fresh object", traces(lambda i: Settings(0.1))
    yield "the same object", traces(lambda i: same)
    yield "fresh tf.Variable", traces(lambda i: tf.Variable(float(i)))
    yield "fresh Keras optimizer", traces(lambda i: keras.optimizers.SGD())


def cost() -> tuple[float, float]:
    """Seconds of a step that traces and of one that does not, for a small dense model."""
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
    weights = model.trainable_weights

    @tf.function
    def step(x: tf.Tensor, rate: Any) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2) * rate
        for variable, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            variable.assign_sub(gradient)
        return loss

    x = tf.ones((32, 16))
    times: dict[str, list[float]] = {"float": [], "tensor": []}
    step(x, tf.constant(0.0))
    for i in range(1, 13):
        for name, rate in (("float", i / 100), ("tensor", tf.constant(i / 100))):
            start = time.perf_counter()
            step(x, rate)
            times[name].append(time.perf_counter() - start)
    return statistics.median(times["float"]), statistics.median(times["tensor"])


def main() -> None:
    print(f"{'argument over ' + str(CALLS) + ' calls':48}{'traces':>8}")
    for name, counted in rows():
        print(f"{name:48}{counted:>8}")
    fresh, kept = cost()
    print(f"a step that traces {fresh * 1e3:.1f} ms, one that does not {kept * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
