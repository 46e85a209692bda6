"""What does reading a tensor on the host in every step cost, and what raises in a graph?

Measured on TensorFlow 2.21 and 2.16, 2 cores: nothing while the CPU runs operations synchronously; with
asynchronous execution, as on a GPU, and as much work on the host as on the device, 1.6–1.8 times.  In a
tf.function .numpy() raises AttributeError, bool(t) OperatorNotAllowedInGraphError, np.array(t)
NotImplementedError; AutoGraph converts float(t) and int(t).  Keras hands callbacks Python floats.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

STEPS, ROUNDS = 100, 7


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    """About a millisecond of work on the device."""
    return tf.reduce_mean(x @ x) * 1e-3


def loop(read: Callable[[tf.Tensor], object] | None, every: int, host_work: float) -> float:
    """Seconds of STEPS steps with a sleep of ``host_work`` seconds on the host in each."""
    x = tf.ones((384, 384))
    loss = step(x)
    float(loss)
    start = time.perf_counter()
    for i in range(STEPS):
        loss = step(x)
        if read is not None and i % every == 0:
            read(loss)
        if host_work:
            time.sleep(host_work)
    float(loss)
    return time.perf_counter() - start


def in_graph(read: Callable[[tf.Tensor], object], autograph: bool) -> str:
    """What ``read`` of a tensor does while a tf.function is traced."""

    def traced(x: tf.Tensor) -> tf.Tensor:
        read(x)
        return x

    try:
        tf.function(traced, autograph=autograph)(tf.constant(1.0))
    except Exception as error:  # the kind of the error is the answer
        return type(error).__name__
    return "passes"


def logs_types() -> str:
    """Types of the values that Keras hands to a callback after each batch."""
    found: dict[str, str] = {}

    class Watching(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: dict[str, object] | None = None) -> None:
            found.update({name: type(value).__name__ for name, value in (logs or {}).items()})

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=["mae"])
    model.fit(np.ones((8, 4), np.float32), np.ones((8, 1), np.float32), verbose=0, callbacks=[Watching()])
    return str(found)


def main() -> None:
    print(f"{'ms a step':34}{'not read':>10}{'each step':>11}{'every 100':>11}{'ratio':>8}")
    for asynchronous in (False, True):
        tf.config.experimental.set_synchronous_execution(not asynchronous)
        for host_work in (0.0, 0.001):
            pairs = [
                (loop(None, 1, host_work), loop(float, 1, host_work), loop(float, STEPS, host_work))
                for _ in range(ROUNDS)
            ]
            never, each, seldom = (statistics.median(column) / STEPS * 1e3 for column in zip(*pairs, strict=True))
            ratio = statistics.median(b / a for a, b, _ in pairs)
            name = f"{'asynchronous' if asynchronous else 'synchronous'}, {host_work * 1e3:.0f} ms on the host"
            print(f"{name:34}{never:>10.2f}{each:>11.2f}{seldom:>11.2f}{ratio:>8.2f}")
    tf.config.experimental.set_synchronous_execution(True)
    scalar = tf.constant(1.0)
    tf.get_logger().setLevel("ERROR")
    reads: dict[str, Callable[[tf.Tensor], object]] = {
        "float(t)": float,
        "int(t)": int,
        "bool(t)": bool,
        "t.numpy()": lambda t: t.numpy(),
        "np.array(t)": np.asarray,
        "str(t)": str,
        "f'{t:.2f}'": lambda t: format(t, ".2f"),
        "'%f' % t": lambda t: "%f" % t,  # noqa: UP031
        "convert_to_numpy": keras.ops.convert_to_numpy,
    }
    print(f"{'read':16}{'eager µs':>10}{'in a tf.function':>34}{'autograph off':>34}")
    for name, read in reads.items():
        start = time.perf_counter()
        for _ in range(200):
            read(scalar)
        eager = (time.perf_counter() - start) / 200 * 1e6
        print(f"{name:16}{eager:>10.1f}{in_graph(read, True):>34}{in_graph(read, False):>34}")
    print("logs in on_train_batch_end:", logs_types())


if __name__ == "__main__":
    main()
