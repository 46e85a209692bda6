"""Launch-bound and eager steps: operations that take longer to launch than to compute."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advise import advise
from gpulint.probe.capture.records import EagerCost, Execution, Steps, Strategy, Where
from gpulint.probe.measures.time_spent import PartAt
from tests.probe.advice.seen import FITTED, HERE, OTHER, THERE, capture, eager, finding, first
from tests.probe.advice.times import spent


def test_a_step_whose_operations_outlast_the_gpu_is_launch_bound() -> None:
    time = spent({"gpu": 1.0, "launch": 3.0}, busy={"GPU:0": 0.25}, operations=919, launch_cost=4.5e-6)
    one = first(time, capture())
    assert (one.cause, one.where, one.speedup) == ("launch-bound", HERE, 4.0)
    assert one.text == "`train` keeps the GPU busy for 10.0 ms of 40.0 ms"
    assert "919 operations" in one.evidence
    assert "jit_compile=True" in one.fix
    assert "16" not in one.fix, "mixed precision brings a launch-bound step nothing"


def test_a_compiled_step_is_not_to_be_compiled() -> None:
    time = spent({"gpu": 1.0, "launch": 3.0}, busy={"GPU:0": 0.25})
    assert "jit_compile" not in first(time, capture(compiled={"train": HERE})).fix


def test_on_a_cpu_only_operations_that_do_nothing_are_launch_bound() -> None:
    small = spent({"launch": 5.0}, operations=8000, launch_cost=6e-6)
    one = first(small, capture(logical=("CPU:0",)))
    assert one.cause == "launch-bound"
    assert one.seconds == pytest.approx(4.0)
    assert "On a GPU" in one.evidence
    large = spent({"launch": 50.0}, operations=8000, launch_cost=60e-6)
    assert not advise(capture(logical=("CPU:0",)), (), large)


def test_keras_3_compiles_the_step_of_fit_on_a_gpu_itself() -> None:
    small = spent({"launch": 5.0}, operations=8000, launch_cost=6e-6)
    fit = replace(FITTED, logical=("CPU:0",), keras="3.15.1")
    assert not advise(fit, (), small)
    assert advise(replace(fit, keras="2.21.0"), (), small), "legacy Keras does not"
    strategy = Strategy(1, "MirroredStrategy", ("CPU:0",), 1, HERE)
    assert advise(replace(fit, strategies=[strategy]), (), small), "nor does Keras under a strategy"


def test_few_operations_are_not_launch_bound() -> None:
    time = spent({"launch": 0.01, "python": 0.01}, operations=20, launch_cost=5e-6)
    assert not advise(capture(logical=("CPU:0",)), (), time)


def test_a_step_of_many_eager_operations_is_to_be_traced() -> None:
    lines = [PartAt("launch", HERE, 7.0, 9, "eager operations"), PartAt("python", HERE, 1.0, 9, "code")]
    time = spent({"gpu": 0.05, "launch": 7.0, "python": 3.0}, 100, lines, {"GPU:0": 0.005}, 487)
    one = first(time, eager(487), finding("GPU508", HERE))
    assert (one.cause, one.code, one.where) == ("eager-step", "GPU508", HERE)
    assert one.text == "Python runs 487 operations of each step one at a time"
    assert one.seconds == pytest.approx(8.0)


def test_eagerness_that_was_left_on_is_blamed_on_the_line_that_left_it() -> None:
    time = spent({"launch": 1.0}, operations=487, launch_cost=30e-6)
    one = first(time, eager(487), finding("GPU506", Where("/p/train.py", 18), instead="leave it out"))
    assert (one.code, one.where, one.fix) == ("GPU506", Where("/p/train.py", 18), "Leave it out.")


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        (None, 8.8),
        (EagerCost(100, 40e-6, 35e-6), 8.0),
        (EagerCost(100, 40e-6, 35e-6, 50e-6), 4.0),
        (EagerCost(100, 0.01, 0.01, 0.01), 3.0),
    ],
)
def test_what_eager_operations_compute_is_left(cost: EagerCost | None, seconds: float) -> None:
    """Early captures do not say how long they compute. Launching 100,000 operations takes at most 3 s eagerly, and at
    least 0.2 s in a traced step."""
    time = spent({"launch": 9.0}, operations=1000)
    assert first(time, replace(eager(1000), eager_cost=cost)).seconds == pytest.approx(seconds)


def test_rare_eager_operations_that_take_long_are_found_at_their_line() -> None:
    """Gradients that a function computes, and that are applied after every fourth step."""
    lines = [PartAt("launch", THERE, 2.0, 9, "eager operations"), PartAt("python", THERE, 60.0, 9, "code")]
    time = spent({"launch": 30.0, "python": 60.0}, 100, [*lines, PartAt("launch", HERE, 28.0, 100, "train")])
    seen = replace(eager(66), steps={("train", HERE): Steps("train", HERE, 100, 1.0, 0.1, busy=25, operations=6600)})
    one = first(time, seen)
    assert (one.cause, one.where) == ("eager-step", THERE)
    assert one.text == "Python runs 66 operations around each step one at a time"
    assert one.seconds == pytest.approx(62.0)
    assert "into that of the step" in one.fix
    seldom = {("train", HERE): Steps("train", HERE, 20, 1.0, 0.1, busy=5, operations=6600)}
    for other in (replace(seen, steps=seldom), replace(seen, data=FITTED.data)):
        assert all(one.cause != "eager-step" for one in advise(other, (), time))


def test_eager_operations_of_a_save_are_not_around_the_step() -> None:
    lines = [
        PartAt("checkpoint", HERE, 50.0, 100, "train.CheckpointManager.save"),
        PartAt("launch", HERE, 9.0, 9, "train"),
    ]
    time = spent({"checkpoint": 50.0, "launch": 9.0}, 100, lines, operations=900)
    seen = replace(eager(66), steps={("train", HERE): Steps("train", HERE, 100, 1.0, 0.1, busy=100, operations=6600)})
    assert [one.cause for one in advise(seen, (), time)] == ["checkpoints"]


def test_a_few_large_eager_operations_are_no_advice() -> None:
    assert not advise(eager(10), (), spent({"launch": 100.0}, operations=10, launch_cost=0.1))
    assert not advise(eager(100), (), spent({"launch": 100.0}, operations=100, launch_cost=0.01))


def test_a_model_that_an_evaluation_calls_eagerly_is_no_slow_python() -> None:
    ran = Counter({Execution(HERE, "Conv2D", "", "CPU:0"): 900, Execution(OTHER, "Mul", "", "CPU:0"): 40})
    lines = [
        PartAt("python", HERE, 1.5, 70, "code"),
        PartAt("python", OTHER, 0.8, 40, "code"),  # 20 ms for an operation: it draws
    ]
    time = spent({"python": 2.3, "launch": 2.0}, 100, lines)
    one, two = advise(capture(executions=ran), [finding("GPU509", HERE)], time)
    assert (one.cause, one.code, one.where) == ("eager-step", "GPU509", HERE)
    assert one.text == "Python runs 900 operations beside the training step one at a time"
    assert one.seconds == pytest.approx(1.5, abs=0.01)
    assert (two.cause, two.where) == ("slow-python", OTHER)
