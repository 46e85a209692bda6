"""What the time until the end of the first step went to, in words."""

from __future__ import annotations

from gpulint.probe.measures.time_spent import TimeSpent
from gpulint.probe.measures.time_words import duration
from gpulint.probe.report import located

MUCH = 0.2
"""Share of this time and the training time from which a part is told."""

_PARTS = {"trace": "tracing and compiling", "input": "input", "checkpoint": "checkpoints"}
"""Parts that are told; what else Python did there is no training."""


def until_first_step(time: TimeSpent) -> str:
    """`until the first step ended: tracing and compiling 1 min 48 s (train.py:8)`, "" if no part took long."""
    if time.first is None:
        return ""
    told = []
    for part, name in _PARTS.items():
        if (seconds := time.first.seconds_of(part)) >= MUCH * (time.seconds + time.first.seconds):
            most = next((one for one in time.first.by_line if one.name == part and one.where is not None), None)
            place = f" ({located(most.where)})" if most is not None else ""
            told.append(f"{name} {duration(seconds)}{place}")
    return f"until the first step ended: {', '.join(told)}" if told else ""
