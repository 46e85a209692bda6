"""With a planted bottleneck in a real program, the first advice names its cause and line; without one, there is no
advice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm

pytestmark = pytest.mark.tensorflow

WEIGHTS = """
import os, time
import numpy as np
import tensorflow as tf

w = tf.Variable(tf.random.normal(({size}, {size})))
x = tf.ones(({batch}, {size}))


@tf.function{options}
def train(x, *others):
    with tf.GradientTape() as tape:
        y = tf.matmul(tf.matmul(x, w), w)
        loss = tf.reduce_mean(y)
    gradient = tape.gradient(loss, w)
    w.assign_sub(0.0 * gradient)
    return gradient


"""

MANY = """
import tensorflow as tf

w = [tf.Variable(tf.ones((16, 16))) for _ in range(8)]
x = tf.ones((4, 16))


def train(x):
    with tf.GradientTape() as tape:
        y = x
        for v in w:
            y = tf.nn.relu(tf.matmul(y, v)) + 0.1
        loss = tf.reduce_mean(y)
    for v, g in zip(w, tape.gradient(loss, w)):
        v.assign_sub(0.001 * g)


"""
"""A step of many small operations."""

MODEL = """
import time
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile("sgd", "mse")


"""

SMALL = WEIGHTS.format(size=64, batch=8, options="")
LARGE = WEIGHTS.format(size=1024, batch=256, options="")

FINE = LARGE + "for _ in range(30):\n    train(x)\n"

PLANTED = {
    "input-bound, map": (
        MODEL
        + "def load(i):\n    time.sleep(0.003)\n    return np.ones((4,), 'float32')\n\n\n"
        + "data = tf.data.Dataset.range(400)\n"
        + "data = data.map(lambda i: (tf.ensure_shape(tf.numpy_function(load, [i], tf.float32), (4,)), 1.0))  # here\n"
        + "model.fit(data.batch(4), epochs=1, verbose=0)\n"
    ),
    "input-bound, PyDataset": (
        MODEL
        + "class Data(tf.keras.utils.PyDataset):\n    def __len__(self):\n        return 60\n\n"
        + "    def __getitem__(self, index):\n        time.sleep(0.02)\n"
        + "        return np.ones((4, 4), 'float32'), np.ones((4, 1), 'float32')\n\n\n"
        + "model.fit(Data(), epochs=1, verbose=0)  # here\n"
    ),
    "launch-bound": (
        "import tensorflow as tf\n\nw = tf.Variable(tf.ones((8,)))\nx = tf.ones((8,))\n\n\n"
        + "@tf.function\ndef train(x):\n"
        + "    with tf.GradientTape() as tape:\n        y = x * w\n        for _ in range(400):\n"
        + "            y = tf.sin(y) + 1.0\n        loss = tf.reduce_sum(y)\n"
        + "    w.assign_sub(0.0 * tape.gradient(loss, w))\n\n\n"
        + "for _ in range(60):\n    train(x)  # here\n"
    ),
    "eager-step": (MANY.replace("train(x):", "train(x):  # here") + "for _ in range(40):\n    train(x)\n"),
    "eager-step, fit": (
        MODEL.replace('"mse")', '"mse", run_eagerly=True)  # here')
        + "model.fit(np.ones((160, 4)), np.ones((160, 1)), batch_size=4, verbose=0)\n"
    ),
    "eager-step, functions": (
        MANY.replace("def train", "tf.config.run_functions_eagerly(True)  # here\n\n\n@tf.function\ndef train")
        + "for _ in range(40):\n    train(x)\n"
    ),
    "eager-step, strategy": (
        MANY.replace("\n\nw", "\n\nstrategy = tf.distribute.MirroredStrategy(['CPU:0'])\nw")
        + "for _ in range(40):\n    strategy.run(train, (x,))  # here\n"
    ),
    "retracing": SMALL + "for step in range(20):\n    train(x, step)  # here\n",
    "recompiling": (
        WEIGHTS.format(size=32, batch=8, options="(jit_compile=True, reduce_retracing=True)")
        + "for n in range(12):\n    train(tf.ones((4 + n, 32)))\n"
    ),
    "host-reads": (
        WEIGHTS.format(size=2048, batch=1, options="")
        + "for _ in range(20):\n    gradient = train(x)\n    for _ in range(10):\n        gradient.numpy()  # here\n"
    ),
    "slow-python": (
        MODEL
        + "class Plot(tf.keras.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None):\n"
        + "        time.sleep(0.05)  # here\n\n\n"
        + "model.fit(np.ones((240, 4)), np.ones((240, 1)), batch_size=4, verbose=0, callbacks=[Plot()])\n"
    ),
    "slow-python, library": (
        MODEL
        + "board = tf.keras.callbacks.TensorBoard('logs', histogram_freq=1, profile_batch=(2, 40))\n"
        + "x = np.ones((240, 4), 'float32')\n"
        + "model.fit(x, x[:, :1], batch_size=4, epochs=2, verbose=0, callbacks=[board])  # here\n"
    ),
    "slow-python, step": (
        MODEL.replace('"mse")', "lambda y, p: tf.reduce_mean((measured(p) - p) ** 2))").replace(
            "model =",
            "def slow(p):\n    time.sleep(0.02)\n    return p\n\n\ndef measured(p):\n"
            "    return tf.stop_gradient(tf.numpy_function(slow, [p], tf.float32))  # here\n\n\nmodel =",
        )
        + "model.fit(np.ones((240, 4), 'float32'), np.ones((240, 1), 'float32'), batch_size=4, verbose=0)\n"
    ),
    "repeated-calls, callback": (
        MODEL
        + "x = np.ones((480, 4), 'float32')\n\n\nclass Watch(tf.keras.callbacks.Callback):\n"
        + "    def on_train_batch_end(self, batch, logs=None):\n        if batch % 4 == 0:\n"
        + "            self.model.predict(x[:8], verbose=0)  # here\n\n\n"
        + "model.fit(x, x[:, :1], batch_size=8, verbose=0, callbacks=[Watch()])\n"
    ),
    "repeated-calls": (
        MODEL
        + "x, y = np.ones((240, 4), 'float32'), np.ones((240, 1), 'float32')\n"
        + "model.fit(x, y, batch_size=4, verbose=0)\nfor i in range(60):\n"
        + "    model.predict(x[i:i + 1], verbose=0)  # here\n"
    ),
    "checkpoints": (
        SMALL
        + "checkpoint = tf.train.Checkpoint(w=w)\nfor _ in range(30):\n    train(x)\n"
        + "    checkpoint.write('c')  # here\n"
    ),
    "precision": LARGE.replace("((1024, 1024))", "((1024, 1024), dtype=tf.float64)").replace(
        "((256, 1024))", "((256, 1024), tf.float64)"
    )
    + "for _ in range(20):\n    train(x)\n",
}


def probed(directory: Path, text: str, *options: str) -> dict[str, Any]:
    (directory / "a.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--exit-zero", "--output-format", "json"]
    done = warm.python().run([*command, "-o", "r.json", *options, "a.py"], cwd=directory)
    assert done.returncode in (0, 4), done.stderr
    report: dict[str, Any] = json.loads((directory / "r.json").read_text(encoding="utf-8"))
    return report


@pytest.mark.parametrize(
    "name",
    [
        "input-bound, map",
        "eager-step",
        "retracing",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in PLANTED
            if name not in ("input-bound, map", "eager-step", "retracing")
        ),
    ],
)
def test_the_first_advice_names_the_cause_at_its_line(name: str, tmp_path: Path) -> None:
    report = probed(tmp_path, PLANTED[name])
    first = report["advice"][0]
    assert first["cause"] == name.partition(",")[0], report["advice"]
    rows = [row for row, line in enumerate(PLANTED[name].split("\n"), 1) if line.endswith("# here")]
    assert not rows or first["row"] in rows
    assert first["gain"]["seconds"] > 0.02 * report["time"]["seconds"]


@pytest.mark.long
def test_a_gpu_without_work_is_named_in_a_rehearsal(tmp_path: Path) -> None:
    text = LARGE.replace("    with tf.GradientTape", "    with tf.device('GPU:0'), tf.GradientTape")
    report = probed(tmp_path, text + "for _ in range(20):\n    train(x)\n", "--simulate-gpus", "2")
    assert report["advice"][0]["cause"] == "idle-device"


@pytest.mark.long
def test_out_of_memory_is_attributed_to_the_line_that_keeps_tensors(tmp_path: Path) -> None:
    text = "import tensorflow as tf\nkept = []\nfor _ in range(50):\n    kept.append(tf.ones((1024, 1024)))  # here\n"
    report = probed(tmp_path, text, "--simulate-gpus", "1", "--simulate-memory", "40MiB")
    assert (report["advice"][0]["cause"], report["advice"][0]["row"]) == ("out-of-memory", 4)


def test_a_program_without_a_bottleneck_gets_no_advice(tmp_path: Path) -> None:
    report = probed(tmp_path, FINE)
    assert report["advice"] == []
    assert report["headline"] == "Trained on the CPU. Nothing stands in its way."
