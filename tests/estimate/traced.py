"""What TensorFlow traces, as graphs of steps: for tests of single models of memory and time."""

from __future__ import annotations

from typing import Any

from gpulint.estimate.graph import Attribute, Edge, Function, Operation, StepGraph, Tensor


def traced(concrete: Any, **more: Any) -> StepGraph:
    """The graph of a concrete function as it was traced: neither optimized nor with lines or variables."""
    functions: dict[str, Function] = {}
    body = _function(concrete.graph, "step", functions)
    return StepGraph("step", "", 0, body, functions, **more)


def _function(graph: Any, name: str, functions: dict[str, Function]) -> Function:
    made = graph.get_operations()
    numbers = {one.name: number for number, one in enumerate(made)}
    operations = []
    for one in made:
        attributes = one.node_def.attr
        calls = {key: value.func.name for key, value in attributes.items() if value.WhichOneof("value") == "func"}
        for called in calls.values():
            if called not in functions:
                functions[called] = _function(_graph_of(graph, called), called, functions)
        operations.append(
            Operation(
                one.name,
                one.type,
                tuple(Edge(numbers[tensor.op.name], tensor.value_index) for tensor in one.inputs),
                outputs=tuple(_tensor(tensor) for tensor in one.outputs),
                attributes={key: found for key, value in attributes.items() if (found := _value(value)) is not None},
                calls=calls,
            )
        )
    results = tuple(Edge(numbers[tensor.op.name], tensor.value_index) for tensor in graph.outputs)
    must_run = tuple(numbers[one.name] for one in graph.control_outputs)
    return Function(name, tuple(operations), tuple(numbers[one.op.name] for one in graph.inputs), results, must_run)


def _graph_of(graph: Any, name: str) -> Any:
    while (found := graph._get_function(name)) is None:
        graph = graph.outer_graph
    return found.graph


def _tensor(tensor: Any) -> Tensor:
    rank = tensor.shape.rank
    return Tensor(tensor.dtype.base_dtype.name, None if rank is None else tuple(tensor.shape.as_list()))


def _value(value: Any) -> Attribute | None:
    kind = value.WhichOneof("value")
    if kind in ("b", "i", "f"):
        return getattr(value, kind)  # type: ignore[no-any-return]
    if kind == "s":
        return value.s.decode("utf-8", "replace")  # type: ignore[no-any-return]
    if kind == "list" and value.list.i:
        return tuple(value.list.i)
    if kind == "tensor":
        from tensorflow.python.framework import tensor_util

        made = tensor_util.MakeNdarray(value.tensor)
        if made.dtype.kind != "i" or made.size > 16:
            return None
        return int(made) if made.shape == () else tuple(made.ravel().tolist())
    return None
