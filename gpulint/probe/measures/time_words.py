"""Durations, shares and parts of the training time in words, as reports show them."""

from __future__ import annotations

PART_NAMES = {
    "gpu": "GPU computing",
    "collective": "All-reduce",
    "copy": "Copying",
    "input": "Input",
    "trace": "Tracing and compiling",
    "launch": "Launching operations",
    "python": "Python between steps",
    "checkpoint": "Checkpoints and summaries",
    "other": "Other",
    "unrecorded": "Not recorded",
}
"""The names of `time_spent.PARTS`, and of time that was not recorded."""

MUCH = 0.1
"""Share of the training time from which the time between steps is told."""

WITHOUT_GPU = {**PART_NAMES, "launch": "Running operations"}
"""On a CPU, a step's function computes where it launches."""


def part_name(part: str, on_gpu: bool) -> str:
    """The name of a part in a run whose steps ran on GPUs, or on the CPU alone."""
    return (PART_NAMES if on_gpu else WITHOUT_GPU)[part]


def duration(seconds: float) -> str:
    """A duration with three significant digits: `850 µs`, `79.8 ms`, `5.4 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{_three(seconds * 1e3)} ms"
    if seconds < 100:
        return f"{_three(seconds)} s"
    whole = round(seconds)
    minutes = whole // 60
    if minutes < 60:
        return f"{minutes} min {whole % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _three(value: float) -> str:
    """At most three significant digits, at most one after the point."""
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}"


def between_steps(seconds: float, whole: float, steps: int) -> str:
    """The time between steps, as of evaluations, where it is much of the whole: the mean step exceeds the others."""
    return f"between steps {duration(seconds / steps)} on average" if steps and seconds > MUCH * whole else ""


def percent(share: float) -> str:
    """A share as a percentage: `94.6 %`, `0.8 %`, `< 0.1 %`."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{share * 100:.0f} %" if share in (0, 1) else f"{share * 100:.1f} %"
