"""Texts about workers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.records import Task
from gpulint.probe.measures.failures import signal_name

SHOWN = 4
"""Limit of workers, or groups of workers, in one line."""

_DEVICE = re.compile(r"/job:(\w+)/task:(\d+)/(.+)")


def names(tasks: Iterable[Task]) -> str:
    """`chief 0, worker 0–3, 5`: three or more consecutive indices form a range."""
    jobs: dict[str, list[int]] = {}
    for task in tasks:
        jobs.setdefault(task.job, []).append(task.index)
    return ", ".join(f"{job} {_ranges(sorted(indices))}" for job, indices in jobs.items())


def by_value(values: Mapping[Task, str]) -> str:
    """`2.21.0 on worker 0–2; 2.16.2 on worker 3`, or the value if all have the same."""
    groups: dict[str, list[Task]] = {}
    for task, value in values.items():
        groups.setdefault(value, []).append(task)
    if len(groups) == 1:
        return next(iter(groups))
    shown = [f"{value or 'none'} on {names(tasks)}" for value, tasks in list(groups.items())[:SHOWN]]
    rest = [f"and {len(groups) - SHOWN} others"] if len(groups) > SHOWN else []
    return "; ".join([*shown, *rest])


def how_it_ended(capture: Capture | None) -> str:
    """How a worker ended, in a few words."""
    if capture is None:
        return "left no capture"
    end = capture.end
    if not end:
        return "no end was seen"
    if end.get("reason") in ("timeout", "hang"):
        return f"stopped ({end['reason']})"
    if end.get("reason") == "peer":
        return "stopped with the others"
    if (number := end.get("signal")) is not None:
        return f"signal {signal_name(number)}"
    return f"status {end.get('status')}"


def last_words(capture: Capture | None) -> str:
    """Exception of a worker, else its last line of output; "" if unknown."""
    if capture is None:
        return ""
    if capture.error:
        return capture.error.split("\n")[0]
    return f"last line: {capture.last_line}" if capture.last_line else ""


def device_name(device: str) -> str:
    """`worker 1 GPU:0` for `/job:worker/task:1/GPU:0`; other names are unchanged."""
    found = _DEVICE.fullmatch(device)
    return f"{found[1]} {found[2]} {found[3]}" if found is not None else device


def has_failed(member: Member) -> bool:
    """Whether a worker failed by itself."""
    return member.capture is not None and member.capture.end.get("status") != 0


def culprits(members: Iterable[Member]) -> list[Member]:
    """The workers because of which the others were stopped. After a hang: those outside TensorFlow, if any.
    Otherwise the first to fail, by the clocks of their hosts."""
    failed = [one for one in members if has_failed(one)]
    stopped = [one for one in failed if _reason(one) in ("hang", "timeout")]
    if stopped:
        outside = [one for one in stopped if one.capture and one.capture.stack and not one.capture.waits_in_tensorflow]
        return outside or stopped
    own = [one for one in failed if _reason(one) != "peer"] or failed
    return sorted(own, key=_ended_at)[:1]


def _reason(member: Member) -> str:
    return str(member.capture.end.get("reason", "")) if member.capture is not None else ""


def _ended_at(member: Member) -> float:
    """0 if its end is missing: its probe was killed with it, which may be why the others failed."""
    return float(member.capture.end.get("t", 0.0)) if member.capture is not None else 0.0


def _ranges(indices: list[int]) -> str:
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
