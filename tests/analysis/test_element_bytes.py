"""Bytes of a batch in the plan."""

from __future__ import annotations

import pytest

from gpulint.analysis.queries.plan_notes import notes
from tests.analysis.test_bounds import plan_of

PROGRAM = """
import numpy as np
import keras
from tensorflow.data import Dataset
images = np.zeros((50000, 32, 32, 3), dtype="float32")
labels = np.random.randint(0, 10, (50000,))
model = keras.Sequential([keras.layers.Dense(10)])
model.compile("adam", "mse")
"""


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("model.fit(images, labels, batch_size=32)", "global batch 32 (384.2 KiB)"),
        ("model.fit(np.ones((100, 64)), labels, batch_size=32)", "global batch 32 (8.2 KiB)"),
        ("model.fit(np.random.rand(100, 64), np.zeros(100), batch_size=32)", "global batch 32"),
        ("model.fit(images.astype(np.float16), batch_size=32)", "global batch 32 (192.0 KiB)"),
        ("model.fit(images, labels, batch_size=int(input()))", "global batch `int(input())`"),
        ("model.fit(np.load('x.npy'), labels, batch_size=32)", "global batch 32"),
        ("Dataset.from_tensor_slices((images, labels)).shuffle(9).batch(32)", "batches of 32 (384.2 KiB)"),
        ("Dataset.from_tensor_slices({'x': np.ones((9, 64))}).batch(32)", "batches of 32 (16.0 KiB)"),
        ("Dataset.from_tensor_slices(images).map(lambda x: x[::2]).batch(32)", "batches of 32"),
        ("Dataset.from_tensor_slices(images).batch(32).batch(4)", "batches of 4"),
        ("Dataset.range(9).batch(32)", "batches of 32"),
        (
            "keras.utils.image_dataset_from_directory('d', image_size=(180, 180), batch_size=32)",
            "batches of 32 (11.9 MiB)",
        ),
        (
            "keras.utils.image_dataset_from_directory('d', color_mode='grayscale', batch_size=4)",
            "batches of 4 (1.0 MiB)",
        ),
        ("(x, y), _ = keras.datasets.cifar10.load_data()\nmodel.fit(x / 255.0, y, batch_size=64)", "64 (768.1 KiB)"),
    ],
)
def test_the_bytes_of_a_batch(line: str, text: str) -> None:
    plan, _ = plan_of(f"{PROGRAM}{line}\n")
    said = [note.text for note in notes(plan) if "batch" in note.text]
    assert said and said[-1].endswith(text), said


def test_nested_tuples_take_time_in_proportion_to_their_depth() -> None:
    nested = "x = images\n" + "x = (x, x)\n" * 40
    plan, _ = plan_of(f"{PROGRAM}{nested}Dataset.from_tensor_slices(x).batch(32)\n")
    assert [note.text for note in notes(plan)][-1].endswith("batches of 32")
