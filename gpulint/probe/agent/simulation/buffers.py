"""Memory addresses of tensors. Logical CPUs share host memory, so NumPy can view it without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpulint.probe.agent.simulation.pieces import Pieces

LARGE = 1 << 20
"""Bytes from which a lookup pays off: it takes about 5 µs."""

Span = tuple[int, int]
"""Addresses of the first byte, and of the byte after the last."""


class Buffers:
    """Finds the memory of tensors. Create it before anything in TensorFlow is wrapped."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._execute = pieces.tfe.TFE_Py_Execute

    def held(self, tensors: Iterable[Any]) -> int:
        """Bytes of tensors, and of the values of variables given by handle; shared bytes count once."""
        total = end = 0
        for start, stop in sorted(span for one in tensors if (span := self._span(one)) is not None):
            total += max(0, stop - max(start, end))
            end = max(end, stop)
        return total

    def is_within(self, tensor: Any, others: Iterable[Any]) -> bool:
        """Whether a tensor's memory is part of another's, as with rows `x[:32]` of x."""
        span = self._span(tensor)
        found = map(self._span, others)
        return span is not None and any(one is not None and one[0] <= span[0] and span[1] <= one[1] for one in found)

    def _span(self, tensor: Any) -> Span | None:
        """None without memory: a variable without a value, a handle, a string."""
        types = self._pieces.dtypes
        try:
            if tensor.dtype == types.resource:
                tensor = self._value(tensor)
            if tensor is None or tensor.dtype in (types.variant, types.string):
                return None
            array = tensor._numpy_internal()
        except (self._pieces.core._NotOkStatusException, self._pieces.errors.OpError):
            return None
        start = array.__array_interface__["data"][0]
        return start, start + array.nbytes

    def _value(self, resource: Any) -> Any:
        """A variable's value, None for other resources. Raises if it has no value yet."""
        described = resource._handle_data
        if described is None or not described.shape_and_type:
            return None
        handle, dtype = self._pieces.context.context()._handle, described.shape_and_type[0].dtype
        return self._execute(handle, "", "ReadVariableOp", [resource], ("dtype", dtype), 1)[0]
