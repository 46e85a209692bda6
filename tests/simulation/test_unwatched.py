"""The report names what is not watched, and what cannot run on simulated GPUs."""

from __future__ import annotations

import pytest

from gpulint.probe.checks import stated
from gpulint.probe.expectations.expectation import Run, Status, UserExpectation
from tests.simulation.conftest import Rehearse

pytestmark = pytest.mark.tensorflow

SESSION = """
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
weight = tf.get_variable("w", [4, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones([2, 4]), weight)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())  # first
    for _ in range(20):
        session.run(train)
"""

MESH = """
import tensorflow as tf
from tensorflow.experimental import dtensor

on_host = dtensor.create_mesh([("batch", 1)], devices=["CPU:0"])
print("host", flush=True)
dtensor.create_mesh([("batch", 2)], {given})  # refused
print("not reached", flush=True)
"""


def test_sessions_are_not_seen_and_nothing_passes_on_them(rehearse: Rehearse) -> None:
    run = rehearse(SESSION, 1)
    row = next(row for row, text in enumerate(SESSION.split("\n"), 1) if "# first" in text)
    (reason,) = [why for what, why in run.capture.lost if what == "sessions"]
    assert reason.startswith(f"train.py:{row} runs a TensorFlow 1 graph")
    asked = [UserExpectation(text, "--expect") for text in ("steps == 0", "eager_ops == 0", "copies.in_graphs == 0")]
    assert {one.status for one in stated.check(Run(run.capture, requested=asked))} == {Status.INCONCLUSIVE}
    assert not any(one.id == "gpu-idle" for one in run.expectations() if one.status is not Status.INCONCLUSIVE)


@pytest.mark.parametrize("given", ['devices=["GPU:0", "GPU:1"]', 'device_type="GPU"'])
def test_a_mesh_of_simulated_gpus_is_refused_at_its_line(rehearse: Rehearse, given: str) -> None:
    run = rehearse(MESH.replace("{given}", given), 2, ends_well=False)
    row = next(row for row, text in enumerate(MESH.split("\n"), 1) if "# refused" in text)
    assert run.output == "host\n"
    assert run.capture.refused.startswith(f"train.py:{row}: a DTensor mesh of GPUs")
