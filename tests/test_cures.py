"""Cures and costs that depend on the case, and the marks that the text output explains."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint.cli.main import main
from gpulint.linting.finding import Finding
from tests.checking import findings_in, only_finding

MODEL = """
import random
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
accuracy = tf.keras.metrics.Mean()
data = tf.data.Dataset.from_tensor_slices(tf.zeros((640, 4))).batch(64)
"""

COMPILED = """
@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


kept, values = [], np.zeros(1000)
for i, x in enumerate(data):
    loss = train_step(x)
    accuracy.update_state(loss)
    {after}
"""

EAGER = """
class Agent:
    def learn(self, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


agent = Agent()
for x in data:
    agent.learn(x)
"""

IN_LOOP = """
for x in data:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""

REPLICAS = """
strategy = tf.distribute.MirroredStrategy()


@tf.function
def step():
    return strategy.run(lambda: tf.constant(1.0))


for _ in range(1000):
    lost = step()
    print({read})
"""

CREATED = """
def create():
    @tf.function
    def step(x):
        return model(x)

    return step


for epoch in range(1000):
    step = create()
    {called}
"""


def _only(code: str, program: str, directory: Path) -> Finding:
    return only_finding(code, MODEL + program, directory)


@pytest.mark.parametrize(
    ("after", "message", "cure"),
    [
        ("values[i] = loss", "an assignment to a NumPy array reads a device tensor", "compute the whole array"),
        ("print(np.mean(loss))", "`np.mean` reads a device tensor", "use `tf.reduce_mean`"),
        ("print(np.median(loss))", "`np.median` reads a device tensor", "use TensorFlow operations"),
        ("print(f'{loss:.3f}')", "string formatting reads a device tensor", "read it every hundred steps"),
        ("print(float(accuracy.result()))", "`float()` reads a device tensor", "read the metric every hundred steps"),
    ],
)
def test_a_read_is_cured_by_how_it_reads(after: str, message: str, cure: str, tmp_path: Path) -> None:
    found = _only("GPU501", COMPILED.format(after=after), tmp_path)
    assert found.message == f"{message} in every step" and found.instead.startswith(cure)


def test_a_container_is_named(tmp_path: Path) -> None:
    epochs = "for epoch in range(1000):\n    for x in data:\n        train_step(x)\n        kept.append(model(x))\n"
    found = _only("GPU307", f"{COMPILED.format(after='pass')}{epochs}", tmp_path)
    assert found.message == "every step adds a device tensor to `kept`"


@pytest.mark.parametrize(
    ("program", "cure"),
    [
        (EAGER, "decorate `learn` with `@tf.function`, and pass its data as tensor arguments"),
        (
            IN_LOOP,
            "move the whole step, from the forward pass to the update, into a function decorated with `@tf.function`",
        ),
    ],
)
def test_a_step_that_is_a_function_is_decorated(program: str, cure: str, tmp_path: Path) -> None:
    assert _only("GPU508", program, tmp_path).instead.startswith(cure)


@pytest.mark.parametrize(
    ("loop", "cure"),
    [
        ("for x in np.zeros((1000, 4)):\n    print(model.predict(x[None]))\n", "predict all samples in one call if"),
        (f"{IN_LOOP}    print(model.predict(x))\n", "call `model.predict_on_batch(x)`, or `model(x)` in a"),
    ],
)
def test_predictions_beside_training_are_not_made_at_once(loop: str, cure: str, tmp_path: Path) -> None:
    assert _only("GPU503", loop, tmp_path).instead.startswith(cure)


@pytest.mark.parametrize(("read", "name"), [("float(lost)", "lost"), ("float(lost + 1)", "value")])
def test_a_value_per_replica_is_called_by_its_name(read: str, name: str, tmp_path: Path) -> None:
    found = [one for one in findings_in(MODEL + REPLICAS.format(read=read), tmp_path) if one.code == "GPU214"]
    assert f"ReduceOp.SUM, {name}, axis=None)" in found[0].instead


@pytest.mark.parametrize(
    ("called", "cost"),
    [
        ("step(tf.zeros((8, 4)))", "about 20× slower for small models"),
        ("for x in data:\n        step(x)", ""),
    ],
)
def test_a_function_per_epoch_costs_one_trace_per_epoch(called: str, cost: str, tmp_path: Path) -> None:
    found = _only("GPU505", CREATED.format(called=called), tmp_path)
    assert found.cost == cost
    assert [one.message for one in found.related] == ["in this loop", "`create` is called here"]


def test_float64_is_shown_where_it_is_set(tmp_path: Path) -> None:
    program = "DOUBLE = 'float64'\nwide = tf.keras.Sequential([tf.keras.layers.Dense(1, dtype={dtype})])\n{train}"
    train = "wide.compile('adam', 'mse')\nwide.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))\n"
    elsewhere = _only("GPU604", program.format(dtype="DOUBLE", train=train), tmp_path)
    assert [one.message for one in elsewhere.related] == ["float64 is set here"] and elsewhere.fix is None
    assert not _only("GPU604", program.format(dtype="'float64'", train=train), tmp_path).related


def test_the_policy_of_a_float16_output_is_shown(tmp_path: Path) -> None:
    policy = "tf.keras.mixed_precision.set_global_policy('mixed_float16')\n"
    own = "half = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1{dtype})])\n"
    train = "half.compile('adam', 'mse')\nhalf.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))\n"
    of_all = _only("GPU602", policy + own.format(dtype="") + train, tmp_path)
    assert [one.message for one in of_all.related] == ["the float16 policy is set here", "the loss is computed here"]
    of_layer = _only("GPU602", own.format(dtype=", dtype='float16'") + train, tmp_path)
    assert [one.message for one in of_layer.related] == ["the loss is computed here"]


def test_a_finding_shows_no_place_twice(tmp_path: Path) -> None:
    text = "while random.random() < 1:\n    own = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n    {train}\n"
    train = "own.compile('adam', 'mse')\n    own.fit(tf.zeros((64, 4)), tf.zeros((64, 1)))"
    found = _only("GPU305", text.format(train=train), tmp_path)
    spans = [found.span, *(one.span for one in found.related)]
    assert len(set(spans)) == len(spans)


def test_the_text_output_explains_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    called = EAGER.replace("agent = Agent()", "def train():\n    agent = Agent()").replace("for x", "    for x")
    called = called.replace("    agent.learn", "        agent.learn") + "\n\ntrain()\n"
    unsafe, inferred = "(unsafe): the fix may change what the program does.", "Inferred: gpulint followed calls"
    for program, legend in ((EAGER, unsafe), (called, f"{unsafe} {inferred}")):
        (tmp_path / "train.py").write_text(MODEL + program)
        shown = CliRunner().invoke(main, ["check", "train.py"]).stdout
        assert legend in shown and (inferred in shown) == (inferred in legend)
        assert unsafe not in CliRunner().invoke(main, ["check", "-q", "train.py"]).stdout
