"""How often operations run."""

from __future__ import annotations

from collections import Counter

import pytest

from gpulint.estimate.graph import Edge, Operation, StepGraph, Tensor
from gpulint.estimate.time.executed import executed
from tests.estimate.time.made import function, op, step, tensor
from tests.estimate.traced import traced

NUMBER = Tensor("int32", ())


def constant(name: str, value: int) -> Operation:
    return op(name, "Const", outputs=[NUMBER], attributes={"value": value})


def counts(graph: StepGraph) -> Counter[str]:
    found: Counter[str] = Counter()
    for one in executed(graph):
        found[one.operation.name] += one.times
    return found


def loop(first: int, limit: int, stride: int, comparison: str = "Less") -> StepGraph:
    condition = function(
        "cond",
        [op("i", "_Arg", outputs=[NUMBER]), constant("limit", limit), op("test", comparison, [0, 1], [NUMBER])],
        [0],
        results=(Edge(2, 0),),
    )
    body = function(
        "body",
        [op("i", "_Arg", outputs=[NUMBER]), constant("stride", stride), op("next", "AddV2", [0, 1], [NUMBER])],
        [0],
        results=(Edge(2, 0),),
    )
    calls = {"cond": "cond", "body": "body"}
    return step([constant("first", first), op("loop", "While", [0], [NUMBER], calls=calls)], condition, body)


@pytest.mark.parametrize(
    ("first", "limit", "stride", "comparison", "rounds"),
    [
        (0, 10, 1, "Less", 10),
        (0, 10, 3, "Less", 4),
        (0, 9, 3, "LessEqual", 4),
        (5, 10, 1, "Less", 5),
        (10, 10, 1, "Less", 0),
    ],
)
def test_a_counting_loop_runs_as_often_as_it_counts(
    first: int, limit: int, stride: int, comparison: str, rounds: int
) -> None:
    found = counts(loop(first, limit, stride, comparison))
    assert (found["next"], found["test"]) == (rounds, rounds + 1)


def test_a_limit_that_enters_the_loop_as_a_constant_is_known() -> None:
    parameters = [op(name, "_Arg", outputs=[NUMBER]) for name in ("i", "limit")]
    condition = function("cond", [*parameters, op("test", "Less", [0, 1], [NUMBER])], [0, 1], results=(Edge(2, 0),))
    steps = [*parameters, constant("stride", 1), op("next", "AddV2", [0, 2], [NUMBER])]
    body = function("body", steps, [0, 1], results=(Edge(3, 0), Edge(1, 0)))
    calls = {"cond": "cond", "body": "body"}
    entering = [constant("first", 0), constant("limit", 6)]
    graph = step([*entering, op("loop", "While", [0, 1], [NUMBER, NUMBER], calls=calls)], condition, body)
    assert counts(graph)["next"] == 6


def test_a_loop_that_the_graph_does_not_count_runs_once() -> None:
    (one,) = [one for one in executed(loop(0, 10, 1, "NotEqual")) if one.operation.name == "loop"]
    assert not one.is_counted
    assert counts(loop(0, 10, 1, "NotEqual"))["next"] == 1
    assert counts(loop(0, 10, -1))["next"] == 1


def test_of_a_conditional_the_smaller_branch_counts() -> None:
    then = function("then", [op(f"a{number}", "Relu", outputs=[tensor(4)]) for number in range(3)])
    other = function("other", [op("b", "Relu", outputs=[tensor(4)])])
    calls = {"then_branch": "then", "else_branch": "other"}
    assert counts(step([op("if", "If", outputs=[tensor(4)], calls=calls)], then, other)) == {"if": 1, "b": 1}


def test_what_nothing_depends_on_does_not_run() -> None:
    operations = [op("x", "_Arg", outputs=[tensor(4)]), *(op(name, "Relu", [0], [tensor(4)]) for name in "ab")]
    body = function("inner", operations, [0], must_run=(), results=(Edge(2, 0),))
    call = op("call", "PartitionedCall", outputs=[tensor(4)], calls={"f": "inner"})
    assert counts(step([call], body)) == {"call": 1, "x": 1, "b": 1}


def test_a_function_that_calls_itself_ends() -> None:
    again = function("again", [op("inner", "PartitionedCall", calls={"f": "again"}), op("a", "Relu")])
    assert 1 < counts(step([op("outer", "PartitionedCall", calls={"f": "again"})], again))["a"] < 100


def test_xla_compiles_what_a_compiled_function_calls() -> None:
    inner = function("inner", [op("a", "Relu", outputs=[tensor(4)])], is_compiled=True)
    outer = [op("call", "PartitionedCall", calls={"f": "inner"}), op("b", "Relu", outputs=[tensor(4)])]
    assert {one.operation.name: one.is_compiled for one in executed(step(outer, inner))} == {
        "call": False,
        "a": True,
        "b": False,
    }
    assert all(one.is_compiled for one in executed(step([op("b", "Relu")], is_compiled=True)))


@pytest.mark.tensorflow
def test_trips_of_loops_that_tensorflow_traces() -> None:
    import tensorflow as tf

    @tf.function
    def step_of(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(7):
            x = tf.nn.relu(x)
        y = tf.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, tf.sin(y)), (0, x), maximum_iterations=3)[1]
        return tf.while_loop(lambda z: tf.reduce_sum(z) > 1, lambda z: (tf.cos(z),), (y,))[0]

    graph = traced(step_of.get_concrete_function(tf.TensorSpec((4,), tf.float32)))
    found: Counter[str] = Counter()
    for one in executed(graph):
        found[one.operation.type] += one.times
    assert (found["Relu"], found["Sin"], found["Cos"]) == (7, 3, 1)
    assert [one.is_counted for one in executed(graph) if "While" in one.operation.type] == [True, True, False]
