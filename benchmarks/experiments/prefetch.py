"""When does a pipeline without `prefetch` leave the accelerator waiting?

Not by default: since TensorFlow 2.11, tf.data adds a prefetch at the end of such a pipeline, whatever its last step.
Measured on TensorFlow 2.21, 2 cores, with ten different last steps: 0.96 to 1.03 times the time of the same pipeline
with `prefetch`; 1.74 to 1.88 times with `inject_prefetch`, autotuning or the default optimisations off. `map, batch` is
fused into one asynchronous step and needs no prefetch, unless the default optimisations are off (1.8). The same on
2.16; 2.4 to 2.10 behave as with `inject_prefetch` off.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

STEPS, PAUSE, ROUNDS = 16, 0.01, 3
Data = Callable[[], Any]


def produced(x: Any) -> Any:
    """One element, after 10 ms that do not need the processor."""
    time.sleep(PAUSE)
    return x


def slow(x: Any) -> Any:
    """The same as a TensorFlow function; stateful, so that its map stays sequential."""
    return tf.ensure_shape(tf.numpy_function(produced, [x], tf.int64), [])


def seconds(make: Data) -> float:
    """Median time of a first epoch in which each step keeps the accelerator busy for 10 ms."""
    times = []
    for _ in range(ROUNDS):
        dataset = make()
        start = time.perf_counter()
        for _ in itertools.islice(dataset, STEPS):
            time.sleep(PAUSE)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def without(name: str) -> Any:
    """`tf.data.Options` with one default switched off."""
    options = tf.data.Options()
    options.autotune.enabled = name != "autotune"
    if name != "autotune":
        setattr(options.experimental_optimization, name, False)
    return options


def main() -> None:
    """Print each pipeline's seconds beside those of the same one ended by prefetch."""
    data = tf.data.Dataset
    slowly = data.range(STEPS).map(slow)
    pipelines: dict[str, Data] = {
        "map": lambda: slowly,
        "map, batch": lambda: slowly.batch(1),
        "map, filter, batch": lambda: slowly.filter(lambda x: x >= 0).batch(1),
        "map, shuffle": lambda: slowly.shuffle(2),
        "map, cache (first epoch)": lambda: slowly.cache(),
        "map, repeat": lambda: slowly.repeat(),
        "map, prefetch, take": lambda: slowly.prefetch(1).take(STEPS),
        "zip of maps": lambda: data.zip((slowly, data.range(STEPS))),
        "interleave": lambda: data.range(1).interleave(lambda _: slowly),
        "from_generator": lambda: data.from_generator(lambda: map(produced, range(STEPS)), tf.int64),
    }
    print(f"TensorFlow {tf.__version__}: seconds as written, ended by prefetch, and their ratio")
    for name, make in pipelines.items():
        plain, ended = seconds(make), seconds(lambda: make().prefetch(tf.data.AUTOTUNE))  # noqa: B023
        print(f"{name:52} {plain:6.2f} {ended:6.2f} {plain / ended:6.2f}")
    for switch in ("inject_prefetch", "autotune", "apply_default_optimizations"):
        for name in ("map", "map, batch", "from_generator"):
            off, make = without(switch), pipelines[name]
            plain = seconds(lambda: make().with_options(off))  # noqa: B023
            ended = seconds(lambda: make().prefetch(tf.data.AUTOTUNE).with_options(off))  # noqa: B023
            label = f"{name}, {switch} off"
            print(f"{label:52} {plain:6.2f} {ended:6.2f} {plain / ended:6.2f}")


if __name__ == "__main__":
    main()
