"""Measures how long the program waits for its input."""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections import Counter
from collections.abc import Callable
from itertools import combinations, islice, pairwise
from statistics import median
from typing import Any

from gpulint.probe.agent.generators import Generators
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.holders import Holder, Holders
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals, IteratorModel
from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.pipelines import Pipelines
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.replicas import split
from gpulint.probe.agent.states import INPUT, OWN, TRACE, States
from gpulint.probe.agent.tally import Tally

LONGEST = 9.9
"""Seconds from which a gap may be missing: longer than 10 s are not remembered."""

TRIES = 3
"""Calls of a function after which it is taken to read no iterator but those that it gets."""

CHOICES = 500
"""Choices of missing gaps that are compared."""

CALLS = 64
"""Calls of functions after which their iterators are queried, which takes about as long as an eager operation."""

HOST = "CPU:0"
"""Where tf.data keeps its buffers."""

SAMPLED = frozenset({8, 64, 512, 4096})
"""Number of elements of a loop in Python after which the buffers are examined."""

NEXT, OPEN, CLOSE = "next", "iter", "end of a pipeline"
"""Details of waits: for an element, for an iterator, and for what its pipeline is still doing."""


class Inputs:
    """Times `next()` of dataset iterators, and queries those that are read inside functions.

    Elements of a distributed dataset also show how many examples each replica gets.

    A loop over a dataset calls `next()` in Python: its duration is the wait. Keras `fit` passes its iterator to the
    training function, which reads it; there the iterator itself records the time from each element to the next request
    (`ModelProto.gap_times`, microseconds; in 2.21, not in 2.16). A function asks for its element when it begins, so
    the rest of the time between the beginnings of two calls is the wait.
    """

    def __init__(
        self,
        places: Places,
        hooks: Hooks,
        fault: Guard,
        states: States,
        pipelines: Pipelines,
        holders: Holders,
        passes: Passes,
    ) -> None:
        self._places, self._hooks, self._states, self._passes = places, hooks, states, passes
        self._pipelines, self._holders = pipelines, holders
        self._internals: Internals | None = None
        self.stages = Tally("stages")
        self.generators = Generators(places, hooks)
        self.splits = Tally("splits")
        self._loops: weakref.WeakKeyDictionary[Any, _Loop] = weakref.WeakKeyDictionary()
        self._inside: dict[int, _Inside] = {}
        """Iterators read inside functions, by identity."""
        self._idle: weakref.WeakSet[Any] = weakref.WeakSet()
        """Iterators that have not been read."""
        self._has_idle = False
        """Whether there may be such iterators."""
        self._tensor: Any = ()
        """The class of eager tensors."""
        self._owners: dict[int, Place | None] = {}
        """The line that reads or opened an iterator, by identity: it may be deleted anywhere."""
        self.ended = 0
        """Iterators that have been deleted, without the placeholders of functions, which have no pipeline."""
        self.ended_at: Place | None = None
        """The line of the last of them."""
        self._fault = fault
        self._note_opened = guarded("waits for input", fault, self._open)
        self._captured: dict[str, weakref.WeakSet[Any]] = {}
        """Function → iterators that it reads and does not get."""
        self._tried: Counter[str] = Counter()
        self._calling: list[_Inside] = []
        """Iterators passed to the function that is running."""
        self._note = guarded("waits for input", fault, self._note_split)
        self._look = guarded("buffers", fault, self._look_at_buffers)
        self._end = guarded("waits for input", fault, self._died)
        self._note_began = guarded("waits for input", fault, self._began)
        self._note_ended = guarded("waits for input", fault, self._ended)

    def watch(self, internals: Internals) -> None:
        """Installs the timers."""
        self._internals, self._tensor = internals, internals.eager_tensor or ()
        for dataset in internals.iterables:
            self._hooks.replace(dataset, "__iter__", self._opened(dataset.__iter__))
        for iterator in internals.iterators:
            divides = iterator is internals.distributed_iterator
            self._hooks.replace(iterator, "__next__", self._timed(iterator.__next__, divides))
            self._hooks.add(iterator, "__del__", self._finished(getattr(iterator, "__del__", None)))

    # ------------------------------------------------------------------------- in Python

    def _timed(self, advance: Callable[[Any], Any], divides: bool) -> Callable[[Any], Any]:
        """`divides`: whether the iterators divide their elements among replicas."""
        states = self._states

        @functools.wraps(advance)
        def timed(iterator: Any) -> Any:
            if states.state == TRACE:  # the call becomes part of a graph
                return advance(iterator)
            loop = self._loops.get(iterator)
            if loop is None:
                of_library = self._places.is_foreign(sys._getframe(1).f_code.co_filename)
                loop = self._loops[iterator] = _Loop(self._places.here(2), of_library)
                self._owners[id(iterator)] = loop.place
                self._idle.discard(iterator)
                states.begin_pass(loop.place)
            entered = states.enter(INPUT, loop.place, NEXT)
            try:
                element = advance(iterator)
            except StopIteration:
                states.end_pass(loop.place)
                raise
            finally:
                if entered:
                    states.leave()
            loop.taken += 1
            self._passes.takes_element(sys._getframe(1))
            if divides and not loop.of_library:
                self._note(loop, element)
            if loop.taken in SAMPLED:
                self._look(iterator)
            return element

        return timed

    def _note_split(self, loop: _Loop, element: Any) -> None:
        if sizes := split(element):
            self.splits.count(loop.place, sizes)

    def _opened(self, iterate: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Starting a pipeline, which may fill its buffers."""
        states = self._states

        @functools.wraps(iterate)
        def opened(dataset: Any) -> Any:
            if not states.is_here or states.state in (INPUT, TRACE):
                return iterate(dataset)
            place = self._places.here(2)
            entered = states.enter(INPUT, place, OPEN)
            try:
                iterator = iterate(dataset)
            finally:
                if entered:
                    states.leave()
            self._note_opened(iterator, place)
            return iterator

        return opened

    def _finished(self, before: Callable[[Any], None] | None) -> Callable[[Any], None]:
        """Ending a pipeline, which waits for the elements that it is making."""
        states = self._states

        def finished(iterator: Any) -> None:
            if before is not None:
                before(iterator)
            ended = self.ended
            own = states.state != TRACE and states.enter(OWN)
            self._end(iterator)
            if own:
                states.leave()
            entered = self.ended != ended and states.state != TRACE and states.enter(INPUT, self.ended_at, CLOSE)
            self._release(iterator)
            if entered:
                states.leave()

        return finished

    def _release(self, iterator: Any) -> None:
        """Release an iterator. The time that TensorFlow waits meanwhile does not count as gpulint's own."""
        try:
            if self._internals is not None:
                self._internals.release(iterator)
        except Exception as error:
            self._fault("waits for input", error)

    def _open(self, iterator: Any, place: Place | None) -> None:
        self._idle.add(iterator)
        self._has_idle = True
        inner = self._internals.owned_iterators(iterator) if self._internals is not None else []
        for one in (iterator, *inner):
            self._owners[id(one)] = place

    def _died(self, iterator: Any) -> None:
        """An iterator is about to be deleted, as at the end of an epoch."""
        if id(iterator) in self._owners:
            self.ended_at = self._owners.pop(id(iterator))
            self.ended += 1
        if self._internals is None:
            return
        one, loop = self._inside.pop(id(iterator), None), self._loops.get(iterator)
        if one is not None:
            self._query(one, iterator, is_last=True)
            self._note_stages(one.place, one.model)
        elif loop is not None and loop.taken:
            self._note_stages(loop.place, self._internals.iterator_model(iterator))

    def _note_stages(self, place: Place | None, model: IteratorModel | None) -> None:
        """The stages of a pipeline that has ended."""
        for name, elements, seconds, parallelism in model.stages if model is not None else ():
            self.stages.add(place, name, numbers=(elements, seconds, elements * parallelism))

    # ------------------------------------------------------------------ inside a function

    def function_began(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The training thread calls a function. Raises nothing."""
        if self._calling:
            self._calling = []
        if name in self._captured:
            self._note_began(name, place, arguments)
            return
        for argument in arguments:
            if not issubclass(type(argument), self._tensor):
                self._note_began(name, place, arguments)
                return

    def function_ended(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The call has returned. Raises nothing."""
        if self._calling or (self._has_idle and self._tried.get(name, 0) < TRIES):
            self._note_ended(name, place)

    def _began(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        if self._internals is None:
            return
        for argument in (*arguments, *self._captured.get(name, ())):
            for iterator in self._internals.owned_iterators(argument):
                one = self._read_inside(iterator, place)
                one.calls.append(_Call(time.perf_counter()))
                self._calling.append(one)

    def _read_inside(self, iterator: Any, place: Place | None) -> _Inside:
        one = self._inside.get(id(iterator))
        if one is None or one.iterator() is not iterator:
            one = self._inside[id(iterator)] = _Inside(iterator, place)
            self._owners[id(iterator)] = place
            self._idle.discard(iterator)
        return one

    def _look_for_captured(self, name: str, place: Place | None) -> None:
        """A function without an iterator argument has run: it may have captured one that was not read before."""
        self._tried[name] += 1
        assert self._internals is not None
        for iterator in list(self._idle):
            for owned in self._internals.owned_iterators(iterator)[:1]:
                model = self._internals.iterator_model(owned)
                if model is not None and model.elements:
                    self._captured.setdefault(name, weakref.WeakSet()).add(iterator)
                    self._idle.discard(iterator)
                    self._read_inside(owned, place).begin(model)

    def traced(self, is_first_run: bool) -> None:
        """The running function was traced and requests its element only now, or its first run has ended at an unknown
        time."""
        for one in self._calling:
            if is_first_run:
                one.calls[-1].is_first = True
            else:
                one.calls[-1].began = time.perf_counter()

    def _ended(self, name: str, place: Place | None) -> None:
        for one in self._calling:
            one.calls[-1].ended = time.perf_counter()
            if len(one.calls) * one.each >= CALLS or len(one.calls) >= CALLS:
                self._query(one, one.iterator())
        self._has_idle = bool(self._idle)
        if not self._calling and self._has_idle:
            self._look_for_captured(name, place)
        self._calling = []

    def settle(self) -> None:
        """Query all iterators after a `fit` or the like: they may be deleted at any time, also while a graph is
        built."""
        for one in list(self._inside.values()):
            self._query(one, one.iterator())

    def close(self) -> None:
        """Record the last waits of all iterators, and forget them."""
        for one in list(self._inside.values()):
            self._query(one, one.iterator(), is_last=True)
            self._note_stages(one.place, one.model)
        self._inside.clear()

    def _look_at_buffers(self, iterator: Any) -> None:
        """Record the buffers of an iterator that a Python loop reads."""
        owned = self._internals.owned_iterators(iterator)[:1] if self._internals is not None else []
        entered = self._states.enter(OWN)
        try:
            for one in owned:
                if self._internals is not None and (model := self._internals.iterator_model(one)) is not None:
                    self._hold_buffers(one, model)
        finally:
            if entered:
                self._states.leave()

    def _hold_buffers(self, iterator: Any, model: IteratorModel) -> None:
        """Record what the stages of a pipeline keep in host memory."""
        dataset = Internals.dataset_of(iterator)
        for name, size in model.buffers:
            self._holders.level(Holder(HOST, "input", self._pipelines.place_of(dataset, name), name), size)

    def _query(self, one: _Inside, iterator: Any, is_last: bool = False) -> None:
        if iterator is None or self._internals is None:
            return
        entered = self._states.enter(OWN)
        try:
            model = self._internals.iterator_model(iterator)
        finally:
            if entered:
                self._states.leave()
        if model is not None:
            one.model = model
            self._hold_buffers(iterator, model)
            waits = one.settle(model.elements, model.gaps, is_last)
        elif self._internals.is_synchronous(iterator):
            waits = one.of_generator(self.generators.between)
        else:
            one.calls = one.calls[-1:]
            return
        for began, ended, waited, count in waits:
            self._states.moves(one.place, INPUT, NEXT, began, ended, waited, count)


class _Loop:
    """An iterator read in Python: its line, whether a library reads it (Keras, to build a model), and the number of its
    elements."""

    __slots__ = ("of_library", "place", "taken")

    def __init__(self, place: Place | None, of_library: bool) -> None:
        self.place, self.of_library = place, of_library
        self.taken = 0


class _Call:
    """A call of a function that reads an iterator. `ended` is 0 if it did not return, as after the last element;
    `is_first` if it was the first run of a trace."""

    __slots__ = ("began", "ended", "is_first")

    def __init__(self, began: float) -> None:
        self.began, self.ended, self.is_first = began, 0.0, False


class _Inside:
    """An iterator read inside functions, and the calls that read it whose waits are not known yet."""

    __slots__ = ("calls", "each", "elements", "gaps", "iterator", "model", "place", "remembered")

    def __init__(self, iterator: Any, place: Place | None) -> None:
        self.iterator, self.place = weakref.ref(iterator), place
        self.calls: list[_Call] = []
        self.elements = 0
        self.model: IteratorModel | None = None
        """The last one."""
        self.each = 1
        """Elements that a call reads."""
        self.gaps: list[float] = []
        """Gaps of `calls` in seconds."""
        self.remembered: list[int] = []
        """The gaps that the iterator remembered at the last query, in µs."""

    def begin(self, model: IteratorModel) -> None:
        """Start counting at the present state of the iterator: the calls before are unknown."""
        self.elements, self.remembered = model.elements, model.gaps

    def settle(self, elements: int, gaps: list[int], is_last: bool) -> list[tuple[float, float, float, int]]:
        """The waits of all calls but the last: begin, end, seconds waited, elements. `elements` is the number so far,
        `gaps` the last ones in µs."""
        is_first = not self.elements
        taken, self.elements = elements - self.elements, elements
        fresh = self.calls if is_first else self.calls[1:]
        returned = sum(1 for call in fresh if call.ended)
        if not taken or not returned:
            self.calls = self.calls[-1:]
            return []
        new = [gap / 1e6 for gap in gaps[len(gaps) - _added(self.remembered, gaps) :]]
        self.remembered = gaps
        each, rest = divmod(taken, returned)
        self.each = max(each, 1)
        self.gaps += new
        expected = taken - is_first + len(fresh) - returned
        if rest or not self._complete(expected - len(new)):
            rows = self._on_average(gaps, taken)
        else:
            rows = self._of_each(is_last)
        self.calls = self.calls[-1:]
        return rows

    def of_generator(self, between: Callable[[float, float], float]) -> list[tuple[float, float, float, int]]:
        """The waits of all calls where each lets a generator make its element: Keras switches the model off for a
        `PyDataset` with workers."""
        rows = [(one.began, one.ended, between(one.began, one.ended), 1) for one in self.calls if one.ended]
        self.calls = []
        return rows

    def _intervals(self) -> list[float]:
        return [after.began - before.began for before, after in pairwise(self.calls)]

    def _complete(self, missing: int) -> bool:
        """Puts in gaps that were too long to be recorded. Returns whether all are known then."""
        intervals = self._intervals()
        long = [number for number, interval in enumerate(intervals) if interval > LONGEST]
        if not missing:
            return True
        if missing < 0 or self.each > 1 or len(long) < missing:
            return False

        def filled(chosen: tuple[int, ...]) -> list[float]:
            left = iter(self.gaps)
            return [interval if number in chosen else next(left, 0.0) for number, interval in enumerate(intervals)]

        def misfit(chosen: tuple[int, ...]) -> float:
            return sum(max(0.0, gap - interval) for gap, interval in zip(filled(chosen), intervals))  # noqa: B905

        self.gaps = filled(min(islice(combinations(long, missing), CHOICES), key=misfit))
        return True

    def _on_average(self, gaps: list[int], taken: int) -> list[tuple[float, float, float, int]]:
        """The wait of all calls together, from the mean gap: a call may leave its loop, or read more elements than are
        remembered."""
        began, ended = self.calls[0].began, self.calls[-1].began
        self.gaps = []
        if ended <= began:
            return []
        elements = round(taken * (len(self.calls) - 1) / max(len(self.calls), 1))
        mean = sum(gaps) / max(len(gaps), 1) / 1e6
        return [(began, ended, max(0.0, ended - began - mean * elements), elements)]

    def _of_each(self, is_last: bool) -> list[tuple[float, float, float, int]]:
        waits = []
        for number, interval in enumerate(self._intervals()):
            spent = sum(self.gaps[number * self.each : (number + 1) * self.each])
            waits.append(0.0 if self.calls[number].is_first else interval - spent)
        self.gaps = self.gaps[len(waits) * self.each :]
        if is_last and waits and self.calls[-1].ended:
            waits.append(self._last_wait(waits))
        total, positive = sum(waits), sum(max(0.0, wait) for wait in waits)
        scale = max(0.0, total) / positive if positive else 0.0
        return [
            (call.began, call.began + max(0.0, wait) * scale, max(0.0, wait) * scale, self.each)
            for call, wait in zip(self.calls, waits)  # noqa: B905
        ]

    def _last_wait(self, waits: list[float]) -> float:
        """An estimate for the last call, after which nothing was requested."""
        last = self.calls[-1]
        computed = [call.ended - call.began - wait for call, wait in zip(self.calls, waits)]  # noqa: B905
        return max(0.0, last.ended - last.began - median(computed))


def _added(before: list[int], after: list[int]) -> int:
    """Number of gaps that were added to the remembered ones; the oldest are dropped."""
    for kept in range(min(len(before), len(after)), 0, -1):
        if before[-kept:] == after[:kept]:
            return len(after) - kept
    return len(after)
