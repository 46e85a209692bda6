"""Calls of `tf.function`s from Python: when they begin, and which functions were called."""

from __future__ import annotations

import functools
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import LAUNCH, States

OnCall: TypeAlias = Callable[[str, "Place | None", "tuple[Any, ...]"], None]
"""Receives a function's name, the line that calls it, and its arguments."""


class Launches:
    """Wraps the calls of functions: in the training thread the outermost one is a state."""

    def __init__(self, places: Places, states: States) -> None:
        self._places, self._states = places, states
        self.runs_eagerly: Callable[[], bool] = lambda: False
        """Whether functions run as the Python that they decorate (`tf.config.run_functions_eagerly`)."""
        self.on_first: Callable[[], None] | None = None
        """If set, called after each call of a function."""
        self.on_begun: list[OnCall] = []
        """Called before each call in the training thread."""
        self.on_ended: list[OnCall] = []
        """Called after each of these calls that returned."""
        self._calls = threading.local()
        self._known: dict[int, weakref.ref[Any]] = {}
        """The functions that were called, by identity: the methods of a `WeakSet` are Python."""
        self.called: Counter[str] = Counter()
        """Number of functions by name that were called: a decorated method is a function per object."""

    def watch(self, hooks: Hooks, *classes: Any) -> None:
        """Installs the wrappers on the classes of functions."""
        for one in classes:
            hooks.replace(one, "__call__", self._timed(one.__call__))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        calls, states, here, known = self._calls, self._states, self._places.here, self._known

        @functools.wraps(call)
        def timed(function: Any, *arguments: Any, **keywords: Any) -> Any:
            if getattr(calls, "is_inside", False) or self.runs_eagerly():  # nested in another call, or none
                return call(function, *arguments, **keywords)
            name = getattr(function, "__name__", "")
            reference = known.get(id(function))
            if reference is None or reference() is not function:
                self._met(function, name)
            calls.is_inside = True
            place = here(2) if states.is_here else None
            given = (*arguments, *keywords.values()) if keywords else arguments
            if entered := states.enter(LAUNCH, place, name):
                for begun in self.on_begun:
                    begun(name, place, given)
            try:
                result = call(function, *arguments, **keywords)
            finally:
                calls.is_inside = False
                if entered:
                    states.leave()
                if self.on_first is not None:
                    self.on_first()
            if entered:
                for ended in self.on_ended:
                    ended(name, place, given)
            return result

        return timed

    def _met(self, function: Any, name: str) -> None:
        """A function is called for the first time."""
        key, known = id(function), self._known

        def gone(reference: weakref.ref[Any]) -> None:
            if known.get(key) is reference:
                del known[key]

        known[key] = weakref.ref(function, gone)
        self.called[name] += 1
