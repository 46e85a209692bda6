"""How often each operation of a step runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpulint.estimate.graph import CHOICES, Function, Operation, StepGraph, Tensor
from gpulint.estimate.sharing import shared_input
from gpulint.estimate.time.kinds import KINDS
from gpulint.estimate.trips import trips

MOST_DEPTH = 50
"""Maximum depth of nested functions that is followed: the graph does not show where recursion ends."""


@dataclass(frozen=True, slots=True)
class Execution:
    """An operation of the step, the types of its inputs, and how often it runs at least."""

    operation: Operation
    inputs: tuple[Tensor, ...]
    times: int
    is_compiled: bool
    """Whether XLA may have fused it with others."""
    is_view: bool = False
    """Whether all of its outputs are buffers of its inputs: it launches nothing."""
    is_counted: bool = True
    """False for a loop whose number of iterations is not in the graph: its body counts once."""


def executed(graph: StepGraph) -> Iterator[Execution]:
    """Every operation that one call of the step runs. Of a conditional, the branch with the fewest operations."""
    is_compiled = graph.body.is_compiled or (
        graph.is_compiled and not any(function.is_compiled for function in graph.functions.values())
    )
    return _of(graph.body, graph, 1, is_compiled, 0)


def _of(function: Function, graph: StepGraph, times: int, is_compiled: bool, depth: int) -> Iterator[Execution]:
    is_compiled = is_compiled or function.is_compiled
    needed = _needed(function)
    for number, operation in enumerate(function.operations):
        if number not in needed:
            continue
        inputs = tuple(function.operations[edge.operation].outputs[edge.output] for edge in operation.inputs)
        rounds = trips(operation, function, graph) if "While" in operation.type else None
        is_counted = rounds is not None or "While" not in operation.type
        outputs = range(len(operation.outputs))
        is_view = bool(outputs) and all(shared_input(function, operation, one) is not None for one in outputs)
        yield Execution(operation, inputs, times, is_compiled, is_view, is_counted)
        if KINDS.get(operation.type) != "call" or depth == MOST_DEPTH:
            continue
        called = {role: graph.functions[name] for role, name in operation.calls.items() if name in graph.functions}
        if "While" in operation.type:
            repeated = 1 if rounds is None else rounds
            for role, more in (("body", 0), ("cond", 1)):
                if role in called and repeated + more:
                    yield from _of(called[role], graph, times * (repeated + more), is_compiled, depth + 1)
        elif operation.type in CHOICES:
            if called:
                fewest = min(called.values(), key=lambda one: len(one.operations))
                yield from _of(fewest, graph, times, is_compiled, depth + 1)
        else:
            for one in called.values():
                yield from _of(one, graph, times, is_compiled, depth + 1)


def _needed(function: Function) -> set[int]:
    """Operations that results and effects depend on: the runtime drops the others."""
    pending = [edge.operation for edge in function.results] + list(function.must_run)
    found: set[int] = set()
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            operation = function.operations[number]
            pending += [edge.operation for edge in operation.inputs]
            pending += operation.controls
    return found
