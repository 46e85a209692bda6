"""Shares of a window, applied to the seconds of a whole run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import Card, Inside, Loop, Segment, Where, Work
from gpulint.probe.capture.windows import DeviceWindow, LineTime, StateTime, Window
from gpulint.probe.measures.training_time import TrainingTime, training_time
from gpulint.probe.measures.window import Busy, busy, computing_lines, device_shares, waiting_share, why_unknown

HERE = Where("train.py", 7)
WHOLE = StateTime("", 1.0, 0.25, 0.05, 0.1, 0.3)
LAUNCH = StateTime("launch", 0.5, 0.2, 0.05, 0.1, 0.1)
PYTHON = StateTime("python", 0.495, 0.05, 0.0, 0.0, 0.2)
CHECKPOINT = StateTime("checkpoint", 0.005, 0.005, 0.0, 0.0, 0.0)


def window(*states: StateTime, devices: tuple[DeviceWindow, ...] | None = None, steps: int = 20) -> Window:
    made = (DeviceWindow("GPU:0", 0.3, 400, 0.05, 0.1, 9, 0.6, 0.1),) if devices is None else devices
    return Window(100.0, 101.0, steps, made, (), (), (), {one.state: one for one in states}, {}, ())


def ran(seen: Window | None, **fields: Any) -> Capture:
    gpus = {"physical": ("CPU:0", "GPU:0"), "visible": ("CPU:0", "GPU:0"), "logical": ("CPU:0", "GPU:0")}
    return Capture(window=seen, **{**gpus, **fields})


def test_each_state_has_its_own_share() -> None:
    capture = ran(window(WHOLE, LAUNCH, PYTHON, CHECKPOINT))
    found = device_shares(capture, ["launch", "python", "checkpoint", "trace"])
    assert found["launch"] == pytest.approx({"gpu": 0.4, "collective": 0.1, "copy": 0.2})
    assert found["python"] == pytest.approx({"gpu": 0.05 / 0.495, "collective": 0.0, "copy": 0.0})
    assert sum(found["checkpoint"].values()) == 0, "a state that the window hardly saw"
    assert sum(found["trace"].values()) == 0
    assert waiting_share(capture, "launch") == pytest.approx(0.1 / 0.15)
    assert waiting_share(capture, "trace") == 0


def test_without_states_the_whole_window_counts_for_each() -> None:
    found = device_shares(ran(window(WHOLE)), ["launch", "python"])
    assert [found[state]["gpu"] for state in ("launch", "python")] == [0.25, 0.25]


@pytest.mark.parametrize(
    ("outside", "share"),
    [
        (0.0125, 0.8),  # the profiler slows down the host and not the device
        (0.1, 0.1),  # the window's steps took elements from a full buffer
        (0.002, 1.0),
    ],
)
def test_a_device_works_as_long_in_every_step(outside: float, share: float) -> None:
    """10 ms of each step in the window, which spend 25 ms in launch."""
    launch = StateTime("launch", 0.5, 0.2, 0.0, 0.0, 0.0)
    segment = Segment(0, 100.0, 110.0, 120, {"launch": 0.5 + 100 * outside}, 0, ())
    rest = Segment(1, 110.0, 120.0, 0, {"launch": 77.0}, 0, ())
    found = device_shares(ran(window(WHOLE, launch), segments=[segment, rest]), ["launch"])
    assert found["launch"]["gpu"] == pytest.approx(share)


def test_the_share_of_the_window_counts_where_other_steps_are_few() -> None:
    launch = StateTime("launch", 0.5, 0.2, 0.0, 0.0, 0.0)
    segment = Segment(0, 100.0, 110.0, 22, {"launch": 9.0}, 0, ())
    found = device_shares(ran(window(WHOLE, launch), segments=[segment]), ["launch"])
    assert found["launch"]["gpu"] == pytest.approx(0.4)


def test_each_device_has_its_own_share() -> None:
    second = DeviceWindow("GPU:1", 0.03, 7, 0.0, 0.0, 1, 0.9, 0.9)
    seen = window(WHOLE, devices=(*window().devices, second))
    both = ("CPU:0", "GPU:0", "GPU:1")
    assert busy(ran(seen, physical=both, visible=both, logical=both), 0.6) == (
        Busy("GPU:0", pytest.approx(0.6), 20.0, "tracer"),
        Busy("GPU:1", pytest.approx(0.06), 7 / 20, "tracer"),
    )


@pytest.mark.parametrize(
    ("visible", "logical", "names"),
    [
        (("GPU:1", "GPU:0"), ("GPU:0", "GPU:1"), ["GPU:1", "GPU:0"]),
        (("GPU:1",), ("GPU:0",), ["GPU:0"]),
        (("GPU:0",), ("GPU:0", "GPU:1", "GPU:2"), ["GPU:0"]),
    ],
)
def test_devices_have_the_names_of_the_program(
    visible: tuple[str, ...], logical: tuple[str, ...], names: list[str]
) -> None:
    devices = tuple(DeviceWindow(f"GPU:{number}", 0.1, 1, 0.0, 0.0, 1, 0.9, 0.9) for number in range(2))
    capture = ran(window(WHOLE, devices=devices), physical=("GPU:0", "GPU:1"), visible=visible, logical=logical)
    assert [one.device for one in busy(capture, 0.5)] == names


def test_kernels_a_step_need_whole_steps() -> None:
    (one,) = busy(ran(window(WHOLE, steps=0)), 0.3)
    assert one.kernels_per_step is None
    assert one.share == pytest.approx(0.3)


def test_an_idle_device_is_not_unknown() -> None:
    idle = DeviceWindow("GPU:0", 0.0, 0, 0.0, 0.0, 1, 1.0, 1.0)
    capture = ran(window(StateTime("", 1.0, 0.0, 0.0, 0.0, 0.9), devices=(idle,)))
    assert busy(capture, 0.0) == (Busy("GPU:0", 0.0, 0.0, "tracer"),)
    assert why_unknown(capture) == ""


def test_without_a_trace_the_reason_is_reported_and_nvml_shown_as_what_it_is() -> None:
    card = Card(103.0, "0000:80:00.0", "NVIDIA H200", 1, 1, 1, 0, 40)
    capture = ran(
        None,
        lost=[("profile", "AlreadyExistsError: Another profiler is running.")],
        phases=[(100.0, "steps")],
        cards=[card._replace(t=90.0, utilisation=100), card, card._replace(utilisation=20)],
    )
    assert busy(capture, 0.0) == (Busy("GPU:0", None, None, "nvml"),)
    assert why_unknown(capture) == (
        "AlreadyExistsError: Another profiler is running.; NVML: kernels of any program ran in 30.0 % of the time"
    )


def test_reasons() -> None:
    assert why_unknown(Capture(simulated=2)) == "the GPUs are simulated"
    assert why_unknown(ran(window(WHOLE, devices=()), visible=("CPU:0",))) == "no GPU"
    assert why_unknown(ran(None)) == "no step was traced"
    assert why_unknown(ran(window(WHOLE, devices=()))) == "the device tracer recorded nothing"
    text = "failed with error CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
    assert why_unknown(ran(window(WHOLE, devices=()), logs={"stderr": Log(messages=[text])})) == text
    assert busy(ran(None), 0.0) == ()


def trained(seen: Window, **fields: Any) -> TrainingTime:
    """One span of 20 steps with 10 s of launch at line 7, and 5 s of Python."""
    work = (Work(HERE, "launch", "step", 10.0, 20),)
    segment = Segment(0, 100.0, 115.0, 20, {"launch": 10.0, "python": 5.0}, 0, work)
    time = training_time(ran(seen, segments=[segment], **fields))
    assert time is not None
    return time


def test_parts_of_devices_are_taken_from_the_states_and_their_lines() -> None:
    time = trained(window(WHOLE, LAUNCH, PYTHON), inside=[Inside(Work(HERE, "input", "next", 1.0, 20), 100.0, 115.0)])
    (part,) = time.parts
    between = 5 * 0.05 / 0.495
    of_device = {"gpu": 4.0 + between, "collective": 1.0, "copy": 2.0}
    assert part.seconds == pytest.approx({**of_device, "launch": 2.0, "input": 1.0, "python": 5.0 - between})
    assert sum(part.seconds.values()) == pytest.approx(15.0)
    assert time.work[HERE, "launch", "step"][0] == pytest.approx(2.0)


def test_waits_inside_functions_are_those_of_the_window_where_nothing_else_tells_of_them() -> None:
    time = trained(window(WHOLE, LAUNCH, PYTHON))
    (part,) = time.parts
    assert (part.seconds["input"], part.seconds["launch"]) == (pytest.approx(2.0), pytest.approx(1.0))
    assert time.work[HERE, "input", "next"] == [pytest.approx(2.0), 20]


def test_without_a_device_tracer_there_are_waits_but_no_parts_of_devices() -> None:
    launch = LAUNCH._replace(gpu=0.0, collective=0.0, copy=0.0)
    (part,) = trained(window(WHOLE, launch, devices=())).parts
    assert part.seconds == pytest.approx({"launch": 8.0, "input": 2.0, "python": 5.0})


def test_of_a_loop_in_a_function_the_traced_part_is_reported() -> None:
    launch = StateTime("launch", 1.0, 0.0, 0.0, 0.0, 0.9)
    seen = replace(window(WHOLE._replace(gpu=0.0), launch, devices=(), steps=0), host={"input": (37, 0.9)})
    time = training_time(Capture(window=seen, loops=[Loop(HERE, "epoch")]))
    assert time is not None
    assert (time.seconds, time.taken) == (1.0, 37)
    assert time.parts[0].seconds == pytest.approx({"launch": 0.1, "input": 0.9})
    assert time.work[HERE, "input", "next"] == [pytest.approx(0.9), 37]
    assert training_time(Capture(window=seen)) is None


def test_lines_share_the_time_in_which_devices_computed() -> None:
    seen = replace(window(WHOLE), lines=(LineTime(HERE, "GPU:0", 40, 0.15), LineTime(None, "GPU:0", 9, 0.1)))
    assert list(computing_lines(ran(seen), 10.0)) == [(HERE, pytest.approx(5.0), 40)]
    assert list(computing_lines(ran(None), 10.0)) == []
