"""What does tensor → NumPy → tensor inside a step cost against staying in TensorFlow?

Measured on TensorFlow 2.21, 2 cores, no GPU: 4 times for 16 MB (two copies), nothing for 4 kB; py_function 3
times, numpy_function about once for 16 MB. The gradient through the round trip is None.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

CALLS, ROUNDS = 10, 7


def seconds(work: Callable[[tf.Tensor], object], x: tf.Tensor) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        work(x)
    return (time.perf_counter() - start) / CALLS


def through_python(x: tf.Tensor) -> tf.Tensor:
    return tf.py_function(lambda t: np.clip(t.numpy(), 0, 1) * 2, [x], tf.float32)


def through_numpy(x: tf.Tensor) -> tf.Tensor:
    return tf.numpy_function(lambda a: np.clip(a, 0, 1) * np.float32(2), [x], tf.float32)


def main() -> None:
    stay = tf.function(lambda t: tf.clip_by_value(t, 0.0, 1.0) * 2.0)
    ways: dict[str, Callable[[tf.Tensor], object]] = {
        "tf ops in a tf.function": stay,
        "tf ops, eager": lambda t: tf.clip_by_value(t, 0.0, 1.0) * 2.0,
        "tf.constant(np.clip(t.numpy()))": lambda t: tf.constant(np.clip(t.numpy(), 0, 1) * 2),
        "convert_to_tensor(np.clip(t))": lambda t: tf.convert_to_tensor(np.clip(t, 0, 1) * 2),
        "numpy_function in a tf.function": tf.function(through_numpy),
        "py_function in a tf.function": tf.function(through_python),
        "tf.constant(t.numpy()), no work": lambda t: tf.constant(t.numpy()),
    }
    for size in (1_000, 4_000_000):
        x = tf.random.normal((size,))
        print(f"{size:,} float32")
        for work in ways.values():
            work(x)
        rounds = [{name: seconds(work, x) for name, work in ways.items()} for _ in range(ROUNDS)]
        for name in ways:
            middle = statistics.median(each[name] for each in rounds)
            ratio = statistics.median(each[name] / each["tf ops in a tf.function"] for each in rounds)
            print(f"  {name:36}{middle * 1e6:>10.0f} µs{ratio:>8.1f} times")
    array = x.numpy()
    print("two t.numpy() share memory:", np.shares_memory(array, x.numpy()))
    weight = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        lost = tf.constant(np.square((weight * 3.0).numpy()))
    print("the gradient through the round trip:", tape.gradient(lost, weight))
    with tf.GradientTape() as tape:
        kept = np.square(weight * 3.0)
    print("np.square(tensor) makes", type(kept).__name__)


if __name__ == "__main__":
    main()
