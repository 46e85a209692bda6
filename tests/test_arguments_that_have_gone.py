"""Removed arguments of functions, classes and methods of models (GPU901), and arguments that still exist."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_in, codes_of, findings_of

MODEL = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
{use}
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("model.compile('sgd', 'mse', experimental_run_tf_function=False)", {"GPU901"}),
        ("model.compile('sgd', 'mse', jit_compile=False)", set()),
        ("tf.keras.callbacks.ModelCheckpoint('best.keras', period=5)", {"GPU901"}),
        ("tf.keras.callbacks.ModelCheckpoint('best.keras', save_freq='epoch')", set()),
        ("tf.keras.callbacks.TensorBoard(write_grads=True)", {"GPU901"}),
        ("tf.keras.callbacks.ReduceLROnPlateau(epsilon=0.1)", set()),
        ("tf.keras.layers.Dense(1, input_dim=4)", set()),
        ("tf.keras.layers.BatchNormalization(fused=True)", {"GPU901"}),
        ("tf.keras.layers.LSTM(8, time_major=True)", {"GPU901"}),
        ("tf.keras.layers.LSTM(8, implementation=2)", set()),
        ("tf.keras.layers.LSTM(8, batch_input_shape=(2, 3, 4))", {"GPU901"}),
        ("tf.keras.layers.LSTM(8, use_cudnn='auto')", set()),
        ("tf.keras.optimizers.Adam(jit_compile=True)", {"GPU901"}),
        ("tf.keras.optimizers.Adam(decay=0.1)", set()),
        ("tf.keras.utils.to_categorical([1], dtype='int32')", {"GPU901"}),
        ("tf.keras.utils.load_img('a.png', grayscale=True)", {"GPU901"}),
        ("tf.keras.utils.load_img('a.png', color_mode='grayscale')", set()),
        ("tf.keras.layers.MaxPooling2D(batch_input_shape=(2, 8, 8, 3))", {"GPU901"}),
        ("tf.reduce_mean([1.0], keep_dims=True)", {"GPU901"}),
        ("tf.compat.v1.reduce_mean([1.0], keep_dims=True)", set()),
        ("first = tf.compat.v1\nfirst.reduce_mean([1.0], keep_dims=True)", set()),
        ("from tensorflow.compat.v1 import reduce_mean\nreduce_mean([1.0], keep_dims=True)", set()),
        ("import tensorflow.compat.v1 as first\nfirst.reduce_mean([1.0], keep_dims=True)", set()),
        ("from tensorflow.compat import v1\nv1.math.reduce_mean([1.0], keep_dims=True)", set()),
        ("tf.reduce_mean([1.0], keep_dims=True)  # unlike tf.compat.v1", {"GPU901"}),
        ("tf.compat.v1.set_random_seed(1)\ntf.reduce_mean([1.0], keep_dims=True)", {"GPU901"}),
        ("try:\n    tf.keras.callbacks.ModelCheckpoint('a.keras', period=5)\nexcept TypeError:\n    pass", set()),
        ("options = {'period': 5}\ntf.keras.callbacks.ModelCheckpoint('a.keras', **options)", {"GPU901"}),
        ("def saving(period):\n    return period\n\n\nsaving(period=5)", set()),
    ],
)
def test_an_argument_that_is_taken_no_more(use: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MODEL.format(use=use), tmp_path) == expected


@pytest.mark.parametrize(("target", "expected"), [("2.15", set()), ("2.16", {"GPU901"})])
@pytest.mark.parametrize(
    "use",
    [
        "model.compile('sgd', 'mse', experimental_run_tf_function=False)",
        "tf.keras.callbacks.ModelCheckpoint('best.h5', period=5)",
        "tf.keras.callbacks.TensorBoard(write_grads=True)",
    ],
)
def test_what_keras_2_took_among_others_to_its_end(use: str, target: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.gpulint]\ntarget-tensorflow = "{target}"\n', encoding="utf-8")
    (tmp_path / "program.py").write_text(MODEL.format(use=use), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected


@pytest.mark.parametrize(
    ("imported", "expected"),
    [
        ("from tensorflow.keras import callbacks", {"GPU901"}),
        ("from keras import callbacks", {"GPU901"}),
        ("from tensorflow.python.keras import callbacks", set()),
        ("from keras.src import callbacks", set()),
        ("from tf_keras import callbacks", set()),
        ("import callbacks", set()),
    ],
)
def test_of_whom_it_is_asked(imported: str, expected: set[str], tmp_path: Path) -> None:
    program = f"import tensorflow as tf\n{imported}\n\ncallbacks.ModelCheckpoint('best.h5', period=5)\n"
    assert codes_in(program, tmp_path) == expected


def test_old_arguments_alone_make_no_file_one_of_tensorflow_1(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tensorflow==2.21", encoding="utf-8")
    (tmp_path / "means.py").write_text(
        "import tensorflow as tf\n\n\ndef means(x):\n"
        "    return tf.reduce_mean(x, keep_dims=True), tf.reduce_sum(x, keep_dims=True)\n",
        encoding="utf-8",
    )
    found = findings_of(gpulint.check_paths([tmp_path]))
    assert [finding.code for finding in found] == ["GPU901", "GPU901"]
    assert not any("TensorFlow 1:" in finding.message for finding in found)


@pytest.mark.parametrize(("target", "expected"), [("2.12", set()), ("2.21", {"GPU901"})])
def test_what_is_refused_in_one_branch_only_is_taken(target: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.gpulint]\ntarget-tensorflow = "{target}"\n', encoding="utf-8")
    use = "tf.keras.models.save_model(model, 'saved.keras', save_traces=False)"
    (tmp_path / "program.py").write_text(MODEL.format(use=use), encoding="utf-8")
    assert codes_of(gpulint.check_paths([tmp_path])) == expected
