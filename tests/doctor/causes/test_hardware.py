"""Causes, each on an otherwise healthy machine: the graphics cards."""

from __future__ import annotations

import pytest

from gpulint.doctor.evidence import Distribution
from gpulint.linting.finding import Severity
from tests.doctor.situations import (
    INTERPRETER,
    NO_HARDWARE,
    SITE,
    on,
    only,
)


def test_no_gpu_is_no_error() -> None:
    one = only(NO_HARDWARE)
    assert (one.id, one.severity, one.fix) == ("no-gpu", Severity.INFO, "")


@pytest.mark.parametrize("variable", ["CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"])
def test_no_gpu_where_one_was_asked_for(variable: str) -> None:
    one = only(on(NO_HARDWARE, environment={variable: "0"}))
    assert (one.id, one.severity) == ("no-gpu", Severity.ERROR)
    assert variable in one.seen


@pytest.mark.parametrize("value", ["-1", ""])
def test_no_gpu_where_none_was_asked_for(value: str) -> None:
    assert only(on(NO_HARDWARE, environment={"CUDA_VISIBLE_DEVICES": value})).severity is Severity.INFO


def test_wheels_of_nvidia_say_that_a_gpu_was_wanted() -> None:
    wheels = (*INTERPRETER.distributions, Distribution("nvidia-cudnn-cu12", "9.3.0.75", SITE))
    one = only(on(NO_HARDWARE, interpreter={"distributions": wheels}))
    assert one.id == "no-gpu" and "nvidia-cudnn-cu12" in one.seen


def test_wsl_without_the_driver_of_windows() -> None:
    one = only(on(NO_HARDWARE, machine={"wsl": True, "device_files": {"/dev/dxg": True}}))
    assert one.id == "wsl-driver"
