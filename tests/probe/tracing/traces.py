"""Traces as TensorFlow's profiler writes them on GPUs (`xla/backends/profiler/gpu/cupti_collector.cc`).

A plane for each GPU, a line for each stream, `Stream #13(Compute,MemcpyH2D)`. A kernel has the stats `kernel_details`
and `tf_op` ("dense/MatMul:MatMul"), a copy `memcpy_details` ("kind_src:pageable kind_dst:device size:4096 …"). Texts
are references to stat metadata. All lines begin when tracing does, and events count from there, in picoseconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpulint.probe.tracing.xspace import MARKER, Trace, schema

BEGAN = 1_795_691_768_000_000_000
"""When tracing begins, in nanoseconds since the epoch."""

DELAY = 50_000
"""Nanoseconds between the beginning of the trace and that of the window."""


class Planes:
    """Builds a trace. Times are microseconds after the beginning of the window."""

    def __init__(self) -> None:
        self.space = schema().XSpace()
        self._lines: dict[tuple[str, str], Any] = {}
        self.host("python", f"{MARKER}{BEGAN}", 0, 0)

    def plane(self, name: str) -> Any:
        for plane in self.space.planes:
            if plane.name == name:
                return plane
        return self.space.planes.add(name=name)

    def event(
        self, plane_name: str, line_name: str, event_name: str, began: float, lasted: float, /, **stats: str
    ) -> None:
        plane = self.plane(plane_name)
        line = self._lines.get((plane_name, line_name))
        if line is None:
            line = self._lines[plane_name, line_name] = plane.lines.add(id=len(plane.lines), name=line_name)
        event = line.events.add(
            metadata_id=self._number(plane.event_metadata, event_name),
            offset_ps=round((began * 1000 + DELAY) * 1000),
            duration_ps=round(lasted * 1_000_000),
        )
        for stat, text in stats.items():
            event.stats.add(
                metadata_id=self._number(plane.stat_metadata, stat),
                ref_value=self._number(plane.stat_metadata, text),
            )

    @staticmethod
    def _number(metadata: Any, name: str) -> int:
        """The number of a name in a plane's metadata."""
        for number, one in metadata.items():
            if one.name == name:
                return int(number)
        number = len(metadata) + 1
        metadata[number].id, metadata[number].name = number, name
        return number

    def host(self, thread: str, name: str, began: float, lasted: float) -> None:
        """Something that the host's tracer recorded."""
        self.event("/host:CPU", thread, name, began, lasted)

    def kernel(
        self, device: str, began: float, lasted: float, name: str = "sgemm", op: str = "", stream: int = 13
    ) -> None:
        """A kernel of an operation."""
        details = {"kernel_details": "regs:32 static_shared:0 grid:1,1,1 block:128,1,1 occ_pct:100"}
        tf_op = {"tf_op": op} if op else {}
        self.event(f"/device:{device}", f"Stream #{stream}(Compute)", name, began, lasted, **details, **tf_op)

    def copy(self, device: str, kind: str, began: float, lasted: float, size: int = 4096, stream: int = 14) -> None:
        """A copy, such as "H2D"."""
        details = f"kind_src:pageable kind_dst:device size:{size} dest:0 async:1"
        line = f"Stream #{stream}(Memcpy{kind})"
        self.event(f"/device:{device}", line, f"Memcpy{kind}", began, lasted, memcpy_details=details)

    def trace(self, folder: Path) -> Trace:
        """The trace, as read from its file."""
        path = folder / "vm.xplane.pb"
        path.write_bytes(self.space.SerializeToString())
        return Trace(str(path), schema())


def moment(microseconds: float) -> float:
    """Seconds since the epoch of a moment of the window."""
    return (BEGAN + microseconds * 1000) / 1e9
