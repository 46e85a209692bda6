"""Numbers of shapes are int32 in host memory, and so is what is computed of them and of Python's numbers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

LOOP = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def train(rows, width):
    count = tf.shape(rows)[0]
    for i in range(1000):
        loss = step(rows[:32])
        first = i * width
        {body}


train(tf.zeros((64000, 4)), len(open("rows.txt").read()))
"""

HOST = [
    "if count - first <= 0:\n            print(i)",
    "print(int(tf.minimum(first + width, count) - first))",
    "last = tf.maximum(count - width, first)\n        if last == first or last > width:\n            print(i)",
    "if tf.math.floormod(count, width) < first % 7:\n            print(i)",
    "print((width * tf.shape(rows)[1] // 2 - first).numpy())",
    "sizes = tf.stack([count, first])\n        print(int(sizes[0]), int(tf.reduce_max(sizes)))",
    "if tf.less(count - first, width):\n            print(i)",
    "print(bool(tf.size(rows) - first != tf.rank(rows)))",
    "last = tf.minimum(rows.shape[0], 5)\n        if last > 3:\n            print(i)",
]

DEVICE = [
    "if tf.reduce_sum(loss) - first <= 0:\n            print(i)",
    "print(float(tf.minimum(tf.cast(count - first, 'float32'), loss)))",
    "print(int(tf.cast(loss, 'int32') - count))",
    "print(int(tf.minimum(count - first, tf.cast(loss, 'int32'))))",
    "print(int(tf.reduce_prod(tf.shape(rows) - first)))",
    "print(int(tf.shape(rows, out_type=tf.int64)[0] - first))",
    "if tf.cast(count, 'float32') * loss > width:\n            print(i)",
]


@pytest.mark.parametrize("body", HOST)
def test_what_is_computed_of_shapes_alone_is_read_at_no_cost(body: str, tmp_path: Path) -> None:
    assert "GPU501" not in codes_in(LOOP.replace("{body}", body), tmp_path)


@pytest.mark.parametrize("body", DEVICE)
def test_what_is_computed_of_shapes_and_of_what_the_device_has_is_waited_for(body: str, tmp_path: Path) -> None:
    assert "GPU501" in codes_in(LOOP.replace("{body}", body), tmp_path)
