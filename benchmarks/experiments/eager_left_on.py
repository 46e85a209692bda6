"""What do ``run_eagerly``, ``run_functions_eagerly`` and tf.data's debug mode cost when left on?

Measured on TensorFlow 2.21, 2 cores: compile(run_eagerly=True) makes fit 8–12 times slower,
run_functions_eagerly(True) fit 10–12 times and a tf.function with a loop 12–34 times; it does not reach
tf.data, whose enable_debug_mode() makes a map 4 times slower. After run_functions_eagerly(False) fit is
traced again.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import keras
import tensorflow as tf

ROUNDS = 3


def fitting(run_eagerly: bool) -> Callable[[], object]:
    """One epoch of 60 batches."""
    model = keras.Sequential([keras.Input((32,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=run_eagerly)
    x, y = tf.random.normal((60 * 32, 32)), tf.zeros((60 * 32,), tf.int32)
    return lambda: model.fit(x, y, batch_size=32, verbose=0)


def stepping() -> Callable[[], object]:
    """Sixty calls of a tf.function."""
    weights = tf.Variable(tf.random.normal((64, 64)))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(20):
            x = tf.nn.relu(x @ weights) * 0.1
        return x

    x = tf.ones((8, 64))
    return lambda: [step(x) for _ in range(60)]


def reading() -> Callable[[], object]:
    """A map of 500 elements."""

    def pass_over() -> int:
        data = tf.data.Dataset.range(500).map(lambda i: tf.cast(i, tf.float32) * 2.0).batch(10)
        return sum(1 for _ in data)

    return pass_over


def seconds(work: Callable[[], object]) -> float:
    work()
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    normal = {"fit": seconds(fitting(False)), "tf.function": seconds(stepping())}
    normal["tf.data map"] = seconds(reading())
    slow: dict[str, tuple[str, float]] = {"compile(run_eagerly=True), fit": ("fit", seconds(fitting(True)))}
    tf.config.run_functions_eagerly(True)
    slow["run_functions_eagerly(True), fit"] = ("fit", seconds(fitting(False)))
    slow["run_functions_eagerly(True), tf.function"] = ("tf.function", seconds(stepping()))
    slow["run_functions_eagerly(True), tf.data map"] = ("tf.data map", seconds(reading()))
    tf.config.run_functions_eagerly(False)
    slow["run_functions_eagerly(False) again, fit"] = ("fit", seconds(fitting(False)))
    try:
        tf.data.experimental.enable_debug_mode()
        slow["enable_debug_mode(), tf.data map"] = ("tf.data map", seconds(reading()))
        slow["enable_debug_mode(), fit"] = ("fit", seconds(fitting(False)))
    except (ValueError, RuntimeError) as error:
        print("enable_debug_mode:", error)
    print(f"{'left on':46}{'seconds':>10}{'normal':>10}{'ratio':>8}")
    for name, (base, value) in slow.items():
        print(f"{name:46}{value:>10.3f}{normal[base]:>10.3f}{value / normal[base]:>8.1f}")


if __name__ == "__main__":
    main()
