"""What passes on simulated GPUs has evidence, and what goes wrong there is found."""

from __future__ import annotations

import pytest

from gpulint.probe.checks import stated
from gpulint.probe.expectations.expectation import Expectation, Run, Status, Wanted
from tests.simulation.conftest import Rehearse
from tests.simulation.rehearsal import Rehearsed

pytestmark = pytest.mark.tensorflow


def judged(run: Rehearsed, id: str) -> list[Expectation]:
    return [one for one in run.expectations() if one.id == id]


def the(run: Rehearsed, id: str) -> Expectation:
    (one,) = judged(run, id)
    return one


UNEVEN = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
data = tf.data.Dataset.from_tensor_slices(tf.ones((641, 4))).batch(64)

@tf.function
def step(x):
    return strategy.run(lambda v: tf.reduce_mean(v), args=(x,))

for epoch in range(5):
    for x in strategy.experimental_distribute_dataset(data):
        step(x)
"""


def test_a_replica_that_gets_no_element_is_found(rehearse: Rehearse) -> None:
    run = rehearse(UNEVEN, 2)
    batches = the(run, "replica-batch")
    assert (batches.status, batches.observed) == (Status.WARN, "replica 1 got 0 of 1 in 5 of 55 steps")


def test_what_divides_a_dataset_among_replicas_is_no_work_of_the_host(rehearse: Rehearse) -> None:
    run = rehearse(UNEVEN, 2)
    (share,) = stated.check(Run(run.capture, wanted=[Wanted("ops.on_gpu >= 90%", "--expect")]))
    assert (share.status, share.observed) == (Status.PASS, "100%")


OUTSIDE = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
table = tf.Variable(tf.ones((1280, 1000)))
with strategy.scope():
    w = tf.Variable(tf.ones((65, 1)))
data = tf.data.Dataset.from_tensors(tf.ones((1280,))).repeat(480).batch(48)

def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, table)) * tf.reduce_sum(w)
    gradient = tape.gradient(loss, w)
    gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)
    w.assign_sub(1e-9 * gradient)

@tf.function
def step(x):
    strategy.run(train, args=(x,))

for x in strategy.experimental_distribute_dataset(data):
    step(x)
"""


def test_a_variable_outside_the_scope_is_copied_to_the_replicas_in_each_step(rehearse: Rehearse) -> None:
    run = rehearse(OUTSIDE, 3)
    mirrored, copies = the(run, "variables-mirrored"), the(run, "copies")
    assert mirrored.status is Status.FAIL
    assert "5,120,000 bytes from GPU:0 to GPU:1 each time" in mirrored.evidence
    assert (copies.status, copies.observed) == (Status.WARN, "2 in each step for MatMul, 10,240,000 bytes")
    assert copies.where is not None and copies.where.row == OUTSIDE[: OUTSIDE.index("loss = ")].count("\n") + 1


LOOK_UP = """
import tensorflow as tf

table = tf.Variable(tf.random.normal((2000, 64)))
strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.ReductionToOneDevice())
with strategy.scope():
    w = tf.Variable(tf.random.normal((64, 1)))
ids = tf.data.Dataset.from_tensor_slices(tf.random.uniform((256,), 0, 2000, tf.int32)).batch(64)

@tf.function
def step(ids):
    parts = strategy.run(lambda i: tf.reduce_sum(tf.matmul(tf.gather(table, i), w)), args=(ids,))
    return strategy.reduce("SUM", parts, axis=None)

for x in strategy.experimental_distribute_dataset(ids):
    step(x)
"""


def test_what_replicas_look_up_on_another_device_is_found_without_gradients(rehearse: Rehearse) -> None:
    run = rehearse(LOOK_UP, 4)
    assert the(run, "variables-mirrored").status is Status.FAIL
    copies = the(run, "copies")
    assert copies.status is Status.WARN
    assert copies.observed.startswith("3 in each call for MatMul")


def test_what_a_strategy_reduces_and_keeps_the_same_is_its_own(rehearse: Rehearse) -> None:
    text = OUTSIDE.replace("table = tf.Variable(tf.ones((1280, 1000)))\n", "").replace(
        "    w = ", "    table = tf.Variable(tf.ones((1280, 1000)))\n    w = "
    )
    run = rehearse(text, 3)
    assert the(run, "copies").status is Status.PASS
    assert the(run, "variables-mirrored").status is Status.PASS


FIT = """
import tensorflow as tf

{made}
{scope}
    model = tf.keras.Sequential([tf.keras.layers.Input((16,)), tf.keras.layers.Dense(64),
                                 tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.Adam(clipnorm=1.0), "mse", metrics=["mae"])
model.fit(tf.ones((96 * 4, 16)), tf.ones((96 * 4, 1)), batch_size=96, epochs=2, verbose=0)
"""


def test_keras_under_a_strategy_copies_nothing_of_its_own_between_the_replicas(rehearse: Rehearse) -> None:
    run = rehearse(FIT.format(made="strategy = tf.distribute.MirroredStrategy()", scope="with strategy.scope():"), 3)
    assert {one.status for one in judged(run, "copies")} == {Status.PASS}
    assert the(run, "strategy-spread").status is Status.PASS
    assert not judged(run, "gpu-idle")


def test_gpus_without_a_strategy_are_idle(rehearse: Rehearse) -> None:
    run = rehearse(FIT.format(made="", scope="if True:"), 3)
    idle = the(run, "gpu-idle")
    assert idle.status is Status.WARN
    assert idle.observed.startswith("GPU:1, GPU:2 idle in 8 steps; GPU:0: ")
    pinned = OUTSIDE[OUTSIDE.index("def train") :].split("    gradient = tf.distribute")[0]
    text = f"import tensorflow as tf\n\ntable = w = tf.Variable(tf.ones((1280, 1)))\n\n@tf.function\n{pinned}"
    text += "for _ in range(9):\n    with tf.device('CPU:0'):\n        train(tf.ones((16, 1280)))\n"
    assert the(rehearse(text, 1), "gpu-idle").status is Status.FAIL


def test_a_strategy_that_is_not_used_has_variables_and_no_work_on_the_other_devices(rehearse: Rehearse) -> None:
    text = OUTSIDE.replace("strategy.run(train, args=(x,))", "train(tf.ones((16, 1280)))")
    text = text.replace(
        'gradient = tf.distribute.get_replica_context().all_reduce("sum", gradient)', "gradient = gradient + 0.0"
    ).replace("for x in strategy.experimental_distribute_dataset(data):", "for x in data:")
    text = text.replace("w.assign_sub(1e-9 * gradient)", "tf.print(gradient)")
    run = rehearse(text, 2)
    assert the(run, "strategy-spread").status is Status.FAIL
