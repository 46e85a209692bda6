"""Devices in words."""

from __future__ import annotations

from collections.abc import Sequence


def listed(devices: Sequence[str]) -> str:
    """Device names, with three or more consecutive indices as a range: `CPU:0, GPU:0–7`."""
    runs: list[list[str]] = []
    for device in devices:
        if runs and device == _next(runs[-1][-1]):
            runs[-1].append(device)
        else:
            runs.append([device])
    parts = [[f"{run[0]}–{run[-1].rpartition(':')[2]}"] if len(run) > 2 else run for run in runs]
    return ", ".join(part for some in parts for part in some)


def _next(device: str) -> str:
    kind, _, number = device.rpartition(":")
    return f"{kind}:{int(number) + 1}" if number.isdecimal() else ""
