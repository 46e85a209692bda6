"""What does Python inside a tf.data pipeline cost, and when do parallel calls help?

Measured on TensorFlow 2.21, 2 cores: arithmetic in Python takes 2 to 7 times as long as in TensorFlow, and parallel
calls hardly help (1.0 to 1.3 times as fast), because it holds the interpreter's lock. Waiting without the lock takes
half as long with them (2.0 to 2.5 times as fast). A call that does nothing takes 0.1 to 0.3 ms (0.1 for x + 1), an
element of from_generator 0.2 to 0.3 ms, or 0.02 to 0.07 ms in batches of 32. On 2.16: 3.4 to 4.9, 1.1 to 1.4, 1.9.
"""

from __future__ import annotations

import math
import os
import statistics
import time
import timeit
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

COUNT, MANY, BATCH, WIDTH, ROUNDS, AUTO = 24, 1024, 32, 20_000, 3, tf.data.AUTOTUNE
Function = Callable[[Any], Any]


def pure(x: Any) -> Any:
    """Arithmetic of about 2 ms that keeps the interpreter's lock."""
    return x + 0 * int(sum(math.sin(i) for i in range(WIDTH)))


def waiting(x: Any) -> Any:
    """20 ms that release the interpreter's lock, as reading a file or a large NumPy routine does."""
    time.sleep(0.02)
    return x


def graph(x: Any) -> Any:
    """The arithmetic of `pure` as TensorFlow operations."""
    return x + 0 * tf.cast(tf.reduce_sum(tf.sin(tf.range(WIDTH, dtype=tf.float32))), tf.int64)


def numpied(function: Function) -> Function:
    """`function` by numpy_function."""
    return lambda x: tf.numpy_function(function, [x], tf.int64)


def generated(function: Function, count: int = COUNT) -> Any:
    """The same elements by a generator."""
    return tf.data.Dataset.from_generator(lambda: map(function, range(count)), tf.int64)


def seconds(dataset: Any) -> float:
    """Median time of an epoch."""
    return statistics.median(timeit.repeat(lambda: list(dataset), number=1, repeat=ROUNDS))


def main() -> None:
    """Print milliseconds for each element, and the speed against numpy_function."""
    data, many = tf.data.Dataset.range(COUNT), tf.data.Dataset.range(MANY)
    groups: dict[str, dict[str, Any]] = {}
    for name, function in {"arithmetic": pure, "waiting": waiting}.items():
        groups[name] = {
            "numpy_function": data.map(numpied(function)),
            "numpy_function, AUTOTUNE": data.map(numpied(function), num_parallel_calls=AUTO),
            "py_function": data.map(lambda x, f=function: tf.py_function(f, [x], tf.int64)),
            "from_generator": generated(function),
        }
    groups["arithmetic"]["TensorFlow operations"] = data.map(graph)
    arrays = [np.arange(BATCH)] * (MANY // BATCH)
    batches = tf.data.Dataset.from_generator(lambda: iter(arrays), tf.int64)
    groups["nothing"] = {
        "numpy_function": many.map(numpied(lambda x: x)),
        "py_function": many.map(lambda x: tf.py_function(lambda y: y, [x], tf.int64)),
        "from_generator": generated(int, MANY),
        "from_generator, batches of 32": batches,
        "TensorFlow operation": many.map(lambda x: x + 1),
    }
    print(f"TensorFlow {tf.__version__}: milliseconds an element, speed against numpy_function")
    for group, members in groups.items():
        each = 1000 / (MANY if group == "nothing" else COUNT)
        times = {name: each * seconds(dataset) for name, dataset in members.items()}
        for name, value in times.items():
            print(f"{group + ': ' + name:40} {value:7.3f} {times['numpy_function'] / value:6.2f}")


if __name__ == "__main__":
    main()
