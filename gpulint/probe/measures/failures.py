"""How a program failed: its error or its signal, where it was, and what that means."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.known_errors import headline, known
from gpulint.probe.measures.sizes import in_words

MOST_FRAMES = 5
"""Limit of the program's frames that are reported."""

_STOPPED = {"timeout": "stopped at its time limit", "hang": "stopped: it hung"}
_OTHERS = "the kernel's out-of-memory killer (see `dmesg`), the job scheduler, or a user"


@dataclass(frozen=True, slots=True)
class Failure:
    """`frames` are the program's own, with function names, innermost last; `is_exact`: they are those of the failure,
    not what was seen last before it. `means` explains a known failure, `code` is the rule or check about it; both may
    be ""."""

    text: str
    frames: tuple[tuple[Where, str], ...]
    is_exact: bool
    means: str = ""
    code: str = ""


def failure_of(capture: Capture) -> Failure | None:
    """How the program failed, None if it did not, or if its end is missing."""
    end = capture.end
    if capture.error:
        told = known(capture.error)
        frames = capture.error_frames or (((capture.error_at, ""),) if capture.error_at is not None else ())
        means, code = (told.means, told.code) if told is not None else ("", "")
        return Failure(headline(capture.error), frames, True, means, code)
    if end.get("reason") in ("timeout", "hang"):
        return Failure(_STOPPED[end["reason"]], *_seen(capture))
    if end.get("signal"):
        return Failure(f"signal {signal_name(int(end['signal']))}", *_seen(capture), *_meaning(capture))
    if end.get("status"):
        return Failure(f"exit status {end['status']}", *_seen(capture))
    return None


def signal_name(number: int) -> str:
    """`9 (SIGKILL)`."""
    try:
        return f"{number} ({signal.Signals(number).name})"
    except ValueError:
        return str(number)


def _seen(capture: Capture) -> tuple[tuple[tuple[Where, str], ...], bool]:
    """The frames of the program's stack at its end, or those seen last, and whether they are exact."""
    stack = [(Where(one.path, one.row), one.function) for one in capture.stack if one.own][:MOST_FRAMES]
    return (tuple(reversed(stack)), True) if stack else (capture.position, False)


def _meaning(capture: Capture) -> tuple[str, str]:
    if capture.end["signal"] != 9:
        told = known(capture.last_line)
        return (told.means, told.code) if told is not None else ("", "")
    if capture.end.get("reason") == "peer":
        return "", ""
    peak = max((size for _, size in capture.resident), default=0)
    total = (capture.start.get("memory") or {}).get("host")
    had = f" It had {in_words(peak)} of {in_words(total)}." if peak and total else ""
    if capture.end.get("oom_kills"):
        return f"The kernel's out-of-memory killer ended a process during the run.{had}", "host-growth"
    return f"Something outside killed it: {_OTHERS}.{had}", ""
