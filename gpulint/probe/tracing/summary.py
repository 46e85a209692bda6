"""Summary of a trace of a window of the run: the fields of a `window` record.

Every moment of the window belongs to the first of these that holds: a device computes, a device takes part in a
collective, a device copies, the host waits for the next element of a dataset.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from gpulint.probe.tracing.intervals import Interval, difference, gaps, intersection, length, union
from gpulint.probe.tracing.xspace import COPY, KERNEL, Happening, Trace

TOP = 20
"""Kernels and lines kept of each device."""

_NAME = 200
"""Characters kept of a kernel's name: C++ templates make them long."""

_SECOND = 1_000_000_000

_COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
"""Kernels of NCCL and RCCL, which run until every device has taken part."""

_INPUT = re.compile(r"IteratorGetNext|ReduceIterator::Root(?:::(?!Scan)\w+)*::Scan::\w+$")
"""Host events that last while something waits for an element. The second is the input of a loop over a dataset in a
`tf.function`, which becomes a `scan` whose function is the loop's body."""

_TRACE = re.compile(r"tf\.function-graph_building$")
_COMPILE = re.compile(r"(?:Cpu|Gpu|Jit|Xla)\w*(?:Compiler::|CompilationCache)")
_HOST = {"input": _INPUT, "trace": _TRACE, "compile": _COMPILE}


class Window(NamedTuple):
    """The window as the agent knows it, in seconds since the epoch. `spans`: the states of the training thread, one
    after the other; `places`: node of a graph → file number and row."""

    began: float
    ended: float
    steps: int
    spans: Sequence[tuple[str, float, float]] = ()
    places: Mapping[str, tuple[int, int]] = {}


class _Device:
    """Activity of one device within a window."""

    def __init__(self, name: str, happened: Iterable[Happening], began: int, ended: int) -> None:
        self.name = name
        self.kernels = 0
        computing: list[Interval] = []
        collective: list[Interval] = []
        copying: list[Interval] = []
        self.copies: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.by_kernel: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.by_op: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        for one in happened:
            first, last = max(one.began, began), min(one.ended, ended)
            if first >= last:
                continue
            if one.kind == KERNEL:
                self.kernels += 1
                (collective if _is_collective(one.name) else computing).append((first, last))
                _add(self.by_kernel[one.name[:_NAME]], 1, last - first)
                _add(self.by_op[one.op], 1, last - first)
            else:
                copying.append((first, last))
                kind = one.name.removeprefix("Memcpy") if one.kind == COPY else "memset"
                _add(self.copies[kind], 1, one.size, last - first)
        self.computing, self.collective, self.copying = union(computing), union(collective), union(copying)
        self.busy = union([*self.computing, *self.collective])
        self.idle = gaps(union([*self.busy, *self.copying]), began, ended)


@lru_cache(maxsize=4096)
def _is_collective(kernel: str) -> bool:
    return _COLLECTIVE.search(kernel) is not None


def summary(trace: Trace, window: Window) -> dict[str, Any]:
    """The fields of a `window` record; rows of places have the agent's numbers of files."""
    began, ended = _nanoseconds(window.began), _nanoseconds(window.ended)
    devices = [_Device(name, trace.of_device(name), began, ended) for name in trace.devices]
    host = {
        name: [one for one in trace.on_host(pattern) if one[1] > began and one[0] < ended]
        for name, pattern in _HOST.items()
    }
    return {
        "began": round(window.began, 6),
        "ended": round(window.ended, 6),
        "steps": window.steps,
        "devices": [_row(one) for one in devices],
        "copies": [
            [one.name, kind, count, size, _seconds(spent)]
            for one in devices
            for kind, (count, size, spent) in sorted(one.copies.items())
        ],
        "kernels": [[one.name, kernel, *spent] for one in devices for kernel, *spent in _top(one.by_kernel)],
        "lines": [row for one in devices for row in _lines(one, window.places, trace.eager)],
        "states": _states(window.spans, began, ended, devices, union(host["input"])),
        "host": [
            [name, len(found), _seconds(length(intersection(union(found), [(began, ended)])))]
            for name, found in host.items()
            if found
        ],
        "warnings": trace.warnings,
    }


def _row(device: _Device) -> list[Any]:
    idle = sorted(last - first for first, last in device.idle)
    return [
        device.name,
        _seconds(length(device.busy)),
        device.kernels,
        _seconds(length(device.collective)),
        _seconds(length(device.copying)),
        len(idle),
        _seconds(sum(idle)),
        _seconds(idle[-1]) if idle else 0.0,
    ]


def _states(
    spans: Sequence[tuple[str, float, float]], began: int, ended: int, devices: Sequence[_Device], waits: list[Interval]
) -> list[list[Any]]:
    """Rows of [state, seconds, of these computing, collective, copying, waiting for input]; the state of the whole
    window is ""."""
    of_state: defaultdict[str, list[Interval]] = defaultdict(list)
    of_state[""].append((began, ended))
    for state, first, last in spans:
        of_state[state].append((max(_nanoseconds(first), began), min(_nanoseconds(last), ended)))
    kinds = (
        [one for device in devices for one in device.computing],
        [one for device in devices for one in device.collective],
        [one for device in devices for one in device.copying],
        waits,
    )
    parts: list[list[Interval]] = []
    taken: list[Interval] = []
    for kind in kinds:
        whole = union(kind)
        parts.append(difference(whole, taken))
        taken = union([*taken, *whole])
    rows = []
    for state, intervals in of_state.items():
        within = union(intervals)
        rows.append(
            [state, *(_seconds(length(one)) for one in (within, *(intersection(within, part) for part in parts)))]
        )
    return rows


def _lines(device: _Device, places: Mapping[str, tuple[int, int]], eager: Container[str]) -> list[list[Any]]:
    """Rows of [file, row, device, kernels, seconds] of the lines whose operations took longest."""
    by_line: defaultdict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    for op, spent in device.by_op.items():
        name = op.partition(":")[0]
        place = place_of(name, places) if name not in eager else None
        if place is not None:
            _add(by_line[place], *spent)
    ordered = sorted(by_line.items(), key=lambda one: -one[1][1])[:TOP]
    return [[*place, device.name, count, _seconds(spent)] for place, (count, spent) in ordered]


def place_of(name: str, places: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """The line of a node, whose name begins with that of the call if its function was inlined."""
    while name not in places:
        _, slash, name = name.partition("/")
        if not slash:
            return None
    return places[name]


def _top(spent: Mapping[str, list[int]]) -> list[list[Any]]:
    ordered = sorted(spent.items(), key=lambda one: -one[1][1])[:TOP]
    return [[name, count, _seconds(lasted)] for name, (count, lasted) in ordered]


def _add(sums: list[int], *values: int) -> None:
    for index, value in enumerate(values):
        sums[index] += value


def _nanoseconds(seconds: float) -> int:
    return round(seconds * _SECOND)


def _seconds(nanoseconds: int) -> float:
    return round(nanoseconds / _SECOND, 9)
