"""GPU901: the release from which a name is gone, and what the finding says."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_of, findings_in, findings_of

MODEL = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
{use}
"""


@pytest.mark.parametrize(("target", "expected"), [("2.15", set()), ("2.16", {"GPU901"})])
@pytest.mark.parametrize(
    "use",
    [
        "model.compile('sgd', 'mse', experimental_run_tf_function=False)",
        "tf.keras.callbacks.ModelCheckpoint('best.h5', period=5)",
        "tf.keras.callbacks.TensorBoard(write_grads=True)",
    ],
)
def test_arguments_that_keras_2_took_as_keywords(use: str, target: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.gpulint]\ntarget-tensorflow = "{target}"\n', encoding="utf-8")
    (tmp_path / "program.py").write_text(MODEL.format(use=use), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


@pytest.mark.parametrize(("target", "expected"), [("2.12", set()), ("2.21", {"GPU901"})])
def test_an_argument_that_one_file_format_refuses(target: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.gpulint]\ntarget-tensorflow = "{target}"\n', encoding="utf-8")
    use = "tf.keras.models.save_model(model, 'saved.keras', save_traces=False)"
    (tmp_path / "program.py").write_text(MODEL.format(use=use), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


def test_removed_arguments_do_not_make_a_file_one_for_tensorflow_1(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.21", encoding="utf-8")
    (tmp_path / "means.py").write_text(
        "import tensorflow as tf\n\n\ndef means(x):\n"
        "    return tf.reduce_mean(x, keep_dims=True), tf.reduce_sum(x, keep_dims=True)\n",
        encoding="utf-8",
    )
    found = findings_of(gpulint.check_paths([tmp_path]))
    assert [finding.code for finding in found] == ["GPU901", "GPU901"]
    assert not any("TensorFlow 1:" in finding.message for finding in found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("", "`tf.count_nonzero` was removed in TensorFlow 2.0"),
        (
            "print(tf.Session().run(count))",
            "the file is written for TensorFlow 1: `tf.count_nonzero` and 1 other name were removed",
        ),
    ],
)
def test_one_name_of_tensorflow_1_does_not_make_a_file_one_for_it(more: str, message: str, tmp_path: Path) -> None:
    program = f"""
import tensorflow as tf

count = tf.count_nonzero(tf.range(4))
{more}
"""
    assert [finding.message for finding in findings_in(program, tmp_path)] == [message]


def test_a_module_that_lost_many_names_is_reported_once(tmp_path: Path) -> None:
    program = """
from keras import backend as K
from keras.preprocessing.image import ImageDataGenerator, load_img
from keras.preprocessing.text import Tokenizer


def dice(y, p):
    return K.sum(y * p) / (K.sum(y) + K.sum(p))


def iou(y, p):
    return K.mean(K.abs(y - p))
"""
    assert [finding.message for finding in findings_in(program, tmp_path)] == [
        "`keras.preprocessing.image.ImageDataGenerator` was removed in Keras 3",
        "`keras.preprocessing.text` was removed in Keras 3",
        "`keras.backend` lost most of its names in Keras 3",
    ]


OWN_NAME = """
import tensorflow as tf


class Scale(tf.keras.layers.Layer):
    def build(self, shape):
        KEPT
        self.scale = self.add_weight(shape=(1,))

    def call(self, x):
        return x * self.scale / self.input_shape[1]


x = tf.keras.Input((3,))
model = tf.keras.Model(x, Scale()(x))
model.compile(tf.keras.optimizers.SGD(lr=0.1), "mse")
model.fit(tf.zeros((64, 3)), tf.zeros((64, 3)))
"""


@pytest.mark.parametrize(("kept", "gone"), [("self.input_shape = shape", ["lr"]), ("pass", ["input_shape", "lr"])])
def test_attributes_that_a_class_sets_itself(kept: str, gone: list[str], tmp_path: Path) -> None:
    found = [one.message for one in findings_in(OWN_NAME.replace("KEPT", kept), tmp_path) if one.code == "GPU901"]
    assert [name for name in ("input_shape", "lr") if any(name in message for message in found)] == gone


VARIABLES = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
optimizer = tf.keras.optimizers.Adam()
"""


@pytest.mark.parametrize(
    ("use", "remedy"),
    [
        ("tf.keras.metrics.Mean().reset_states()", "use `reset_state`"),
        ("tf.distribute.MirroredStrategy().experimental_run_v2(print)", "use `run`"),
    ],
)
def test_the_help_names_what_to_use(use: str, remedy: str, tmp_path: Path) -> None:
    (finding,) = findings_in(f"{VARIABLES}x = y = tf.zeros((4, 4))\n{use}\n", tmp_path)
    assert (finding.code, finding.instead) == ("GPU901", remedy)
