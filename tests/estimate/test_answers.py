"""Answers from two batch sizes, on hand-built steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpulint.estimate.answers import Batches, Line, changes, halved, is_unrolled
from gpulint.estimate.graph import Function, StepGraph, Tensor, Variable
from gpulint.estimate.memory.figures import MARGIN, Groups, figures, steady
from gpulint.estimate.memory.liveness import Order, Run, play
from tests.estimate.made import UNIT, Graph
from tests.estimate.traced import traced

MiB = 1 << 20


def example(batch: int) -> Tensor:
    """1 MiB for each example."""
    return Tensor("float32", (batch, 256, 1024))


def step(batch: int) -> StepGraph:
    """A weight of 1 MiB with its slot; a layer of three activations, of which the backward pass needs two; its gradient
    and the update."""
    graph = Graph()
    big = Tensor("float32", (256, 1024))
    weight, slot = graph.variable(big), graph.variable(big, group="slots")
    x = graph.argument(example(batch))
    read = graph.add("ReadVariableOp", weight, outputs=(big,), layer="dense")
    first = graph.add("BatchMatMul", x, read, outputs=(example(batch),), layer="dense", row=1)
    second = graph.add("Gelu", first, outputs=(example(batch),), layer="dense", row=2)
    third = graph.add("Transpose", second, outputs=(example(batch),), layer="dense", row=3)
    back = graph.add("GeluGrad", third, first, second, outputs=(example(batch),), layer="dense", is_gradient=True)
    gradient = graph.add("BatchMatMul", x, back, outputs=(big,), layer="dense", is_gradient=True)
    kept = graph.add("Decay", graph.add("ReadVariableOp", slot, outputs=(big,)), outputs=(big,))
    graph.add("AssignSubVariableOp", weight, graph.add("Scale", gradient, kept, outputs=(big,)), outputs=())
    return graph.step(batch=batch)


def test_a_step_at_any_batch_size_is_on_the_line_through_two() -> None:
    line = Line(step(16), step(32))
    for batch in (1, 16, 24, 32, 100):
        assert line.at(batch) == step(batch)


def test_other_graphs_are_not_on_a_line() -> None:
    with pytest.raises(ValueError):
        Line(step(16), step(16))
    with pytest.raises(ValueError):
        Line(step(16), Graph().step(batch=32))


@pytest.mark.parametrize("limit", [250 * MiB, 500 * MiB, 5000 * MiB])
def test_the_largest_batch_reaches_the_limit(limit: int) -> None:
    largest = Batches(step(16), step(32)).largest(limit)
    assert largest is not None
    batches = Batches(step(16), step(32))
    assert batches.run(largest).peak <= limit
    larger = largest + max(1, largest // 50)
    assert batches.run(largest).peak >= 0.98 * limit or batches.run(larger).peak > limit


def test_what_grows_with_the_square_of_the_batch_is_followed() -> None:
    def contrastive(batch: int) -> StepGraph:
        """Similarities of each example with each other one, beside 100 MiB of a table."""
        graph = Graph()
        graph.variable(Tensor("float32", (100, 256, 1024)))
        x = graph.argument(Tensor("float32", (batch, 64)))
        graph.add("MatMul", x, x, outputs=(Tensor("float32", (batch, batch)),))
        return graph.step(batch=batch)

    largest = Batches(contrastive(64), contrastive(128)).largest(1000 * MiB)
    assert largest is not None
    assert 4 * largest**2 == pytest.approx(900 * MiB / (1 + MARGIN), rel=0.04)


def test_a_peak_that_small_batches_do_not_change_is_followed_to_where_it_grows() -> None:
    def updating(batch: int) -> StepGraph:
        """An update of 100 MiB, which needs more than the activations of a few examples."""
        graph = Graph()
        big = Tensor("float32", (100, 256, 1024))
        weight = graph.variable(big)
        forward = graph.add("Gelu", graph.argument(example(batch)), outputs=(example(batch),), layer="dense")
        gradient = graph.add("Reduce", forward, outputs=(big,), layer="dense", is_gradient=True)
        graph.add("AssignSubVariableOp", weight, gradient, outputs=())
        return graph.step(batch=batch)

    assert play(updating(2)).peak - play(updating(1)).peak < 4 * MiB
    largest = Batches(updating(1), updating(2)).largest(1000 * MiB)
    assert largest is not None and largest > 300
    assert 950 * MiB < steady(updating(largest)).peak <= 1000 * MiB


def test_nothing_fits_into_less_than_the_variables() -> None:
    assert Batches(step(16), step(32)).largest(MiB) == 0


def test_each_batch_is_played_once(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int | None] = []

    def counted(made: StepGraph, order: Order) -> Run:
        played.append(made.batch)
        return steady(made, order)

    monkeypatch.setattr("gpulint.estimate.answers.steady", counted)
    batches = Batches(step(16), step(32))
    for limit in (400 * MiB, 500 * MiB, 4000 * MiB):
        batches.largest(limit)
    assert batches.slope() == (batches.run(32).peak - batches.run(16).peak) / 16
    assert len(played) == len(set(played)) and {16, 32} <= set(played)


def test_the_largest_batch_is_unknown_with_a_single_size() -> None:
    assert Batches(step(16), None).largest(500 * MiB) is None


def test_groups_of_what_is_held_at_the_peak() -> None:
    graph = step(16)
    groups = Groups(graph)
    sizes: dict[str, int] = {}
    for held in figures(graph).steady.held:
        sizes[groups.of(held)] = sizes.get(groups.of(held), 0) + held.size // MiB
    assert sizes["weights"] == sizes["slots"] == 1
    assert sizes["activations"] >= 32
    assert sizes["input"] >= 16
    assert sizes["temporaries"] >= 1


def test_gradients_of_weights_are_a_group_of_their_own() -> None:
    graph = Graph()
    weight = graph.variable(UNIT)
    gradient = graph.add("Product", layer="dense", is_gradient=True)
    graph.add("AssignSubVariableOp", weight, gradient, outputs=())
    made = graph.step()
    assert {Groups(made).of(one) for one in play(made).held} == {"weights", "gradients"}


def test_16_bits_halve_layers_but_not_those_that_normalize() -> None:
    graph = Graph()
    x = graph.argument(example(1))
    dense = graph.add("MatMul", x, outputs=(example(1),), layer="dense")
    norm = graph.add("Rsqrt", dense, outputs=(example(1),), layer="norm")
    loss = graph.add("Mean", norm, outputs=(example(1),))
    found = halved(graph.step(loss)).body.operations
    assert [one.outputs[0].dtype for one in found] == ["float32", "float16", "float32", "float32"]


def test_16_bits_halve_layers_inside_loops() -> None:
    inner, graph = Graph(), Graph()
    inner.add("MatMul", outputs=(example(1),), layer="cell")
    graph.functions["body"] = inner.step().body
    found = halved(graph.step(graph.add("While", calls={"body": "body"}))).functions["body"].operations
    assert [one.outputs[0].dtype for one in found] == ["float16"]


def test_changes_give_back_what_they_say_the_most_first() -> None:
    small, large = step(16), step(32)
    found = changes(small, Batches(small, large), figures(small))
    assert [one.bytes for one in found] == sorted((one.bytes for one in found), reverse=True)
    given = {one.remedy: one.bytes for one in found}
    peak, half = figures(small).steady.peak, figures(step(8)).steady.peak
    assert given["accumulate"] == pytest.approx(peak - half - MiB, rel=0.2)
    assert 0 < given["mixed precision"] < peak / 2


def test_changes_that_save_next_to_nothing_are_not_named() -> None:
    small, large = step(16), step(32)
    table = Tensor("float32", (1 << 30,))
    small, large = (replace(one, variables=(*one.variables, Variable("table", table))) for one in (small, large))
    assert changes(small, Batches(small, large), figures(small)) == []


def test_recomputing_keeps_one_activation_of_each_part_of_the_model() -> None:
    graph = Graph()
    x = graph.argument(example(1))
    layers = [x]
    for number in range(16):
        layers.append(graph.add("Conv2D", layers[-1], layers[-1], outputs=(example(1),), layer=f"layer{number}"))
    graph.add("Loss", *layers, layer="loss", is_gradient=True)
    made = graph.step()
    (found,) = (one for one in changes(made, Batches(made, None), figures(made)) if one.remedy == "recompute")
    assert found.bytes == (16 - 4 - 3) * MiB  # four parts of four, each with its last one
    assert found.assumption.startswith("4 parts of the model")


def test_nothing_is_recomputed_where_one_activation_is_all() -> None:
    graph = Graph()
    x = graph.add("Conv2D", graph.argument(), graph.argument(), outputs=(example(1),), layer="layer")
    graph.add("Loss", x, layer="loss", is_gradient=True)
    made = graph.step()
    assert [one for one in changes(made, Batches(made, None), figures(made)) if one.remedy == "recompute"] == []


@pytest.mark.parametrize("recomputes", [True, False])
def test_a_step_that_recomputes_is_not_told_to(recomputes: bool) -> None:
    scalar = Tensor("float32", ())
    graph = Graph()
    layers = [graph.argument(example(1))]
    for number in range(16):
        layers.append(graph.add("Conv2D", layers[-1], layers[-1], outputs=(example(1),), layer=f"layer{number}"))
    loss = graph.add("Loss", *layers, outputs=(scalar,), layer="loss", is_gradient=True)
    zero = graph.add("Const", outputs=(scalar,))
    same = graph.add("Equal", loss, loss, outputs=(scalar,))
    # what recompute_grad adds to an activation; look-alike: NaN is replaced
    graph.add("SelectV2", same, zero if recomputes else loss, zero, outputs=(scalar,))
    made = graph.step()
    found = {one.remedy for one in changes(made, Batches(made, None), figures(made))}
    assert ("recompute" in found) == (not recomputes)


@pytest.mark.tensorflow
@pytest.mark.parametrize("recomputes", [True, False])
def test_steps_with_recompute_grad_are_recognized(recomputes: bool) -> None:
    import tensorflow as tf

    from gpulint.estimate.answers import recomputes as found

    weight = tf.Variable(tf.ones((8, 8)))

    def block(x: Any) -> Any:
        return tf.nn.relu(x @ weight)

    @tf.function
    def train(x: Any) -> Any:
        with tf.GradientTape() as tape:
            hidden = (tf.recompute_grad(block) if recomputes else block)(x)
            loss = tf.reduce_sum(tf.where(hidden == hidden, hidden, 0.0))
        return tape.gradient(loss, weight)

    assert found(traced(train.get_concrete_function(tf.TensorSpec((4, 8))))) == recomputes


def unrolled(batch: int, examples: int) -> StepGraph:
    """A step that takes a number of examples out of the batch one by one, before and inside of what it calls."""
    graph = Graph()
    x = graph.add("Cast", graph.argument(example(batch)), outputs=(example(batch),))
    for _ in range(examples):
        one = graph.add("MatMul", graph.add("StridedSlice", x, outputs=(example(1),)), outputs=(example(1),))
        graph.add("MatMul", one, outputs=(example(1),), is_gradient=True)
    return graph.step(batch=batch)


def test_a_loop_over_examples_in_python_is_unrolled() -> None:
    assert is_unrolled(unrolled(4, examples=4), unrolled(8, examples=8))
    assert is_unrolled(unrolled(4, examples=4), unrolled(8, examples=4))
    assert not is_unrolled(step(4), step(8))


def test_a_loop_over_parts_of_the_batch_is_not_unrolled() -> None:
    def parts(batch: int) -> StepGraph:
        graph = Graph()
        x = graph.argument(example(batch))
        for _ in range(4):
            one = graph.add("MatMul", graph.add("Split", x, outputs=(example(batch // 4),)), outputs=(UNIT,))
            graph.add("MatMul", one, outputs=(example(batch // 4),), is_gradient=True)
        return graph.step(batch=batch)

    assert not is_unrolled(parts(4), parts(8))


def test_a_batch_that_only_called_functions_take_is_not_unrolled() -> None:
    def calling(batch: int) -> StepGraph:
        inner, graph = Graph(), Graph()
        inner.add("MatMul", outputs=(example(batch),), is_gradient=True)
        graph.functions["step"] = Function("step", tuple(inner.operations))
        graph.add("StatefulPartitionedCall", graph.argument(example(batch)), calls={"f": "step"}, is_gradient=True)
        return graph.step(batch=batch)

    assert not is_unrolled(calling(4), calling(8))
