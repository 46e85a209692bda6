"""Why functions were traced again, and which lines read tensors in each training step."""

from __future__ import annotations

import pytest

from gpulint.probe.expectations.expectation import Expectation, Status
from tests.simulation.conftest import Rehearse
from tests.simulation.rehearsal import Rehearsed

pytestmark = pytest.mark.tensorflow

TRACED = """
import numpy as np
import tensorflow as tf


@tf.function
def shapes(x):
    return x * 2.0


@tf.function
def values(x, number):
    return x * number


@tf.function
def types(batch):
    return tf.cast(batch["image"], tf.float32)


@tf.function
def iterated(iterator):
    return next(iterator)


class Layer(tf.Module):
    @tf.function
    def method(self, x):
        return x + 1.0


x = tf.ones(3)
for length in range(3, 13):
    shapes(tf.ones(length))
for number in range(10):
    values(x, number)
for dtype in (tf.float32, tf.float64, tf.float16, tf.int32, tf.int64, tf.uint8, tf.int8):
    types({"image": tf.zeros(3, dtype)})
for length in range(1, 8):
    iterated(iter(tf.data.Dataset.from_tensors((tf.ones((length, 2)), tf.ones(2)))))
for number in range(8):
    tf.function(lambda y: y + 1.0)(x)  # recreated
layers = [Layer() for _ in range(12)]
for _ in range(6):
    for layer in layers:
        layer.method(x)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
for length in range(4, 14):
    model.predict(np.ones((length, 2), np.float32)[None], verbose=0)
"""


def of(run: Rehearsed, id: str) -> dict[str, Expectation]:
    return {one.subject: one for one in run.expectations() if one.id == id}


def test_each_retrace_has_its_cause_and_the_advice_that_fits(rehearse: Rehearse) -> None:
    found = of(rehearse(TRACED, 1), "retrace")

    def broken(name: str) -> tuple[str, tuple[str, ...], str]:
        one = found[f"traces of `{name}`"]
        assert one.status is Status.WARN, one
        return one.code, one.evidence, one.fix

    code, evidence, fix = broken("shapes")
    assert (code, evidence) == ("GPU504", ("9 ×: the shape of `x` changed, first (3,) → (4,)",))
    assert "input_signature" in fix and "reduce_retracing" in fix
    assert broken("values") == (
        "GPU504",
        ("9 ×: the Python value of `number` changed, first 0 → 1",),
        "pass `number` as a tensor",
    )
    _, evidence, fix = broken("types")
    assert evidence == ("6 ×: the dtype of `batch['image']` changed, first float32 → float64",) and "cast" in fix
    _, evidence, _ = broken("iterated")
    assert evidence == ("6 ×: the shape of `iterator[0]` changed, first (1, 2) → (2, 2)",)
    code, evidence, fix = broken("<lambda>")
    assert (code, evidence) == ("GPU505", ("7 ×: it was another function object",)) and "once" in fix
    assert found["traces of `method`"].status is Status.PASS


READ = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)


class Log(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        kernel = self.model.layers[0].kernel.numpy()  # each

    def on_epoch_end(self, epoch, logs=None):
        bias = self.model.layers[0].bias.numpy()  # seldom


model.fit(tf.ones((64, 4)), tf.ones((64, 1)), batch_size=4, epochs=2, verbose=2, callbacks=[Log()])  # fit

weight = tf.Variable(tf.ones((4, 4)))


@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x @ weight)
    weight.assign_sub(tape.gradient(loss, weight))
    return loss


for number in range(40):
    loss = step(tf.ones((4, 4)))
    if number % 20 == 0:
        print(float(loss))  # now and then
    print(loss)  # printed
    if loss > 100.0:  # tested
        break
for _ in range(100):
    float(loss)  # after

strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
with strategy.scope():
    shared = tf.Variable(tf.ones((4, 4)))
data = tf.data.Dataset.from_tensors(tf.ones((8, 4))).repeat(30)


def forward(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(x @ shared)
    shared.assign_sub(tape.gradient(loss, shared))


for x in strategy.experimental_distribute_dataset(data):
    strategy.run(forward, args=(x,))
for _ in range(20):
    model.train_on_batch(tf.ones((4, 4)), tf.ones((4, 1)))
"""


def test_reads_in_each_step_are_found_at_the_programs_line(rehearse: Rehearse) -> None:
    run = rehearse(READ, 2)
    rows = READ.split("\n")
    read = {one.where.row: one for one in run.expectations(["GPU201"]) if one.id == "host-reads" and one.where}
    steps = [row for row in read if "each" in rows[row - 1]]
    assert [rows[row - 1].split("# ")[-1] for row in sorted(read)] == ["each", "printed", "tested"]
    assert all(one.status is Status.WARN and one.code == "GPU501" for one in read.values())
    assert read[steps[0]].observed.startswith("after 32 of 32 steps")
