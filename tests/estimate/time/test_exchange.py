"""What replicas exchange of a step's gradients."""

from __future__ import annotations

from gpulint.estimate.graph import Tensor
from gpulint.estimate.time.exchange import gradient_bytes
from tests.estimate.made import Graph

TABLE = Tensor("float32", (1000, 64))
ROWS = Tensor("float32", (8, 64))


def test_of_an_embedding_the_rows_are_exchanged_that_the_step_takes() -> None:
    graph = Graph()
    table, words = graph.variable(TABLE), graph.argument(Tensor("int32", (8,)))
    whole = graph.add("ReadVariableOp", table, outputs=(TABLE,), layer="embedding")
    graph.add("GatherV2", graph.add("Identity", whole, outputs=(TABLE,)), words, outputs=(ROWS,), layer="embedding")
    assert gradient_bytes(graph.step()) == 8 * 64 * 4
    graph.add("Mul", graph.add("ReadVariableOp", table, outputs=(TABLE,)), outputs=(TABLE,))  # an optimizer's decay
    graph.add("ResourceScatterAdd", table, words, outputs=())
    assert gradient_bytes(graph.step()) == 8 * 64 * 4


def test_of_a_table_that_is_also_a_factor_of_a_product_all_is_exchanged() -> None:
    graph = Graph()
    table, words = graph.variable(TABLE), graph.argument(Tensor("int32", (8,)))
    graph.add("ResourceGather", table, words, outputs=(ROWS,))
    graph.add("MatMul", graph.add("ReadVariableOp", table, outputs=(TABLE,)), outputs=(ROWS,))
    assert gradient_bytes(graph.step()) == 1000 * 64 * 4


def test_no_more_is_exchanged_than_the_variable_has() -> None:
    graph = Graph()
    table, words = graph.variable(TABLE), graph.argument(Tensor("int32", (5000,)))
    graph.add("ResourceGather", table, words, outputs=(Tensor("float32", (5000, 64)),))
    graph.variable(ROWS)
    assert gradient_bytes(graph.step()) == 1000 * 64 * 4 + 8 * 64 * 4
