"""Writes records of placed operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gpulint.probe.agent.graphs import GraphNode
from gpulint.probe.agent.kernels import Kernels
from gpulint.probe.agent.operation_records import Copied, Ran
from gpulint.probe.agent.writer import Writer


class PlacedWriter:
    """Writes operations, nodes and copies, and the registry's kernels of those on the host."""

    def __init__(self, writer: Writer, tensorflow: Any, kernels: Kernels) -> None:
        self._writer, self._tensorflow, self._kernels = writer, tensorflow, kernels
        self._names: dict[int, str] = {0: ""}

    def operations(self, ran: Mapping[Ran, int]) -> None:
        """Eager operations with their counts."""
        if not ran:
            return
        rows = [
            [*self._writer.numbered(one.place), one.op, one.requested, one.device, count] for one, count in ran.items()
        ]
        dtypes, parts = [self._dtype(one.dtype) for one in ran], [one.part for one in ran]
        self._writer.write("ops", rows=rows, dtypes=dtypes, parts=parts)
        self._ask({(one.op, one.dtype) for one in ran if one.device.startswith("CPU")})

    def nodes(self, placed: Mapping[GraphNode, int]) -> None:
        """Graph nodes with their counts."""
        if not placed:
            return
        rows = [
            [*self._writer.numbered(one.place), one.op, one.requested, one.assigned, one.layer, count]
            for one, count in placed.items()
        ]
        dtypes, parts = [self._dtype(one.dtype) for one in placed], [one.part for one in placed]
        replicas = [one.replica for one in placed]
        self._writer.write("nodes", rows=rows, dtypes=dtypes, parts=parts, replicas=replicas)
        self._ask({(one.op, one.dtype) for one in placed if one.assigned.startswith("CPU")})

    def copies(self, copied: Counter[Copied]) -> None:
        """Transfers between devices: `rows` has what was copied, `at` the operation that needed it."""
        if not copied:
            return
        rows = [[one.kind, one.source, one.target, count] for one, count in copied.items()]
        at = [
            [*self._writer.numbered(one.place), one.op, one.requested, one.size, one.in_step, one.mixed, one.reduces]
            for one in copied
        ]
        self._writer.write("copies", rows=rows, at=at)

    def _ask(self, kinds: set[tuple[str, int]]) -> None:
        rows = []
        for op, dtype in sorted(kinds):
            if (known := self._kernels.fresh(op, dtype)) is not None:
                rows.append([op, self._dtype(dtype), *known])
        if rows:
            self._writer.write("kernels", rows=rows)

    def _dtype(self, number: int) -> str:
        if number not in self._names:
            try:
                self._names[number] = str(self._tensorflow.dtypes.as_dtype(number).name)
            except (TypeError, KeyError):
                self._names[number] = ""
        return self._names[number]
