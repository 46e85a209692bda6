"""Causes in runs that show little: few steps, waits by chance, Python and replicas in other threads."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.probe.advice.advise import advise
from gpulint.probe.advice.headline import headline
from gpulint.probe.agent.inputs import CLOSE
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Node, Retrace, Sampled, Segment, Steps, Where, Work
from gpulint.probe.measures.time_spent import PartAt
from tests.probe.advice.seen import HERE, OTHER, THERE, TRACED, WAITING, capture, eager, first, input_at, phase, tracing
from tests.probe.advice.times import spent


@pytest.mark.parametrize(
    ("ends", "advised"),
    [
        ([6.2], False),
        ([0.01, 6.2], False),
        ([0.01, 0.01, 6.2, 0.01, 3.0, 0.01], False),
        ([3.0, 3.2], True),
        ([1.0, 0.0, 0.0] * 20, True),
    ],
)
def test_pipelines_that_end_late_by_chance_are_no_reason_to_open_fewer(ends: list[float], advised: bool) -> None:
    """The thread that tunes a pipeline stops late in a third of the runs on a busy machine, once or twice in each."""
    closing = sum(ends)
    lines = [PartAt("input", HERE, 0.01, len(ends), "iter"), PartAt("input", HERE, closing, len(ends), CLOSE)]
    segments = [
        Segment(0, n, n + 1.0, 0, {"input": seconds}, 0, (Work(HERE, "input", CLOSE, seconds, 1),))
        for n, seconds in enumerate(ends)
    ]
    time = spent({"input": closing, "launch": closing}, 100, lines, phases=[phase("epoch 1", HERE)])
    assert bool(advise(capture(segments=segments), (), time)) is advised
    if not advised:
        said = headline(capture(segments=segments), time, ())
        assert said.endswith("of the time is a wait for the end of a pipeline, which another run may not have.")
        short = spent({"input": closing, "launch": 9 * closing}, 100, lines, phases=[phase("epoch 1", HERE)])
        assert headline(capture(segments=segments), short, ()).endswith("Nothing stands in its way.")
        together = segments[0]._replace(work=(Work(HERE, "input", CLOSE, closing, len(ends)),))
        assert not advise(capture(segments=[together]), (), time), "one of them may have taken all of it"


def test_each_model_needs_a_trace_of_a_step_that_it_is_passed_to() -> None:
    """Unless a loop passes many, which one model with other weights could serve."""

    def passed(*rows: int) -> Capture:
        lines = (Where(HERE.path, row) for row in rows)
        return capture(
            retraces=Counter(Retrace(at, "train", True, "model", "model", "an object of Net") for at in lines)
        )

    time = spent({"trace": 5.0, "launch": 5.0}, by_line=[TRACED], tracings=[tracing("train", "trace", 3, 5.0, 2)])
    assert not advise(passed(20, 30), (), time)
    one = first(time, passed(20, 20))
    assert one.cause == "retracing"
    assert "`set_weights`" in one.fix


def test_a_program_that_failed_in_its_first_step_gets_no_advice_on_its_steps() -> None:
    assert not advise(replace(eager(1000), end={"status": 1}), (), None)


def test_a_program_that_failed_in_its_first_steps_shows_little_of_others() -> None:
    few = spent({"input": 9.0, "launch": 1.0}, 2, by_line=[input_at(HERE)])
    assert advise(capture(), (), few)
    assert not advise(capture(end={"status": 1}), (), few)
    assert advise(capture(end={"status": 1}), (), WAITING)


def test_eager_operations_of_replicas_are_those_of_the_step() -> None:
    """The training thread waits for them in `strategy.run`; the line with most of them is named, not that of a
    function that it calls."""
    lines = [
        PartAt("launch", HERE, 5.0, 100, "strategy.run"),
        PartAt("launch", THERE, 2.0, 100, "eager operations"),
        PartAt("launch", THERE, 9.0, 100, "forward"),
    ]
    time = spent({"launch": 16.0}, 100, lines, operations=100)
    seen = replace(
        eager(100), steps={("train", HERE): Steps("train", HERE, 100, 1.0, 0.1, busy=100, operations=10_000)}
    )
    one = first(time, seen)
    assert (one.cause, one.where) == ("eager-step", HERE)
    assert one.seconds == pytest.approx(7.0 - 100 * 100 * 2e-6)


def test_python_that_a_step_calls_is_named() -> None:
    """What a pipeline calls there cannot be told from it."""
    samples = Counter(
        {
            Sampled(None, "launch", "train", "looked"): 100,
            Sampled(OTHER, "launch", "train", "outside"): 80,
            Sampled(OTHER, "input", "next", "outside"): 500,
        }
    )
    called = Node(THERE, "PyFunc", "", "CPU:0", "", "", "step")
    time = spent({"launch": 10.0}, by_line=[PartAt("launch", HERE, 10.0, 100, "train")])
    (one,) = advise(capture(nodes=Counter({called: 1}), samples=samples), (), time)
    assert (one.cause, one.where, one.seconds) == ("slow-python", THERE, pytest.approx(8.0))
    assert one.evidence == "Python ran data.py:3 in 80.0 % of the time of the step's function."
    fed = Counter({called: 1, called._replace(part="tf.data"): 1})
    assert not advise(capture(nodes=fed, samples=samples), (), time)
    assert not advise(capture(samples=samples), (), time)
