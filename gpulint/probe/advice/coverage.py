"""The results of checks that a piece of advice already covers."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.causes import idle_device
from gpulint.probe.expectations.expectation import Expectation, Status

_COVERED = {
    "input-bound": {"input-wait", "GPU402", "GPU404", "GPU406"},
    "eager-step": {"eager-hot-loop", "GPU207", "GPU506", "GPU508", "GPU509"},
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
"""Cause → the checks, and the rules with confirmed findings, that report the same problem."""


def is_covered(one: Expectation, advice: Sequence[Advice]) -> bool:
    """Whether some advice is about the cause or rule of a check's result. If the result fails the run, the advice must
    also be about its line."""
    return any(
        (each.where == one.where or one.status is Status.WARN)
        and {one.id, one.code} & {*_COVERED.get(each.cause, ()), each.code} - {None, ""}
        for each in advice
    )
