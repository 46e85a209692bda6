"""Stack of a program that was stopped, from the file that the agent's `faulthandler` left."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable

from gpulint.probe.agent import device_memory, internals, profile
from gpulint.probe.agent.places import Places
from gpulint.probe.capture.records import Frame

MOST = 100
"""Limit of frames kept."""

_CRASH = "Fatal Python error: "
_CALLS_TENSORFLOW = frozenset(module.__file__ for module in (internals, device_memory, profile))
"""Files of the agent that call TensorFlow on its own account. Wrappers of the program's calls are elsewhere."""

_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+ .*:$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


def main_thread(text: str, is_own: Callable[[str], bool]) -> tuple[Frame, ...]:
    """Frames of the main thread, innermost first; `is_own` says whether a path belongs to the program. Python lists
    the main thread last."""
    last = _THREAD.split(text)[-1]
    found = [(path, int(row), function) for path, row, function in _FRAME.findall(last)][:MOST]
    return tuple(Frame(path, row, function, is_own(path)) for path, row, function in found)


def stack_in(path: str, *, of_crash: bool = False) -> tuple[Frame, ...]:
    """Frames of the main thread in a file left by the agent, or only those of a crash; empty if there are none."""
    places = Places()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return ()
    if of_crash:
        text = text.rpartition(_CRASH)[2] if _CRASH in text else ""
    return main_thread(text, lambda path: not places.is_foreign(path))


def waiting_agent(path: str) -> Frame | None:
    """The frame of the agent that called TensorFlow and has not returned, in a file left by it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = _FRAME.findall(file.read())
    except OSError:
        return None
    calls = ((path, row, function) for path, row, function in found if path in _CALLS_TENSORFLOW)
    return next((Frame(path, int(row), function, False) for path, row, function in calls), None)


def remove_stacks(path: str, *, only_empty: bool = False) -> None:
    """Removes such a file if it exists. `only_empty` keeps a file with stacks, for readers who want those of all
    threads."""
    with contextlib.suppress(OSError):
        if not only_empty or not os.path.getsize(path):
            os.unlink(path)
