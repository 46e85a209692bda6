"""What is in memory of a step that XLA compiles, on graphs made by hand with known answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.estimate.graph import Edge, StepGraph, Tensor
from gpulint.estimate.memory.bfc import Bfc
from gpulint.estimate.memory.figures import CONTEXT, figures, steady
from gpulint.estimate.memory.fusion import play_compiled
from tests.estimate.made import UNIT, Graph, filling_a_list

KiB = 1024


def peak(graph: StepGraph) -> int:
    """The peak in KiB, on an allocator that never gives more than was asked for."""
    return play_compiled(graph, allocator=Bfc(limit=1 << 40, grows=False))[-1].peak // KiB


def product(graph: Graph, *inputs: int) -> int:
    return graph.add("BatchMatMul", *inputs)


def test_a_chain_of_elementwise_operations_is_one_kernel() -> None:
    graph = Graph()
    x = product(graph)
    y = graph.add("Add", graph.add("Mul", graph.add("Neg", x), x), x)
    assert peak(graph.step(product(graph, y))) == 2  # y over x, then the product


def test_what_is_cheap_is_computed_again_for_the_backward_pass() -> None:
    graph = Graph()
    x = product(graph)
    y = graph.add("Neg", x)
    z = product(graph, graph.add("Mul", y, y))
    assert peak(graph.step(product(graph, graph.add("Mul", z, y)))) == 3  # x, z and their product; no y


def test_what_is_expensive_is_in_memory_if_two_kernels_read_it() -> None:
    def chain(kind: str) -> int:
        graph = Graph()
        x = product(graph)
        y = graph.add(kind, x)
        z = product(graph, graph.add("Mul", y, x))
        return peak(graph.step(product(graph, graph.add("AddN", z, y, x))))

    assert chain("Erf") == chain("Neg") + 1


def test_the_mask_of_random_numbers_is_in_memory_and_not_the_numbers() -> None:
    graph = Graph()
    x, mask = product(graph), Tensor("bool", UNIT.shape)
    kept = graph.add("GreaterEqual", graph.add("StatelessRandomUniformV2"), outputs=(mask,))
    y = product(graph, graph.add("SelectV2", kept, x))
    z = graph.add("SelectV2", kept, product(graph, y))
    assert play_compiled(graph.step(product(graph, z)), allocator=Bfc(1 << 40, grows=False))[-1].peak == 2 * KiB + 256


def test_a_reduction_reads_what_it_computes() -> None:
    graph = Graph()
    x = product(graph)
    small = Tensor("float32", (1,))
    total = graph.add("Sum", graph.add("Square", x), outputs=(small,))
    assert peak(graph.step(product(graph, graph.add("Mul", x, total)))) == 2


def test_a_size_is_no_reader() -> None:
    graph = Graph()
    x = product(graph)
    y = graph.add("Neg", x)
    graph.add("Shape", y, outputs=(Tensor("int32", (1,)),))
    z = product(graph, graph.add("Mul", y, y))
    assert peak(graph.step(product(graph, graph.add("AddN", z, y, x)))) == 3  # x, y × y and z


def test_what_is_gathered_is_computed_for_the_rows_that_are_taken() -> None:
    graph = Graph()
    x, few = product(graph), Tensor("float32", (1,))
    rows = graph.add("GatherV2", graph.add("Sqrt", x), graph.add("Const", outputs=(few,)), outputs=(few,))
    assert peak(graph.step(graph.add("BatchMatMul", rows, outputs=(few,)))) == 1


def test_branches_that_were_created_together_run_one_after_another() -> None:
    graph = Graph()
    small = Tensor("float32", (1,))
    branches = [product(graph) for _ in range(4)]
    totals = [graph.add("BatchMatMul", one, outputs=(small,)) for one in branches]
    assert peak(graph.step(graph.add("AddN", *totals, outputs=(small,)))) == 1


def test_a_new_value_of_a_variable_is_written_in_place() -> None:
    graph = Graph()
    weight = graph.variable()
    gradient = product(graph, graph.add("ReadVariableOp", weight))
    graph.add("AssignSubVariableOp", weight, graph.add("Mul", gradient, gradient), outputs=())
    assert peak(graph.step()) == 2


def test_a_kernel_may_write_over_what_it_is_the_last_to_read() -> None:
    graph = Graph()
    x = product(graph)
    z = product(graph, graph.add("Relu", x))
    assert peak(graph.step(z)) == 2


def test_the_gradient_of_pooling_scatters_by_indices() -> None:
    def pooled(kind: str) -> int:
        graph = Graph()
        small, x = Tensor("float32", (1, 4, 4, 4)), product(graph)
        return peak(graph.step(graph.add(kind, x, x, graph.add("BatchMatMul", outputs=(small,)))))

    assert pooled("MaxPoolGrad") == pooled("AvgPoolGrad") + 64 * (4 + 2 * 4 * 4) // KiB


def test_operations_that_were_added_at_the_end_run_where_they_are_needed() -> None:
    graph = Graph()
    first = product(graph)
    for _ in range(3):
        product(graph, first)
    operations = graph.operations
    moved = graph.add("Einsum", first)
    user = replace(operations[1], inputs=(*operations[1].inputs, Edge(moved, 0)))
    operations[1] = user
    names = [one.name for one, _ in play_compiled(graph.step())[-1].curve]
    assert names.index(f"Einsum_{moved}") < names.index("BatchMatMul_1") < names.index("BatchMatMul_2")


def test_lists_that_loops_fill_are_in_memory() -> None:
    assert peak(filling_a_list()) >= 10


def test_the_step_takes_one_block_of_the_allocator() -> None:
    graph = Graph()
    big = Tensor("float32", (3, 256, 1024))
    x = graph.add("BatchMatMul", outputs=(big,))
    run = play_compiled(graph.step(x))[-1]
    assert run.peak == 4 << 20  # a region of 4 MiB, too small to be split
    assert sum(one.size for one in run.held) == run.peak
    assert [(one.size, one.is_own) for one in run.held] == [(3 << 20, False), (1 << 20, True)]


@pytest.mark.parametrize("is_compiled", [True, False])
def test_figures_know_how_much_fusing_may_save(is_compiled: bool) -> None:
    graph = Graph()
    big = Tensor("float32", (4, 256, 1024))
    x = graph.add("BatchMatMul", outputs=(big,))
    kept = [graph.add("Neg", x, outputs=(big,)) for _ in range(4)]
    step = replace(graph.step(graph.add("Sum", graph.add("AddN", *kept), outputs=(UNIT,))), is_compiled=is_compiled)
    found = figures(step)
    assert found.steady.peak == steady(step).peak
    assert found.most == figures(replace(step, is_compiled=False)).steady.peak


def test_convolutions_are_tuned_beside_the_first_step() -> None:
    graph = Graph()
    image, kernel = Tensor("float32", (8, 32, 32, 16)), Tensor("float32", (3, 3, 16, 16))
    x = graph.add("Einsum", outputs=(image,))
    weight = graph.add("Einsum", outputs=(kernel,))
    step = replace(graph.step(graph.add("Conv2D", x, weight, outputs=(image,))), is_compiled=True)
    first, *_, later = play_compiled(step)
    assert first.peak > later.peak
    assert figures(step).process > CONTEXT + first.peak
    assert sum(one.size for one in later.held) == later.peak


def test_kernels_are_timed_while_the_step_is_compiled() -> None:
    def regions(kind: str) -> int:
        graph, allocator = Graph(), Bfc()
        x = graph.add("Einsum", outputs=(Tensor("float32", (1,)),))
        play_compiled(graph.step(graph.add(kind, x, x, outputs=(Tensor("float32", (8 << 18,)),))), allocator=allocator)
        return allocator.regions >> 20

    # Two results of 8 MiB, the workspace of a product and 16 MiB around each operand, and a step of 8 MiB.
    assert regions("MatMul") - regions("Sum") >= 2 * 8 + 32 + 2 * 16 - 8


def test_unknown_sizes_are_reported() -> None:
    graph = Graph()
    graph.add("Where", product(graph), outputs=(Tensor("int64", (None, 1)),))
    assert [one.type for one in play_compiled(graph.step())[-1].unknown] == ["Where"]
