"""How much slower is a custom train step run eagerly than the same step under ``tf.function``?

Measured on TensorFlow 2.21, 2 cores, with Adam: 37 times for a small Dense net, 3–4 times for a wide one, 5
times for a small CNN, 33 times for a GRU of 20 steps. The first traced call takes 0.2–0.4 s.

``half`` is a step that is traced up to its gradients, with an eager ``apply_gradients``: 29 times the time of the
traced one for a small Dense net of 4 layers, 35 times for 20 layers (CPU time, on a loaded machine).
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

ROUNDS = 5
Step = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def dense(width: int) -> keras.Model:
    hidden = [keras.layers.Dense(width, "relu") for _ in range(3)]
    return keras.Sequential([keras.Input((32,)), *hidden, keras.layers.Dense(10)])


def convolutional() -> keras.Model:
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )


def recurrent() -> keras.Model:
    return keras.Sequential([keras.Input((20, 8)), keras.layers.GRU(16), keras.layers.Dense(10)])


def make_step(model: keras.Model, half: bool = False) -> Step:
    """The training step of a model; if it is `half` traced, all but the update is."""
    optimizer = keras.optimizers.Adam()
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer.build(model.trainable_variables)

    def gradients_of(x: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        return loss, tape.gradient(loss, model.trainable_variables)

    taken = tf.function(gradients_of) if half else gradients_of

    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        loss, gradients = taken(x, y)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    return step


def seconds(step: Step, x: tf.Tensor, y: tf.Tensor, steps: int) -> float:
    start = time.perf_counter()
    for _ in range(steps):
        loss = step(x, y)
    float(loss)
    return (time.perf_counter() - start) / steps


def main() -> None:
    cases: dict[str, tuple[keras.Model, tuple[int, ...], int]] = {
        "Dense 3x32, batch 32": (dense(32), (32, 32), 20),
        "Dense 3x512, batch 256": (dense(512), (256, 32), 10),
        "CNN 28x28, batch 32": (convolutional(), (32, 28, 28, 1), 8),
        "GRU 20 steps, batch 32": (recurrent(), (32, 20, 8), 3),
    }
    print(f"{'model':26}{'eager ms':>10}{'half ms':>9}{'traced ms':>11}{'ratio':>8}{'first traced call ms':>22}")
    for name, (model, shape, steps) in cases.items():
        x, y = tf.random.normal(shape), tf.zeros((shape[0],), tf.int32)
        step = make_step(model)
        half, compiled = make_step(model, half=True), tf.function(step)
        step(x, y)
        half(x, y)
        first = seconds(compiled, x, y, 1)
        timed = [tuple(seconds(one, x, y, steps) for one in (step, half, compiled)) for _ in range(ROUNDS)]
        eager, partly, traced = (statistics.median(each) * 1e3 for each in zip(*timed, strict=True))
        ratio = statistics.median(slow / fast for slow, _, fast in timed)
        print(f"{name:26}{eager:>10.1f}{partly:>9.1f}{traced:>11.2f}{ratio:>8.1f}{first * 1e3:>22.0f}")


if __name__ == "__main__":
    main()
