"""Programs that reach the reported code through a name, an annotation, a decorator or a tuple, with correct
look-alikes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import gpulint
from tests.checking import codes_in, findings_in, findings_of

PICKED = """
import sys

import tensorflow as tf

import nets


def make_small(units):
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(units)])


class Stages:
    def stage_one(self):
        return make_small(3)

    def stage(self, name):
        return getattr(self, f"stage_{name}")()


def table():
    return {function.__name__: function for function in (make_small, nets.large)}


name = sys.argv[1]
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    inside = PICK
    inside.compile("sgd", "mse")
inside.fit(tf.zeros((640, 4)), tf.zeros((640, 3)), batch_size=64 * strategy.num_replicas_in_sync)
OUTSIDE
"""
OUTSIDE = """
model = PICK
with strategy.scope():
    model.compile("sgd", "mse")
model.fit(tf.zeros((640, 4)), tf.zeros((640, 3)), batch_size=64 * strategy.num_replicas_in_sync)
"""
NETS = """
import tensorflow as tf


def small(units):
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(units)])


def large(units):
    return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(99), tf.keras.layers.Dense(units)])
"""


@pytest.mark.parametrize(
    "pick",
    [
        "getattr(nets, name)(3)",
        "vars(nets)[name](3)",
        'eval("make_" + name)(3)',
        'eval(f"nets.{name}")(3)',
        'eval("nets.small")(3)',
        'eval("make_small")(3)',
        'globals()[f"make_{name}"](3)',
        'globals().get("make_" + name)(3)',
        "Stages().stage(name)",
        "table()[name](3)",
    ],
)
def test_what_is_picked_by_name(pick: str, tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    assert codes_in(PICKED.replace("OUTSIDE", OUTSIDE).replace("PICK", pick), tmp_path) == {"GPU201"}
    assert codes_in(PICKED.replace("OUTSIDE", "").replace("PICK", pick), tmp_path) == set()


def test_a_name_of_which_nothing_is_known_picks_nothing_of_the_program_itself(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    for pick in ("globals()[name](3)", "eval(name)(3)", "eval(name + '.small')(3)", "getattr(Stages(), name)()"):
        assert codes_in(PICKED.replace("OUTSIDE", OUTSIDE).replace("PICK", pick), tmp_path) == set()


IMPORTED = """
import importlib
import sys
from importlib import import_module

import numpy as np

kind = sys.argv[1]
samples = np.zeros((1000, 4), "float32")
module = IMPORT
model = module.small(3)
for sample in samples:
    print(model.predict(np.expand_dims(sample, 0)))
"""


@pytest.mark.parametrize(
    "call",
    [
        'import_module("nets.plain")',
        'import_module("nets." + kind)',
        'importlib.import_module(f"nets.{kind}")',
        'import_module("nets.{}".format(kind))',
        'import_module("nets.%s" % kind)',
        'import_module("." + kind, "nets")',
        'import_module(f"tasks.{kind}.nets")',
        '__import__(f"nets.{kind}", fromlist=["small"])',
    ],
)
def test_a_module_that_is_imported_by_name(call: str, tmp_path: Path) -> None:
    for name in ("nets/__init__.py", "nets/plain.py", "nets/wide.py", "tasks/__init__.py", "tasks/digits/nets.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("" if name.endswith("__init__.py") else NETS)
    assert codes_in(IMPORTED.replace("IMPORT", call), tmp_path) == {"GPU503"}
    elsewhere = call.replace("nets.", "libs.").replace('"nets"', '"libs"').replace("tasks.", "libs.")
    assert codes_in(IMPORTED.replace("IMPORT", elsewhere), tmp_path) == set()


def test_a_module_that_is_put_beside_others_is_found(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/__init__.py").write_text("")
    (tmp_path / "main.py").write_text(IMPORTED.replace("IMPORT", 'import_module("nets." + kind)'))
    counts = []
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, "-m", "gpulint", "check", "--output-format", "json", "."],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        counts.append([finding["code"] for finding in json.loads(found.stdout)])
        (tmp_path / "nets/plain.py").write_text(NETS)
    assert counts == [[], ["GPU503"]]


TYPED = """
import numpy as np
import tensorflow as tf
from library import factory


def optimizer(config) -> tf.keras.optimizers.Optimizer:
    return factory.optimizer(config)


class Trainer:
    def __init__(self, config):
        self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])


{body}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "def show(trainer: Trainer, images):\n    for image in images:\n"
            "        print(trainer.model.predict(image[None]))",
            {"GPU503"},
        ),
        (
            "def show(trainer, images):\n    for image in images:\n        print(trainer.model.predict(image[None]))",
            set(),
        ),
        (
            "def show(model: 'tf.keras.Model', images):\n    for image in images:\n"
            "        print(model.predict(image[None]))",
            {"GPU503"},
        ),
        (
            "def train(model: tf.keras.Model, x, y):\n    strategy = tf.distribute.MirroredStrategy()\n"
            "    with strategy.scope():\n        model.compile('sgd', 'mse')\n    model.fit(x, y)",
            set(),
        ),
        (
            "def build(model: tf.keras.Model | None, images):\n    if model is None:\n"
            "        model = tf.keras.applications.ResNet50()\n    for image in images:\n"
            "        print(model.predict(image[None]))",
            {"GPU503"},
        ),
    ],
)
def test_annotated_parameters_of_functions_that_nobody_calls(body: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TYPED.format(body=body), tmp_path) == expected


LOOP = """
import CLI
import tensorflow as tf
from library import factory


def make(config)ANNOTATION:
    return factory.optimizer(config)


optimizer = make("adam")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


DECORATORdef main(steps=1000):
    for number, x in enumerate(tf.data.TFRecordDataset("a").batch(32)):
        step(x)
        if CONDITION:
            print("still here")


main()
"""


def loop(annotation: str = "", decorator: str = "", condition: str = "optimizer.iterations % 100 == 0") -> str:
    cli = decorator.lstrip("@").partition(".")[0].partition("\n")[0] or "json"
    text = LOOP.replace("ANNOTATION", annotation).replace("CLI", cli).replace("CONDITION", condition)
    return text.replace("DECORATOR", f"{decorator}\n" if decorator else "")


def test_an_annotated_result_of_a_library(tmp_path: Path) -> None:
    typed = " -> tf.keras.optimizers.Optimizer"
    assert codes_in(loop(typed), tmp_path) == {"GPU501"}
    assert codes_in(loop(typed, condition="number % 100 == 0"), tmp_path) == set()
    assert codes_in(loop(), tmp_path) == {"GPU501"}  # an object that applies the gradients of a tape is an optimizer


@pytest.mark.parametrize(
    ("decorator", "expected"),
    [
        ("@click.command()\n@click.option('--steps', default=1000)", {"GPU501"}),
        ("@hydra.main(config_path='conf')", {"GPU501"}),
        ("@gin.configurable", {"GPU501"}),
        ("@atexit.register", {"GPU501"}),
        ("@somebody.compiled", set()),
        ("@somebody.compiled(jit=True)", set()),
    ],
)
def test_decorators_that_trace_nothing(decorator: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(loop(" -> tf.keras.optimizers.Optimizer", decorator), tmp_path) == expected


@pytest.mark.parametrize("decorator", ["@gin.configurable", "@gin.configurable('data')", "@gin.register(module='a')"])
def test_gin_gives_arguments_that_nobody_writes(decorator: str, tmp_path: Path) -> None:
    program = f"""
import gin
import tensorflow as tf

{decorator}
def files(pattern=None):
    if pattern is None:
        raise ValueError("no files")
    return tf.data.TFRecordDataset(pattern)

{decorator}
class Options:
    def __init__(self, pattern=None):
        if pattern is None:
            raise ValueError("no files")

data = files()
options = Options()
strategy = tf.distribute.MirroredStrategy()
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
with strategy.scope():
    model.compile("sgd", "mse")
"""
    assert codes_in(program, tmp_path) == {"GPU201"}


def test_a_tuple_that_branches_return_is_taken_apart(tmp_path: Path) -> None:
    program = """
import sys

import tensorflow as tf


def build(wide):
    if wide:
        return tf.keras.Sequential([tf.keras.Input((9,)), tf.keras.layers.Dense(3)]), tf.distribute.MirroredStrategy()
    return tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(3)]), tf.distribute.MirroredStrategy()


model, strategy = build(len(sys.argv) > 1)
with strategy.scope():
    model.compile("sgd", "mse")
"""
    assert [(one.code, one.span.row) for one in findings_in(program, tmp_path)] == [("GPU201", 9), ("GPU201", 10)]


ON_CPU = """
import tensorflow as tf


def train(data, optimizer, model, limit):
    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss, optimizer.iterations - 1

    for x in data:
        loss, number = step(x)
        print(float(loss))
        if number.numpy() % 10 == 0:
            print(number)
        if number == limit:
            break


def main(data, limit):
    with tf.device("{device}"):
        model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
        train(data, tf.keras.optimizers.Adam(), model, limit)
"""


def test_what_is_computed_in_a_scope_of_the_cpu_is_on_the_host(tmp_path: Path) -> None:
    assert "GPU501" in codes_in(ON_CPU.format(device="/gpu:0"), tmp_path)
    assert codes_in(ON_CPU.format(device="/cpu:0"), tmp_path) == set()


SEARCH = """
import os

import tensorflow as tf


def newest(pattern, data):
    for epoch in range(100, 0, -1):
        path = pattern.format(epoch=epoch)
        if os.path.exists(path):
            model = tf.keras.models.load_model(path)
            model.fit(data)
            {then}


def again(data):
    while True:
        try:
            model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
            model.compile("sgd", "mse")
            model.fit(data)
            {finally_}
        except tf.errors.UnavailableError:
            continue
"""


def test_a_loop_that_ends_with_the_first_model(tmp_path: Path) -> None:
    rows = [one.span.row for one in findings_in(SEARCH.format(then="model.save(path)", finally_="pass"), tmp_path)]
    assert rows == [11, 19]
    assert codes_in(SEARCH.format(then="return model", finally_="break"), tmp_path) == set()


TAPES = """
import tensorflow as tf
from library import helper

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.SGD()


def update(tape, loss):
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def step(x):
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_mean(model(x))
    {use}


for x in tf.data.TFRecordDataset("a").batch(32):
    step(x)
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("gradients = tape.gradient(loss, model.trainable_variables)", {"GPU308"}),
        ("update(tape, loss); update(tape, loss * 2)", set()),
        ("gradients = tape.gradient(loss, model.trainable_variables); helper(tape)", set()),
    ],
)
def test_a_tape_that_others_have(use: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(TAPES.format(use=use), tmp_path) & {"GPU308"} == expected


ROWS = """
import tensorflow as tf

model = tf.keras.applications.ResNet50()


def run(data, batch_size):
    for i in range({rounds}):
        print(model.predict({given}))
"""


@pytest.mark.parametrize(
    ("rounds", "given", "expected"),
    [
        ("len(data) // 50", "data[i * 50 : (i + 1) * 50]", {"GPU503"}),
        ("len(data) // 50", "data[50 * i : 50 * i + 50]", {"GPU503"}),
        ("0, len(data), batch_size", "data[i : i + batch_size]", {"GPU503"}),
        ("len(data)", "data[[i]]", {"GPU503"}),
        ("0, len(data), 100_000", "data[i : i + 100_000]", set()),
        ("len(data)", "data[['column']]", set()),
        ("len(data)", "data[: i * 50]", set()),
    ],
)
def test_predict_of_the_next_rows(rounds: str, given: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(ROWS.format(rounds=rounds, given=given), tmp_path) == expected


STRATEGIES = """
import sys

import tensorflow as tf

CHOICES = {{}}


def register(name):
    def put(function):
        CHOICES[name] = function
        return function
    return put


@register("one")
def one():
    return tf.distribute.MirroredStrategy()


@register("two")
def two():
    return tf.distribute.experimental.CentralStorageStrategy()


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
            self.optimizer = tf.keras.optimizers.SGD()
            self.metric = tf.keras.metrics.Mean()

    def step(self, x):
        self.metric.update_state(self.model(x))

    @tf.function
    def run(self, x):
        self.strategy.run(self.step, args=(x,))


strategy = CHOICES[sys.argv[1]]()
trainer = Trainer({given})
batch = 32 * strategy.num_replicas_in_sync
for x in strategy.experimental_distribute_dataset(tf.data.TFRecordDataset("a").batch(batch)):
    trainer.run(x)
"""


def test_objects_of_the_strategy_that_was_chosen(tmp_path: Path) -> None:
    assert codes_in(STRATEGIES.format(given="strategy"), tmp_path) == set()


WIDE = """
import sys

import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self, debug):
        super().__init__()
        self.dense = tf.keras.layers.Dense(2)
        self.modes = [False] * 5
        self.debug = debug
        self.wrap_all()

    def wrap(self, function):
        return function if self.debug else tf.function(function)

    def wrap_all(self):
        self.train = self.wrap(self._train)
        self.validate = self.wrap(self._validate)

    def _train(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self.dense(x))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {{"loss": loss}}

    def _validate(self, x):
        return tf.reduce_mean(self.dense(x))

    def switch(self, a, b, c, d):
        if a:
            self.wrap_all()
        if b:
            self.wrap_all()
        if c:
            self.wrap_all()
        if d:
            self.wrap_all()


net = Net("debug" in sys.argv)
net.compile("sgd", "mse")
losses = []
for number, x in enumerate(tf.data.TFRecordDataset("a").batch(32)):
    net.switch(number > net.first, number > net.second, number > net.third, number > net.fourth)
    out = net.train(x)
    {read}
"""


def test_a_step_that_many_paths_lead_to_is_taken_in_every_round(tmp_path: Path) -> None:
    assert codes_in(WIDE.format(read="losses.append(float(out['loss']))"), tmp_path) == {"GPU501"}
    guarded = "if number % 100 == 0:\n        losses.append(float(out['loss']))"
    assert codes_in(WIDE.format(read=guarded), tmp_path) == set()


USED_BY_ONE = """
import horovod.tensorflow.keras as hvd
import tensorflow as tf

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
checkpoint = tf.keras.callbacks.ModelCheckpoint("best.keras")
start = hvd.callbacks.BroadcastGlobalVariablesCallback(0)
{callbacks}
model.fit(tf.zeros((640, 4)), tf.zeros((640, 1)), callbacks=callbacks)
"""


@pytest.mark.parametrize(
    ("callbacks", "expected"),
    [
        ("callbacks = [checkpoint, start] if hvd.rank() == 0 else [start]", set()),
        ("callbacks = [checkpoint, start] if hvd.rank() == 0 else [start, checkpoint]", {"GPU703"}),
        ("callbacks = [start, checkpoint]", {"GPU703"}),
    ],
)
def test_a_callback_that_one_worker_is_given(callbacks: str, expected: set[str], tmp_path: Path) -> None:
    assert codes_in(USED_BY_ONE.format(callbacks=callbacks), tmp_path) == expected


WRAPPING = """
import functools


def prepared(function):
    @functools.wraps(function)
    def wrapper(self, *arguments):
        self.count = 0
        function(self, *arguments)

    return wrapper
"""
WRAPPED = """
import tensorflow as tf
from common import prepared


class NAME:
    @prepared
    def train(self, strategy):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        with tf.distribute.MirroredStrategy().scope():
            model.compile("sgd", "mse")
"""


def test_what_others_wrap_is_not_called_where_they_wrap_something_else(tmp_path: Path) -> None:
    (tmp_path / "common.py").write_text(WRAPPING)
    for name in ("First", "Second"):
        (tmp_path / f"{name.lower()}.py").write_text(WRAPPED.replace("NAME", name))
    (tmp_path / "main.py").write_text("from first import First\n\nFirst().train(None)\n")
    found = [one for one in findings_of(gpulint.check_paths([tmp_path])) if one.code == "GPU201"]
    assert sorted(Path(one.span.path).name for one in found) == ["first.py", "second.py"]


ONE_OF_TEN = """
import sys

import tensorflow as tf


def pinned({parameters}):
    with tf.device(device):
        return tf.zeros(4)


{others}
KINDS = {{"pinned": pinned, {named}}}
print(KINDS[sys.argv[1]]({given}))
"""


@pytest.mark.parametrize(
    ("parameters", "given", "expected"),
    [
        ("device, rows", "'/gpu:0', 4", {"GPU101"}),
        ("device, *rows", "'/gpu:0', 4", {"GPU101"}),
        ("device, rows, more=1", "'/gpu:0', 4", {"GPU101"}),
        ("device", "'/gpu:0', 4", set()),
        ("device, rows, more", "'/gpu:0', 4", set()),
        ("device, rows", "'/gpu:0', rows=4", {"GPU101"}),
        ("device, *, rows", "'/gpu:0', rows=4", {"GPU101"}),
        ("device, **rows", "'/gpu:0', rows=4", {"GPU101"}),
        ("device, more=1", "'/gpu:0', rows=4", set()),
        ("device, rows, more", "'/gpu:0', rows=4", set()),
    ],
)
def test_of_many_functions_those_that_take_the_arguments(
    parameters: str, given: str, expected: set[str], tmp_path: Path
) -> None:
    others = "\n\n".join(f"def kind_{n}(device, rows=1):\n    return tf.ones(rows)\n" for n in range(9))
    named = ", ".join(f"'{n}': kind_{n}" for n in range(9))
    program = ONE_OF_TEN.format(parameters=parameters, others=others, named=named, given=given)
    assert codes_in(program, tmp_path) == expected
