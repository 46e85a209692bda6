"""Decides the device of an operation, eager or in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpulint.probe.agent.simulation.kernels import Kernel, Kernels, Types
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces


class Placement(NamedTuple):
    """The runtime's device name, and the GPU kernel; None if there is none or it is unknown."""

    device: str
    kernel: Kernel | None


class Placing:
    """Places operations as a machine with GPUs would.

    `unsupported` collects operations, with their types, that run on the CPU for lack of a kernel.
    """

    def __init__(self, names: Names, kernels: Kernels, pieces: Pieces) -> None:
        self._names = names
        self._kernels = kernels
        self._pieces = pieces
        self._decided: dict[tuple[str, Types, str, bool], Placement] = {}
        self._attributes: dict[str, tuple[str, ...] | None] = {}
        self.unsupported: dict[tuple[str, Types], None] = {}

    def forget(self) -> None:
        """The devices have changed."""
        self._decided.clear()

    def place(
        self, op: str, types_of: Callable[[tuple[str, ...]], Types], asked: str, soft: bool | None = None
    ) -> Placement:
        """The device of an operation; `types_of` returns the types of the attributes it depends on. `soft`: whether
        another device than the requested one is allowed; None: as set in `tf.config`."""
        attributes = self._attributes.get(op, ())
        if op not in self._attributes:
            attributes = self._attributes[op] = self._attributes_of(op)
        types = types_of(attributes) if attributes else ()
        soft = self._pieces.is_soft() if soft is None else soft
        key = (op, types, asked, soft)
        placed = self._decided.get(key)
        if placed is None:
            placed = self._decided[key] = self._place(op, types, asked, soft)
        return placed

    def type_name(self, value: Any) -> str:
        """Name of a type given as a DType, an enumeration number or a NumPy type."""
        dtype = value if isinstance(value, self._pieces.dtypes.DType) else self._pieces.dtypes.as_dtype(value)
        return str(dtype.name).removesuffix("_ref")

    def _attributes_of(self, op: str) -> tuple[str, ...] | None:
        return self._kernels.attributes(op) if self._kernels.of(op) is not None else None

    def _place(self, op: str, types: Types, asked: str, soft: bool) -> Placement:
        kernel = self._kernels.find(op, types)
        runs = kernel is not None or self._kernels.of(op) is None
        if not runs and self._names.gpus:
            self.unsupported[op, types] = None
        return Placement(self._names.real(asked, runs, soft), kernel)


class _Argument(NamedTuple):
    """An input: its type attribute, and whether it is a list of tensors with separate types."""

    attribute: str
    is_list: bool


class CallTypes:
    """Types of an eager operation from its arguments: inputs, then attribute names and values."""

    def __init__(self, placing: Placing, pieces: Pieces) -> None:
        self._placing = placing
        self._definitions = pieces.op_definitions
        self._arguments: dict[str, tuple[_Argument, ...]] = {}

    def arguments(self, op: str) -> tuple[_Argument, ...]:
        """The inputs in an operation's definition."""
        known = self._arguments.get(op)
        if known is None:
            defined = self._definitions.get(op).input_arg
            known = tuple(_Argument(one.type_attr or one.type_list_attr, bool(one.type_list_attr)) for one in defined)
            self._arguments[op] = known
        return known

    def of(self, op: str, attributes: tuple[str, ...], inputs: Sequence[Any], given: tuple[Any, ...]) -> Types:
        """Types of attributes. `given` alternates names and values."""
        named = dict(zip(given[::2], given[1::2], strict=False))
        found = []
        for attribute in attributes:
            value = named.get(attribute)
            types = self._of_value(value) if value is not None else self._of_inputs(op, attribute, inputs)
            found.append((attribute, types))
        return tuple(found)

    def _of_value(self, value: Any) -> tuple[str, ...]:
        values = value if isinstance(value, (list, tuple)) else (value,)
        try:
            return tuple(self._placing.type_name(one) for one in values)
        except (TypeError, ValueError):
            return ()

    def _of_inputs(self, op: str, attribute: str, inputs: Sequence[Any]) -> tuple[str, ...]:
        """Type of the first input that has one; plain Python values count last."""
        plain: tuple[str, ...] = ()
        for argument, value in zip(self.arguments(op), inputs, strict=False):
            if attribute != argument.attribute:
                continue
            values = value if isinstance(value, (list, tuple)) else (value,)
            typed = tuple(one.dtype for one in values if hasattr(one, "dtype"))
            if typed:
                return self._of_value(typed if argument.is_list else typed[:1])
            plain = plain or _of_python(value)
        return plain


def _of_python(value: Any) -> tuple[str, ...]:
    """The type that TensorFlow gives a Python value, () for others."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    name = {bool: "bool", int: "int32", float: "float32", complex: "complex128", str: "string", bytes: "string"}.get(
        type(value)
    )
    return (name,) if name else ()
