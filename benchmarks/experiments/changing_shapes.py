"""What does a batch of a new length cost a model that XLA compiles?

Measured on TensorFlow 2.21 and Keras 3.15, 2 cores: 4.6 to 6.4 s for each new length, 3 to 22 ms for a length that was
there before. Without XLA 15 to 36 ms and 3 to 7 ms (other programs ran beside it). On a machine with a GPU,
`jit_compile="auto"`, the default of `compile`, turns XLA on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

LENGTHS = (10, 11, 12, 13, 14, 10, 11, 12)


def batches() -> Iterator[Any]:
    for length in LENGTHS:
        yield np.zeros((8, length), "int32"), np.zeros((8, 1), "float32")


class Times(keras.callbacks.Callback):  # type: ignore[misc]
    """Prints the time of each step."""

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        print(f"  length {LENGTHS[batch]}: {1000 * (time.perf_counter() - self.start):.0f} ms")


def main() -> None:
    specs = (tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, 1), tf.float32))
    dataset = tf.data.Dataset.from_generator(batches, output_signature=specs)
    layers = keras.layers
    for jit in (True, False):
        parts = [layers.Embedding(100, 32), layers.Conv1D(32, 3, padding="same"), layers.GlobalAveragePooling1D()]
        model = keras.Sequential([*parts, layers.Dense(1)])
        model.compile("adam", "mse", jit_compile=jit)
        print(f"jit_compile={jit}")
        model.fit(dataset, verbose=0, callbacks=[Times()])


if __name__ == "__main__":
    main()
