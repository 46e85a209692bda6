"""Which maps run sequentially without `num_parallel_calls`, and what does that cost?

Those whose function contains a stateful operation other than an assertion. Measured on TensorFlow 2.21, 2 cores: they
take 1.8 to 2.4 times as long as the same map with AUTOTUNE, also with a `batch` after it. Functions without one take
0.94 to 1.02 times as long, because tf.data parallelises them itself. A nested `tf.function` that contains only an
assertion is stateful (1.9 to 2.3). The same on 2.16.
"""

from __future__ import annotations

import os
import statistics
import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

COUNT, ROUNDS, AUTO, PAUSE = 12, 5, tf.data.AUTOTUNE, time.sleep
Function = Callable[[Any], Any]


def work(x: Any) -> Any:
    """20 ms without the processor, as an operation that is not stateful, like decoding an image."""
    return tf.numpy_function(lambda y: (PAUSE(0.02), y)[1], [x], tf.int64, stateful=False)


def checked(x: Any) -> Any:
    """Its argument, checked."""
    return [tf.debugging.assert_less(x, tf.int64.max), x][1]


def with_work(function: Function) -> Function:
    """`function` beside the work; both are run."""

    def both(x: Any) -> Any:
        with tf.control_dependencies([function(x)]):
            return tf.identity(work(x))

    return both


def stateful(function: Function) -> str:
    """The operations of the traced function that TensorFlow calls stateful."""
    graph = tf.function(function).get_concrete_function(tf.TensorSpec([], tf.int64)).graph
    return ", ".join(sorted({op.type for op in graph.get_operations() if op.op_def.is_stateful}))


def compare(name: str, plain: Any, parallel: Any, note: str) -> None:
    """Run both pipelines alternately; print the medians of their times and ratios."""
    pairs = [[timeit.timeit(partial(list, d), number=1) for d in (plain, parallel)] for _ in range(ROUNDS)]
    first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"{name:44} {first:6.3f} {second:6.3f} {statistics.median(a / b for a, b in pairs):6.2f}  {note}")


def main() -> None:
    """Print seconds as written and with parallel calls, their ratio, and the stateful operations."""
    variable, flip = tf.Variable(1.0), tf.keras.layers.RandomFlip()
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0], [1], tf.int64, tf.int64), -1)
    functions: dict[str, Function] = {
        "x + 1": lambda x: x + 1,
        "tf.random.uniform": lambda x: tf.random.uniform([]),
        "tf.random.stateless_uniform": lambda x: tf.random.stateless_uniform([], seed=[1, x]),
        "Keras RandomFlip": lambda x: flip(tf.zeros([1, 8, 8, 3]), training=True),
        "StaticHashTable.lookup": table.lookup,
        "tf.Variable read": lambda x: variable + 1.0,
        "tf.py_function": lambda x: tf.py_function(lambda y: y, [x], tf.int64),
        "tf.debugging.check_numerics": lambda x: tf.debugging.check_numerics(tf.cast(x, tf.float32), ""),
        "assertion": checked,
        "@tf.function with an assertion": tf.function(checked),
    }
    data = tf.data.Dataset.range(COUNT)
    print(f"TensorFlow {tf.__version__}: seconds of map(f), of map(f, num_parallel_calls=AUTOTUNE), ratio")
    for name, function in functions.items():
        both = with_work(function)
        compare(name, data.map(both), data.map(both, AUTO), stateful(function))
    both = with_work(functions["tf.random.uniform"])
    compare("tf.random.uniform, then batch", data.map(both).batch(4), data.map(both, AUTO).batch(4), "")
    options = tf.data.Options()
    options.experimental_optimization.map_parallelization = False
    plain, parallel = (data.with_options(options).map(work, calls) for calls in (None, AUTO))
    compare("work, map_parallelization=False", plain, parallel, "")


if __name__ == "__main__":
    main()
