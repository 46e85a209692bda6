"""Pairs of programs with two alternatives: of a dataset, of the way to a model, of the end of a sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in, findings_in

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


FOLDS = """
import sys

import numpy as np
import tensorflow as tf
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold


def build(**params):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(params.get("width", 8))])
    model.compile("sgd", "mse"{eager})
    return model


def search(x, y):
    for width in range(4, 90):
        tf.keras.backend.clear_session()
        build(**dict(pair.split("=") for pair in sys.argv[1:])).fit(x, y)


def validate(x, y):
    for train, test in KFold(10).split(x):
        Ridge().fit(x[train], y[train])
        {clear}
        model = build(**dict(pair.split("=") for pair in sys.argv[1:]))
        model.fit(x[train], y[train])


x, y = np.load("x.npy"), np.load("y.npy")
search(x, y)
validate(x, y)
"""


@pytest.mark.parametrize(
    ("eager", "clear", "expected"),
    [
        ("", "pass", {"GPU305"}),
        ("", "tf.keras.backend.clear_session()", set()),
        (", run_eagerly=True", "tf.keras.backend.clear_session()", {"GPU506"}),
    ],
)
def test_models_of_two_loops_beside_those_of_another_library(
    eager: str, clear: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(FOLDS.format(eager=eager, clear=clear), tmp_path) == expected


FALLEN_BACK = """
import sys

import tensorflow as tf


def mirrored():
    try:
        return tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())
    except (RuntimeError, ValueError):
        return {fallback}


def single():
    return tf.distribute.OneDeviceStrategy("/gpu:0")


strategy = {{"mirrored": mirrored, "single": single}}[sys.argv[1]]()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), batch_size=64 * strategy.num_replicas_in_sync)
"""


@pytest.mark.parametrize(
    ("fallback", "expected"),
    [
        ('tf.distribute.OneDeviceStrategy("/gpu:0")', {"GPU101"}),
        ("tf.distribute.MirroredStrategy()", set()),
        ('tf.distribute.OneDeviceStrategy("/cpu:0")', set()),
    ],
)
def test_a_fall_back_in_one_of_several_factories(fallback: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(FALLEN_BACK.format(fallback=fallback), tmp_path) == expected


AROUND_A_TAPE = """
import horovod.tensorflow as hvd
import tensorflow as tf

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]


@tf.function
def micro_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x))) / 4
    tape = hvd.DistributedGradientTape(tape)
    for total, gradient in zip(sums, tape.gradient(loss, model.trainable_variables)):
        total.assign_add(gradient)
    {each_time}


def finish():
    {now_and_then}
    for total in sums:
        total.assign(tf.zeros_like(total))


for step, x in enumerate(tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64)):
    micro_step(x)
    if (step + 1) % 4 == 0:
        finish()
    if step == 0:
        hvd.broadcast_variables(model.variables, root_rank=0)
"""
APPLY = "optimizer.apply_gradients(zip(sums, model.trainable_variables))"


@pytest.mark.parametrize(
    ("each_time", "now_and_then", "expected"), [(APPLY, "pass", {"GPU212"}), ("pass", APPLY, set())]
)
def test_a_sum_of_the_gradients_of_a_wrapped_tape(
    each_time: str, now_and_then: str, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(AROUND_A_TAPE.format(each_time=each_time, now_and_then=now_and_then), tmp_path) == expected


STEPS = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD()
count = tf.Variable(0, dtype=tf.int64)
rate = tf.Variable(0.1)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        y = model(x)
        loss = tf.reduce_mean(tf.square(y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return y, loss


for x in tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64).repeat(9):
    y, loss = train_step(x)
    {each_step}
"""


@pytest.mark.parametrize(
    ("each_step", "expected"),
    [
        ("assert tf.reduce_all(tf.math.is_finite(loss))", {"GPU501"}),
        ("if count < 100: print('warming up')", {"GPU501"}),
        ("rate.assign((loss * 0.1).numpy())", {"GPU501"}),
        ("rate.assign(loss * 0.1)", set()),
        ("height, width = y.shape; print(np.array([height, width]))", set()),
    ],
)
def test_what_each_step_asks_of_the_device(each_step: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEPS.format(each_step=each_step), tmp_path) == expected


SHOWN = """
import glob

import cv2
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((8, 8, 3)), tf.keras.layers.Dense(1)])
for path in glob.glob("*.jpg"):
    image = cv2.imread(path)
    plt.imshow(model.predict(np.expand_dims(image, 0))[0])
    {then}
"""


@pytest.mark.parametrize(
    ("then", "expected"),
    [
        ("plt.show()", set()),
        ("cv2.waitKey(0)", set()),
        ("cv2.waitKey()", set()),
        ("input('next?')", set()),
        ("cv2.waitKey(1)", {"GPU503"}),
        ("plt.savefig(path)", {"GPU503"}),
        ("if path.startswith('a'): plt.show()", {"GPU503"}),
    ],
)
def test_a_loop_that_waits_for_a_person(then: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SHOWN.format(then=then), tmp_path) == expected


GROWTH = """
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--growth", type=lambda text: text == "True", default="False")
options = parser.parse_args()
gpu = tf.config.list_physical_devices("GPU")[0]
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, {growth})
    tf.config.set_logical_device_configuration(gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=1024)])
print(tf.zeros(4))
"""


@pytest.mark.parametrize(("growth", "expected"), [("True", {"GPU306"}), ("options.growth", set()), ("False", set())])
def test_growth_that_a_flag_asks_for(growth: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(GROWTH.format(growth=growth), tmp_path) == expected


SPLIT = """
import tensorflow as tf

names = [device.name for device in tf.config.list_logical_devices("GPU"){condition}]


class Towers:
    def __init__(self, devices):
        self.first, self.second = devices[0], devices[{second}]
        with tf.device(self.first):
            self.user = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8)])
        with tf.device(self.second):
            self.item = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8)])

    @tf.function
    def scores(self, x, y):
        with tf.device(self.first):
            u = self.user(x)
        with tf.device(self.second):
            v = self.item(y)
        return tf.concat([u, v], axis=-1)


towers = Towers(names)
print(towers.scores(tf.zeros((8, 4)), tf.zeros((8, 4))))
"""


@pytest.mark.parametrize(
    ("condition", "second", "expected"), [("", 1, {"GPU102"}), ("", 0, set()), (" if device.name[-1] != '0'", 1, set())]
)
def test_names_of_logical_devices_in_their_order(
    condition: str, second: int, expected: set[str], tmp_path: Path
) -> None:
    assert codes_in(SPLIT.format(condition=condition, second=second), tmp_path) == expected


OUTSIDE = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
optimizer = tf.keras.optimizers.Adam()
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), batch_size=64 * strategy.num_replicas_in_sync)
"""


@pytest.mark.parametrize(("pinned", "expected"), [("2.10.1", set()), ("2.11.0", {"GPU202"}), ("2.21.0", {"GPU202"})])
def test_optimizers_of_old_releases_make_their_variables_late(pinned: str, expected: set[str], tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(f"tensorflow=={pinned}\n")
    assert codes_in(OUTSIDE, tmp_path) == expected


NOW_AND_THEN = """
import getopt
import sys

import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
every = 500
options, _ = getopt.getopt(sys.argv[1:], "b:e:n:")
for option, value in options:
    if option == "-b":
        batch_size = int(value)
    elif option == "-e":
        every = int(value)
    elif option == "-n":
        if int(value) == 0:
            mean = 0.0


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        y = model(x)
        loss = tf.reduce_mean(tf.square(y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return y, loss


for step, x in enumerate(tf.data.Dataset.from_tensor_slices(np.load("x.npy")).batch(64)):
    y, loss = train_step(x)
    {each_step}
"""


@pytest.mark.parametrize(
    ("each_step", "expected"),
    [
        ("if step % every == 0 and not step == 0: print(loss.numpy())", set()),
        ("if step % every == 0 or not step == 0: print(loss.numpy())", set()),
        ("print(step % every, loss.numpy())", {"GPU501"}),
        ("noise = tf.constant(np.square(loss.numpy()))", {"GPU502"}),
        ("places = tf.range(np.square(loss.numpy()))", {"GPU501"}),
    ],
)
def test_conditions_on_one_of_many_numbers(each_step: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(NOW_AND_THEN.format(each_step=each_step), tmp_path) == expected
