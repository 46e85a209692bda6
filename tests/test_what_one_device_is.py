"""A strategy that is given one device has one replica: nothing is split, and nothing is reduced."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

FITTED = """
import sys

import tensorflow as tf

GPU = "/gpu:0"
several = len(sys.argv) > 1
strategy = tf.distribute.{made}
rows = tf.data.Dataset.from_tensor_slices((tf.zeros((2048, 4)), tf.zeros((2048, 1)))).batch(16)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
model.fit(rows, epochs=3)
"""

MADE = [
    ("MirroredStrategy(['/cpu:0'])", set()),
    ("MirroredStrategy(devices=('/gpu:1',))", set()),
    ("MirroredStrategy(devices=[GPU])", set()),
    ("MirroredStrategy([f'/gpu:{number}' for number in range(1)])", set()),
    ("MirroredStrategy(['/gpu:0'] if several else ['/gpu:1'])", set()),
    ("experimental.CentralStorageStrategy(compute_devices=['/gpu:0'], parameter_device='/cpu:0')", set()),
    ("MirroredStrategy()", {"GPU209"}),
    ("MirroredStrategy(devices=None)", {"GPU209"}),
    ("MirroredStrategy(['/gpu:0', '/gpu:1'])", {"GPU209"}),
    ("MirroredStrategy(['/gpu:0', '/gpu:1'] if several else ['/gpu:1'])", {"GPU209"}),
    ("MirroredStrategy([*sys.argv[1:]])", {"GPU209"}),
    ("MirroredStrategy(sys.argv[1:])", {"GPU209"}),
    ("experimental.CentralStorageStrategy()", {"GPU209"}),
]


@pytest.mark.parametrize(("made", "codes"), MADE)
def test_a_batch_is_split_only_over_several_devices(made: str, codes: set[str], tmp_path: Path) -> None:
    assert codes_in(FITTED.replace("{made}", made), tmp_path) & {"GPU209"} == codes
