"""How long does an epoch wait for its first batch if it shuffles images, and how long if it shuffles their names?

Measured on TensorFlow 2.21, 2 cores, 2,000 JPEG files of 500 x 375 pixels scaled to 224 x 224: 4.3 to 5.3 s
if images are shuffled, 0.2 to 0.4 s if names are (other programs ran beside it).
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import tensorflow as tf

FILES, COUNT, SIZE = 100, 2000, (224, 224)


def written(root: Path) -> list[str]:
    """Paths of photographs: smooth noise, which is as hard to decode as they are. Each file is read several times."""
    paths = [str(root / f"{number}.jpg") for number in range(FILES)]
    for number, path in enumerate(paths):
        coarse = np.random.default_rng(number).random((24, 32, 3)).astype("float32")
        image = tf.cast(tf.image.resize(coarse, (375, 500), "bicubic") * 200 + 20, tf.uint8)
        tf.io.write_file(path, tf.io.encode_jpeg(image))
    return paths * (COUNT // FILES)


def read(path: Any) -> Any:
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), SIZE)


def until_first(dataset: Any) -> float:
    """Seconds until the first batch of the second epoch, when everything is warm."""
    batches = dataset.batch(32).prefetch(tf.data.AUTOTUNE)
    next(iter(batches))
    start = time.perf_counter()
    next(iter(batches))
    return time.perf_counter() - start


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = tf.data.Dataset.from_tensor_slices(written(Path(folder)))
        images = names.map(read, num_parallel_calls=tf.data.AUTOTUNE).shuffle(COUNT)
        print(f"images shuffled: {until_first(images):.1f} s, {COUNT * SIZE[0] * SIZE[1] * 12 / 1e9:.1f} GB")
        print(f"names shuffled: {until_first(names.shuffle(COUNT).map(read, tf.data.AUTOTUNE)):.1f} s")


if __name__ == "__main__":
    main()
