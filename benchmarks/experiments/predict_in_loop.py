"""What does ``model.predict`` cost per call, against calling the model and against one batch?

Measured on TensorFlow 2.21, 2 cores: 53–73 ms a call of predict and 58–75 of evaluate, against 0.4 ms of
predict_on_batch, 1.1 of the model called and 0.3 of a tf.function of it; one predict over 40 samples takes
hardly longer than over one; fit of one batch takes some 50 times as long as train_on_batch. Batches of 8
lengths make 2 traces: the overhead is the call's, not retracing.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

SAMPLES = 40
FEATURES = 16


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Median seconds of ``work`` after one call that warms it."""
    work()
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def traces_by_shape(model: keras.Model, lengths: list[int]) -> int:
    """Traces of the predict function over batches of these lengths."""
    model.predict_function = None
    for length in lengths:
        model.predict(np.zeros((length, FEATURES), np.float32), verbose=0, batch_size=64)
    function = model.predict_function
    return int(function.experimental_get_tracing_count()) if hasattr(function, "experimental_get_tracing_count") else -1


def main() -> None:
    model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x: npt.NDArray[np.float32] = np.random.default_rng(0).normal(size=(SAMPLES, FEATURES)).astype(np.float32)
    y = np.zeros((SAMPLES, 1), np.float32)
    compiled = tf.function(model, reduce_retracing=True)
    one = range(SAMPLES)
    ways: dict[str, Callable[[], object]] = {
        "predict(x) once": lambda: model.predict(x, verbose=0),
        "predict(x[i:i+1]) each": lambda: [model.predict(x[i : i + 1], verbose=0) for i in one],
        "predict(..., batch_size=1) once": lambda: model.predict(x, batch_size=1, verbose=0),
        "predict_on_batch each": lambda: [model.predict_on_batch(x[i : i + 1]) for i in one],
        "evaluate each": lambda: [model.evaluate(x[i : i + 1], y[i : i + 1], verbose=0) for i in one],
        "fit each": lambda: [model.fit(x[i : i + 1], y[i : i + 1], verbose=0) for i in one],
        "train_on_batch each": lambda: [model.train_on_batch(x[i : i + 1], y[i : i + 1]) for i in one],
        "test_on_batch each": lambda: [model.test_on_batch(x[i : i + 1], y[i : i + 1]) for i in one],
        "model(x[i:i+1]) each": lambda: [model(x[i : i + 1]) for i in one],
        "tf.function(model) each": lambda: [compiled(tf.constant(x[i : i + 1])) for i in one],
        "model(x) once": lambda: model(x),
    }
    measured = {name: seconds(work) for name, work in ways.items()}
    best = measured["predict(x) once"]
    print(f"{'way':34}{'ms a sample':>14}{'times one predict':>20}")
    for name, value in measured.items():
        print(f"{name:34}{value / SAMPLES * 1e3:>14.3f}{value / best:>20.1f}")
    print("traces of predict over equal lengths:", traces_by_shape(model, [8, 8, 8, 8]))
    print("traces of predict over 8 lengths:", traces_by_shape(model, [1, 2, 3, 4, 5, 6, 7, 8]))


if __name__ == "__main__":
    main()
