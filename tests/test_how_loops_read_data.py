"""Ways to iterate over a pipeline in a training loop: in each epoch, or once into a list that is kept."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.checking import codes_in

TRAINING = """
import itertools
import random
import sys

import tensorflow as tf
from rich.progress import track
from tqdm import tqdm

model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
optimizer.build(model.trainable_variables)


def parsed(row):
    return tf.io.parse_single_example(row, {{"x": tf.io.FixedLenFeature([8], tf.float32)}})["x"]


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


records = tf.data.Dataset.list_files(sys.argv[1:]).interleave(lambda name: tf.data.TFRecordDataset(name))
records = records.map(parsed).batch(64)
{before}

for epoch in range(40):
{body}
"""


def training(body: str, before: str = "") -> str:
    return TRAINING.format(before=before, body=textwrap.indent(textwrap.dedent(body), "    "))


@pytest.mark.parametrize(
    "read",
    [
        "records",
        "iter(records)",
        "list(records)",
        "tuple(records)",
        "sorted(records, key=lambda x: random.random())",
        "reversed(list(records))",
        "tqdm(records)",
        "tqdm(sorted(records, key=id), total=100)",
        "track(records)",
        "itertools.islice(records, 1000)",
        "itertools.islice(records, 10, 1000)",
        "itertools.chain(records, records)",
        "filter(None, records)",
        "map(tf.square, records)",
        "records.as_numpy_iterator()",
        "[x for x in records]",
        "(x for x in records)",
    ],
)
def test_each_epoch_reads_the_pipeline(read: str, tmp_path: Path) -> None:
    assert codes_in(training(f"for x in {read}:\n    step(x)"), tmp_path) == {"GPU402"}


@pytest.mark.parametrize("read", ["enumerate(records)", "enumerate(list(records))", "zip(range(100), records)"])
def test_each_epoch_reads_it_beside_something_else(read: str, tmp_path: Path) -> None:
    assert codes_in(training(f"for _, x in {read}:\n    step(x)"), tmp_path) == {"GPU402"}


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        ("kept = list(records)", "for x in kept:\n    step(x)", set()),
        ("kept = sorted(records, key=id)", "for x in reversed(kept):\n    step(x)", set()),
        ("kept = [x for x in records]", "for x in tqdm(kept):\n    step(x)", set()),
        ("kept = list(records)", "rest = iter(kept)\nfor _ in range(100):\n    step(next(rest))", set()),
        ("", "kept = list(records)\nfor again in range(20):\n    for x in kept:\n        step(x)", set()),
        ("", "rest = iter(list(records))\nfor _ in range(100):\n    step(next(rest))", {"GPU402"}),
        ("", "for x in itertools.islice(range(1000), 500):\n    step(tf.zeros((64, 8)))", set()),
        ("shown = list(records.take(3))", "for x in shown:\n    print(model(x))", {"GPU509"}),
    ],
)
def test_a_list_that_is_kept_is_read_once(before: str, body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(training(body, before), tmp_path) == expected
