"""Keeps the places that TensorFlow names in its warnings about deprecated functions."""

from __future__ import annotations

import functools
import sys
from types import FrameType
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import GPULINT

LOCATION = "_call_location"


def keep_places(internals: Internals, hooks: Hooks) -> None:
    """Wrappers of this package call what the program calls: without this, the warning names their line."""
    deprecation = internals.deprecation
    if deprecation is None:
        return
    original = getattr(deprecation, LOCATION)

    @functools.wraps(original)
    def location(outer: bool = False) -> Any:
        caller = _of_program(sys._getframe(2))
        if outer and caller is not None and caller.f_back is not None:
            caller = _of_program(caller.f_back)
        return f"{caller.f_code.co_filename}:{caller.f_lineno}" if caller is not None else original(outer)

    hooks.replace(deprecation, LOCATION, location)


def _of_program(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside this package."""
    while frame is not None and frame.f_code.co_filename.startswith(GPULINT):
        frame = frame.f_back
    return frame
