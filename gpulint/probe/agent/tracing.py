"""Traces of functions and compilations by XLA: how often and how long."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from math import inf
from statistics import median
from typing import Any, NamedTuple

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.retraces import Retraces
from gpulint.probe.agent.states import INPUT, TRACE, States
from gpulint.probe.agent.writer import Writer

XLA, GRAPH = "xla", "trace"
"""Kinds: compilations by XLA; traces, with what TensorFlow optimises before the first run."""

RECENT = 31
"""Calls of a function whose median is its usual time."""

NEEDED = 3
"""Calls without which the usual time is unknown."""

LONG, LONGER = 0.05, 5.0
"""Seconds beyond the usual time, and multiple of it, from which a call has compiled something."""

BUSY = 0.1
"""Share of these seconds that the process must have computed: compilers do, those who wait do not."""

MAX_CAUSES = 3
"""Maximum number of causes recorded for each function."""

LEAVES = 20
"""Tensors among the arguments whose shapes are compared."""

Shapes = tuple[tuple[Any, ...], ...]


class Tracings:
    """Times traces, the first run of each, and calls in which XLA compiles.

    XLA compiles a function again for each shape, and TensorFlow does not report it. For a compiled function that Python
    calls, the shapes of its arguments show it. For one inside another function, as in Keras's `fit`, it shows in a call
    that takes several times as long as usual while the process computes.
    """

    def __init__(self, places: Places, states: States, fault: Guard, compiled: Collection[str]) -> None:
        """`compiled`: names of functions that XLA compiles."""
        self.retraces = Retraces(places, fault)
        self._places, self._states, self._compiled = places, states, compiled
        self.containing: set[str] = set()
        """Functions that XLA compiles, and those that call one."""
        self._lock = threading.Lock()
        self._known: dict[tuple[str, Place | None, str], _Known] = {}
        self._made_at: dict[str, Place | None] = {}
        """Function → the line of its last trace."""
        self._usual: defaultdict[str, deque[float]] = defaultdict(functools.partial(deque, maxlen=RECENT))
        self._shapes: dict[str, set[Shapes]] = {}
        self._early: dict[str, deque[_Call]] = {}
        """Long calls of a function from when its usual time was not known, or was that of compilations."""
        self._guessed: Counter[str] = Counter()
        """Function → its compilations after the first."""
        self._traced = 0
        self._inner = 0.0
        """Seconds of traces inside the current one."""
        self._again = False
        """Whether a function is being traced that has been traced before. The traces inside are part of it: who cures
        it saves them, too."""
        self._traced_again: dict[str, bool] = {}
        """Function → whether its last trace was one of these, or inside one."""
        self.on_traced: Callable[[bool], None] | None = None
        """If set, called after each trace in the training thread, and after each first run (True)."""
        self._at: tuple[float, float, int] = 0.0, 0.0, 0
        self._note = guarded("traces", fault, self._made)
        self._look_for_compilation = guarded("compilations", fault, self._ended)

    # ----------------------------------------------------------------------------- traces

    def watch(self, compilation: Any, hooks: Hooks) -> None:
        """`compilation` is the module that traces functions. Raises AttributeError if it lacks the function."""
        create, states = compilation._create_concrete_function, self._states

        @functools.wraps(create)
        def created(function_type: Any, context: Any, graph: Any, options: Any, *rest: Any) -> Any:
            if states.is_here and states.state == INPUT:  # TensorFlow's own, for the iterator of a strategy
                return create(function_type, context, graph, options, *rest)
            own = self._places.of_function(getattr(options, "python_function", None))
            is_part = own is None and states.is_here and states.state == TRACE  # a library's, within another trace
            again = not is_part and self.retraces.note(function_type, options)
            name = str(getattr(options, "name", ""))
            if states.is_here and self._again:
                self._traced_again[name] = True
                return create(function_type, context, graph, options, *rest)
            place = own or self._places.here()
            if not states.enter(TRACE, place, name):
                return create(function_type, context, graph, options, *rest)
            around, self._inner = self._inner, 0.0
            self._again = self._traced_again[name] = bool(again)
            began = time.perf_counter()
            try:
                return create(function_type, context, graph, options, *rest)
            finally:
                seconds = states.leave() - began
                self._note(name, place, seconds - self._inner)
                self._inner, self._again = around + seconds, False

        hooks.replace(compilation, "_create_concrete_function", created)

    def _made(self, name: str, place: Place | None, seconds: float) -> None:
        self._traced += 1
        self._made_at[name] = place
        self._add(name, place, GRAPH, seconds, again=self._again)
        if self.on_traced is not None:
            self.on_traced(False)

    def first_run(self, name: str, place: Place | None) -> None:
        """A trace has run for the first time: TensorFlow optimised its graph before, or XLA compiled it."""
        if self._states.state == INPUT:
            return
        usual, place = self._usual_of(name), self._made_at.get(name, place)
        seconds = self._states.was(TRACE, place, name, usual)
        self._traced += 1
        if seconds:
            kind = XLA if name in self.containing else GRAPH
            self._add(name, place, kind, seconds, count=int(kind == XLA), again=self._traced_again.get(name, False))
            if self.on_traced is not None:
                self.on_traced(True)

    def _usual_of(self, name: str) -> float:
        return median(recent) if (recent := self._usual.get(name)) else 0.0

    def _add(
        self,
        name: str,
        place: Place | None,
        kind: str,
        seconds: float,
        causes: Iterable[str] = (),
        count: int = 1,
        again: bool = True,
    ) -> None:
        with self._lock:
            known = self._known.setdefault((name, place, kind), _Known())
            known.count += count
            known.seconds += seconds
            if again:
                known.again += count
                known.again_seconds += seconds
            known.causes = list(dict.fromkeys([*known.causes, *causes]))[:MAX_CAUSES]
            known.is_fresh = True

    # ----------------------------------------------------------------------- compilations

    def began(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The training thread calls a function. Raises nothing."""
        cpu = time.process_time() if name in self.containing else 0.0
        self._at = time.perf_counter(), cpu, self._traced

    def ended(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        """The call has returned. Raises nothing; after a call that cannot have compiled, it only notes the time."""
        if name in self.containing or name in self._compiled:
            self._look_for_compilation(name, place, arguments)
        elif self._at[2] == self._traced:
            self._usual[name].append(time.perf_counter() - self._at[0])

    def _ended(self, name: str, place: Place | None, arguments: tuple[Any, ...]) -> None:
        began, cpu, traced = self._at
        seconds = time.perf_counter() - began
        is_new = False
        shapes: Shapes = ()
        if name in self._compiled:
            shapes = tuple(_shapes(arguments))
            seen = self._shapes.setdefault(name, set())
            is_new = shapes not in seen
            seen.add(shapes)
        if self._traced != traced:
            return
        recent = self._usual[name]
        if name in self.containing:
            usual = median(recent) if len(recent) >= NEEDED else None
            specs = () if shapes else _specs(arguments)
            text = _text(shapes or tuple(shape for shape in specs if None in shape))
            most = 0 if 0 < len(shapes) < LEAVES else _new_shapes(specs)
            call = _Call(place, began, seconds, time.process_time() - cpu, text, most)
            if is_new or (usual is not None and call.has_compiled(usual) and self._guessed[name] < most):
                self._compiles(name, call, usual or 0.0)
                return
            early = self._early.setdefault(name, deque(maxlen=RECENT))
            if call.has_compiled(0.0) and most:
                early.append(call)
        recent.append(seconds)
        if self._early.get(name):
            self._look_back(name, recent)

    def _look_back(self, name: str, recent: deque[float]) -> None:
        """The usual time, once it is known, shows which calls before it compiled: batches of new shapes come first."""
        usual = median(recent) if len(recent) >= NEEDED else float("inf")
        for call in [one for one in self._early[name] if one.has_compiled(usual)]:
            self._early[name].remove(call)
            if self._guessed[name] >= call.most:
                continue
            if call.seconds in recent:
                recent.remove(call.seconds)
            self._compiles(name, call, usual)

    def _compiles(self, name: str, call: _Call, usual: float) -> None:
        beyond = call.seconds - usual
        self._guessed[name] += 1
        self._states.moves(call.place, TRACE, name, call.began, call.began + beyond, beyond)
        self._add(name, self._made_at.get(name, call.place), XLA, beyond, call.causes)

    # ----------------------------------------------------------------------------- writing

    def write(self, writer: Writer) -> None:
        """Writes the functions that were traced or compiled since the last time, and why they were traced again."""
        self.retraces.seen.write(writer)
        with self._lock:
            rows = []
            for (name, place, kind), known in self._known.items():
                if known.is_fresh:
                    known.is_fresh = False
                    at = writer.numbered(place)
                    again = known.again, round(known.again_seconds, 6)
                    rows.append([*at, name, kind, known.count, round(known.seconds, 6), known.causes, *again])
        if rows:
            writer.write("traced", rows=rows)


class _Call(NamedTuple):
    """A call of a function that XLA compiles, or that contains one. `computed`: seconds of all processors; `causes`:
    its shapes, in words; `most`: the number of shapes that may follow the first."""

    place: Place | None
    began: float
    seconds: float
    computed: float
    causes: list[str]
    most: float = inf

    def has_compiled(self, usual: float) -> bool:
        """Whether it took so much longer than usual, computing, that it must have compiled."""
        beyond = self.seconds - usual
        return beyond > LONG and self.seconds > LONGER * usual and self.computed > BUSY * beyond


class _Known:
    """Traces or compilations of a function; `again`: those caused only by a change of its arguments."""

    __slots__ = ("again", "again_seconds", "causes", "count", "is_fresh", "seconds")

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0
        self.again, self.again_seconds = 0, 0.0
        self.causes: list[str] = []
        self.is_fresh = True


def _shapes(arguments: Any) -> Iterator[tuple[Any, ...]]:
    """Shapes of the tensors among arguments."""
    left, seen = [arguments], 0
    while left and seen < LEAVES:
        value = left.pop()
        if isinstance(value, (tuple, list)):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        elif getattr(value, "shape", None) is not None:
            seen += 1
            yield tuple(value.shape) if getattr(value.shape, "rank", 0) is not None else ()


def _specs(arguments: Iterable[Any]) -> Shapes:
    """Shapes of the elements of the iterators among some arguments."""
    return tuple(_shapes([getattr(one, "element_spec", None) for one in arguments]))


def _new_shapes(specs: Shapes) -> float:
    """Maximum number of shapes that follow the first: none if all are fixed; where only the batch is not, the last
    batch may be smaller."""
    if not specs:
        return inf
    if not any(None in shape for shape in specs):
        return 0
    return inf if any(None in shape[1:] for shape in specs) else 1


def _text(shapes: Shapes) -> list[str]:
    return [", ".join(str(shape) for shape in shapes)] if shapes else []
