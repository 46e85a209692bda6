"""Calls that configure devices: which took effect, and for which devices."""

from __future__ import annotations

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Call
from gpulint.probe.measures.configuration import (
    SET_GROWTH,
    device_of,
    growth_enabled_for,
    growth_in_force,
    is_split,
    rule_of,
)


def _call(name: str, error: str = "", /, **arguments: str) -> Call:
    return Call(name, arguments, error, None)


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("tf.config.set_logical_device_configuration", "", True),
        ("tf.config.experimental.set_virtual_device_configuration", "", True),
        ("tf.config.set_logical_device_configuration", "RuntimeError: late", False),
        (SET_GROWTH, "", False),
        (SET_GROWTH, "RuntimeError: late", False),
    ],
)
def test_a_device_is_split_by_an_accepted_call_with_limits(name: str, error: str, expected: bool) -> None:
    assert is_split(_call(name, error)) is expected


def test_growth_is_enabled_by_accepted_calls_by_position_or_by_name() -> None:
    calls = [
        _call(SET_GROWTH, **{"0": "GPU:0", "1": "True"}),
        _call(SET_GROWTH, device="GPU:1", enable="True"),
        _call(SET_GROWTH, device="GPU:2", enable="False"),
        _call(SET_GROWTH, "RuntimeError: late", device="GPU:3", enable="True"),
        _call("tf.config.set_visible_devices", **{"0": "GPU:4", "1": "True"}),
    ]
    assert growth_enabled_for(Capture(calls=calls)) == {"GPU:0", "GPU:1"}
    assert [device_of(call) for call in calls] == ["GPU:0", "GPU:1", "GPU:2", "GPU:3", "GPU:4"]


@pytest.mark.parametrize(
    ("environment", "growth", "expected"),
    [
        (None, None, None),
        (None, True, True),
        (None, False, False),
        ("true", False, True),
        ("TRUE", None, True),
        ("false", True, False),
        ("yes", True, True),
    ],
)
def test_the_environment_overrides_the_program(
    environment: str | None, growth: bool | None, expected: bool | None
) -> None:
    variables = {} if environment is None else {"TF_FORCE_GPU_ALLOW_GROWTH": environment}
    assert growth_in_force(Capture(environment={"runtime": variables}, growth=growth)) is expected


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        ("Physical devices cannot be modified after being initialized", "GPU301"),
        ("Visible devices cannot be modified once initialized", "GPU301"),
        ("Intra op parallelism cannot be modified after initialization.", "GPU301"),
        ("Memory growth cannot differ between GPU devices", "GPU303"),
        ("Cannot set memory growth on device when virtual devices configured", "GPU306"),
        ("no such device", ""),
    ],
)
def test_errors_of_configuration_have_a_rule(error: str, rule: str) -> None:
    assert rule_of(f"RuntimeError: {error}") == rule
