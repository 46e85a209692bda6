"""`tf.device` around the construction of Keras layers, which places their variables only.

`fixtures/placement/split_layers.py` shows it on TensorFlow.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from tests.checking import findings_in

BUILT = """
import tensorflow as tf

inputs = tf.keras.Input((8,))
with tf.device("/gpu:1"):
    outputs = tf.keras.layers.Dense(4)(inputs)
model = tf.keras.Model(inputs, outputs)
"""

PLACED = [
    (
        "layers of a functional model",
        BUILT,
        "`tf.device` places these layers' weights on `/gpu:1`, not their computation",
    ),
    (
        "a Sequential model",
        "import tensorflow as tf\n"
        "with tf.device('/gpu:1'):\n"
        "    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])\n",
        "`tf.device` places these layers' weights on `/gpu:1`, not their computation",
    ),
    (
        "a model that is called there",
        "import tensorflow as tf\n"
        "with tf.device('/gpu:1'):\n"
        "    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])\n"
        "    model(tf.zeros((1, 8)))\n",
        "operations are pinned to `/gpu:1`",
    ),
    (
        "a model that is trained there",
        "import tensorflow as tf\n"
        "with tf.device('/gpu:1'):\n"
        "    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])\n"
        "    model.compile('sgd', 'mse')\n"
        "    model.fit(load(), batch_size=32)\n",
        "operations are pinned to `/gpu:1`",
    ),
    (
        "operations",
        "import tensorflow as tf\nwith tf.device('/gpu:1'):\n    x = tf.ones((8, 8)) @ load()\n",
        "operations are pinned to `/gpu:1`",
    ),
]


@pytest.mark.parametrize(("program", "placed"), [one[1:] for one in PLACED], ids=[one[0] for one in PLACED])
def test_what_a_device_scope_places(program: str, placed: str, tmp_path: Path) -> None:
    found = [one.message for one in findings_in(program, tmp_path) if one.code == "GPU101"]
    assert found == [placed]


def test_layers_on_the_first_gpu_compute_there(tmp_path: Path) -> None:
    found = [one for one in findings_in(BUILT.replace("/gpu:1", "/gpu:0"), tmp_path) if one.code == "GPU101"]
    assert [one.message for one in found] == ["layers are pinned to `/gpu:0`"]
    assert "first GPU anyway" in found[0].why


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("tf.keras.layers.Dense(4)(inputs)", "variables of the layers go to /GPU:1, their operations do not"),
        ("tf.ones((8, 8))", "operations go to /GPU:1"),
    ],
)
def test_the_plan_says_what_is_placed(inside: str, text: str) -> None:
    program = BUILT.replace("tf.keras.layers.Dense(4)(inputs)", inside)
    assert text in [note.text for note in gpulint.plan(program).notes]
