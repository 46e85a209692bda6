"""Each private API of TensorFlow, hidden separately: the missing evidence is named, and no verdict relies on it."""

from __future__ import annotations

import pytest

from gpulint.probe.agent.internals import PRIVATE
from gpulint.probe.checks import stated
from gpulint.probe.checks.needs import NEEDED
from gpulint.probe.expectations.expectation import Expectation, Run, Status, UserExpectation
from tests.releases import never_seen
from tests.simulation.conftest import Rehearse
from tests.simulation.rehearsal import Rehearsed, Stage

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import tensorflow as tf

import gpulint

w = tf.Variable(tf.ones((8, 8)))

@tf.function
def train(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.matmul(x, w))
    w.assign_sub(1e-6 * tape.gradient(loss, w))

for x in tf.data.Dataset.from_tensors(tf.ones((8, 8))).repeat(60):
    train(x)
with tf.device("GPU:0"), gpulint.expect.no_copies():
    tf.matmul(w, w)
float(w[0, 0])
"""


def stated_of(run: Rehearsed, *texts: str) -> list[Expectation]:
    return list(stated.check(Run(run.capture, requested=[UserExpectation(text, "--expect") for text in texts])))


STATED = ("steps == 60", "ops.on_gpu >= 90%", "copies.in_graphs == 0", "traces.max <= 1", "eager_ops.per_step <= 30")


def statuses(run: Rehearsed) -> dict[tuple[str, str], Status]:
    """The result of each check and of what was stated."""
    return {(one.id, one.subject): one.status for one in [*run.expectations(), *stated_of(run, *STATED)]}


@pytest.fixture(scope="module")
def whole(stages: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Status]:
    """The results with a whole TensorFlow."""
    script = tmp_path_factory.mktemp("whole") / "train.py"
    script.write_text(PROGRAM)
    return statuses(stages.rehearse(script, 1))


@pytest.mark.parametrize("key", PRIVATE)
def test_what_is_missing_is_lost_and_nothing_else(
    key: str, rehearse: Rehearse, whole: dict[tuple[str, str], Status]
) -> None:
    run = rehearse(PROGRAM, 1, without=key)
    evidence = PRIVATE[key].evidence
    assert {what for what, _ in run.capture.lost} == never_seen().union({evidence} if evidence else ())
    assert run.capture.tensorflow["tensorflow"]
    found = statuses(run)
    assert not {id for (id, _), status in found.items() if status is Status.PASS} & NEEDED.get(evidence, frozenset())
    changed = {one: status for one, status in found.items() if status is not whole.get(one)}
    assert set(changed.values()) <= {Status.INCONCLUSIVE, Status.SKIP}, changed
    assert {id for id, _ in whole.keys() - found.keys()} <= NEEDED.get(evidence, frozenset()), "checks that say nothing"


def test_nothing_is_lost_of_a_whole_tensorflow(rehearse: Rehearse) -> None:
    run = rehearse(PROGRAM, 1)
    assert {what for what, _ in run.capture.lost} == never_seen()
    (steps,) = stated_of(run, "steps == 60")
    assert steps.status is Status.PASS
    assert {"expect-copies", "scope-placement", "gpu-idle"} <= {
        one.id for one in run.expectations() if one.status is Status.PASS
    }


def test_a_state_of_the_runtime_that_cannot_be_asked_costs_nothing_but_itself(rehearse: Rehearse) -> None:
    run = rehearse(PROGRAM, 1, without="handle")
    assert run.capture.logical == ("CPU:0", "GPU:0")
    (steps,) = stated_of(run, "steps == 60")
    assert steps.status is Status.PASS


def test_gradients_by_another_name_are_steps_all_the_same(rehearse: Rehearse) -> None:
    run = rehearse(PROGRAM, 1, without="gradient_tape")
    (steps,) = stated_of(run, "steps == 60")
    assert steps.status is Status.PASS
    assert {what for what, _ in run.capture.lost} == {"lines of gradients"} | never_seen()


def test_without_operations_no_number_is_known(rehearse: Rehearse) -> None:
    run = rehearse(PROGRAM, 1, without="watch")
    found = stated_of(run, "steps >= 1", "ops.on_gpu >= 90%", "copies.in_graphs == 0", "traces.max <= 1")
    assert {one.status for one in found} == {Status.INCONCLUSIVE}
    assert "not seen: operations" in found[0].observed


def test_a_private_dtype_has_a_public_one(rehearse: Rehearse) -> None:
    text = """
import tensorflow as tf

with tf.device("GPU:0"):
    one = tf.ones((8, 8))
with tf.device("GPU:1"):
    two = tf.ones((8, 8))
for _ in range(12):
    one + two
"""
    for without in ("", "dtype"):
        (moved,) = [
            one for one in rehearse(text, 2, without=without).capture.copies.items() if one[0].consumer == "AddV2"
        ]
        assert (moved[0].source, moved[0].target, moved[0].bytes, moved[1]) == ("GPU:1", "GPU:0", 256, 12)
