"""Records expectations stated in the program (`gpulint.expect`), with what is observed."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from gpulint.probe.agent.blocks import Block, Moved, copied, missing, placed
from gpulint.probe.agent.graphs import Graph
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.values import Lines, Seen, is_function, look_at, name_of


class Sight(Protocol):
    """A session's observations."""

    @property
    def operations(self) -> Operations | None: ...

    @property
    def graphs(self) -> Mapping[str, Graph]: ...

    @property
    def compiled(self) -> Collection[str]: ...

    def harvest(self) -> None:
        """Takes the graphs executed since the last time."""


class _Key(NamedTuple):
    """Identifies an expectation: a line that runs a thousand times states one."""

    form: str
    expected: str
    place: Place | None
    subject: str


@dataclass(slots=True, eq=False)
class _Stated:
    """An expectation, with everything observed since it was first stated."""

    number: int
    key: _Key
    value: Any = None
    """The latest value of this line, if it is to be examined again at the end of the program."""
    objects: Counter[tuple[str, str]] = field(default_factory=Counter)
    ops: Counter[tuple[str, str]] = field(default_factory=Counter)
    copies: Counter[Moved] = field(default_factory=Counter)
    lines: Lines | None = None
    op: str = ""
    traces: int | None = None
    missing: str = ""
    is_fresh: bool = True

    def fields(self) -> dict[str, Any]:
        """The fields of its record."""
        return {
            "id": self.number,
            "form": self.key.form,
            "expected": self.key.expected,
            "subject": self.key.subject,
            "where": self.key.place,
            "objects": [[*one, count] for one, count in self.objects.items()],
            "ops": [[*one, count] for one, count in self.ops.items()],
            "copies": [[*one, count] for one, count in self.copies.items()],
            "lines": self._lines() if not self.ops else None,
            "traces": self.traces,
            "missing": self.missing,
        }

    def _lines(self) -> list[Any] | None:
        """File, first and last row, op and, in a notebook, cell."""
        if self.lines is None:
            return None
        (path, row, *cell), last = self.lines
        return [path, row, last, self.op, *cell]


class OpenBlock(NamedTuple):
    """A running block and its expectation."""

    stated: _Stated
    block: Block


class Inline:
    """Records expectations when they are stated, so that none is lost if the program crashes, and again when more is
    known. The last record of a number counts."""

    def __init__(
        self,
        places: Places,
        sight: Sight,
        write: Callable[..., None],
        on_fault: Callable[[str, BaseException], None],
    ) -> None:
        self._places, self._sight, self._write, self._on_fault = places, sight, write, on_fault
        self._lock = threading.Lock()
        self._stated: dict[_Key, _Stated] = {}

    def state(self, form: str, expected: str, *value: Any) -> None:
        """An expectation of a value or, without one, of the whole run."""
        try:
            self._state(form, expected, *value)
        except Exception as error:
            self._on_fault("expect", error)

    def open(self, form: str, expected: str) -> OpenBlock | None:
        """An expectation of a block, which begins."""
        try:
            return self._open(form, expected)
        except Exception as error:
            self._on_fault("expect", error)
        return None

    def close(self, opened: OpenBlock | None) -> None:
        """The block has ended."""
        try:
            if opened is not None:
                self._close(opened)
        except Exception as error:
            self._on_fault("expect", error)

    def look_again(self) -> None:
        """Examines the values again at the end of the program."""
        try:
            for stated in list(self._stated.values()):
                if stated.value is not None:
                    self._look(stated, self._seen(stated.value))
                    stated.value = None
        except Exception as error:
            self._on_fault("expect", error)

    def write_down(self) -> None:
        """Writes expectations that have changed."""
        with self._lock:
            fresh = [one for one in self._stated.values() if one.is_fresh]
            for one in fresh:
                one.is_fresh = False
            records = [one.fields() for one in fresh]
        for record in records:
            self._write("expectation", **record)

    # -------------------------------------------------------------------------- internal

    def _state(self, form: str, expected: str, *value: Any) -> None:
        place = self._places.here(2)
        if not value:
            self._of(_Key(form, expected, place, "this run"))
            return
        seen = self._seen(value[0])
        stated = self._of(_Key(form, expected, place, seen.subject))
        if stated.value is not None and stated.value is not value[0]:
            self._look(stated, self._seen(stated.value))
        stated.value = value[0] if seen.function is not None or not seen.objects else None
        self._look(stated, seen)

    def _open(self, form: str, expected: str) -> OpenBlock:
        stated = self._of(_Key(form, expected, self._places.here(2), "this block"), "the block did not end")
        block = Block()
        if (operations := self._sight.operations) is not None:
            with self._lock:
                operations.begin(block)
        return OpenBlock(stated, block)

    def _close(self, opened: OpenBlock) -> None:
        stated, block = opened
        operations = self._sight.operations
        with self._lock:
            was_running = operations is not None and operations.end(block)
        if operations is None or not was_running:
            stated.missing = "no TensorFlow had been imported when it began"
            stated.is_fresh = True
            return
        self._sight.harvest()
        moved, unseen = copied(block, self._sight.graphs, operations.loops)
        ops, unknown = placed(block, self._sight.graphs, self._sight.compiled, operations.loops)
        lacks = unseen if stated.key.form == "copies" else unknown
        with self._lock:
            stated.ops.update(ops)
            stated.copies.update(moved)
            stated.missing = lacks or ("" if stated.ops else "no operation ran in it")
            stated.is_fresh = True

    def _seen(self, value: Any) -> Seen:
        try:
            return look_at(value, self._built_at, self._places.at)
        except Exception as error:  # raised by a property of the program's own object
            return Seen(f"a value of type {type(value).__name__}", missing=f"{type(error).__name__}: {error}")

    def _of(self, key: _Key, missing: str = "") -> _Stated:
        with self._lock:
            stated = self._stated.get(key)
            if stated is not None:
                return stated
            stated = self._stated[key] = _Stated(len(self._stated) + 1, key, missing=missing, is_fresh=False)
            record = stated.fields()
        self._write("expectation", **record)
        return stated

    def _look(self, stated: _Stated, seen: Seen) -> None:
        """Adds what a value shows."""
        traces = _traces(stated.value) if stated.value is not None else None
        ops = self._ops_of(seen) if seen.function is not None and stated.key.form == "on" else Counter()
        with self._lock:
            stated.objects.update(seen.objects)
            stated.ops = ops or stated.ops
            stated.lines, stated.op = seen.lines, seen.op
            stated.traces = max(traces, stated.traces or 0) if traces is not None else stated.traces
            stated.missing = seen.missing
            stated.is_fresh = True

    def _ops_of(self, seen: Seen) -> Counter[tuple[str, str]]:
        """(op, device) of a function's graphs, looked up by name. Empty if more traces of that name ran than the
        function has: another function shares the name. Its lines then identify its operations."""
        operations, name = self._sight.operations, name_of(seen.function)
        traces = operations.traces.get(name) if operations is not None else None
        if operations is None or not traces or len(traces) > (_traces(seen.function) or 0):
            return Counter()
        self._sight.harvest()
        if name in operations.loops:
            seen.missing = missing([f"the loop over a dataset in `{name}`"])
        if name in self._sight.graphs:
            return Counter(self._sight.graphs[name].placed)
        if name in self._sight.compiled:
            return Counter({(f"`{name}`, compiled by XLA", operations.called_at[name][1]): 1})
        seen.missing = missing([f"`{name}`"])
        return Counter()

    def _built_at(self, value: Any) -> tuple[Place, str] | None:
        """Line and operation that created a symbolic tensor."""
        operations = self._sight.operations
        try:
            key = value.graph.name, value.op.name
        except AttributeError:  # an eager tensor, or not a tensor
            return None
        built = operations.created.get(key) if operations is not None else None
        return (built.place, built.op) if built is not None and built.place is not None else None


def _traces(function: Any) -> int | None:
    """TensorFlow's trace count of a function; None if it is not a `tf.function`."""
    return int(function.experimental_get_tracing_count()) if is_function(function) else None
