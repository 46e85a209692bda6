"""Pairs of programs whose findings depend on an option, on what Keras calls, or on another function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checking import codes_in

CHOSEN = """
import sys

import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
network, optimizer = sys.argv[1:]
{before}
with strategy.scope():
{inside}
    model.compile(optimizer=optimizer, loss="mse")
model.fit(tf.zeros((64, 224, 224, 3)), tf.zeros((64, 1000)), batch_size=8 * strategy.num_replicas_in_sync)
"""
MODEL = "model = getattr(tf.keras.applications, network)(weights=None)"
NAMED = "optimizer = getattr(tf.keras.optimizers, optimizer)(1e-3)"
GOT = 'optimizer = tf.keras.optimizers.get("adam")'


@pytest.mark.parametrize(
    ("before", "inside", "expected"),
    [
        (MODEL, NAMED, {"GPU201"}),
        (NAMED, MODEL, {"GPU202"}),
        (GOT, MODEL, {"GPU202"}),
        ("", f"{MODEL}\n    {NAMED}", set()),
        ("", f"{MODEL}\n    {GOT}", set()),
    ],
    ids=["a model", "an optimizer", "an optimizer by its name", "both inside", "both inside, one by its name"],
)
def test_a_class_that_is_chosen_by_name(before: str, inside: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(CHOSEN.format(before=before, inside=f"    {inside}"), tmp_path) == expected


DISTRIBUTED = """
import sys

import tensorflow as tf

from somewhere import load


def make_strategy(kind):
    if kind == "cpu":
        return tf.distribute.OneDeviceStrategy("/cpu:0")
    return tf.distribute.MirroredStrategy()


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        self.data = {data}

    @tf.function
    def step(self, batch):
        return self.strategy.run(tf.reduce_sum, args=(batch,))

    def fit(self):
        for batch in self.data:
            self.step(batch)


Trainer(make_strategy(sys.argv[1])).fit()
"""


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("strategy.experimental_distribute_dataset(load())", set()),
        ("tf.data.TFRecordDataset(load())", {"GPU205"}),
    ],
    ids=["each strategy divides it", "none does"],
)
def test_data_of_one_of_two_strategies(data: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(DISTRIBUTED.format(data=data), tmp_path) == expected


WATCHED = """
import sys

import tensorflow as tf


class Watch(tf.keras.callbacks.Callback):
    def __init__(self, directory):
        super().__init__()
        self.directory = directory

    def on_train_begin(self, logs=None):
        tf.profiler.experimental.start(self.directory)

    def on_train_end(self, logs=None):
        {end}


def train(callbacks):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), callbacks=callbacks)


if "train" in sys.argv:
    train([Watch("logs")])
{other}
"""


@pytest.mark.parametrize(
    ("end", "other", "expected"),
    [
        ("pass", "", {"GPU506"}),
        ("tf.profiler.experimental.stop()", "", set()),
        ("pass", "if 'plain' in sys.argv:\n    train([])", set()),
    ],
    ids=["in every training", "stopped", "in one of two kinds of training"],
)
def test_a_callback_that_profiles(end: str, other: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(WATCHED.format(end=end, other=other), tmp_path) == expected


READING = """
import tensorflow as tf


class Read(tf.keras.callbacks.Callback):
    def __init__(self, probe):
        super().__init__()
        self.probe = probe

    def {method}(self, number, logs=None):
        print(float(tf.reduce_mean(self.model(self.probe))))


model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.zeros((64, 4)), tf.zeros((64, 1)), callbacks=[Read(tf.zeros((8, 4)))])
"""


@pytest.mark.parametrize(("method", "expected"), [("on_train_batch_end", {"GPU501"}), ("on_epoch_end", set())])
def test_a_callback_that_reads(method: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(READING.format(method=method), tmp_path) == expected


SUMMED = """
import tensorflow as tf


class Sums:
    def __init__(self, variables):
        self.sums = [tf.Variable(tf.zeros_like(one), trainable=False) for one in variables]

    def add(self, gradients):
        for one, gradient in zip(self.sums, gradients):
            one.assign_add(gradient)

    def empty(self):
        for one in self.sums:
            one.assign(tf.zeros_like(one))


model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
sums = Sums(model.trainable_variables)


def update():
    optimizer.apply_gradients(zip(sums.sums, model.trainable_variables))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    sums.add(tape.gradient(loss, model.trainable_variables))
{each}


def train(data):
    for number, x in enumerate(data):
        step(x)
        if (number + 1) % 8 == 0:
{rare}
            sums.empty()


train(tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))).batch(2))
"""


@pytest.mark.parametrize(
    ("each", "rare", "expected"),
    [("    update()", "", {"GPU212"}), ("", "            update()", set())],
    ids=["at every micro-step", "when they are full"],
)
def test_sums_of_gradients_in_other_functions(each: str, rare: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SUMMED.format(each=each, rare=rare), tmp_path) == expected


SCHEDULED = """
import tensorflow as tf

weight = tf.Variable(tf.ones((4,)))


class Schedule:
    def __init__(self, steps):
        self.steps = steps

    def ratio(self, step):
        return {ratio}


@tf.function
def update(x, ratio):
    weight.assign_sub(0.1 * ratio * x)


def train(schedule, data):
    step = 0
    for x in data:
        update(x, schedule.ratio(step))
        step += 1


train(Schedule(1000), tf.data.Dataset.from_tensor_slices(tf.zeros((64, 4))))
"""


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [("max(0.1, 1 - step / self.steps)", {"GPU504"}), ("max(0.1, 1 / self.steps)", set())],
    ids=["of the step", "always the same"],
)
def test_a_number_that_a_schedule_gives(ratio: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SCHEDULED.format(ratio=ratio), tmp_path) == expected


ROUNDS = """
import tensorflow as tf


def build():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model


def ensemble(x, y, size):
    members = []
    for seed in range(size):
        model = build()
        model.fit(x, y)
        members.append(model)
    return members


def rounds(clients):
    weights = []
    for client in clients:
        model = {model}
        model.fit(client.x, client.y)
        weights.append(model.get_weights())
    return weights
"""


@pytest.mark.parametrize(
    ("model", "expected"), [("build()", {"GPU305"}), ("client.model", set())], ids=["made", "of the client"]
)
def test_models_of_rounds_beside_an_ensemble(model: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ROUNDS.format(model=model), tmp_path) == expected


HALF = """
import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encode = tf.keras.layers.Dense(8)
        self.decode = tf.keras.layers.Dense(4{dtype})

    def call(self, x):
        return self.decode(tf.reduce_mean(self.encode(x), axis=1))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
            scaled = {scaled}
        gradients = tape.gradient(scaled, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {{"loss": loss}}


model = Net()
model.compile("adam", "mse")
model.fit(tf.zeros((64, 3, 4)), tf.zeros((64, 4)))
"""
SCALED = "self.optimizer.scale_loss(loss)"


@pytest.mark.parametrize(
    ("dtype", "scaled", "expected"),
    [
        ("", SCALED, {"GPU602"}),
        (', dtype="float32"', "loss", {"GPU601"}),
        (', dtype="float32"', SCALED, set()),
    ],
    ids=["a float16 output", "an unscaled loss", "neither"],
)
def test_a_loss_that_the_model_computes(dtype: str, scaled: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(HALF.format(dtype=dtype, scaled=scaled), tmp_path) == expected


SERVED = """
import json
import os
import sys

import tensorflow as tf

print(json.loads(os.environ["TF_CONFIG"]))


def main(mode, chief):
    if mode == "serve":
        return
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    {save}


main(*sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("save", "expected"),
    [('model.save("model.keras")', {"GPU703"}), ('if chief:\n        model.save("model.keras")', set())],
    ids=["in the mode that trains", "by the chief"],
)
def test_a_model_that_workers_save(save: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(SERVED.format(save=save), tmp_path) == expected


EAGER = """
import tensorflow as tf
{before}


class Supervisor(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.dense = tf.keras.layers.Dense(4)

    def call(self, x):
        return self.dense(x)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.supervisor = Supervisor()

    def call(self, x):
        return self.supervisor(x)
{decorator}
    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, self.call(x))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))

    def train_on_batch(self, x, y):
        self._step(x, y)


net = Net()
net.compile(tf.keras.optimizers.Adam(), loss=lambda y, p: tf.reduce_mean((y - p) ** 2))
for step in range(1000):
    net.train_on_batch(tf.zeros((8, 4)), tf.zeros((8, 4)))
"""
SESSION = "session = tf.compat.v1.InteractiveSession(config=tf.compat.v1.ConfigProto())"


@pytest.mark.parametrize(
    ("before", "decorator", "expected"),
    [
        ("", "", {"GPU508"}),
        (SESSION, "", {"GPU508"}),
        ("", "    @tf.function", set()),
        ("tf.compat.v1.disable_eager_execution()", "", set()),
    ],
    ids=["a class that is called like TF1's", "a session that sets options", "compiled", "TF1"],
)
def test_an_eager_step(before: str, decorator: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(EAGER.format(before=before, decorator=decorator), tmp_path) == expected


LEARNS = """
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""

STEP = (
    LEARNS
    + """
data = tf.data.Dataset.from_tensor_slices(np.zeros((6400, 4), "float32")).batch(8)


def test(data):
    kept = []
    for x in data:
        for _ in range(20):
            step(x)
        kept.append(model(x))
    return np.mean(kept)


def augmented(x):
    {chance}
        x = x[::-1]
    return x


{program}
"""
)
DRAWN = "if tf.random.uniform([]) < 0.5:"


@pytest.mark.parametrize(
    ("chance", "program", "expected"),
    [
        (DRAWN, "for x in data:\n    step(augmented(x))", {"GPU501"}),
        ("if np.random.uniform() < 0.5:", "for x in data:\n    step(augmented(x))", set()),
        (DRAWN, "for x in data:\n    step(x)\nprint(augmented(x))", set()),
        (DRAWN, "print(test(data.repeat().take(1000)))", set()),
        (DRAWN, "print(test(data.repeat(1000)))", {"GPU307"}),
    ],
    ids=["drawn on the device", "drawn on the host", "drawn once", "samples of a test", "all samples of a test"],
)
def test_what_each_round_reads_and_keeps(chance: str, program: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(STEP.format(chance=chance, program=program), tmp_path) == expected


MAPPED = """
import random

import tensorflow as tf


def chosen(paths):
    return random.choice(list(paths.numpy())), 1.0


def load(path, label):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), (64, 64)), label


data = tf.data.Dataset.from_tensor_slices([["a.jpg", "b.jpg"]] * 64)
data = data.map(lambda paths: tf.py_function(chosen, inp=[paths], Tout=[{first}, tf.float32]))
model = tf.keras.Sequential([tf.keras.Input((64, 64, 3)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data.map(load).batch(8))
"""


@pytest.mark.parametrize(
    ("first", "expected"),
    [("tf.string", set()), ("tf.float32", {"GPU402", "GPU404"})],
    ids=["names", "numbers"],
)
def test_what_python_gives_in_a_pipeline(first: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(MAPPED.format(first=first), tmp_path) == expected


RESULTS = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


@tf.function
def run(batch):
    return strategy.run(lambda x: {{"scores": x, "names": x}}, args=(batch,))


for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.range(64).batch(8)):
    results = run(batch)
    {apart}
    for key in results:
        print(results[key][0].numpy())
"""


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ("for key in results:\n        results[key] = strategy.experimental_local_results(results[key])", set()),
        ("pass", {"GPU214"}),
    ],
    ids=["taken apart", "as they are"],
)
def test_a_dict_of_what_replicas_gave(apart: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(RESULTS.format(apart=apart), tmp_path) & {"GPU214"} == expected


NOTED = (
    LEARNS
    + """


class {owner}:
    def __init__(self):
        self.rows = {{}}

    def store(self, **values):
        for name, value in values.items():
            self.rows.setdefault(name, []).append(value)


kept = {owner}()
for x in tf.data.Dataset.from_tensor_slices(tf.zeros((6400, 4))).batch(8):
    kept.store(loss=step(x).numpy())
"""
)


@pytest.mark.parametrize(("owner", "expected"), [("EpochLogger", {"GPU501"}), ("ReplayBuffer", set())])
def test_what_is_read_for(owner: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(NOTED.format(owner=owner), tmp_path) == expected


HEADLESS = """
import sys

import tensorflow as tf

tf.keras.mixed_precision.set_global_policy("mixed_float16")


def build(classes):
    inputs = tf.keras.Input((8,))
    x = tf.keras.layers.Dense(8)(inputs)
    x = tf.keras.layers.Activation("linear")(x)
    if classes > 0:
        x = tf.keras.layers.Dense(classes, activation="softmax"{dtype})(x)
    return tf.keras.Model(inputs, x)


model = build(int(sys.argv[1]))
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(tf.zeros((64, 8)), tf.zeros((64,)))
"""


@pytest.mark.parametrize(("dtype", "expected"), [(', dtype="float32"', set()), ("", {"GPU602"})])
def test_a_model_that_may_have_no_head(dtype: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(HEADLESS.format(dtype=dtype), tmp_path) == expected


EACH = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
BATCH = 64
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    losses = tf.keras.losses.MeanSquaredError(reduction={reduction})


def step(x):
    with tf.GradientTape() as tape:
        loss = losses(tf.ones_like(x), model(x)) + losses(tf.zeros_like(x), model(x))
        loss = {loss}
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


@tf.function
def train(x):
    strategy.run(step, args=(x,))


data = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(BATCH * strategy.num_replicas_in_sync)
for x in strategy.experimental_distribute_dataset(data):
    train(x)
"""


@pytest.mark.parametrize(
    ("reduction", "loss", "expected"),
    [
        ('"none"', "loss", {"GPU208"}),
        ("tf.keras.losses.Reduction.NONE", "0.5 * loss", {"GPU208"}),
        ('"none"', "tf.reduce_mean(loss)", {"GPU208"}),
        ('"none"', "tf.nn.compute_average_loss(loss, global_batch_size=BATCH)", {"GPU208"}),
        (
            '"none"',
            "tf.nn.compute_average_loss(loss, global_batch_size=BATCH * strategy.num_replicas_in_sync)",
            set(),
        ),
        ('"none"', "tf.reduce_sum(loss) / (BATCH * strategy.num_replicas_in_sync)", set()),
        ('"none"', "loss / strategy.num_replicas_in_sync", set()),
        ('"sum_over_batch_size"', "loss", set()),
    ],
)
def test_losses_of_each_example(reduction: str, loss: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(EACH.format(reduction=reduction, loss=loss), tmp_path) == expected
