"""What does reading a tensor on the host in every step cost, and what raises in a graph?

Measured on TensorFlow 2.21 and 2.16, 2 cores: nothing while the CPU runs operations synchronously; with
asynchronous execution, as on a GPU, and as much work on the host as on the device, 1.4–1.8 times. In a
tf.function .numpy() raises AttributeError, bool(t) OperatorNotAllowedInGraphError, np.asarray(t)
NotImplementedError; AutoGraph converts float(t) and int(t). Keras hands callbacks Python floats.
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

STEPS, ROUNDS = 100, 7


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean(x @ x) * 1e-3


def loop(read: bool, host_work: float) -> float:
    """Seconds of STEPS steps with a sleep of ``host_work`` seconds on the host in each."""
    x, start = tf.ones((384, 384)), time.perf_counter()
    for _ in range(STEPS):
        loss = step(x)
        if read:
            float(loss)
        if host_work:
            time.sleep(host_work)
    float(loss)
    return time.perf_counter() - start


def in_graph(read: Callable[[tf.Tensor], object], autograph: bool) -> str:
    """What ``read`` of a tensor does while a tf.function is traced."""

    def traced(x: tf.Tensor) -> None:
        read(x)

    try:
        tf.function(traced, autograph=autograph)(tf.constant(1.0))
    except Exception as error:  # the kind of the error is the answer
        return type(error).__name__
    return "passes"


def logs_types() -> list[str]:
    """Types of the values that Keras hands to a callback after a batch."""
    found: list[str] = []
    watching = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: found.extend(type(value).__name__ for value in logs.values())
    )
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.ones((8, 4)), np.ones((8, 1)), verbose=0, callbacks=[watching])
    return found


def main() -> None:
    tf.get_logger().setLevel("ERROR")
    print(f"{'ms a step':34}{'not read':>10}{'each step':>11}{'ratio':>8}")
    for asynchronous in (False, True):
        tf.config.experimental.set_synchronous_execution(not asynchronous)
        for host_work in (0.0, 0.001):
            pairs = [(loop(False, host_work), loop(True, host_work)) for _ in range(ROUNDS)]
            never, each = (statistics.median(column) / STEPS * 1e3 for column in zip(*pairs, strict=True))
            name = f"{'' if asynchronous else 'not '}asynchronous, {host_work * 1e3:.0f} ms on the host"
            print(f"{name:34}{never:>10.2f}{each:>11.2f}{statistics.median(b / a for a, b in pairs):>8.2f}")
    tf.config.experimental.set_synchronous_execution(True)
    print("callback logs:", logs_types())
    reads: dict[str, Callable[[tf.Tensor], object]] = {
        "float(t)": float,
        "int(t)": int,
        "bool(t)": bool,
        "str(t)": str,
        "np.asarray(t)": np.asarray,
        "t.numpy()": lambda t: t.numpy(),
        "convert_to_numpy": keras.ops.convert_to_numpy,
    }
    print(f"{'read':16}{'in a tf.function':>34}{'autograph off':>34}")
    for name, read in reads.items():
        print(f"{name:16}{in_graph(read, True):>34}{in_graph(read, False):>34}")


if __name__ == "__main__":
    main()
