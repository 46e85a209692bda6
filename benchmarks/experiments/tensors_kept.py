"""How much more memory does a list of loss tensors take per step than a list of floats?

Measured on TensorFlow 2.21: 200–650 bytes for each scalar loss, instead of 30 for a float; a batch of predictions
takes its 10 kB; a loss computed under one open tape takes 20–40 kB, since the tape keeps every activation.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("ABSL_MIN_LOG_LEVEL", "3")

import tensorflow as tf

STEPS = 10_000


def resident() -> int:
    """Resident bytes of this process (Linux)."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@tf.function
def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """A loss (scalar) and predictions (256 × 10 float32 = 10,240 bytes)."""
    outputs = x * 2.0
    return tf.reduce_mean(outputs), outputs


def growth(keep: Callable[[tf.Tensor, tf.Tensor], object], steps: int) -> float:
    """Bytes of resident memory a step while ``keep`` of each step stays in a list."""
    x = tf.ones((256, 10))
    for _ in range(200):
        step(x)
    gc.collect()
    before = resident()
    history: list[object] = []
    for _ in range(steps):
        loss, outputs = step(x)
        history.append(keep(loss, outputs))
    return (resident() - before) / steps


def growing_loss(steps: int) -> tuple[float, float]:
    """Live eager tensors after ``total += loss`` and after a list of losses, over these steps."""
    x = tf.ones((256, 10))
    total = tf.constant(0.0)
    for _ in range(steps):
        total += step(x)[0]
    summed = sum(isinstance(each, tf.Tensor) for each in gc.get_objects())
    kept = [step(x)[0] for _ in range(steps)]
    return summed, sum(isinstance(each, tf.Tensor) for each in gc.get_objects() + kept)


def taped(steps: int) -> float:
    """Bytes a step when the losses of one long GradientTape are kept (the tape keeps every activation)."""
    weights = tf.Variable(tf.ones((10, 10)))
    x = tf.ones((256, 10))
    before = resident()
    with tf.GradientTape() as tape:
        losses = [tf.reduce_mean(tf.nn.relu(x @ weights) ** 2) for _ in range(steps)]
        held = (resident() - before) / steps
    del tape, losses
    return held


def main() -> None:
    ways: dict[str, tuple[Callable[[tf.Tensor, tf.Tensor], object], int]] = {
        "nothing": (lambda loss, outputs: None, STEPS),
        "float(loss)": (lambda loss, outputs: float(loss), STEPS),
        "loss tensor": (lambda loss, outputs: loss, STEPS),
        "predictions tensor (10,240 bytes)": (lambda loss, outputs: outputs, 2_000),
    }
    print(f"{'kept each step':38}{'bytes a step':>14}")
    for name, (keep, steps) in ways.items():
        print(f"{name:38}{growth(keep, steps):>14,.0f}")
    print(f"{'loss tensors of one open tape':38}{taped(500):>14,.0f}")
    summed, listed = growing_loss(500)
    print(
        f"live tensors after 500 steps: total += loss {summed}, a list {listed}; sys.getsizeof of one:",
        sys.getsizeof(tf.constant(0.0)),
    )


if __name__ == "__main__":
    main()
