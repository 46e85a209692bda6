"""The workers of a cluster, one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.cluster.worker_text import SHOWN, culprits, how_it_ended, last_words
from gpulint.probe.measures.pace import pace
from gpulint.probe.measures.time_words import duration
from gpulint.probe.report import located


def _devices(member: Member) -> str:
    return ", ".join(member.capture.own_devices) if member.capture is not None else ""


def _steps(member: Member) -> str:
    return f"{member.capture.taken.total():,}" if member.capture is not None else ""


def _time(member: Member, name: str) -> str:
    if member.capture is None or member.capture.simulated:
        return ""
    times = pace(member.capture)
    return duration(getattr(times, name)) if times.steps else ""


def _end(member: Member) -> str:
    """How it ended; after a failure, also where it was, or its last output."""
    capture = member.capture
    ended = how_it_ended(capture)
    if capture is None or capture.end.get("status") == 0:
        return ended
    if capture.stopped_at is not None:
        inside = ", inside of TensorFlow" if capture.waits_in_tensorflow else ""
        return f"{ended} at {located(capture.stopped_at)}{inside}"
    return ", ".join(filter(None, (ended, last_words(capture))))


def ending(capture: Capture) -> str:
    """The worker that caused the end of all, and how it ended: `worker 1: signal 9 (SIGKILL), last line: step 3`; ""
    if they ended well."""
    blamed = culprits(capture.members)
    more = f"; and {len(blamed) - SHOWN} others" if len(blamed) > SHOWN else ""
    return "; ".join(f"{one.task.name}: {_end(one)}" for one in blamed[:SHOWN]) + more


WORKER_COLUMNS: tuple[tuple[str, Callable[[Member], str]], ...] = (
    ("worker", lambda member: member.task.name),
    ("devices", _devices),
    ("steps", _steps),
    ("in a step", lambda member: _time(member, "inside")),
    ("between", lambda member: _time(member, "between")),
    ("ended", _end),
)
"""Columns for readers: heading, and text of a worker's cell."""


def content(capture: Capture) -> list[dict[str, Any]] | None:
    """Workers of a cluster as JSON objects; None outside a cluster."""
    return [_content(one) for one in capture.members] if capture.members else None


def _content(member: Member) -> dict[str, Any]:
    capture = member.capture
    if capture is None:
        return {"job": member.task.job, "index": member.task.index, "capture": False}
    times = pace(capture)
    place = capture.stopped_at
    known = bool(times.steps) and not capture.simulated
    return {
        "job": member.task.job,
        "index": member.task.index,
        "capture": True,
        "launcher": capture.worker.launcher if capture.worker is not None else None,
        "status": capture.end.get("status"),
        "signal": capture.end.get("signal"),
        "reason": capture.end.get("reason"),
        "seconds": capture.end.get("seconds"),
        "error": capture.error or None,
        "last_line": capture.last_line or None,
        "stopped_at": {"filename": place.path, "row": place.row} if place is not None else None,
        "in_tensorflow": capture.waits_in_tensorflow if capture.stack else None,
        "python": capture.process.get("python"),
        "tensorflow": capture.tensorflow.get("tensorflow"),
        "keras": capture.keras or None,
        "devices": list(capture.own_devices),
        "steps": capture.taken.total(),
        "step_seconds": times.inside if known else None,
        "between_seconds": times.between if known else None,
    }
