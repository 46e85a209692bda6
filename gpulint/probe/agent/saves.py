"""Checkpoints, saved models and summaries, which the training thread writes while the devices wait."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.states import CHECKPOINT, TRACE, States

OF_TENSORFLOW = (
    *("train.Checkpoint.save", "train.Checkpoint.write", "train.CheckpointManager.save", "saved_model.save"),
    *(f"summary.{name}" for name in ("audio", "flush", "histogram", "image", "scalar", "text", "write")),
)
"""Functions that write, relative to `tensorflow`."""

OF_KERAS = ("Model.save", "Model.save_weights", "Model.export", "saving.save_model", "saving.save_weights")
"""Functions that write, relative to `keras`."""


class Saves:
    """Wraps what writes to disk: in the training thread it is a state."""

    def __init__(self, places: Places, hooks: Hooks, states: States) -> None:
        self._places, self._hooks, self._states = places, hooks, states

    def watch(self, library: Any, names: Iterable[str]) -> None:
        """Installs the wrappers on those functions that the library has."""
        for name in names:
            *path, last = name.split(".")
            try:
                owner = functools.reduce(getattr, path, library)
                self._hooks.replace(owner, last, self._timed(name, getattr(owner, last)))
            except AttributeError:
                continue

    def _timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        states = self._states

        @functools.wraps(function)
        def timed(*arguments: Any, **keywords: Any) -> Any:
            if not states.is_here or states.state in (TRACE, CHECKPOINT):  # part of a graph, or of another save
                return function(*arguments, **keywords)
            states.enter(CHECKPOINT, self._places.here(2), name)
            try:
                return function(*arguments, **keywords)
            finally:
                states.leave()

        return timed
