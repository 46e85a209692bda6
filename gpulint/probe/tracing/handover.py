"""The files that the agent leaves beside a trace for the process that reads it."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Mapping
from typing import Any

from gpulint.probe.tracing.summary import Window
from gpulint.probe.tracing.xspace import Unreadable

_FILE = "window.json"
_TRACES = os.path.join("plugins", "profile", "*", "*.xplane.pb")


def directory_of(capture: str) -> str:
    """Where the trace of a run is until it has been read."""
    return f"{capture}.trace"


def leave(directory: str, window: Mapping[str, Any]) -> None:
    """Writes the fields of a `Window` beside the trace. Raises OSError."""
    with open(os.path.join(directory, _FILE), "w", encoding="utf-8") as file:
        json.dump(window, file)


def is_left(directory: str) -> bool:
    """Whether there is a trace to read."""
    return os.path.isfile(os.path.join(directory, _FILE))


def trace_in(directory: str) -> str:
    """The trace file. Raises Unreadable if the profiler wrote none."""
    found = sorted(glob.glob(_TRACES, root_dir=directory))
    if not found:
        raise Unreadable("TensorFlow's profiler wrote no trace")
    return os.path.join(directory, found[-1])


def window_of(directory: str) -> Window:
    """The window that the agent traced. Raises OSError, Unreadable."""
    try:
        with open(os.path.join(directory, _FILE), encoding="utf-8") as file:
            told = json.load(file)
        return Window(
            float(told["began"]),
            float(told["ended"]),
            int(told["steps"]),
            [(str(state), float(began), float(ended)) for state, began, ended in told["spans"]],
            {name: (int(number), int(row)) for name, (number, row) in told["places"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"{_FILE}: {type(error).__name__}: {error}") from None
