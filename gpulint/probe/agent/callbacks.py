"""Times the callbacks of Keras, and finds the epochs of a `fit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import PYTHON, States

EVENTS = (
    *("on_train_begin", "on_train_end", "on_epoch_begin", "on_epoch_end"),
    *(f"on_{mode}_{moment}" for mode in ("test", "predict") for moment in ("begin", "end")),
    *(f"on_{mode}_batch_{moment}" for mode in ("train", "test", "predict") for moment in ("begin", "end")),
)
"""Methods of callbacks."""

BEGINS = ("on_train_begin", "on_test_begin", "on_predict_begin")
ENDS = ("on_train_end", "on_test_end", "on_predict_end")

CALLBACK = "callback"
"""The detail of what Keras does to call callbacks."""

BASES = frozenset({"Callback", "object"})
"""Classes whose methods do nothing."""


class Callbacks:
    """Times the methods of callbacks: those of the program by their lines, others on the line of `fit`."""

    def __init__(self, places: Places, hooks: Hooks, fault: Guard, states: States) -> None:
        self._places, self._hooks, self._states = places, hooks, states
        self._wrap = guarded("callbacks", fault, self._wrap_all)
        self._wrapped: set[type] = set()
        self._calls: list[Place | None] = []
        """The lines of the current `fit`, `evaluate` or `predict` and of those around it."""
        self.depth = 0
        """Stages around the epochs of the current `fit`."""

    def imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        callbacks = getattr(getattr(keras, "callbacks", None), "CallbackList", None)
        for event in EVENTS if callbacks is not None else ():
            if (method := getattr(callbacks, event, None)) is not None:
                self._hooks.replace(callbacks, event, self._listed(event, method))

    def _listed(self, event: str, method: Callable[..., Any]) -> Callable[..., Any]:
        states = self._states
        begins, ends, begins_epoch = event in BEGINS, event in ENDS, event == "on_epoch_begin"

        @functools.wraps(method)
        def listed(callbacks: Any, *arguments: Any, **keywords: Any) -> Any:
            if begins:
                self._calls.append(self._places.here(2))
                self._wrap(callbacks)
            elif begins_epoch and arguments:
                states.end_stages(self.depth)
                states.begin_stage(f"epoch {int(arguments[0]) + 1}", self._places.here(2))
            entered = states.enter(PYTHON, None, CALLBACK)
            try:
                return method(callbacks, *arguments, **keywords)
            finally:
                if entered:
                    states.leave()
                if ends and self._calls:
                    self._calls.pop()

        return listed

    def _wrap_all(self, callbacks: Any) -> None:
        """Times the methods of callbacks, but those of Keras's base class, which do nothing."""
        for callback in getattr(callbacks, "callbacks", ()):
            for cls in type(callback).__mro__:
                if cls not in self._wrapped and cls.__name__ not in BASES:
                    self._wrapped.add(cls)
                    for event in (*EVENTS, "on_batch_begin", "on_batch_end"):
                        if callable(method := vars(cls).get(event)):
                            place = self._places.of_function(method)
                            self._hooks.replace(cls, event, self._timed(place, f"{cls.__name__}.{event}", method))

    def _timed(self, place: Place | None, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """`place`: the line of a method of the program; what a library's takes counts on the line of `fit`."""
        states = self._states

        @functools.wraps(method)
        def timed(*arguments: Any, **keywords: Any) -> Any:
            entered = states.enter(PYTHON, place or (self._calls[-1] if self._calls else None), name)
            try:
                return method(*arguments, **keywords)
            finally:
                if entered:
                    states.leave()

        return timed
