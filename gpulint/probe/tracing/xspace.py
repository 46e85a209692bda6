"""The events in a trace of TensorFlow's profiler (`*.xplane.pb`), by device and by host thread.

The format is `tsl/profiler/protobuf/xplane.proto`; names of planes and stats are in `xplane_schema.cc` of
`openxla/xla`. GPU planes are written by `xla/backends/profiler/gpu/cupti_collector.cc`: one line for each CUDA stream,
`Stream #13(Compute,MemcpyH2D)`, with kernels, copies and memsets. XProf adds lines that repeat them by step, operation
and module ("Steps", "XLA Ops", …), which are not read.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

MARKER = "gpulint "
"""How the name of an event begins that the agent leaves when it begins to trace; the wall-clock time in ns follows."""

_DEVICE = re.compile(r"/device:(GPU:\d+)")
_HOST = "/host:CPU"
_STREAM = "Stream #"
_EAGER = "EagerLocalExecute: "
_SIZE = re.compile(r"(?:^|\s)size:(\d+)")

_OP = "tf_op"
_COMPILED, _PREFIX = "name", "prefix"
"""Stats of kernels that XLA compiled: the name of their operation without that of all operations of the module, from
the annotation `Thunk:#name=…,hlo_op=…#` (`xla/backends/gpu/runtime/annotation.cc`)."""

_COPY_DETAILS = "memcpy_details"
_KERNELS = ("kernel_details", "cuda_graph_exec_id")
"""Stats of kernels, and of a whole CUDA graph where its kernels are not traced one by one."""

_FREED = "MemoryDeallocation"
_MEMORY = ("MemoryAllocation", _FREED)
"""The events of allocators."""

KERNEL, COPY, MEMSET = "kernel", "copy", "memset"


class Unreadable(Exception):
    """A trace that cannot be read. The message says why."""


class Happening(NamedTuple):
    """An activity of a device. `kind` is KERNEL, COPY or MEMSET; `began` and `ended` are nanoseconds since the epoch;
    `op` is the operation that launched it, "" if unknown; `size` is the bytes of a copy."""

    kind: str
    name: str
    began: int
    ended: int
    op: str
    size: int


class Allocation(NamedTuple):
    """Memory that an allocator gave or took back. `in_use` is what it has given in all; `op` is the operation that
    asked for it, "" if unknown, and `is_temporary` if it is for the operation's own work."""

    allocator: str
    time: int
    address: int
    size: int
    in_use: int
    op: str
    is_temporary: bool
    is_free: bool


class Trace:
    """A trace, read from a file. Raises Unreadable, OSError."""

    def __init__(self, path: str, schema: ModuleType) -> None:
        with open(path, "rb") as file:
            content = file.read()
        try:
            self._space = schema.XSpace.FromString(content)
        except Exception as error:  # protobuf's DecodeError
            raise Unreadable(f"the trace is damaged: {error}") from None
        self._host = [plane for plane in self._space.planes if plane.name == _HOST]
        self._shift = self._offset()

    @property
    def warnings(self) -> list[str]:
        """Warnings of the profiler about missing data, such as events that exceeded a limit."""
        return [*self._space.errors, *self._space.warnings]

    @property
    def devices(self) -> list[str]:
        """The GPUs that were traced, by CUDA's order: `GPU:0`. Empty if the device tracer was unavailable."""
        return [found[1] for plane in self._space.planes if (found := _DEVICE.fullmatch(plane.name))]

    @property
    def eager(self) -> set[str]:
        """The operations that ran eagerly: their kernels carry no other name."""
        names = (one.name for plane in self._host for one in plane.event_metadata.values())
        return {name.removeprefix(_EAGER) for name in names if name.startswith(_EAGER)}

    def of_device(self, device: str) -> Iterator[Happening]:
        """Activities of a device, stream by stream."""
        for plane in self._space.planes:
            if plane.name == f"/device:{device}":
                names = {number: one.name for number, one in plane.stat_metadata.items()}
                for line in plane.lines:
                    if line.name.startswith(_STREAM):
                        yield from self._on_stream(plane, line, names)

    def on_host(self, name: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """Begin and end of the host's events whose name matches at its beginning."""
        for plane in self._host:
            wanted = {number for number, one in plane.event_metadata.items() if name.match(one.name)}
            for line in plane.lines if wanted else ():
                base = line.timestamp_ns + self._shift
                for event in line.events:
                    if event.metadata_id in wanted:
                        began = base + event.offset_ps // 1000
                        yield began, began + event.duration_ps // 1000

    def allocations(self) -> list[Allocation]:
        """Allocations and deallocations of the BFC allocators, in order (`BFCAllocator::AddTraceMe` in
        `xla/tsl/framework/bfc_allocator.cc`). Others record nothing."""
        found = []
        for plane in self._host:
            wanted = {number: one.name for number, one in plane.event_metadata.items() if one.name in _MEMORY}
            names = {number: one.name for number, one in plane.stat_metadata.items()}
            stat = {name: number for number, name in names.items()}
            for line in plane.lines if wanted else ():
                base = line.timestamp_ns + self._shift
                for event in line.events:
                    if event.metadata_id in wanted:
                        found.append(
                            Allocation(
                                _text(event, stat.get("allocator_name"), names),
                                base + event.offset_ps // 1000,
                                _number(event, stat.get("addr")),
                                _number(event, stat.get("allocation_bytes")),
                                _number(event, stat.get("bytes_allocated")),
                                _text(event, stat.get(_OP), names),
                                _text(event, stat.get("region_type"), names) == "temp",
                                wanted[event.metadata_id] == _FREED,
                            )
                        )
        return sorted(found, key=lambda one: one.time)

    def _on_stream(self, plane: Any, line: Any, names: dict[int, str]) -> Iterator[Happening]:
        base = line.timestamp_ns + self._shift
        numbers = {name: number for number, name in names.items()}
        wanted = {KERNEL: numbers.get(_OP), COPY: numbers.get(_COPY_DETAILS)}
        compiled, prefix = numbers.get(_COMPILED), numbers.get(_PREFIX)
        kinds: dict[int, tuple[str, str]] = {}
        for event in line.events:
            known = kinds.get(event.metadata_id)
            if known is None:
                name = plane.event_metadata[event.metadata_id].name
                stats = {names.get(stat.metadata_id, "") for stat in event.stats}
                known = kinds[event.metadata_id] = _kind(name, stats), name
            kind, name = known
            if not kind:
                continue
            began = base + event.offset_ps // 1000
            text = _text(event, wanted.get(kind), names)
            found = _SIZE.search(text) if kind == COPY else None
            op = text if kind == KERNEL else ""
            if kind == KERNEL and (inner := _text(event, compiled, names)):
                op = f"{_text(event, prefix, names)}/{inner}".removeprefix("/")
            yield Happening(kind, name, began, began + event.duration_ps // 1000, op, int(found[1]) if found else 0)

    def _offset(self) -> int:
        """Nanoseconds to add to the trace's times, which count from its beginning, for times since the epoch."""
        for plane in self._host:
            marks = {number: one.name for number, one in plane.event_metadata.items() if one.name.startswith(MARKER)}
            for line in plane.lines if marks else ():
                for event in line.events:
                    if event.metadata_id in marks:
                        told = int(marks[event.metadata_id].removeprefix(MARKER))
                        return int(told - line.timestamp_ns - event.offset_ps // 1000)
        raise Unreadable("the trace does not say when it began")


def _kind(name: str, stats: set[str]) -> str:
    if _COPY_DETAILS in stats or name.startswith("Memcpy"):
        return COPY
    if "memset_details" in stats or name.startswith("Memset"):
        return MEMSET
    return "" if stats.isdisjoint(_KERNELS) else KERNEL


def _text(event: Any, wanted: int | None, names: dict[int, str]) -> str:
    """The text of a stat, by its number; "" if the event has none."""
    if wanted is not None:
        for stat in event.stats:
            if stat.metadata_id == wanted:
                return names.get(stat.ref_value, "") or str(stat.str_value)
    return ""


def _number(event: Any, wanted: int | None) -> int:
    """The value of a stat, by its number; 0 if the event has none."""
    return next((int(one.int64_value or one.uint64_value) for one in event.stats if one.metadata_id == wanted), 0)


def schema() -> ModuleType:
    """The generated module for traces, from the installed TensorFlow, which is not imported. Raises Unreadable."""
    found = importlib.util.find_spec("tensorflow")
    for folder in found.submodule_search_locations or () if found is not None else ():
        path = os.path.join(folder, "tsl", "profiler", "protobuf", "xplane_pb2.py")
        made = importlib.util.spec_from_file_location("xplane_pb2", path)
        if made is not None and made.loader is not None and os.path.isfile(path):
            module = importlib.util.module_from_spec(made)
            try:
                made.loader.exec_module(module)
            except Exception as error:  # protobuf is missing, or too old for the generated module
                raise Unreadable(f"{path}: {type(error).__name__}: {error}") from None
            return module
    raise Unreadable("the installed TensorFlow has no xplane_pb2")
