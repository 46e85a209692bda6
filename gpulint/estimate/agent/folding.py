"""Large tensors that follow from constants alone, such as the masks of causal attention.

Grappler computes them, and each of its passes copies them with the graph: masks of 256 MiB take more than 10 GiB and
minutes. They are taken out of the graph before, and are constants of other values after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

_STAND_IN = "ImmutableConst"
"""Operation in place of a tensor: it has a shape and no value, and Grappler leaves it alone."""

_LARGE = 8 << 20
"""Bytes from which a tensor is taken out."""

_GROWS = 10 << 20
"""Bytes up to which Grappler computes what is larger than what it is computed from (`kMaxConstantSize`)."""

_MOST_COMPARED = 1 << 20
"""Bytes of a constant's value up to which it is compared with others."""

_SPLAT = frozenset({"Fill", "OnesLike", "ZerosLike"})
"""Operations that Grappler computes at any size: all elements are the same."""


def set_aside(definition: Any, graph: Any, chosen: Collection[str] | None = None) -> frozenset[str]:
    """Replaces large tensors that Grappler would compute by stand-ins, equal ones by the same. Returns the operations'
    names.

    `graph` is the definition with its shapes. `chosen` are the names for another batch, which are replaced at any size:
    the graphs for both batches have the same operations.
    """
    nodes = {node.name: node for node in definition.node}
    numbers: dict[object, int] = {}
    known: dict[str, int] = {}
    for one in graph.get_operations():
        value = _value(one, nodes.get(one.name), known)
        if value is not None:
            known[one.name] = numbers.setdefault(value, len(numbers))
    firsts: dict[int, Any] = {}
    replaced = {}
    for one in graph.get_operations():
        for source in (tensor.op for tensor in one.inputs if one.name not in known):
            is_large = source.name in chosen if chosen is not None else _bytes(source.outputs) >= _LARGE
            if source.name in known and source.type != "Const" and is_large:
                replaced[source.name] = firsts.setdefault(known[source.name], source).name
    for first in firsts.values():
        node, tensor = nodes[first.name], first.outputs[0]
        device = node.device
        node.Clear()
        node.name, node.op, node.device = first.name, _STAND_IN, device
        node.attr["dtype"].type = tensor.dtype.as_datatype_enum
        node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
        node.attr["memory_region_name"].s = b""
    for node in definition.node:
        for index, name in enumerate(node.input):
            node.input[index] = replaced.get(name.removesuffix(":0"), name)
    return frozenset(replaced)


def put_back(definition: Any) -> None:
    """Makes constants of stand-ins."""
    for node in definition.node:
        if node.op == _STAND_IN:
            node.op = "Const"
            value = node.attr["value"].tensor
            value.dtype = node.attr["dtype"].type
            value.tensor_shape.CopyFrom(node.attr["shape"].shape)
            del node.attr["shape"], node.attr["memory_region_name"]


def _value(operation: Any, node: Any, known: Mapping[str, int]) -> object | None:
    """What tells whether two operations compute the same, None for one that does not follow from constants. `known`:
    numbers of the operations before that do."""
    if node is None or len(operation.outputs) != 1 or operation.control_inputs:
        return None
    if operation.type == "Const":
        value = node.attr["value"].tensor
        is_compared = value.ByteSize() <= _MOST_COMPARED
        return bytes(value.SerializeToString(deterministic=True)) if is_compared else str(operation.name)
    if operation.type == "Shape" and operation.inputs[0].shape.is_fully_defined():
        return tuple(operation.inputs[0].shape.as_list())
    given = [known.get(tensor.op.name) for tensor in operation.inputs]
    if not given or None in given or operation.op_def.is_stateful or not _is_sized(operation.outputs):
        return None
    grows = _bytes(operation.outputs) > max(_GROWS, _bytes(operation.inputs))
    if grows and operation.type not in _SPLAT:
        return None
    attributes = sorted((name, value.SerializeToString(deterministic=True)) for name, value in node.attr.items())
    return operation.type, tuple(given), tuple(attributes)


def _is_sized(tensors: Iterable[Any]) -> bool:
    return all(one.dtype.size and one.shape.is_fully_defined() for one in tensors)


def _bytes(tensors: Iterable[Any]) -> int:
    """Bytes of tensors of known shape."""
    return sum(one.dtype.size * (one.shape.num_elements() or 0) for one in tensors)
