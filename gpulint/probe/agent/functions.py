"""Records of traced functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gpulint.probe.agent.calls import Calls
from gpulint.probe.agent.graphs import INITIALISERS
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.writer import Writer


class FunctionWriter:
    """Writes each function that ran, again after a new trace, once its nodes were seen, and when the
    number of its runs has doubled."""

    def __init__(self, writer: Writer, calls: Calls, called: Mapping[str, int]) -> None:
        """`called`: how many functions of a name were called."""
        self._writer, self._calls, self._called = writer, calls, called
        self._told: dict[str, tuple[int, bool, int]] = {}

    def write(self, operations: Operations, graphs: Collection[str]) -> None:
        """Writes functions that have changed. `graphs` holds those whose nodes were seen."""
        for name, traces in list(operations.traces.items()):
            is_internal = name.startswith("__") or name in INITIALISERS  # `__`: forward and backward halves
            moments = list(traces.values())
            runs = operations.runs[name]
            known = len(moments), name in graphs, runs.bit_length()
            before, *_ = told = self._told.get(name, (0, False, 0))
            if not is_internal and told != known:
                self._told[name] = known
                where, device = operations.called_at[name]
                self._writer.write(
                    "function",
                    name=name,
                    where=where,
                    traces=known[0],
                    made=max(self._calls.made[name], self._called.get(name, 0)),
                    jit=name in self._calls.compiled,
                    device=device,
                    graph=known[1],
                    runs=runs,
                    at=[round(moment, 6) for moment in moments[before:]],
                )
