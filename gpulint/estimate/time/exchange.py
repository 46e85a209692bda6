"""What the replicas of a program exchange of a step's gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpulint.estimate.graph import Operation, StepGraph
from gpulint.estimate.sharing import VIEWS
from gpulint.estimate.time.kinds import KINDS

_GATHERS = frozenset({"Gather", "GatherV2", "ResourceGather"})
"""Operations whose gradient has the rows that they took (`IndexedSlices`)."""


def gradient_bytes(graph: StepGraph) -> float:
    """Bytes of the gradients of trainable variables, on the device that has most of them. Of a variable of which the
    step only takes rows, as of an embedding, those rows are exchanged."""
    operations = graph.body.operations
    users: list[list[Operation]] = [[] for _ in operations]
    for one in operations:
        for source in {edge.operation for edge in one.inputs}:
            users[source].append(one)
    numbers = {one.name: number for number, one in enumerate(operations)}
    found: Counter[str] = Counter()
    for variable in graph.variables:
        if variable.is_trainable:
            size = variable.tensor.bytes or 0
            rows = None
            if variable.parameter is not None:
                rows = _rows(graph.body.parameters[variable.parameter], users, numbers)
            found[variable.device] += size if rows is None else min(size, rows)
    return max(found.values(), default=0)


def _rows(handle: int, users: Sequence[Sequence[Operation]], numbers: dict[str, int]) -> int | None:
    """Bytes that the forward pass takes of a variable by rows; None if it also reads it as a whole. What an optimizer
    reads belongs to no layer and is no factor of a product."""
    total, is_gathered, pending = 0, False, [handle]
    while pending:
        for one in users[pending.pop()]:
            if one.is_gradient:
                continue
            if one.type in _GATHERS:
                total, is_gathered = total + (one.outputs[0].bytes or 0), True
            elif one.type in VIEWS:
                pending.append(numbers[one.name])
            elif one.layer or KINDS.get(one.type) == "matrix":
                return None
    return total if is_gathered else None
