"""The headline: how busy the devices were, and what took most of the remaining time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gpulint.probe.advice.advice import CAUSES, Advice, Outside
from gpulint.probe.advice.headline import headline
from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.records import Node, Steps, Task, Where
from gpulint.probe.measures.time_spent import PARTS, FirstStep, TimeSpent, parts_of
from tests.probe.advice.times import spent

GPU = Capture(tensorflow={"tensorflow": "2.21.0"}, logical=("CPU:0", "GPU:0"), process={"pid": 1})
OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,1024,1024] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


def advice(cause: str, seconds: float = 90.0) -> Advice:
    return Advice(cause, None, None, "text", "Evidence.", "Fix.", seconds, 10.0)


def run(**contents: Any) -> Capture:
    return Capture(tensorflow={"tensorflow": "2.21.0"}, process={"pid": 1}, **contents)


WAITING = {"input": 90.0, "launch": 9.2, "gpu": 0.8}
WORKING = run(
    simulated=2,
    logical=("CPU:0", "GPU:0", "GPU:1"),
    steps={("train", None): Steps("train", None, 100, 1.0, 0.1)},
    nodes=Counter({Node(None, "MatMul", "", gpu, "", "float32", "step"): 1 for gpu in ("GPU:0", "GPU:1")}),
)


@pytest.mark.parametrize(
    ("capture", "time", "advised", "said"),
    [
        (
            GPU,
            spent(WAITING, busy={"GPU:0": 0.008}),
            ["input-bound"],
            "GPU:0 computed 0.8 % of the time. Training waits for its input.",
        ),
        (
            GPU,
            spent({"input": 9.0}, unrecorded=91.0),
            [],
            "How busy the GPUs were is not known. 91.0 % of the time is work that was not recorded.",
        ),
        (
            GPU,
            spent({"gpu": 93.0, "launch": 7.0}, busy={"GPU:0": 0.93}),
            [],
            "GPU:0 computed 93.0 % of the time. Nothing stands in its way.",
        ),
        (
            GPU,
            spent({"gpu": 60.0, "python": 40.0}, busy={"GPU:0": 0.6, "GPU:1": 0.2}),
            [],
            "2 GPUs computed 20.0 to 60.0 % of the time. Most of the rest is Python between steps (40.0 %).",
        ),
        (
            GPU,
            spent({"gpu": 60.0, "python": 40.0}, busy={"GPU:0": 0.6, "GPU:1": 0.0}),
            ["idle-device"],
            "1 GPU computed up to 60.0 % of the time, GPU:1 nothing. Not every GPU has work.",
        ),
        (
            run(simulated=4),
            spent(WAITING),
            ["input-bound"],
            "Rehearsed on 4 simulated GPUs: training waits for its input.",
        ),
        (
            run(simulated=4),
            spent(WAITING),
            [],
            "Rehearsed on 4 simulated GPUs: 90.0 % of the time is the wait for input.",
        ),
        (WORKING, spent(WAITING), [], "Rehearsed on 2 simulated GPUs: each has work."),
        (run(logical=("CPU:0",)), spent({"launch": 1.0}), [], "Trained on the CPU. Nothing stands in its way."),
        (GPU, spent(WAITING), [], "How busy the GPUs were is not known. 90.0 % of the time is the wait for input."),
        (run(), None, [], "No training was seen."),
        (run(end={"reason": "timeout"}), None, [], "The program was stopped (timeout)."),
        (run(error="ValueError: no"), None, [], "The program failed with ValueError."),
        (run(end={"status": 3}), None, [], "The program failed with status 3."),
        (
            run(end={"signal": 9, "worker": "worker 1"}),
            spent(WAITING),
            ["input-bound"],
            "Worker 1 was killed by signal 9 (SIGKILL).",
        ),
        (run(members=(Member(Task("worker", 0), None),)), None, [], "1 worker; no training step was seen."),
        (Capture(process={"pid": 1}), None, [], "The program did not import TensorFlow."),
        (
            run(error=OOM, error_at=Where("/p/train.py", 7)),
            None,
            ["out-of-memory"],
            "GPU:0 has no memory left for 256 MiB at train.py:7.",
        ),
    ],
)
def test_the_headline_has_two_facts(capture: Capture, time: TimeSpent | None, advised: list[str], said: str) -> None:
    assert headline(capture, time, [advice(cause) for cause in advised]) == said


def test_advice_about_a_small_part_is_not_what_training_waits_for() -> None:
    time = spent({"python": 63.0, "input": 20.0, "launch": 17.0})
    said = headline(run(logical=("CPU:0",)), time, [advice("input-bound", 20.0)])
    assert said == "Trained on the CPU. 63.0 % of the time is Python between steps."


@pytest.mark.parametrize(
    ("traced", "gain", "said"),
    [
        (9.0, 0.0, "Tracing and compiling took 9.0 s until the first step ended, training 5.0 s."),
        (9.0, 2.0, "Training waits for its input."),
        (11.0, 2.0, "Tracing and compiling took 11.0 s until the first step ended, training 5.0 s."),
        (4.0, 0.0, "Nothing stands in its way."),
        (4.0, 2.0, "Training waits for its input."),
    ],
)
def test_tracing_that_takes_longer_than_training_is_the_obstacle(traced: float, gain: float, said: str) -> None:
    time = replace(spent({"launch": 5.0}), first=FirstStep(12.0, parts_of({"trace": traced}, 12.0), ()))
    advised = [advice("input-bound", gain)] if gain else []
    seen = run(logical=("CPU:0",), end={"status": 0, "seconds": 20.0})
    assert headline(seen, time, advised) == f"Trained on the CPU. {said}"


def test_functions_that_are_traced_once_are_no_obstacle_to_remove() -> None:
    time = spent({"trace": 62.0, "input": 30.0, "launch": 8.0})
    said = headline(run(logical=("CPU:0",)), time, [advice("input-bound", 10.0)])
    assert said.endswith("62.0 % of the time is the first tracing and compiling of each function.")
    said = headline(run(logical=("CPU:0",)), time, [advice("input-bound", 10.0), advice("retracing", 8.0)])
    assert said.endswith("62.0 % of the time is tracing and compiling, mostly for the first time.")
    said = headline(run(logical=("CPU:0",)), time, [advice("input-bound", 40.0), advice("retracing", 40.0)])
    assert said.endswith("Training waits for its input.")


def test_a_run_on_the_cpu_that_computes_most_of_the_time_waits_for_nothing() -> None:
    mostly = spent({"launch": 80.0, "input": 11.0, "python": 9.0})
    said = headline(run(logical=("CPU:0",)), mostly, [advice("input-bound", 8.0)])
    assert said == "Trained on the CPU. 11.0 % of the time is the wait for input."
    small = spent({"launch": 95.0, "python": 5.0})
    assert headline(run(logical=("CPU:0",)), small, [advice("launch-bound", 9.0)]).endswith("to be launched.")
    assert headline(run(logical=("CPU:0",)), small, []).endswith("Nothing stands in its way.")


def test_what_takes_longest_outside_training_is_said_first() -> None:
    one = replace(advice("repeated-calls", 16.0), outside=Outside("60 `predict` calls", 17.2, 16.0))
    time = spent({"launch": 0.5})
    assert headline(run(logical=("CPU:0",)), time, [one]) == (
        "Trained on the CPU. 60 `predict` calls took 17.2 s, training 500 ms."
    )
    assert headline(run(), None, [one]) == "No training was seen; 60 `predict` calls took 17.2 s."
    assert "17.2 s" not in headline(run(simulated=2), time, [replace(one, is_timed=False)])


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_and_part_has_words(cause: str) -> None:
    assert headline(GPU, spent(WAITING, busy={"GPU:0": 0.1}), [advice(cause)]).endswith(".")
    for part in set(PARTS) - {"gpu"}:
        assert headline(GPU, spent({part: 9.0, "gpu": 1.0}, busy={"GPU:0": 0.1}), []).endswith(".")
