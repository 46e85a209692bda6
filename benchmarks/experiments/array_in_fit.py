"""Where is an array that `fit` is given, while it trains?

Measured on TensorFlow 2.21 and Keras 3.15: the whole array is a tensor on the default device, which is GPU:0 where
there is one, for as long as `fit` runs. On a machine without a GPU, a second logical CPU is the default device here.
The array of a dataset that is created on CPU:0 stays there.
"""

from __future__ import annotations

import gc
import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

EXAMPLES, SIZE = 512, 128


class Holders(tf.keras.callbacks.Callback):  # type: ignore[misc]
    """Bytes of the large tensors that are alive in the last step, by device."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        tensors = [one for one in gc.get_objects() if type(one).__name__ == "EagerTensor" and one.shape.rank == 4]
        self.sizes = {}
        for one in tensors:
            if one.shape[0] == EXAMPLES:
                device = one.device.rpartition("device:")[2]
                self.sizes[device] = self.sizes.get(device, 0) + int(np.prod(one.shape)) * one.dtype.size


def held(data: Any, labels: Any = None) -> dict[str, int]:
    model = tf.keras.Sequential([tf.keras.layers.GlobalAveragePooling2D(), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    holders = Holders()
    model.fit(data, labels, verbose=0, callbacks=[holders])
    return holders.sizes


def main() -> None:
    default = "GPU:0"
    if not tf.config.list_physical_devices("GPU"):
        two = [tf.config.LogicalDeviceConfiguration()] * 2
        tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
        default = "CPU:1"
    images, labels = np.ones((EXAMPLES, SIZE, SIZE, 3), "float32"), np.ones((EXAMPLES, 1), "float32")
    with tf.device(default):
        print("arrays:", held(images, labels))
        with tf.device("CPU:0"):
            batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)
        print("a dataset on CPU:0:", held(batches))


if __name__ == "__main__":
    main()
