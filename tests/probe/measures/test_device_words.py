"""Devices in words."""

from __future__ import annotations

from gpulint.probe.measures.device_words import listed


def test_consecutive_devices_are_a_range() -> None:
    assert listed(["CPU:0", "GPU:0", "GPU:1"]) == "CPU:0, GPU:0, GPU:1"
    assert listed(["CPU:0", *(f"GPU:{index}" for index in range(8)), "GPU:9"]) == "CPU:0, GPU:0–7, GPU:9"
    assert listed([]) == ""
