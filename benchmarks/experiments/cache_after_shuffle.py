"""What does `cache` freeze, and how much does it store, after a random or a repeated transformation?

Measured on TensorFlow 2.21 (the same on 2.16): after `shuffle, cache` all 4 epochs have the same order, and after
`random map, cache` the same values, even with a shuffle after it. `batch, cache, shuffle` reuses the same 4 batches;
`cache, shuffle, batch` forms 16. `repeat, cache` stores 200 MiB for 200 elements of 1 MiB, of which 8 are distinct;
`cache, repeat` stores none. `cache, take` never fills the cache, so the function runs in every epoch.
"""

from __future__ import annotations

import collections
import os
import resource
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

EPOCHS, COUNT, MIB = 4, 20, 1 << 20
CALLS: list[Any] = []


def augmented(x: Any) -> Any:
    """A random change of the element."""
    return tf.cast(x, tf.float32) + tf.random.uniform([])


def count(x: Any) -> Any:
    """Note a call."""
    CALLS.append(x)
    return x


def epochs(dataset: Any) -> list[list[float]]:
    """The elements of each epoch, batches taken apart."""
    return [[float(y) for x in dataset for y in tf.reshape(x, [-1])] for _ in range(EPOCHS)]


def different(rows: list[list[float]]) -> str:
    """How many of the rows differ."""
    return f"{len({tuple(row) for row in rows})} of {len(rows)}"


def growth(dataset: Any, elements: int) -> float:
    """MiB by which the peak memory of the process rises while `elements` are read."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    collections.deque(dataset.take(elements), maxlen=1)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def main() -> None:
    """Print what differs from epoch to epoch, then the memory, then partial reading."""
    data = tf.data.Dataset.range(COUNT)
    pipelines = {
        "shuffle": data.shuffle(COUNT),
        "shuffle, cache": data.shuffle(COUNT).cache(),
        "shuffle, batch, cache": data.shuffle(COUNT).batch(5).cache(),
        "batch, cache, shuffle": data.batch(5).cache().shuffle(4),
        "cache, shuffle, batch": data.cache().shuffle(COUNT).batch(5),
        "random map": data.map(augmented),
        "random map, cache": data.map(augmented).cache(),
        "random map, cache, shuffle": data.map(augmented).cache().shuffle(COUNT),
        "cache, random map": data.cache().map(augmented),
    }
    print(f"TensorFlow {tf.__version__}: epochs that differ in order, and in values (sorted), of {EPOCHS}")
    for name, dataset in pipelines.items():
        rows = epochs(dataset)
        print(f"{name:34} order {different(rows)}   values {different([sorted(row) for row in rows])}")
    for name in ("shuffle, batch, cache", "batch, cache, shuffle", "cache, shuffle, batch"):
        mates = {frozenset(x.tolist()) for _ in range(EPOCHS) for x in pipelines[name].as_numpy_iterator()}
        print(f"{name:34} {len(mates)} different batches in {EPOCHS} epochs of {COUNT // 5}")
    counted = data.map(lambda x: tf.numpy_function(count, [x], tf.int64))
    partly = {"cache, take(10)": counted.cache().take(10), "take(10), cache": counted.take(10).cache()}
    for name, dataset in partly.items():
        CALLS.clear()
        read = [len(list(dataset)) for _ in range(EPOCHS)]
        print(f"{name:34} {len(CALLS)} calls of the function for {sum(read)} elements read")
    block = tf.data.Dataset.range(8).map(lambda x: tf.fill([MIB // 4], tf.cast(x, tf.float32)))
    for name, dataset in {
        "repeat": block.repeat(),
        "cache, repeat": block.cache().repeat(),
        "repeat, cache": block.repeat().cache(),
    }.items():
        print(f"{name:34} {growth(dataset, 200):6.0f} MiB more after 200 elements of 1 MiB, 8 different")


if __name__ == "__main__":
    main()
