"""Loops whose rounds are whole runs, stages of one model or parts of it, and what a round counts with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

RUNS = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)


def eager_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def run(epochs):
    step = tf.function(eager_step)
{body}


for number in range(50):
    run(30)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("    for _ in range(epochs):\n        for x in data:\n            step(x)", set()),
        ("    for x in data:\n        step(x)", {"GPU505"}),
        ("    for _ in range(epochs):\n        step(tf.zeros((64, 4)))", {"GPU505"}),
        ("    step(tf.zeros((64, 4)))", {"GPU505"}),
        ("    for _ in range(1):\n        for x in data:\n            step(x)", {"GPU505"}),
        ("    step(tf.zeros((1, 4)))\n    for _ in range(9):\n        for x in data:\n            step(x)", {"GPU505"}),
    ],
)
def test_a_function_for_each_run(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(RUNS.format(body=body), tmp_path) == expected


STAGES = """
import sys

import tensorflow as tf


def body():
    inputs = tf.keras.Input((8,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(4)(inputs))


kept = body()
for units in map(int, sys.argv[1:]):
    {made}
    model.compile(optimizer="adam", loss="mse")
    model.fit(tf.zeros((64, 8)), tf.zeros((64, units)))
"""

HEAD = "model = tf.keras.Model({inputs}, tf.keras.layers.Dense(units)({outputs}))"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (HEAD.format(inputs="kept.input", outputs="kept.output"), set()),
        (HEAD.format(inputs="kept.inputs[0]", outputs="kept.outputs[0]"), set()),
        (HEAD.format(inputs="[kept.layers[0].input]", outputs="kept.output"), set()),
        ("one = body()\n    " + HEAD.format(inputs="one.input", outputs="one.output"), {"GPU305"}),
        ("model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(units)])", {"GPU305"}),
    ],
)
def test_heads_on_one_body(made: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STAGES.format(made=made), tmp_path) == expected


PARTS = """
import numpy as np
import tensorflow as tf

images = np.zeros((100, 32, 32, 3), "float32")


def shown(path, image):
    whole = tf.keras.models.load_model(path)
    first = whole.get_layer("first").input
    for name in [one.name for one in whole.layers if "conv" in one.name]:
        part = tf.keras.Model([first], [whole.get_layer(name).output])
        print(part.predict({given}))


shown("model.keras", images[3])
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("image[None]", set()),
        ("np.expand_dims(image, 0)", set()),
        ("np.expand_dims(images[len(name)], 0)", {"GPU503"}),
    ],
)
def test_parts_of_one_model_that_see_one_image(given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(PARTS.format(given=given), tmp_path) == expected


COUNTED = """
import tensorflow as tf


class Trainer:
    def __init__(self, count):
        self.count = count

    @tf.function
    def step(self, x, count):
        return x * tf.cast(count, tf.float32)

    def epoch(self, data):
        for x in data:
            self.step(x, {given})
            self.count += 1
{made}
"""

LOST = """

class Lost(Trainer):
    def __init__(self, options):
        raise ValueError(options)
"""


@pytest.mark.parametrize(
    ("given", "made", "expected"),
    [
        ("self.count", "", set()),
        ("int(self.count)", "", {"GPU504"}),
        ("self.count", "\n\nTrainer(0).epoch(read())", {"GPU504"}),
        ("self.count", "\n\nTrainer(tf.constant(0)).epoch(read())", set()),
        ("self.count", LOST, set()),
    ],
)
def test_what_is_counted(given: str, made: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(COUNTED.format(given=given, made=made), tmp_path) == expected


NUMBERED = """
import sys

import tensorflow as tf


@tf.function
def step(x, number):
    return x * number


for i, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(64)):
    step(x, {number})
"""


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("i", {"GPU504"}),
        ("i % 4", set()),
        ("i % 16", set()),
        ("i % 17", {"GPU504"}),
        ("i % x.shape[0]", {"GPU504"}),
        ("len(sys.argv) % 17", set()),
    ],
)
def test_a_remainder_is_one_of_a_few_numbers(number: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(NUMBERED.format(number=number), tmp_path) == expected
