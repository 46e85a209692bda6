"""How many images a second do Keras's Python loaders give, and how many does tf.data?

Measured on TensorFlow 2.21, 2 cores, JPEG files of 500 x 375 pixels scaled to 224 x 224: flow_from_directory 130 to
170, image_dataset_from_directory 260 to 580; flow over an array 550 to 720 with flips alone, 42 with rotations and
shifts (other programs ran beside it, so compare these numbers with each other only).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf
from keras.src.legacy.preprocessing.image import ImageDataGenerator

COUNT, BATCH, SIZE, EPOCHS = 256, 32, (224, 224), 3


def write_images(root: Path) -> None:
    """Two classes of photographs: smooth noise, which is as hard to decode as they are."""
    for number in range(COUNT):
        folder = root / str(number % 2)
        folder.mkdir(exist_ok=True)
        coarse = np.random.default_rng(number).random((24, 32, 3)).astype("float32")
        image = tf.cast(tf.image.resize(coarse, (375, 500), "bicubic") * 200 + 20, tf.uint8)
        tf.io.write_file(str(folder / f"{number}.jpg"), tf.io.encode_jpeg(image))


def rate(batches: Iterable[Any]) -> float:
    """Images per second of the best of a few epochs."""
    times = []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        for number, _ in enumerate(batches, 1):
            if number == COUNT // BATCH:
                break
        times.append(time.perf_counter() - start)
    return COUNT / min(times)


class Augmented:
    """Batches of arrays that `ImageDataGenerator.flow` rotates and shifts, the same number in each epoch."""

    def __init__(self, **options: Any) -> None:
        images = np.random.default_rng(0).random((COUNT, *SIZE, 3)).astype("float32")
        self.batches = ImageDataGenerator(**options).flow(images, batch_size=BATCH)

    def __iter__(self) -> Any:
        return iter(self.batches)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_images(Path(folder))
        given = ImageDataGenerator(rescale=1 / 255).flow_from_directory(folder, SIZE, batch_size=BATCH)
        print(f"flow_from_directory: {rate(given):.0f} images a second")
        dataset = keras.utils.image_dataset_from_directory(folder, batch_size=BATCH, image_size=SIZE, verbose=False)
        print(f"image_dataset_from_directory: {rate(dataset):.0f} images a second")
        print(f"flow, flips only: {rate(Augmented(horizontal_flip=True)):.0f} images a second")
        print(f"flow, rotations and shifts: {rate(Augmented(rotation_range=20, width_shift_range=0.1)):.0f} a second")


if __name__ == "__main__":
    main()
