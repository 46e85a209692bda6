"""Short names of devices."""

from __future__ import annotations

import pytest

from gpulint.probe.agent.devices import short


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/job:localhost/replica:0/task:0/device:GPU:0", "GPU:0"),
        ("/job:worker/replica:0/task:1/device:CPU:0", "/job:worker/task:1/CPU:0"),
        ("/device:gpu:1", "GPU:1"),
        ("gpu:1", "GPU:1"),
        ("/job:localhost/replica:0/task:0", ""),
        ("/job:ps/task:1", ""),
        ("", ""),
        ("nothing", "nothing"),
    ],
)
def test_a_name_without_a_device_names_none(name: str, expected: str) -> None:
    assert short(name) == expected
