"""Pairs of programs in which something is one of two things: a dataset, the way to a model, the end of a sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_rule_examples import codes_in, findings_in

MIXED = """
import sys

import tensorflow as tf


def pairs():
    for line in open(sys.argv[1]):
        yield [len(line)], [1]


def training(batch, synthetic):
    data = tf.data.TFRecordDataset(tf.io.gfile.glob("*.tfrecord")).shuffle(100).repeat()
    if synthetic:
        extra = {extra}
        data = tf.data.Dataset.sample_from_datasets([data, extra.repeat()], weights=[0.7, 0.3])
    return data.batch(batch, drop_remainder=True)


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = training(64 * strategy.num_replicas_in_sync, len(sys.argv) > 2)
{distribute}
model.fit(data, epochs=3, steps_per_epoch=1000)
"""
GENERATED = "tf.data.Dataset.from_generator(pairs, output_signature=(tf.TensorSpec((None,)), tf.TensorSpec((None,))))"


@pytest.mark.parametrize(
    "distribute",
    [
        "data = strategy.experimental_distribute_dataset(data)",
        "data = strategy.distribute_datasets_from_function(lambda context: data)",
    ],
)
@pytest.mark.parametrize(
    ("extra", "expected"), [(GENERATED, {"GPU404"}), ('tf.data.TFRecordDataset("extra.tfrecord")', set())]
)
def test_a_distributed_dataset_that_is_one_of_two(
    distribute: str, extra: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(MIXED.format(distribute=distribute, extra=extra), tmp_path) == expected


RESUMED = """
import sys

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


def network():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


if len(sys.argv) > 1:
{resumed}
else:
    with strategy.scope():
        model = network()
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), batch_size=64 * strategy.num_replicas_in_sync)
"""


@pytest.mark.parametrize(
    ("resumed", "expected"),
    [
        ("    model = tf.keras.models.load_model(sys.argv[1])", {"GPU201"}),
        ("    with strategy.scope():\n        model = tf.keras.models.load_model(sys.argv[1])", set()),
    ],
)
def test_a_model_that_is_loaded_on_one_way(resumed: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(RESUMED.format(resumed=resumed), tmp_path) == expected


SUMMED = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]


def micro_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(batch)))
    for total, gradient in zip(sums, tape.gradient(loss, model.trainable_variables)):
        total.assign_add(gradient)
    {in_micro_step}


def apply():
    gradients = {content}
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def empty():
    for total in sums:
        total.assign(tf.zeros_like(total))


@tf.function
def train_step(batches):
    for _ in tf.range(4):
        micro_step(next(batches))
    {after}


batches = iter(tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).batch(8).repeat())
for step in range(100):
    train_step(batches)
"""
CONTENTS = [
    "sums",
    "[total.read_value() for total in sums]",
    "[total / 4 for total in sums]",
    "[tf.clip_by_norm(total, 1.0) for total in sums]",
    "tf.clip_by_global_norm([total.value() for total in sums], 1.0)[0]",
]


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize(
    ("in_micro_step", "after", "expected"),
    [
        ("apply()", "empty()", {"GPU212"}),
        ("pass", "apply(); empty()", set()),
        ("apply(); empty()", "pass", set()),
    ],
    ids=["in each micro-step", "after them", "emptied each time"],
)
def test_where_a_sum_is_applied_and_emptied(
    content: str, in_micro_step: str, after: str, expected: set[str], tmp_path: Path
) -> None:
    program = SUMMED.format(content=content, in_micro_step=in_micro_step, after=after)
    assert codes_in(program, tmp_path) == expected


HANDED_ON = """
import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def compile(self, rate, **kwargs):
        {changed}
        super().compile(optimizer=tf.keras.optimizers.SGD(rate), loss="mse", **kwargs)


strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = Net()
    model.compile(
        rate=0.1,
        jit_compile=True,  # asked for
    )
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), batch_size=64 * strategy.num_replicas_in_sync)
"""


def test_a_keyword_is_reported_where_the_caller_wrote_it(tmp_path: Path) -> None:
    program = HANDED_ON.format(changed="pass")
    (found,) = findings_in(program, tmp_path)
    assert found.code == "GPU215"
    assert "# asked for" in program.splitlines()[found.span.row - 1]


def test_a_keyword_that_is_replaced_is_reported_where_it_is_used(tmp_path: Path) -> None:
    program = HANDED_ON.format(changed='kwargs["jit_compile"] = bool(1)')
    (found,) = findings_in(program, tmp_path)
    assert "super().compile" in program.splitlines()[found.span.row - 1]


WORKERS = """
import dataclasses
import json
import os
import sys

import tensorflow as tf


@dataclasses.dataclass
class Settings:
    workdir: str = "runs"


os.environ["TF_CONFIG"] = json.dumps(
    {{"cluster": {{"worker": ["a:1", "b:1"]}}, "task": {{"type": "worker", "index": int(os.environ["SLURM_PROCID"])}}}}
)
strategy = tf.distribute.MultiWorkerMirroredStrategy()
settings = Settings(**dict(pair.split("=") for pair in sys.argv[1:]))
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
data = tf.data.TFRecordDataset("a").batch(64 * strategy.num_replicas_in_sync)
saves = tf.keras.callbacks.ModelCheckpoint(os.path.join({folder}, "{{epoch}}.weights.h5"), save_weights_only=True)
model.fit(data, epochs=3, steps_per_epoch=10, callbacks=[saves])
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("settings.workdir", {"GPU703"}),
        ('settings.workdir, os.environ["SLURM_PROCID"]', set()),
    ],
)
def test_a_path_of_settings_is_one_for_all_workers(folder: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(WORKERS.format(folder=folder), tmp_path) - {"GPU705"} == expected


BY_HALVES = """
import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as tf1


class Scaler:
    def fit_generator(self, rows):
        return self


class Old:
    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.inputs = tf1.placeholder(tf.float32, [None, 4])
        self.session = tf1.Session(graph=self.graph)


model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
{used}
"""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("model.fit_generator(np.zeros((8, 4)))", {"GPU901"}),
        ("Scaler().fit_generator(np.zeros((8, 4)))", set()),
        ("print(Old().inputs)", set()),
    ],
)
def test_a_file_that_keeps_a_graph_beside_keras(used: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(BY_HALVES.format(used=used), tmp_path) == expected
