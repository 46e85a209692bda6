"""Hand-built graphs of steps, for tests without TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpulint.estimate.graph import Argument, Edge, Function, Operation, StepGraph, Tensor, Variable


def tensor(*shape: int | None, dtype: str = "float32") -> Tensor:
    return Tensor(dtype, shape)


def op(name: str, kind: str, inputs: Sequence[int] = (), outputs: Sequence[Tensor] = (), **more: Any) -> Operation:
    """An operation that takes the first outputs of others, by their numbers."""
    return Operation(name, kind, tuple(Edge(one, 0) for one in inputs), outputs=tuple(outputs), **more)


def function(name: str, operations: Sequence[Operation], parameters: Sequence[int] = (), **more: Any) -> Function:
    """A function of which every operation must run."""
    more.setdefault("must_run", tuple(range(len(operations))))
    return Function(name, tuple(operations), tuple(parameters), **more)


def step(operations: Sequence[Operation], *functions: Function, **more: Any) -> StepGraph:
    return StepGraph(
        name="train_step",
        filename="train.py",
        row=7,
        body=function("step", operations),
        functions={one.name: one for one in functions},
        **more,
    )


def dense(batch: int, inputs: int = 1024, units: int = 1024, layers: int = 1) -> StepGraph:
    """Matrix products of a batch with a weight matrix, one after another, each at a line of its own."""
    operations = [op("x", "_Arg", outputs=[tensor(batch, inputs)])]
    for number in range(layers):
        width = inputs if number == 0 else units
        operations.append(op(f"w{number}", "ReadVariableOp", outputs=[tensor(width, units)]))
        taken = [0 if number == 0 else len(operations) - 2, len(operations) - 1]
        operations.append(
            op(f"y{number}", "MatMul", taken, [tensor(batch, units)], filename="train.py", row=10 + number)
        )
    return step(
        operations,
        batch=batch,
        arguments=(Argument("x", tensor(batch, inputs), 0),),
        variables=tuple(
            Variable(f"w{number}", tensor(inputs if number == 0 else units, units), "weights", True)
            for number in range(layers)
        ),
    )
