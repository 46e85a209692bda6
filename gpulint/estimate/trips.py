"""How often a `while` loop runs, where the graph tells."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.estimate.graph import Edge, Function, Operation, StepGraph

_PASSED = ("Identity", "StopGradient", "Reshape", "Squeeze")
"""Operations whose result has the value of their first input."""


def trips(loop: Operation, function: Function, graph: StepGraph) -> int | None:
    """Iterations of a loop that counts an integer from one constant up to another; of several such conditions that
    `LogicalAnd` joins, the first to end. A gradient's loop runs as often as the one that filled its lists. None if the
    graph tells none, or if another condition may end it before."""
    counted = _trips(loop, function, graph)
    if counted is None and loop.is_gradient:
        filling = sorted({edge.operation for edge in loop.inputs})
        before = (one for index in filling if "body" in (one := function.operations[index]).calls)
        counted = next((found for one in before if (found := _trips(one, function, graph)) is not None), None)
    return counted


def _trips(loop: Operation, function: Function, graph: StepGraph) -> int | None:
    condition, body = (graph.functions.get(loop.calls.get(role, "")) for role in ("cond", "body"))
    if condition is None or body is None or not condition.results:
        return None
    found = []
    for edge in _conjuncts(condition, condition.results[0]):
        one = _counted(loop, function, condition, body, edge)
        if one is None:
            return None
        found.append(one)
    return min(found, default=None)


def _conjuncts(condition: Function, edge: Edge) -> Iterator[Edge]:
    edge = _through(condition, edge)
    operation = condition.operations[edge.operation]
    if operation.type == "LogicalAnd":
        for one in operation.inputs:
            yield from _conjuncts(condition, one)
    else:
        yield edge


def _counted(loop: Operation, function: Function, condition: Function, body: Function, edge: Edge) -> int | None:
    """Iterations after which `counter < limit` is false."""
    comparison = condition.operations[edge.operation]
    if comparison.type not in ("Less", "LessEqual"):
        return None
    counter = _parameter(condition, comparison.inputs[0])
    if counter is None:
        return None
    limit = _value(loop, function, condition, comparison.inputs[1])
    first = _constant(function, loop.inputs[counter])
    stride = _stride(loop, function, body, counter)
    if limit is None or first is None or not stride or stride < 0:
        return None
    behind = limit + (comparison.type == "LessEqual")
    return max(0, -(-(behind - first) // stride))


def _stride(loop: Operation, function: Function, body: Function, counter: int) -> int | None:
    """Number that each iteration adds to a loop variable; None if it changes the variable in any other way."""
    edge = _through(body, body.results[counter])
    operation = body.operations[edge.operation]
    if operation.type not in ("AddV2", "Add"):
        return None
    for own, other in (operation.inputs, operation.inputs[::-1]):
        if _parameter(body, own) == counter:
            return _value(loop, function, body, other)
    return None


def _value(loop: Operation, function: Function, inner: Function, edge: Edge) -> int | None:
    """An integer inside of the loop: a constant there, or a loop variable that no iteration changes and that enters as
    a constant."""
    place = _parameter(inner, edge)
    if place is None:
        return _constant(inner, edge)
    return _constant(function, loop.inputs[place])


def _constant(function: Function, edge: Edge) -> int | None:
    operation = function.operations[_through(function, edge).operation]
    value = operation.attributes.get("value") if operation.type == "Const" else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _parameter(function: Function, edge: Edge) -> int | None:
    """The number of the parameter that an edge comes from."""
    at = _through(function, edge).operation
    return function.parameters.index(at) if at in function.parameters else None


def _through(function: Function, edge: Edge) -> Edge:
    """An edge's origin before operations that pass the value on."""
    while (operation := function.operations[edge.operation]).type in _PASSED and operation.inputs:
        edge = operation.inputs[0]
    return edge
