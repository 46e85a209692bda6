"""The executor's order and the lifetime of buffers, on hand-built graphs with known answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpulint.estimate.graph import Edge, Operation, StepGraph, Tensor
from gpulint.estimate.memory.bfc import Bfc, Exhausted
from gpulint.estimate.memory.liveness import Order, Run, play, play_steps
from tests.estimate.made import Graph, filling_a_list

KiB = 1024


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


def test_reading_a_variable_that_is_updated_by_rows_copies_it() -> None:
    graph = Graph()
    table, other = graph.variable(), graph.variable()
    rows = graph.add("GatherV2", graph.add("ReadVariableOp", table))
    graph.add("ResourceScatterSub", table, rows, graph.add("ReadVariableOp", other), outputs=())
    assert peak(graph.step()) == 2 + 2  # with the copy, and the rows


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


def test_a_copied_variable_does_not_grow_with_the_piece_that_it_had() -> None:
    graph = Graph()
    size = Tensor("float32", (10 << 18,))
    v = graph.variable(size)
    read = graph.add("ReadVariableOp", v, outputs=(size,))
    update = graph.add("AssignAddVariableOp", v, read, outputs=(), after=(read,))
    graph.add("Transpose", read, outputs=(size,), after=(update,))
    allocator = Bfc()
    play_steps(graph.step(), allocator=allocator)
    assert allocator.in_use > allocator.asked == 10 << 20


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


def test_of_operations_that_become_ready_together_either_may_start_first() -> None:
    graph = Graph()
    a = graph.add("A")
    graph.add("B", a)
    graph.add("C", a)
    latest = play_steps(graph.step(), steps=1, order=Order(is_latest_first=True))
    created = play_steps(graph.step(), steps=1, order=Order(is_latest_first=False))
    assert [names(run) for run in (*latest, *created)] == [["A", "C", "B"], ["A", "B", "C"]]


def test_what_was_asked_for_is_less_than_the_pieces_that_were_given() -> None:
    graph = Graph()
    graph.wasteful()
    run = play(graph.step())
    assert (6 << 20) + KiB == run.peak > 1.1 * run.asked
    assert play(graph.step(), allocator=_exact()).asked == run.asked


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


def test_a_function_that_is_called_often_is_played_once() -> None:
    graph = Graph()
    depth = 40  # of functions that call the next one twice: 2 ** 40 calls
    for number in range(depth):
        inner = Graph()
        for _ in range(2):
            inner.add("PartitionedCall", calls={"f": f"f{number + 1}"})
        graph.functions[f"f{number}"] = replace(inner.step().body, name=f"f{number}")
    last = Graph()
    last.add("Concat", *(last.add("RandomUniform") for _ in range(3)))
    graph.functions[f"f{depth}"] = replace(last.step().body, name=f"f{depth}")
    call = graph.add("PartitionedCall", calls={"f": "f0"})
    assert 4 * KiB < play(graph.step(call), allocator=_exact()).peak < 100 * KiB


def test_the_buffers_at_the_peak_are_those_of_that_time() -> None:
    graph = Graph()
    first = graph.add("RandomUniform")
    second = graph.add("Transpose", first)
    peak = graph.add("Concat", first, second)
    graph.add("Transpose", graph.add("Exp", graph.add("Sum", peak)))
    held = play(graph.step(), allocator=_exact()).held
    assert [one.owner.name for one in held if isinstance(one.owner, Operation)] == [
        "RandomUniform_0",
        "Transpose_1",
        "Concat_2",
    ]


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


def test_a_list_holds_what_each_iteration_of_a_loop_computes() -> None:
    run = play(filling_a_list(), allocator=_exact())
    assert run.curve[-1][1] // KiB == 10 + 1


def test_the_value_of_a_variable_is_in_a_list_without_a_copy() -> None:
    condition, body, graph = Graph(), Graph(), Graph()
    handle = Tensor("resource", ())
    condition.enter(Tensor("int32", ()), Tensor("variant", ()), handle)
    limit = condition.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 10})
    less = condition.add("Less", condition.parameters[0], limit, outputs=(Tensor("bool", ()),))
    body.enter(Tensor("int32", ()), Tensor("variant", ()), handle)
    one = body.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 1})
    counted = body.add("AddV2", body.parameters[0], one, outputs=(Tensor("int32", ()),))
    read = body.add("ReadVariableOp", body.parameters[2])
    listed = body.add("TensorListPushBack", body.parameters[1], read, outputs=(Tensor("variant", ()),))
    graph.functions = {"cond": condition.step(less).body, "body": body.step(counted, listed, body.parameters[2]).body}
    weights = graph.variable()
    first = graph.add("Const", outputs=(Tensor("int32", ()),), attributes={"value": 0})
    empty = graph.add("EmptyTensorList", outputs=(Tensor("variant", ()),))
    outputs = (Tensor("int32", ()), Tensor("variant", ()), handle)
    loop = graph.add("While", first, empty, weights, outputs=outputs, calls={"cond": "cond", "body": "body"})
    run = play(graph.step(graph.add("Transpose", Edge(loop, 1))), allocator=_exact())
    assert run.curve[-1][1] // KiB == 1 + 1


def test_the_first_step_also_tries_algorithms_of_convolutions() -> None:
    graph = Graph()
    image = graph.add("RandomUniform", outputs=(Tensor("float32", (8, 16, 32, 32)),))
    kernel = graph.add("RandomUniform", outputs=(Tensor("float32", (3, 3, 16, 64)),))
    output = (Tensor("float32", (8, 64, 32, 32)),)
    attributes = {"data_format": "NCHW", "strides": (1, 1, 1, 1), "padding": "SAME"}
    first, *_, last = play_steps(graph.step(graph.add("Conv2D", image, kernel, outputs=output, attributes=attributes)))
    assert first.peak > 2 * last.peak


def test_constants_stay_from_one_step_to_the_next() -> None:
    graph = Graph()
    zeros = graph.add("Const")
    step = graph.step(graph.add("Transpose", zeros))
    allocator = _exact()
    runs = play_steps(step, allocator=allocator)
    assert allocator.in_use == KiB
    assert [run.peak // KiB for run in runs] == [2, 2, 2]


def test_an_algorithm_is_tried_on_a_result_of_its_own_between_redzones() -> None:
    graph = Graph()
    image = graph.add("RandomUniform", outputs=(Tensor("float16", (8, 16, 32, 32)),))
    kernel = graph.add("RandomUniform", outputs=(Tensor("float16", (3, 3, 16, 64)),))
    output = Tensor("float16", (8, 64, 32, 32))
    attributes = {"data_format": "NCHW", "strides": (1, 1, 1, 1), "padding": "SAME"}
    conv = graph.add("Conv2D", image, kernel, outputs=(output,), attributes=attributes)
    first, last = play_steps(graph.step(conv), allocator=_exact(), steps=2)
    copied = 3 * 3 * 16 * 64 * 2  # the filter in another order, in every step
    assert first.peak - last.peak == (output.bytes or 0) + (16 << 20) - copied


def test_an_algorithm_that_does_not_fit_is_not_tried() -> None:
    graph = Graph()
    image = graph.add("RandomUniform", outputs=(Tensor("float32", (8, 16, 32, 32)),))
    kernel = graph.add("RandomUniform", outputs=(Tensor("float32", (3, 3, 16, 64)),))
    output = (Tensor("float32", (8, 64, 32, 32)),)
    attributes = {"data_format": "NCHW", "strides": (1, 1, 1, 1), "padding": "SAME"}
    step = graph.step(graph.add("Conv2D", image, kernel, outputs=output, attributes=attributes))
    room = play(step, allocator=_exact()).peak + (4 << 20)
    assert play_steps(step)[0].peak > room
    assert play_steps(step, allocator=Bfc(room, grows=False))[0].peak <= room


def test_a_step_that_finds_the_memory_as_an_earlier_one_is_not_played_again() -> None:
    graph = Graph()
    v = graph.variable()
    made = graph.step(graph.add("Relu", graph.add("ReadVariableOp", v)))
    first, second, *others = play_steps(made, steps=6)
    assert first is not second
    assert len(others) == 4
    assert all(one is second for one in others)


def test_steps_that_take_turns_with_two_buffers_are_all_known() -> None:
    graph = Graph()
    v = graph.variable()
    graph.add("AssignVariableOp", v, graph.add("RandomUniform"), outputs=())
    runs = play_steps(graph.step(), steps=7)
    assert len(runs) == 7
    assert len({id(one) for one in runs}) < 5
    assert runs[3] is runs[5]
