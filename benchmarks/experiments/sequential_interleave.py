"""Which of interleave, flat_map and filter run sequentially, and what does `num_parallel_calls` gain?

All three do. Measured on TensorFlow 2.21, 2 cores: with a slow function inside, they take 1.8 to 2.2 times as long as
the recommended form, because tf.data never parallelises a map inside them. Without `cycle_length` the argument also
changes the order of the elements; with it the order stays the same. A stateless map after `batch` gains nothing.
On 2.16: 1.7 to 2.1.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf

FILES, RECORDS, ROUNDS, AUTO = 4, 6, 3, tf.data.AUTOTUNE


def waited(x: Any) -> Any:
    """10 ms that do not need the processor, so that the other load of the machine does not matter."""
    time.sleep(0.01)
    return x


def decode(x: Any) -> Any:
    """A slow operation that is not stateful, as decoding is."""
    return tf.numpy_function(waited, [x], tf.string, stateful=False)


def seconds(dataset: Any) -> float:
    """Time of one epoch."""
    start = time.perf_counter()
    for _ in dataset:
        pass
    return time.perf_counter() - start


def compare(name: str, plain: Any, parallel: Any) -> None:
    """Run both pipelines alternately; print the medians of their times and ratios, and whether the orders are equal."""
    pairs = [(seconds(plain), seconds(parallel)) for _ in range(ROUNDS)]
    first, second = (statistics.median(times) for times in zip(*pairs, strict=True))
    same = all((x == y).numpy().all() for x, y in zip(plain, parallel, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    print(f"{name:44} {first:6.3f} {second:6.3f} {ratio:6.2f}  {'same' if same else 'other'} order")


def main() -> None:
    """Print seconds of each pipeline as written and with the advice, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i}.tfrecord") for i in range(FILES)]
        for i, path in enumerate(paths):
            with tf.io.TFRecordWriter(path) as writer:
                for j in range(RECORDS):
                    writer.write(f"{i} {j}".encode())
        files, records = tf.data.Dataset.from_tensor_slices(paths), tf.data.TFRecordDataset
        print(f"TensorFlow {tf.__version__}: seconds as written, with the advice, ratio, order")

        def inner(path: Any, calls: Any = None) -> Any:
            return records(path).map(decode, calls)

        def filled(record: Any) -> Any:
            return record != ""

        def kept(record: Any) -> Any:
            return filled(decode(record))

        once, data = files.interleave, records(paths)
        cases = {
            "interleave / num_parallel_calls": (once(inner), once(inner, num_parallel_calls=AUTO)),
            "interleave(2) / parallel": (once(inner, 2), once(inner, 2, num_parallel_calls=AUTO)),
            "interleave(2) / inner maps parallel": (once(inner, 2), once(lambda x: inner(x, AUTO), 2)),
            "interleave(2) / map after it": (once(inner, 2), once(records, 2).map(decode)),
            "flat_map / map after it": (files.flat_map(inner), files.flat_map(records).map(decode)),
            "filter / slow part in a map before": (data.filter(kept), data.map(decode).filter(filled)),
            "batch, map / num_parallel_calls": (data.batch(2).map(decode), data.batch(2).map(decode, AUTO)),
        }
        for name, (plain, other) in cases.items():
            compare(name, plain, other)


if __name__ == "__main__":
    main()
