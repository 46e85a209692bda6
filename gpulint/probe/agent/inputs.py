"""Measures how long the program waits for its input."""

from __future__ import annotations

import functools
import time
import weakref
from collections.abc import Callable
from statistics import median
from typing import Any

from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.replicas import split
from gpulint.probe.agent.states import INPUT, OWN, States
from gpulint.probe.agent.tally import Tally

FIRST = 2
"""Elements of an iterator that are not counted for the share of a loop: the first ones fill buffers."""

GAPS = 100
"""Gaps between requests that an iterator remembers."""

CALLS = 64
"""Calls of functions after which their iterators are queried, which takes about as long as an eager operation."""

NEXT = "next"
"""The detail of waits."""


class Inputs:
    """Times `next()` of dataset iterators, and queries those that are read inside functions.

    Elements of a distributed dataset also show how many examples each replica gets.

    A loop over a dataset calls `next()` in Python: its duration is the wait. Keras `fit` passes its iterator to the
    training function, which reads it; there the iterator itself records the time from each element to the next request
    (`ModelProto.gap_times`, microseconds; in 2.21, not in 2.16). A function asks for its element when it begins, so
    the rest of the time between the beginnings of two calls is the wait.
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Fault, states: States, steps: Callable[[], int]) -> None:
        """`steps` returns the number of training steps so far."""
        self._places, self._hooks, self._states, self._steps = places, hooks, states, steps
        self._internals: Internals | None = None
        self.seen = Tally("input")
        self.splits = Tally("splits")
        self._loops: weakref.WeakKeyDictionary[Any, _Loop] = weakref.WeakKeyDictionary()
        self._inside: dict[int, _Inside] = {}
        """Iterators read inside functions, by identity."""
        self._calling: list[_Inside] = []
        """Those passed to the function that is running."""
        self._note = guarded("waits for input", fault, self._advanced)
        self._end = guarded("waits for input", fault, self._died)
        self.began = guarded("waits for input", fault, self._began)
        self.ended = guarded("waits for input", fault, self._ended)

    def watch(self, internals: Internals) -> None:
        """Installs the timers."""
        self._internals = internals
        for iterator in internals.iterators:
            self._hooks.replace(iterator, "__next__", self._timed(iterator.__next__))
        if internals.owned_iterator is not None and internals.reads_models:
            self._hooks.add(internals.owned_iterator, "__del__", self._finished(internals.owned_iterator))

    # ------------------------------------------------------------------------- in Python

    def _timed(self, advance: Callable[[Any], Any]) -> Callable[[Any], Any]:
        states = self._states

        @functools.wraps(advance)
        def timed(iterator: Any) -> Any:
            loop = self._loops.get(iterator)
            if loop is None:
                loop = self._loops[iterator] = _Loop(self._places.here(2))
                states.begin_pass(loop.place)
            entered = states.enter(INPUT, loop.place, NEXT)
            began = time.perf_counter()
            try:
                element = advance(iterator)
            except StopIteration:
                states.end_pass(loop.place)
                raise
            finally:
                if entered:
                    states.leave()
            self._note(loop, began, time.perf_counter(), element)
            return element

        return timed

    def _advanced(self, loop: _Loop, began: float, ended: float, element: Any) -> None:
        if sizes := split(element):
            self.splits.count(loop.place, sizes)
        steps = self._steps()
        if loop.taken >= FIRST:
            self.seen.add(loop.place, numbers=(1, ended - began, ended - loop.last, steps - loop.steps))
        loop.taken, loop.last, loop.steps = loop.taken + 1, ended, steps

    # ------------------------------------------------------------------ inside a function

    def _began(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The training thread calls a function."""
        if self._internals is None or not self._internals.reads_models:
            return
        self._calling = []
        for argument in arguments:
            for iterator in self._internals.owned_iterators(argument):
                one = self._inside.get(id(iterator))
                if one is None or one.iterator() is not iterator:
                    one = self._inside[id(iterator)] = _Inside(iterator, place, self._steps())
                one.calls.append(_Call(time.perf_counter()))
                self._calling.append(one)

    def traced(self, is_first_run: bool) -> None:
        """The running function was traced, and asks for its element only now; or its first run has ended, of which
        nobody knows when it did."""
        for one in self._calling:
            one.calls[-1].began = time.perf_counter()
            one.calls[-1].is_first = is_first_run

    def _ended(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The call has returned."""
        for one in self._calling:
            one.calls[-1].ended = time.perf_counter()
            if len(one.calls) * one.each >= CALLS or len(one.calls) >= CALLS:
                self._query(one, one.iterator())
        self._calling = []

    def close(self) -> None:
        """The watching is over: the last waits."""
        for one in list(self._inside.values()):
            self._query(one, one.iterator(), is_last=True)
        self._inside.clear()

    def _finished(self, owned: Any) -> Callable[[Any], None]:
        before = getattr(owned, "__del__", None)

        def finished(iterator: Any) -> None:
            if id(iterator) in self._inside:
                self._end(iterator)
            if before is not None:
                before(iterator)

        return finished

    def _died(self, iterator: Any) -> None:
        """An iterator is about to be deleted, as at the end of an epoch."""
        one = self._inside.pop(id(iterator))
        if self._states.is_here:
            self._query(one, iterator, is_last=True)

    def _query(self, one: _Inside, iterator: Any, is_last: bool = False) -> None:
        if iterator is None or self._internals is None:
            return
        entered = self._states.enter(OWN)
        try:
            given = self._internals.iterator_gaps(iterator)
        finally:
            if entered:
                self._states.leave()
        if given is None:
            return
        steps = self._steps()
        waits = one.settle(*given, is_last)
        for began, ended, waited, count in waits:
            self._states.moves(one.place, INPUT, NEXT, began, ended, waited, count)
        if waits:
            seconds = waits[-1][1] - waits[0][0]
            numbers = sum(count for *_, count in waits), sum(one[2] for one in waits), seconds, steps - one.steps
            self.seen.add(one.place, numbers=numbers)
            one.steps = steps


class _Loop:
    """An iterator read in Python: its line, the number of its elements, and time and step count of the last one."""

    __slots__ = ("__weakref__", "last", "place", "steps", "taken")

    def __init__(self, place: Place | None) -> None:
        self.place = place
        self.taken, self.last, self.steps = 0, 0.0, 0


class _Call:
    """A call of a function that reads an iterator. `ended` is 0 if it did not return, as after the last element;
    `is_first` if it was the first run of a trace."""

    __slots__ = ("began", "ended", "is_first")

    def __init__(self, began: float) -> None:
        self.began, self.ended, self.is_first = began, 0.0, False


class _Inside:
    """An iterator read inside functions, and the calls that read it whose waits are not known yet."""

    __slots__ = ("calls", "each", "elements", "gaps", "iterator", "place", "steps")

    def __init__(self, iterator: Any, place: Place | None, steps: int) -> None:
        self.iterator, self.place, self.steps = weakref.ref(iterator), place, steps
        self.calls: list[_Call] = []
        self.elements = 0
        self.each = 1
        """Elements that a call reads."""
        self.gaps: list[float] = []
        """Gaps in seconds of the first of `calls` that were counted before."""

    def settle(self, elements: int, gaps: list[int], is_last: bool) -> list[tuple[float, float, float, int]]:
        """The waits of all calls but the last: begin, end, seconds waited, elements. `elements` is the number so far,
        `gaps` the last ones in µs."""
        known = self.elements > 0
        taken, self.elements = elements - self.elements, elements
        fresh = self.calls[1:] if known else self.calls
        returned = sum(1 for call in fresh if call.ended)
        if not taken or not returned:
            return []
        each = taken / returned
        begins = [call.began for call in self.calls]
        if each != int(each) or taken > GAPS:  # a call may leave its loop, or read more than is remembered
            mean = sum(gaps) / max(len(gaps), 1) / 1e6
            seconds = begins[-1] - begins[0]
            waited = max(0.0, seconds - mean * taken * (len(begins) - 1) / max(len(fresh), 1))
            self.calls, self.gaps = self.calls[-1:], []
            return [(begins[0], begins[-1], waited, taken)] if seconds else []
        self.each = int(each)
        recorded = taken - (not known) + len(fresh) - returned
        self.gaps += [gap / 1e6 for gap in gaps[len(gaps) - recorded :]] if recorded else []
        waits = []
        for number in range(len(self.calls) - 1):
            spent = sum(self.gaps[number * self.each : (number + 1) * self.each])
            waits.append(0.0 if self.calls[number].is_first else begins[number + 1] - begins[number] - spent)
        self.gaps = self.gaps[len(waits) * self.each :]
        if is_last and waits and self.calls[-1].ended:
            waits.append(self._last_wait(waits))
        total = max(0.0, sum(waits))
        positive = sum(max(0.0, wait) for wait in waits)
        scale = total / positive if positive else 0.0
        rows = []
        for begin, wait in zip(begins, waits):  # noqa: B905
            waited = max(0.0, wait) * scale
            rows.append((begin, begin + waited, waited, self.each))
        self.calls = self.calls[-1:]
        return rows

    def _last_wait(self, waits: list[float]) -> float:
        """An estimate for the last call, after which nothing was requested."""
        last = self.calls[-1]
        computed = [call.ended - call.began - wait for call, wait in zip(self.calls, waits)]  # noqa: B905
        return max(0.0, last.ended - last.began - median(computed))
