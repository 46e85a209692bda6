"""The executor's order and the life of buffers, on graphs made by hand with known answers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gpulint.estimate.graph import Argument, Attribute, Edge, Function, Operation, StepGraph, Tensor, Variable
from gpulint.estimate.memory.bfc import Bfc, Exhausted
from gpulint.estimate.memory.liveness import Run, play

KiB = 1024
UNIT = Tensor("float32", (256,))
"""A tensor of 1 KiB."""


class Graph:
    """Builds a step operation by operation; all tensors are of 1 KiB unless given."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.variables: list[Variable] = []
        self.arguments: list[Argument] = []
        self.parameters: list[int] = []
        self.functions: dict[str, Function] = {}

    def add(
        self,
        kind: str,
        *inputs: int | Edge,
        outputs: tuple[Tensor, ...] = (UNIT,),
        after: tuple[int, ...] = (),
        device: str = "",
        calls: Mapping[str, str] | None = None,
        host: tuple[int, ...] = (),
        attributes: Mapping[str, Attribute] | None = None,
    ) -> int:
        edges = tuple(one if isinstance(one, Edge) else Edge(one, 0) for one in inputs)
        name = f"{kind}_{len(self.operations)}"
        self.operations.append(
            Operation(
                name, kind, edges, after, outputs, attributes or {}, device=device, calls=calls or {}, host_outputs=host
            )
        )
        return len(self.operations) - 1

    def variable(self, tensor: Tensor = UNIT, device: str = "") -> int:
        index = self.add("_Arg", outputs=(Tensor("resource", ()),))
        self.parameters.append(index)
        self.variables.append(Variable(f"v{index}", tensor, "weights", True, len(self.parameters) - 1, device=device))
        return index

    def argument(self, tensor: Tensor = UNIT) -> int:
        index = self.add("_Arg", outputs=(tensor,))
        self.parameters.append(index)
        self.arguments.append(Argument(f"x{index}", tensor, len(self.parameters) - 1))
        return index

    def step(self, *results: int) -> StepGraph:
        body = Function("step", tuple(self.operations), tuple(self.parameters), tuple(Edge(one, 0) for one in results))
        return StepGraph("step", "", 0, body, self.functions, tuple(self.variables), tuple(self.arguments), batch=1)


def peak(graph: StepGraph, device: str = "GPU:0") -> int:
    """The peak in KiB, on an allocator that never gives more than was asked for."""
    return play(graph, device, _exact()).peak // KiB


def _exact() -> Bfc:
    """All that these graphs need fits into one region that is never reused in part."""
    return Bfc(limit=1 << 40, grows=False)


def names(run: Run) -> list[str]:
    return [operation.type for operation, _ in run.curve]


def test_an_input_is_freed_after_its_last_reader() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    b = graph.add("Transpose", a)
    c = graph.add("Transpose", b)
    assert peak(graph.step(graph.add("Transpose", c))) == 2


def test_what_the_backward_pass_reads_is_kept() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    b = graph.add("Transpose", a)
    c = graph.add("Transpose", b)
    d = graph.add("Transpose", c)
    assert peak(graph.step(graph.add("Concat", a, b, c, d))) == 5


def test_elementwise_operations_take_over_an_input_that_nobody_else_needs() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    assert peak(graph.step(graph.add("Relu", graph.add("Exp", a)))) == 1


def test_an_input_that_is_read_again_is_not_taken_over() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    b = graph.add("Exp", a)
    assert peak(graph.step(graph.add("Mul", a, b))) == 2


def test_a_smaller_input_is_not_taken_over() -> None:
    graph = Graph()
    a = graph.add("RandomUniform", outputs=(Tensor("float32", (1,)),))
    b = graph.add("RandomUniform")
    assert peak(graph.step(graph.add("Mul", a, b))) == 1


def test_a_cast_to_another_type_needs_a_buffer_of_its_own() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    assert peak(graph.step(graph.add("Cast", a, outputs=(Tensor("int32", (256,)),)))) == 2


def test_the_gradient_of_cross_entropy_takes_over_the_logits() -> None:
    graph = Graph()
    logits = graph.add("RandomUniform", outputs=(Tensor("float32", (256, 4)),))
    labels = graph.add("RandomUniform")
    small = Tensor("float32", (4,))
    kind = "SparseSoftmaxCrossEntropyWithLogits"
    entropy = graph.add(kind, logits, labels, outputs=(small, Tensor("float32", (256, 4))))
    step = graph.step(graph.add("Transpose", Edge(entropy, 1), outputs=(small,)))
    assert play(step, allocator=_exact()).peak < 6 * KiB


def test_a_view_keeps_the_buffer_alive() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    view = graph.add("Reshape", a, a)
    b = graph.add("Transpose", a)
    c = graph.add("Transpose", b)
    assert peak(graph.step(graph.add("Concat", view, c))) == 3


def test_variables_and_arguments_are_held_throughout() -> None:
    graph = Graph()
    graph.variable()
    x = graph.argument()
    assert peak(graph.step(graph.add("Transpose", x))) == 3


def test_reading_a_variable_needs_nothing() -> None:
    graph = Graph()
    v = graph.variable()
    assert peak(graph.step(graph.add("Transpose", graph.add("ReadVariableOp", v)))) == 2


def test_a_variable_is_updated_in_place() -> None:
    graph = Graph()
    v = graph.variable()
    graph.add("AssignAddVariableOp", v, graph.add("RandomUniform"), outputs=())
    assert peak(graph.step()) == 2


def test_a_variable_that_is_still_read_is_copied() -> None:
    graph = Graph()
    v = graph.variable()
    read = graph.add("ReadVariableOp", v)
    update = graph.add("AssignAddVariableOp", v, graph.add("RandomUniform"), outputs=())
    late = graph.add("NoOp", outputs=(), after=(update,))
    graph.add("Transpose", read, after=(late,))
    assert peak(graph.step()) == 3


def test_an_assigned_variable_takes_the_buffer_of_the_value() -> None:
    graph = Graph()
    v = graph.variable()
    done = graph.add("AssignVariableOp", v, graph.add("RandomUniform"), outputs=())
    graph.add("RandomUniform", after=(done,))
    assert peak(graph.step()) == 2


def test_variables_of_other_devices_are_not_counted() -> None:
    graph = Graph()
    graph.variable(device="GPU:0")
    graph.variable(device="GPU:1")
    step = graph.step(graph.add("RandomUniform", device="GPU:1"))
    assert peak(step, "GPU:0") == 1
    assert peak(step, "GPU:1") == 2


def test_outputs_in_host_memory_are_not_counted() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    assert peak(graph.step(graph.add("Shape", a, host=(0,)))) == 1


def test_operations_start_in_the_order_in_which_they_become_ready() -> None:
    graph = Graph()
    a = graph.add("A")
    b = graph.add("B")
    graph.add("D", graph.add("C", a))
    graph.add("E", b)
    assert names(play(graph.step())) == ["A", "B", "C", "E", "D"]


def test_an_operation_of_unknown_size_is_reported() -> None:
    graph = Graph()
    graph.add("Where", outputs=(Tensor("int64", (None, 2)),))
    assert [one.type for one in play(graph.step()).unknown] == ["Where"]


def test_a_called_function_needs_its_own_peak() -> None:
    inner = Graph()
    a = inner.add("RandomUniform")
    b = inner.add("Transpose", a)
    inner.add("Concat", a, b)
    graph = Graph()
    graph.functions["f"] = inner.step().body
    assert peak(graph.step(graph.add("PartitionedCall", calls={"f": "f"}))) == 4


def test_holders_at_the_peak_add_up_to_it() -> None:
    graph = Graph()
    graph.variable()
    x = graph.argument()
    run = play(graph.step(graph.add("Transpose", graph.add("Transpose", x))), allocator=_exact())
    assert sum(one.size for one in run.held) == run.peak == 4 * KiB


def test_a_limit_raises() -> None:
    graph = Graph()
    a = graph.add("RandomUniform")
    step = graph.step(graph.add("Transpose", a))
    with pytest.raises(Exhausted):
        play(step, allocator=Bfc(limit=KiB, grows=False))
