"""Hides this package's frames from tracebacks, and from the stacks that TensorFlow prints in its errors."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_OF_TENSORFLOW = os.path.join(_HERE, "tensorflow", "python", "")

_Call = TypeVar("_Call", bound=Callable[..., Any])


def hide_frames(internals: Internals, hooks: Hooks) -> None:
    """Leaves this package out of the stacks of graph nodes, which errors print after "Detected at node"."""
    stacks = internals.stacks
    if stacks is None:
        return
    files = frozenset(os.path.join(path, name) for path, _, names in os.walk(_HERE) for name in names)
    lowest = stacks.SentinelFilter
    make = lowest.__init__

    @functools.wraps(make)
    def made(one: Any) -> None:
        make(one)
        one.update()

    hooks.replace(lowest, "get_filtered_filenames", lambda one: files)
    hooks.replace(lowest, "__init__", made)
    for filters in list(stacks._source_filter_stacks.values()):
        filters[0].update()


def hidden(function: _Call) -> _Call:
    """A function that TensorFlow takes for one of its own, which it tells by their folder: the line that created a
    variable is that of the innermost other frame."""
    code = function.__code__
    name = os.path.join(_OF_TENSORFLOW, os.path.basename(code.co_filename))
    function.__code__ = code.replace(co_filename=name)
    return function


def forget_frames(error: BaseException) -> None:
    """Removes frames of this package from the traceback of an exception and of its causes."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        frames = []
        traceback = one.__traceback__
        while traceback is not None:
            if not traceback.tb_frame.f_code.co_filename.startswith(_HERE):
                frames.append(traceback)
            traceback = traceback.tb_next
        for frame, following in zip(frames, [*frames[1:], None]):  # noqa: B905
            frame.tb_next = following
        one.__traceback__ = frames[0] if frames else None
        left += [one.__cause__, one.__context__]
