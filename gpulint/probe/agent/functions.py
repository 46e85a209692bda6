"""Traced functions, as records."""

from __future__ import annotations

from gpulint.probe.agent.calls import Calls
from gpulint.probe.agent.operations import Operations
from gpulint.probe.agent.writer import Writer

_INTERNAL = frozenset({"initialize_variables"})
"""Functions of TensorFlow's own, one for each function that makes variables."""


class FunctionWriter:
    """Writes functions that were run, each again when it has been traced again."""

    def __init__(self, writer: Writer, calls: Calls) -> None:
        self._writer, self._calls = writer, calls
        self._traces: dict[str, int] = {}

    def write(self, operations: Operations) -> None:
        """Write those that have new traces."""
        for name, traces in list(operations.traces.items()):
            is_internal = name.startswith("__") or name in _INTERNAL  # `__`: the forward and backward halves of one
            if not is_internal and self._traces.get(name) != len(traces):
                self._traces[name] = len(traces)
                where, device = operations.called_at[name]
                self._writer.write(
                    "function",
                    name=name,
                    where=where,
                    traces=len(traces),
                    made=self._calls.made[name],
                    jit=name in self._calls.compiled,
                    device=device,
                )
