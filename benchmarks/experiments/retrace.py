"""Which arguments make a ``tf.function`` called in a loop trace again, and what does a trace cost?

Measured on TensorFlow 2.21, 2 cores: ten of ten for changing Python numbers, lists of them, growing lists,
fresh lambdas, objects and optimizers; one for NumPy scalars, tensors and fresh variables. reduce_retracing
helps for shapes (2), not for numbers. A step that traces takes 50–80 times as long.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

CALLS = 10


def traces(argument: Callable[[int], Any], **options: Any) -> int:
    """Traces over CALLS calls whose i-th argument is ``argument(i)``."""
    count = 0

    @tf.function(**options)
    def step(x: tf.Tensor, given: Any) -> tf.Tensor:
        nonlocal count
        count += 1
        return x + 1.0

    for given in [argument(i) for i in range(CALLS)]:  # all alive at once: no address serves twice
        step(tf.zeros((4,)), given)
    return count


def rows() -> Iterator[tuple[str, int]]:
    four, free, number = tf.TensorSpec((4,)), tf.TensorSpec((None,)), tf.TensorSpec((), tf.int32)
    yield "Python int i", traces(lambda i: i)
    yield "Python int i, reduce_retracing", traces(lambda i: i, reduce_retracing=True)
    yield "1 and 1.0 and True by turns", traces(lambda i: [1, 1.0, True][i % 3])
    yield "np.float32(i)", traces(lambda i: np.float32(i))
    yield "tf.constant(i)", traces(lambda i: tf.constant(i))
    yield "tensors of 10 lengths", traces(lambda i: tf.zeros((i + 1,)))
    yield "tensors of 10 lengths, reduce_retracing", traces(lambda i: tf.zeros((i,)), reduce_retracing=True)
    yield "tensors of 10 lengths, signature", traces(lambda i: tf.zeros((i,)), input_signature=[four, free])
    yield "Python int, signature int32", traces(lambda i: i, input_signature=[four, number])
    yield "list of floats, changing", traces(lambda i: [0.1, float(i)])
    yield "list growing (tensors)", traces(lambda i: [tf.constant(0.1)] * (i + 1))
    yield "fresh lambda", traces(lambda i: lambda t: t * i)
    yield "fresh object", traces(lambda i: object())
    yield "fresh tf.Variable", traces(lambda i: tf.Variable(float(i)))
    yield "fresh Keras optimizer", traces(lambda i: keras.optimizers.SGD())


def cost() -> tuple[float, float]:
    """Milliseconds of a step that traces and of one that does not, for a small dense model."""
    model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])

    @tf.function
    def step(x: tf.Tensor, rate: Any) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2) * rate
        return tape.gradient(loss, model.trainable_weights)

    x = tf.ones((32, 16))
    step(x, tf.constant(0.0))

    def seconds(rate: Any) -> float:
        start = time.perf_counter()
        step(x, rate)
        return time.perf_counter() - start

    fresh, kept = [seconds(i / 100) for i in range(12)], [seconds(tf.constant(i / 100)) for i in range(12)]
    return statistics.median(fresh) * 1e3, statistics.median(kept) * 1e3


def main() -> None:
    print(f"{'argument over ' + str(CALLS) + ' calls':48}{'traces':>8}")
    for name, counted in rows():
        print(f"{name:48}{counted:>8}")
    print("milliseconds of a step that traces and of one that does not: {:.1f} and {:.2f}".format(*cost()))


if __name__ == "__main__":
    main()
