"""A window of a real run, on simulated GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.probe.capture.reader import read
from gpulint.probe.measures.training_time import training_time
from gpulint.probe.measures.window import why_unknown
from tests.cli.test_probe import probe

SLOW_INPUT = """import time
import tensorflow as tf

def slow(x):
    time.sleep(0.2)
    return x

def read(i):
    return tf.ensure_shape(tf.numpy_function(slow, [tf.zeros((8, 4))], tf.float32), (8, 4)), tf.zeros((8, 1))

with tf.distribute.MirroredStrategy().scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.data.Dataset.range(14).map(read), verbose=0)
"""


@pytest.mark.tensorflow
def test_the_waits_inside_the_functions_of_a_strategy_are_traced(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SLOW_INPUT)
    done = probe(tmp_path, "--simulate-gpus", "2", "--profile-steps", "4", "--capture", "run.jsonl", "train.py")
    assert done.returncode == 0, done.stderr
    capture = read(str(tmp_path / "run.jsonl"))
    window = capture.window
    assert window is not None
    assert (window.steps, window.devices) == (4, ())
    assert window.states["launch"].input > 0.4 * window.steps * 0.2  # others may have been read ahead
    assert not list(tmp_path.glob("run.jsonl.*"))
    time = training_time(capture)
    assert time is not None
    assert sum(one.seconds.get("input", 0.0) for one in time.parts) > 0.4 * (time.taken - 1) * 0.2
    assert why_unknown(capture) == "the GPUs are simulated"
