"""A dataset is distributed only where its batches are passed on: they are no longer tensors then (GPU205)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixing.fixing import fixed

PROGRAM = """import numpy as np
import tensorflow as tf
from tensorflow import reduce_mean

strategy = tf.distribute.MirroredStrategy()
records = {{"x": tf.zeros((640, 4)), "y": tf.zeros((640, 1))}}
data = tf.data.Dataset.from_tensor_slices(records).batch(16 * strategy.num_replicas_in_sync)


@tf.function
def train(batch):
    return strategy.run(lambda batch: tf.identity(batch["x"]), args=(batch,))


def log(*values):
    pass


for step, batch in enumerate(data):
    train(batch)
    {use}
"""


@pytest.mark.parametrize(
    ("use", "distributes"),
    [
        ("log(step, batch['x'], *[batch])", True),
        ("strategy.experimental_local_results(batch['x'])", True),
        ("log(step + 1)", True),
        ("tf.reduce_mean(batch['x'])", False),
        ("reduce_mean(batch['x'])", False),
        ("np.mean(batch['x'])", False),
        ("float(batch['x'][0, 0])", False),
        ("batch['x'].shape[0]", False),
        ("seen = batch['x'] + 1.0", False),
        ("if batch['x'][0, 0] > 0.0: pass", False),
    ],
)
def test_batches_that_are_used_as_tensors(use: str, distributes: bool, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.format(use=use))
    outcome = fixed([path], select=("GPU205",))
    assert bool(outcome.after) == distributes
    if distributes:
        assert "enumerate(strategy.experimental_distribute_dataset(data))" in outcome.after[str(path)].data.decode()
