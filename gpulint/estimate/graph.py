"""The graph of one training step as values, which the child traces, and from which memory and time are computed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

VERSION = 2
"""Version of the JSON form."""

Group = Literal["weights", "slots", "other"]
"""Purpose of a variable: `weights` of layers (batch statistics too), `slots` of an optimizer (its step counter and
learning rate too) or `other`, such as the totals of metrics."""

Attribute = bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | tuple[bool, ...]
"""Value of an operation's attribute; a dtype is its name."""

WIDTHS: Mapping[str, int] = {
    **dict.fromkeys(("bool", "int8", "uint8", "qint8", "quint8", "int4", "uint4"), 1),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2"), 1),
    **dict.fromkeys(("int16", "uint16", "half", "float16", "bfloat16", "qint16", "quint16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32", "qint32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
    "complex128": 16,
}
"""Bytes of one element by dtype. Handles (`resource`, `variant`) and `string` are not in it: they are on the host."""


INPUTS = frozenset({"IteratorGetNext", "OptionalGetValue"})
"""Operations that read a batch from an iterator."""


SMALL = frozenset(
    {"BroadcastGradientArgs", "ConcatOffset", "DataFormatDimMap", "DataFormatVecPermute", "Shape", "ShapeN"}
)
"""Operations whose outputs have an element for each dimension of a tensor, whatever their shape."""

CHOICES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
"""Operations that call one of several functions."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Type of a tensor: its dtype by name, and its shape, None where a dimension or the rank is unknown."""

    dtype: str
    shape: tuple[int | None, ...] | None

    elements: int | None = field(init=False, compare=False, repr=False)
    """Number of elements; None if a dimension is unknown."""
    bytes: int | None = field(init=False, compare=False, repr=False)
    """Bytes of the elements, unrounded; 0 for a handle or a string, None if a dimension is unknown."""

    def __post_init__(self) -> None:
        elements = None
        if self.shape is not None:
            known = [size for size in self.shape if size is not None]
            elements = math.prod(known) if len(known) == len(self.shape) or 0 in known else None
        width = WIDTHS.get(self.dtype, 0)
        object.__setattr__(self, "elements", elements)
        object.__setattr__(self, "bytes", 0 if not width else None if elements is None else width * elements)


class Edge(NamedTuple):
    """An output of an operation of the same function, as an input of another or as a result."""

    operation: int
    """Index into `Function.operations`."""
    output: int
    """Index into `Operation.outputs`."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One node of a function."""

    name: str
    """Unique in its function; after optimization, that of the node or of one of the nodes that it replaces."""
    type: str
    """Such as `MatMul`; the `_Arg` and `_Retval` of functions are not operations but `parameters` and `results`."""
    inputs: tuple[Edge, ...] = ()
    controls: tuple[int, ...] = ()
    """Operations that must have run before this one starts, besides those of `inputs`."""
    outputs: tuple[Tensor, ...] = ()
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """Its attributes of simple type, without those that start with an underscore, and the `value` of a constant of one
    or a few integers."""
    filename: str = ""
    """File of the innermost line of the user's code that created it or, in a gradient, the operation it is the gradient
    of; "" if unknown."""
    row: int = 0
    cell: int | None = None
    """Index of the cell of a notebook that the row is in, from 0."""
    layer: str = ""
    """Path of the Keras layer that created it, or "": `resnet50/conv1_conv`."""
    device: str = ""
    """Device it runs on, as `GPU:0` or `CPU:0`; "" if the runtime is free to choose, which is the replica's GPU."""
    calls: Mapping[str, str] = field(default_factory=dict)
    """Functions that it calls by role (`f`, `then_branch`, `else_branch`, `cond`, `body` …), as keys of
    `StepGraph.functions`."""
    host_outputs: tuple[int, ...] = ()
    """Outputs that the GPU kernel leaves in host memory, such as the one of `Shape`."""
    is_gradient: bool = False
    """Whether it is part of the backward pass."""

    @property
    def is_on_gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return not self.device.startswith("CPU")


@dataclass(frozen=True, slots=True)
class Function:
    """A function's body: operations in the order in which they were created, so that inputs precede their users unless
    the runtime's optimizer has added operations at the end."""

    name: str
    operations: tuple[Operation, ...]
    parameters: tuple[int, ...] = ()
    """Operations (of type `_Arg`) that stand for the arguments, in their order."""
    results: tuple[Edge, ...] = ()
    must_run: tuple[int, ...] = ()
    """Operations that run for their effect, such as assignments, though no result depends on them."""
    is_compiled: bool = False
    """Whether XLA compiles it (`jit_compile=True`)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that the step reads or writes; as it is on one replica."""

    name: str
    tensor: Tensor
    group: Group = "other"
    is_trainable: bool = False
    parameter: int | None = None
    """Index into `Function.parameters` of the step's body through which its handle enters, or None if it does not."""
    filename: str = ""
    row: int = 0
    layer: str = ""
    device: str = ""
    copies: int = 1
    """Replicas that hold a copy of it."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One tensor of the batch that a step takes, per replica."""

    name: str
    tensor: Tensor
    parameter: int | None = None
    """Index into `Function.parameters` of the step's body; None if it comes out of an iterator inside."""


@dataclass(frozen=True, slots=True)
class StepGraph:
    """A training step traced for one batch size."""

    name: str
    """Name of the user's function, or `fit`."""
    filename: str
    row: int
    body: Function
    functions: Mapping[str, Function] = field(default_factory=dict)
    """Functions that operations call, at any depth, by name."""
    variables: tuple[Variable, ...] = ()
    arguments: tuple[Argument, ...] = ()
    batch: int | None = None
    """Examples per replica and step; None if unknown."""
    replicas: int = 1
    is_in_loop: bool = False
    """Whether it is one iteration of a loop within the function that the program calls (`steps_per_execution`)."""
    is_compiled: bool = False
    """Whether XLA compiles the step or the part of it that computes gradients."""
    is_optimized: bool = False
    """Whether the runtime's graph optimizer (Grappler) has been applied."""
    precision: str = "float32"
    """Name of the Keras dtype policy in force."""
    cell: int | None = None
    """Index of the cell of a notebook that `row` is in, from 0."""
    unknown: tuple[str, ...] = ()
    """Dimensions that stay unknown, as users know them: `x[1]`."""

    @property
    def has_unknown(self) -> bool:
        """Whether an operation that runs on a GPU has an output of unknown size there."""
        return self._has_unknown(self.body)

    def _has_unknown(self, function: Function) -> bool:
        return any(
            any(tensor.bytes is None and output not in one.host_outputs for output, tensor in enumerate(one.outputs))
            or any(self._has_unknown(called) for called in self.called(one))
            for one in function.operations
            if one.is_on_gpu and one.type != "_Arg" and one.type not in SMALL
        )

    def called(self, operation: Operation) -> list[Function]:
        """The functions that an operation calls; of a condition, those with known sizes if there are any: what the
        other branch needs depends on values."""
        found = [self.functions[name] for name in operation.calls.values() if name in self.functions]
        if operation.type not in CHOICES:
            return found
        return [one for one in found if not self._has_unknown(one)] or found

    def dumps(self) -> str:
        """The graph as one line of JSON."""
        return json.dumps(_packed(self), separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> StepGraph:
        """Read the output of `dumps`. Raises ValueError for anything else."""
        try:
            value = json.loads(text)
            if value["version"] != VERSION:
                raise ValueError(f"version {value['version']} of a step's graph, not {VERSION}")
            return _unpacked(value)
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"not the graph of a step: {error!r}") from None


def _packed(graph: StepGraph) -> dict[str, Any]:
    return {
        "version": VERSION,
        "name": graph.name,
        "filename": graph.filename,
        "row": graph.row,
        "cell": graph.cell,
        "body": _packed_function(graph.body),
        "functions": [_packed_function(function) for function in graph.functions.values()],
        "variables": [
            [v.name, _packed_tensor(v.tensor), v.group, v.is_trainable, v.parameter]
            + [v.filename, v.row, v.layer, v.device, v.copies]
            for v in graph.variables
        ],
        "arguments": [[a.name, _packed_tensor(a.tensor), a.parameter] for a in graph.arguments],
        "batch": graph.batch,
        "replicas": graph.replicas,
        "is_in_loop": graph.is_in_loop,
        "is_compiled": graph.is_compiled,
        "is_optimized": graph.is_optimized,
        "precision": graph.precision,
        "unknown": graph.unknown,
    }


def _unpacked(value: dict[str, Any]) -> StepGraph:
    functions = [_unpacked_function(one) for one in value["functions"]]
    return StepGraph(
        name=value["name"],
        filename=value["filename"],
        row=value["row"],
        cell=value["cell"],
        body=_unpacked_function(value["body"]),
        functions={function.name: function for function in functions},
        variables=tuple(Variable(name, _unpacked_tensor(tensor), *rest) for name, tensor, *rest in value["variables"]),
        arguments=tuple(Argument(name, _unpacked_tensor(tensor), at) for name, tensor, at in value["arguments"]),
        batch=value["batch"],
        replicas=value["replicas"],
        is_in_loop=value["is_in_loop"],
        is_compiled=value["is_compiled"],
        is_optimized=value["is_optimized"],
        precision=value["precision"],
        unknown=tuple(value["unknown"]),
    )


def _packed_function(function: Function) -> dict[str, Any]:
    return {
        "name": function.name,
        "operations": [
            [o.name, o.type, o.inputs, o.controls, [_packed_tensor(tensor) for tensor in o.outputs], dict(o.attributes)]
            + [o.filename, o.row, o.cell, o.layer, o.device, dict(o.calls), o.host_outputs, o.is_gradient]
            for o in function.operations
        ],
        "parameters": function.parameters,
        "results": function.results,
        "must_run": function.must_run,
        "is_compiled": function.is_compiled,
    }


def _unpacked_function(value: dict[str, Any]) -> Function:
    return Function(
        name=value["name"],
        operations=tuple(_unpacked_operation(*one) for one in value["operations"]),
        parameters=tuple(value["parameters"]),
        results=tuple(Edge(*one) for one in value["results"]),
        must_run=tuple(value["must_run"]),
        is_compiled=value["is_compiled"],
    )


def _unpacked_operation(
    name: str,
    kind: str,
    inputs: list[list[int]],
    controls: list[int],
    outputs: list[list[Any]],
    attributes: dict[str, Any],
    filename: str,
    row: int,
    cell: int | None,
    layer: str,
    device: str,
    calls: dict[str, str],
    host_outputs: list[int],
    is_gradient: bool,
) -> Operation:
    return Operation(
        name=name,
        type=kind,
        inputs=tuple(Edge(*one) for one in inputs),
        controls=tuple(controls),
        outputs=tuple(_unpacked_tensor(one) for one in outputs),
        attributes={key: tuple(one) if isinstance(one, list) else one for key, one in attributes.items()},
        filename=filename,
        row=row,
        cell=cell,
        layer=layer,
        device=device,
        calls=calls,
        host_outputs=tuple(host_outputs),
        is_gradient=is_gradient,
    )


def _packed_tensor(tensor: Tensor) -> list[Any]:
    return [tensor.dtype, tensor.shape]


def _unpacked_tensor(value: list[Any]) -> Tensor:
    dtype, shape = value
    return Tensor(dtype, None if shape is None else tuple(shape))
