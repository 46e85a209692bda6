"""Which results of checks a piece of advice already covers."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.causes import idle_device
from gpulint.probe.expectations.expectation import Expectation, Status

_COVERED = {
    "input-bound": {"input-wait", "GPU402", "GPU404", "GPU406"},
    "eager-step": {"eager-hot-loop", "GPU207", "GPU506", "GPU508"},
    "retracing": {"retrace", "GPU408", "GPU504", "GPU505"},
    "recompiling": {"GPU408"},
    "host-reads": {"GPU501", "GPU502"},
    "repeated-calls": {"GPU503"},
    "new-models": {"GPU305"},
    "copies": {"copies", "GPU102"},
    "straggler": {"straggler"},
    "idle-device": {"gpu-idle", "strategy-spread", *idle_device.RULES},
    "out-of-memory": {"out-of-memory"},
    "precision": {"GPU604"},
}
"""By cause: checks, and rules whose findings the run confirmed, of the same thing."""


def is_told(one: Expectation, advice: Sequence[Advice]) -> bool:
    """Whether advice says what a check found: that about the same cause or rule, of a violation that fails the run on
    the same line."""
    return any(
        (each.where == one.where or one.status is Status.WARN)
        and {one.id, one.code} & {*_COVERED.get(each.cause, ()), each.code} - {None, ""}
        for each in advice
    )
