"""Checks that pass on simulated GPUs have evidence, and mistakes are found."""

from __future__ import annotations

import pytest

from gpulint.probe.checks import stated
from gpulint.probe.expectations.expectation import Expectation, Run, Status, UserExpectation
from tests.releases import never_seen
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
    assert (batches.status, batches.observed) == (Status.WARN, "replica 1 got 0 of 1 in 5 of 55 batches")


def test_what_divides_a_dataset_among_replicas_is_no_work_of_the_host(rehearse: Rehearse) -> None:
    run = rehearse(UNEVEN, 2)
    (share,) = stated.check(Run(run.capture, requested=[UserExpectation("ops.on_gpu >= 90%", "--expect")]))
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


LOOP = """
import tensorflow as tf

import gpulint

w = tf.Variable(tf.random.normal((64, 64)))
data = tf.data.Dataset.from_tensors(tf.ones((64, 64))).repeat(20)

def step(x):
    with tf.device("/CPU:0"):
        for _ in range(6):
            x = tf.matmul(x, w)
    {body}

@tf.function
def epoch(data):
    for x in data:  # loop
        step(x)

compiled = tf.function(step)
with gpulint.expect.on_gpu():
    for _ in range(5):
        {run}
"""
ASSIGN = "w.assign_add(1e-9 * x)"


def test_operations_of_a_dataset_loop_inside_a_function_do_not_count_as_observed(rehearse: Rehearse) -> None:
    wanted = [UserExpectation(text, "--expect") for text in ("ops.on_gpu >= 90%", "copies.in_graphs == 0")]
    inside = rehearse(LOOP.format(body=ASSIGN, run="epoch(data)"), 1)
    share, copies = stated.check(Run(inside.capture, requested=wanted))
    assert (share.status, copies.status) == (Status.INCONCLUSIVE, Status.INCONCLUSIVE)
    row = LOOP[: LOOP.index("# loop")].count("\n") + 1
    assert share.observed == f"the operations of the loop over a dataset in `epoch` on line {row} are not observed"
    block = the(inside, "expect-on")
    assert (block.status, block.observed) == (
        Status.INCONCLUSIVE,
        "no graph was recorded for the loop over a dataset in `epoch`",
    )
    outside = rehearse(LOOP.format(body=ASSIGN, run="for x in data: compiled(x)"), 1)
    share, _ = stated.check(Run(outside.capture, requested=wanted))
    assert share.status is Status.FAIL
    assert the(outside, "expect-on").status is Status.FAIL


def test_steps_that_a_loop_inside_a_function_takes_are_not_counted(rehearse: Rehearse) -> None:
    body = (
        "with tf.GradientTape() as tape:\n        loss = tf.reduce_sum(tf.matmul(x, w))\n"
        "    w.assign_sub(1e-9 * tape.gradient(loss, w))"
    )
    run = rehearse(LOOP.format(body=body, run="epoch(data)"), 2)
    (steps,) = stated.check(Run(run.capture, requested=[UserExpectation("steps == 5", "--expect")]))
    assert steps.status is Status.INCONCLUSIVE
    assert the(run, "gpu-idle").status is Status.INCONCLUSIVE


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


OBJECTS = """
import tensorflow as tf

class Filter(tf.Module):
    def __init__(self):
        self.w = tf.Variable(tf.ones((4, 4)))

    @tf.function
    def apply(self, x):
        return tf.matmul(x, self.w)

for _ in range(12):
    one = Filter()
    one.apply(tf.ones((4, 4)))
    one.apply(tf.ones((4, 4)))

@tf.function
def again(n):
    return tf.ones((4, 4)) * n

for n in range(12):
    again(n)
"""


def test_a_method_has_a_function_for_each_object_and_one_trace_of_it(rehearse: Rehearse) -> None:
    traces = {one.subject: one for one in judged(rehearse(OBJECTS, 1), "retrace")}
    assert traces["traces of `apply`"].status is Status.PASS
    assert traces["traces of `apply`"].observed == "12, 1 for each of 12 functions"
    assert "traces of `again`" not in traces or traces["traces of `again`"].status is Status.WARN


KERAS = """
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Input((8, 8, 3)), tf.keras.layers.Conv2D(4, 3),
                             tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", jit_compile=False)
x, y = tf.ones((80, 8, 8, 3)), tf.ones((80, 1))
model.fit(x, y, batch_size=8, epochs=1, verbose=0)
model.evaluate(x, y, batch_size=2, verbose=0)
model.fit(x, y, batch_size=8, epochs=1, verbose=0, validation_data=(x, y), validation_batch_size=4)
"""


def test_steps_of_an_evaluation_are_no_training_steps_and_what_is_not_called_is_not_compiled(
    rehearse: Rehearse,
) -> None:
    run = rehearse(KERAS, 1)
    (steps,) = stated.check(Run(run.capture, requested=[UserExpectation("steps == 20", "--expect")]))
    assert (steps.status, steps.observed) == (Status.PASS, "20")
    assert not run.capture.compiled
    assert not judged(run, "xla-opaque")
    assert {node.part for node in run.capture.nodes if node.op.endswith("Conv2D")} == {"step", ""}


def test_what_xla_compiles_is_reported_when_it_is_called(rehearse: Rehearse) -> None:
    text = "import tensorflow as tf\n\n@tf.function(jit_compile=True)\ndef {name}(x):\n    return x + x\n"
    program = text.format(name="used") + text.format(name="unused") + "used(tf.ones(3))\n"
    assert set(rehearse(program, 1).capture.compiled) == {"used"}


FAILS = """
import tensorflow as tf

@tf.function
def multiply(x):
    return tf.matmul(x, x)  # inside

def main():
    multiply(tf.ones((2, 3)))  # call

main()
"""


def test_the_traceback_of_a_failing_program_has_only_its_own_frames(rehearse: Rehearse) -> None:
    capture = rehearse(FAILS, 1, ends_well=False).capture
    rows = [(where.row, function) for where, function in capture.error_frames]
    inside, call = (FAILS[: FAILS.index(mark)].count("\n") + 1 for mark in ("# inside", "# call"))
    assert rows[-3:] == [(call + 2, "<module>"), (call, "main"), (inside, "multiply")]
    assert capture.error_at is not None and capture.error_at.row == inside


ASYNCHRONOUS = """
import time
import tensorflow as tf
from tensorflow.python.eager import context, executor

def slowly(x):
    time.sleep(2.5)  # longer than the agent's interval
    return x + 1

@tf.function
def step(x):
    return tf.numpy_function(slowly, [x], tf.float32)

with context.executor_scope(executor.new_executor(enable_async=True)):
    y = step(tf.ones(3))
    time.sleep(2)  # meanwhile the agent has time for a deadlock
    print(float(y[0]))
"""


def test_no_graph_is_asked_for_where_that_waits_for_the_program(rehearse: Rehearse) -> None:
    run = rehearse(ASYNCHRONOUS, 1)
    assert run.output == "2.0\n"
    lost = dict(run.capture.lost)
    assert lost.keys() - never_seen() == {"graphs", "large tensors"}
    assert lost["graphs"] == lost["large tensors"] == "the program runs operations asynchronously"
    assert not run.capture.nodes
