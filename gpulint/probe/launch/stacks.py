"""Where a program that does not go on is: what the agent in it has left for its parent (`faulthandler`)."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable

from gpulint.probe.agent.places import Places
from gpulint.probe.capture.records import Frame

MOST = 100
"""Frames that are kept."""

_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+ .*:$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


def main_thread(text: str, is_own: Callable[[str], bool]) -> tuple[Frame, ...]:
    """The frames of the main thread, the innermost first; `is_own` says of a path whether it is the program's. Python
    lists the thread last that it began with."""
    last = _THREAD.split(text)[-1]
    found = [(path, int(row), function) for path, row, function in _FRAME.findall(last)][:MOST]
    return tuple(Frame(path, row, function, is_own(path)) for path, row, function in found)


def stack_in(path: str) -> tuple[Frame, ...]:
    """The frames of the main thread in a file that the agent has left, none where the file is gone."""
    places = Places()
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return main_thread(file.read(), lambda path: not places.is_foreign(path))
    except OSError:
        return ()


def remove_stacks(path: str, *, only_empty: bool = False) -> None:
    """Removes such a file, where there is one. With `only_empty` one that has stacks stays: somebody may want all of
    them, not only that of the main thread."""
    with contextlib.suppress(OSError):
        if not only_empty or not os.path.getsize(path):
            os.unlink(path)
