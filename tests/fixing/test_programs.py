"""Fixes of programs in which the place or the extent of the fix is not obvious."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in, findings_in
from tests.fixing.fixing import fixed_text

RESHAPED = """
import tensorflow as tf
from tensorflow.keras import layers

tf.keras.mixed_precision.set_global_policy("mixed_float16")
inputs = layers.Input((4,))
hidden = layers.Dense(8)(inputs)
numbers = layers.Dense(10)(hidden)
model = tf.keras.Model(inputs, layers.Flatten()(layers.Reshape((5, 2))(numbers)))
model.compile(optimizer="adam", loss="mse")
model.fit(tf.zeros((64, 4)), tf.zeros((64, 10)))
"""


def test_layers_that_only_reshape_get_the_dtype_of_the_head(tmp_path: Path) -> None:
    (found,) = [one for one in findings_in(RESHAPED, tmp_path) if one.code == "GPU602"]
    assert RESHAPED.splitlines()[found.span.row - 1].startswith("numbers = ")
    fixed = fixed_text(RESHAPED, tmp_path, unsafe=True, select=["GPU602"])
    assert fixed.count('dtype="float32"') == 3
    assert "hidden = layers.Dense(8)(inputs)" in fixed


@pytest.mark.parametrize(
    ("taken", "fixed"), [("actions.flatten()", False), ("flatten(actions)", True), ("tf.reshape(actions, [-1])", True)]
)
def test_a_step_that_uses_methods_of_arrays_is_not_compiled(taken: str, fixed: bool, tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
flatten = tf.keras.layers.Flatten()
optimizer = tf.keras.optimizers.Adam()


def update(states, actions):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(states) * tf.cast({taken}, tf.float32))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for states, actions in memory():
    update(states, actions)
"""
    assert codes_in(program, tmp_path) == {"GPU508"}
    assert ("@tf.function" in fixed_text(program, tmp_path, select=["GPU508"])) is fixed


ROWS = """
import numpy as np
import tensorflow as tf


class Rows(tf.keras.utils.Sequence):
    def __init__(self, table, batch_size=32):
        super().__init__()
        self.table = table
        self.batch_size = batch_size

    def __len__(self):
        return len(self.table) // self.batch_size

    def __getitem__(self, number):
        part = self.table[number * self.batch_size:(number + 1) * self.batch_size]
        return part, part[:, :1]


SIZE = 24
strategy = tf.distribute.MirroredStrategy()
rows = Rows(np.zeros((960, 6), "float32"), SIZE)
with strategy.scope():
    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    net.compile(optimizer="adam", loss="mse")
net.fit(rows)
"""


def test_a_batch_size_passed_to_a_class_is_scaled(tmp_path: Path) -> None:
    assert '"float32"), SIZE * strategy.num_replicas_in_sync)' in fixed_text(ROWS, tmp_path, select=("GPU209",))


TABLE = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
data = tf.data.experimental.make_csv_dataset("train.csv", 64, label_name="price")
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
model.fit(data, steps_per_epoch=100)
"""


def test_a_batch_size_that_is_not_the_first_argument_is_scaled(tmp_path: Path) -> None:
    fixed = fixed_text(TABLE, tmp_path, select=("GPU209",))
    assert fixed == TABLE.replace(", 64,", ", 64 * strategy.num_replicas_in_sync,")


ARRAYS = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
(x, y), _ = tf.keras.datasets.cifar10.load_data()
with strategy.scope():
    model = tf.keras.applications.ResNet50(weights=None, input_shape=(32, 32, 3), classes=10)
    model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x / 255.0, y, epochs=10)
"""


def test_the_default_batch_size_is_passed_and_scaled(tmp_path: Path) -> None:
    fixed = fixed_text(ARRAYS, tmp_path, select=("GPU209",))
    assert fixed == ARRAYS.replace("epochs=10", "epochs=10, batch_size=32 * strategy.num_replicas_in_sync")


VARIABLES = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
optimizer = tf.keras.optimizers.Adam()
"""


def test_parentheses_after_a_property_are_removed(tmp_path: Path) -> None:
    program = VARIABLES + "state = [one.name for one in optimizer.variables()]\n"
    assert {finding.code for finding in findings_in(program, tmp_path)} == {"GPU901"}
    assert fixed_text(program, tmp_path) == program.replace("variables()", "variables")
