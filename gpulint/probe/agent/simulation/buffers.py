"""Where the memory of tensors is: logical CPUs share theirs, so that NumPy sees it without a copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpulint.probe.agent.simulation.pieces import Pieces

LARGE = 1 << 20
"""Bytes from which on it is worth looking where a tensor is: that takes some 5 µs."""

Span = tuple[int, int]
"""The addresses of the first byte, and of that after the last."""


class Buffers:
    """Looks at the memory of tensors. To be made before anything of TensorFlow is replaced."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._execute = pieces.tfe.TFE_Py_Execute

    def held(self, tensors: Iterable[Any]) -> int:
        """Bytes that tensors, and the values of variables whose handles they are, take: each byte once."""
        total = end = 0
        for start, stop in sorted(span for one in tensors if (span := self._span(one)) is not None):
            total += max(0, stop - max(start, end))
            end = max(end, stop)
        return total

    def is_within(self, tensor: Any, others: Iterable[Any]) -> bool:
        """Whether the memory of a tensor is part of that of another, as that of the rows `x[:32]` is of x."""
        span = self._span(tensor)
        found = map(self._span, others)
        return span is not None and any(one is not None and one[0] <= span[0] and span[1] <= one[1] for one in found)

    def _span(self, tensor: Any) -> Span | None:
        """None where there is none: a variable without a value, a handle, a string."""
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
        """The value of a variable, None for a resource that is none. Raises where it has no value yet."""
        described = resource._handle_data
        if described is None or not described.shape_and_type:
            return None
        handle, dtype = self._pieces.context.context()._handle, described.shape_and_type[0].dtype
        return self._execute(handle, "", "ReadVariableOp", [resource], ("dtype", dtype), 1)[0]
