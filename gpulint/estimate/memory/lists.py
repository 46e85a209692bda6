"""Lists of tensors that loops fill, such as what the backward pass of a loop needs of each iteration."""

from __future__ import annotations

from gpulint.estimate.graph import Edge, Function, Operation, StepGraph
from gpulint.estimate.memory.bfc import rounded
from gpulint.estimate.memory.kernels import ADDS_TO_LIST
from gpulint.estimate.sharing import VIEWS
from gpulint.estimate.trips import trips


def listed(graph: StepGraph, function: Function, loop: Operation, output: int) -> int | None:
    """Bytes of the tensors that a loop adds to a list, one or more in each iteration. What was in memory before the
    loop, such as the value of a variable, is the same buffer each time."""
    body = graph.functions.get(loop.calls["body"])
    if body is None or output >= len(body.results):
        return 0
    added: int | None = 0
    edge = body.results[output]
    while (one := body.operations[edge.operation]).type in ADDS_TO_LIST or (one.type in VIEWS and one.inputs):
        if one.type in ADDS_TO_LIST and not _is_invariant(body, one.inputs[-1]):
            source, number = one.inputs[-1]
            size = body.operations[source].outputs[number].bytes
            added = None if size is None or added is None else added + rounded(size)
        edge = one.inputs[0]
    if not added:
        return added
    count = trips(loop, function, graph)
    return None if count is None else count * added


def _is_invariant(body: Function, edge: Edge) -> bool:
    """Whether a tensor in a loop's body is a view of what the loop is given, and passes on as it is."""
    while (one := body.operations[edge.operation]).type in VIEWS and one.inputs:
        edge = one.inputs[0]
    if edge.operation not in body.parameters:
        return False
    position = body.parameters.index(edge.operation)
    if one.outputs[0].dtype == "resource" or position >= len(body.results):
        return True
    passed = body.results[position]
    while (after := body.operations[passed.operation]).type in VIEWS and after.inputs:
        passed = after.inputs[0]
    return passed.operation == edge.operation
