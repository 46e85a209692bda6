"""Measures how long the program waits for its input."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.replicas import split
from gpulint.probe.agent.steps import Again
from gpulint.probe.agent.tally import Tally

FIRST = 2
"""Elements of an iterator that are not timed: the first ones fill buffers."""

WINDOW = 32
"""Steps between two queries of iterators inside functions, which remember the last 100 gaps."""

PAUSE = 1.0
"""Seconds between two such queries: one takes about as long as an eager operation."""


class Inputs:
    """Times `next()` of dataset iterators, and queries those that are read inside functions.

    Elements of a distributed dataset also show how many examples each replica gets.

    A loop over a dataset calls `next()` in Python: its duration is the wait. Keras `fit` reads its iterator inside the
    training function; there the iterator itself records the time between two requests (`ModelProto.gap_times`,
    microseconds; in 2.21, not in 2.16), and the rest of the time is the wait.
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Fault, steps: Callable[[], int]) -> None:
        """`steps` returns the number of training steps so far."""
        self._places, self._hooks, self._steps = places, hooks, steps
        self._internals: Internals | None = None
        self.seen = Tally("input")
        self.splits = Tally("splits")
        self._read: weakref.WeakKeyDictionary[Any, _Reading] = weakref.WeakKeyDictionary()
        self._inside: weakref.WeakSet[Any] = weakref.WeakSet()
        self._note = guarded("waits for input", fault, self._advanced)
        self._keep = guarded("waits for input", fault, self._made)
        self._window: tuple[int, float, list[tuple[weakref.ref[Any], int]]] | None = None
        self._due = 0.0
        self.waited = 0.0
        """Total seconds of `next()` in Python."""

    def watch(self, internals: Internals) -> None:
        """Installs the timers."""
        self._internals = internals
        for iterator in internals.iterators:
            self._hooks.replace(iterator, "__next__", self._timed(iterator.__next__))
        if internals.owned_iterator is not None and internals.reads_models:
            owned = internals.owned_iterator
            self._hooks.replace(owned, "__init__", self._noted(owned.__init__))

    # ------------------------------------------------------------------------- in Python

    def _timed(self, advance: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(advance)
        def timed(iterator: Any) -> Any:
            began = time.perf_counter()
            element = advance(iterator)
            self._note(iterator, began, time.perf_counter(), element)
            return element

        return timed

    def _advanced(self, iterator: Any, began: float, ended: float, element: Any) -> None:
        reading = self._read.get(iterator)
        if reading is None:
            reading = self._read[iterator] = _Reading(self._places.here())
            self._inside.discard(iterator)
        if sizes := split(element):
            self.splits.count(reading.place, sizes)
        self.waited += ended - began
        steps = self._steps()
        if reading.taken >= FIRST:
            numbers = (1, ended - began, ended - reading.last, steps - reading.steps)
            self.seen.add(reading.place, numbers=numbers)
        reading.taken, reading.last, reading.steps = reading.taken + 1, ended, steps

    # ------------------------------------------------------------------ inside a function

    def _noted(self, construct: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(construct)
        def noted(iterator: Any, *arguments: Any, **keywords: Any) -> None:
            construct(iterator, *arguments, **keywords)
            self._keep(iterator, arguments[0] if arguments else keywords.get("dataset"))

        return noted

    def _made(self, iterator: Any, dataset: Any) -> None:
        if not Internals.is_of_replica(dataset):
            self._inside.add(iterator)

    def stepped(self, place: Place | None, now: float) -> Again:
        """A training step called at `place` has ended."""
        if self._window is not None:
            if self._steps() >= self._window[0] + WINDOW:
                self._close(place)
        elif self._inside and now >= self._due:
            found = [(weakref.ref(iterator), self._given(iterator)) for iterator in list(self._inside)]
            before = [(iterator, given[0]) for iterator, given in found if given is not None]
            self._window = (self._steps(), time.perf_counter(), before)
        if self._window is not None:
            return Again(step=self._window[0] + WINDOW)
        return Again(time=max(self._due, now + PAUSE))

    def _close(self, place: Place | None) -> None:
        assert self._window is not None
        steps, began, before = self._window
        self._window = None
        now = time.perf_counter()
        self._due = now + PAUSE
        for iterator, count in before:
            given = self._given(iterator())
            if given is None:
                continue
            taken = given[0] - count
            if 0 < taken <= len(given[1]):
                waited = max(now - began - sum(given[1][-taken:]) / 1e6, 0.0)
                self.seen.add(place, numbers=(taken, waited, now - began, self._steps() - steps))

    def _given(self, iterator: Any) -> tuple[int, list[int]] | None:
        """Number of elements an iterator has produced, and the last gaps between them in µs."""
        return self._internals.iterator_gaps(iterator) if self._internals is not None else None


class _Reading:
    """An iterator read in Python: its line, the number of its elements, and time and step count of the last one."""

    __slots__ = ("last", "place", "steps", "taken")

    def __init__(self, place: Place | None) -> None:
        self.place = place
        self.taken, self.last, self.steps = 0, 0.0, 0
