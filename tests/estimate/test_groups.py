"""The purpose of the buffers at the peak."""

from __future__ import annotations

from collections import Counter

from gpulint.estimate.memory.figures import Groups, figures
from tests.estimate.made import Graph


def by_group(graph: Graph) -> Counter[str]:
    step = graph.step()
    groups, found = Groups(step), figures(step)
    counted: Counter[str] = Counter()
    for one in found.steady.held:
        counted[groups.of(one)] += one.size
    return counted


def test_a_variable_holds_the_value_that_it_was_assigned() -> None:
    graph = Graph()
    slot = graph.variable(group="slots")
    value = graph.add("Mul", graph.add("ReadVariableOp", slot), graph.argument())
    graph.add("AssignVariableOp", slot, value, outputs=())
    assert by_group(graph)["slots"] >= 1024


def test_sizes_and_constants_of_the_backward_pass_make_no_updates_of_what_reads_them() -> None:
    graph = Graph()
    weights = graph.variable()
    axis = graph.add("Const", is_gradient=True)
    size = graph.add("Shape", graph.argument(), is_gradient=True)
    forward = graph.add("Mean", graph.add("StridedSlice", graph.add("ReadVariableOp", weights), size), axis)
    backward = graph.add("ReluGrad", forward, is_gradient=True)
    graph.add("AssignSubVariableOp", weights, graph.add("Scale", backward, forward), outputs=())
    assert by_group(graph)["activations"] == 1024


def test_a_layer_that_shares_a_value_with_the_backward_pass_has_activations() -> None:
    graph = Graph()
    weights = graph.variable()
    shared = graph.add("Transpose", graph.argument(), is_gradient=True, layer="conv")
    forward = graph.add("BiasAdd", shared, graph.add("ReadVariableOp", weights), layer="conv")
    backward = graph.add("ReluGrad", forward, shared, is_gradient=True, layer="conv")
    graph.add("AssignSubVariableOp", weights, backward, outputs=())
    assert by_group(graph)["activations"] == 1024
