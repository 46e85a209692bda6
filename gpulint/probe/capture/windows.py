"""Observations of TensorFlow's profiler in a window of the run: the types of `window` records. Times are seconds;
devices are physical ones, `GPU:0` by CUDA's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpulint.probe.capture.records import Where


class DeviceWindow(NamedTuple):
    """A device in the window: seconds in which a kernel ran (`busy`, with those of collectives) and in which memory
    was copied; `pauses` without kernel or copy, `idle` seconds in all, `longest` the longest one."""

    device: str
    busy: float
    kernels: int
    collective: float
    copying: float
    pauses: int
    idle: float
    longest: float


class DeviceCopies(NamedTuple):
    """Copies of one kind, as CUPTI names it: "H2D", "D2H", "D2D", "P2P", or "memset"."""

    device: str
    kind: str
    number: int
    bytes: int
    seconds: float


class KernelTime(NamedTuple):
    """A kernel that took much time."""

    device: str
    name: str
    number: int
    seconds: float


class LineTime(NamedTuple):
    """Kernels that the operations of a line launched."""

    where: Where | None
    device: str
    number: int
    seconds: float


class StateTime(NamedTuple):
    """A state of the training thread, "" for the whole window: its seconds, and those of them in which a device
    computed; else one took part in a collective; else one copied; else the host waited for input."""

    state: str
    seconds: float
    gpu: float
    collective: float
    copy: float
    input: float


@dataclass(frozen=True, slots=True)
class Window:
    """A window of the run. `steps` is 0 if none ended within it."""

    began: float
    ended: float
    steps: int
    devices: tuple[DeviceWindow, ...]
    """The devices that were traced; empty without a device tracer."""
    copies: tuple[DeviceCopies, ...]
    kernels: tuple[KernelTime, ...]
    lines: tuple[LineTime, ...]
    states: Mapping[str, StateTime]
    host: Mapping[str, tuple[int, float]]
    """Activity in the host's trace ("input", "trace", "compile") → number and seconds."""
    warnings: tuple[str, ...]

    @property
    def seconds(self) -> float:
        return self.ended - self.began

    @classmethod
    def of(cls, record: Mapping[str, Any], place: Callable[[int, int], Where | None]) -> Window:
        """The window of a record; `place` returns the row of a file by its number."""
        return cls(
            float(record["began"]),
            float(record["ended"]),
            int(record["steps"]),
            tuple(DeviceWindow(*row) for row in record["devices"]),
            tuple(DeviceCopies(*row) for row in record["copies"]),
            tuple(KernelTime(*row) for row in record["kernels"]),
            tuple(LineTime(place(file, row), *rest) for file, row, *rest in record["lines"]),
            {row[0]: StateTime(*row) for row in record["states"]},
            {name: (int(count), float(seconds)) for name, count, seconds in record["host"]},
            tuple(map(str, record["warnings"])),
        )
