"""Lower bounds on the time of a step."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.estimate import cards
from gpulint.estimate.result import Timing
from gpulint.estimate.time.bounds import CACHE_SPEED, CALL, KERNEL, LAUNCH, Line, bounds, lines_of, steps_of
from gpulint.estimate.time.scaling import free_batch, mixed_precision, scaling
from gpulint.estimate.time.statements import active, missing, more_gpus, unused
from tests.estimate.time.made import dense, op, step, tensor

H200 = cards.by_name("H200")
T4 = cards.by_name("T4")


def test_a_product_takes_its_flops_at_the_peak() -> None:
    found = bounds(steps_of(dense(65536, 4096, 4096)), T4)
    flops = 2 * 65536 * 4096 * 4096
    assert found.compute == pytest.approx(flops / 8.1e12)
    assert (found.active, found.memory) == ("compute", 0)
    assert bounds(steps_of(dense(65536, 4096, 4096)), H200).compute == pytest.approx(flops / 495e12)


def test_a_recurrent_layer_launches_kernels_for_each_time_step() -> None:
    source, states = tensor(200, 32, 64), tensor(1, 32, 256)
    operations = [op("x", "_Arg", outputs=[source]), op("h", "_Arg", outputs=[states])]
    steps = steps_of(step([*operations, op("y", "CudnnRNNV3", [0, 1], [tensor(200, 32, 256)])]))
    found = bounds(steps, H200)
    assert found.launch == pytest.approx(CALL + LAUNCH + 400 * KERNEL)
    assert "for 1 operation and 400 kernels of recurrent layers, their kernels" in active(steps, found, H200)


def test_a_kernel_takes_its_bytes_at_the_bandwidth() -> None:
    big = tensor(1 << 26)
    found = bounds(steps_of(step([op("x", "_Arg", outputs=[big]), op("y", "Relu", [0], [big])])), H200)
    assert found.memory == pytest.approx(2 * (1 << 28) / 4800e9)
    assert found.active == "memory"


def test_kernels_bound_the_step_where_launching_takes_little_more() -> None:
    big = tensor(1 << 26)
    steps = steps_of(step([op("x", "_Arg", outputs=[big]), op("y", "Relu", [0], [big])]))
    device = bounds(steps, H200).device
    for times, expected in ((0.9, "memory"), (1.2, "memory"), (1.5, "launch")):
        found = bounds(steps, H200, launch=times * device - CALL)
        assert found.launch == pytest.approx(times * device)
        assert found.seconds == max(found.launch, device)
        assert found.active == expected
        assert ("launching them takes at least" in active(steps, found, H200)) == (times == 1.2)
    assert replace(found, launch=CALL, memory=0.9 * CALL).active == "launch"  # of a step that XLA compiles


def test_what_the_cache_may_hold_takes_less() -> None:
    small = tensor(1 << 20)
    graph = step([op("x", "_Arg", outputs=[small]), op("y", "Relu", [0], [small])])
    assert bounds(steps_of(graph), H200).memory == pytest.approx(2 * (1 << 22) / 4800e9 / CACHE_SPEED)
    assert bounds(steps_of(graph), replace(H200, cache=0)).memory == pytest.approx(2 * (1 << 22) / 4800e9)


def test_many_small_operations_are_bound_by_launching() -> None:
    small = tensor(4)
    graph = step([op("x", "_Arg", outputs=[small]), *(op(f"y{n}", "Relu", [n], [small]) for n in range(1000))])
    found = bounds(steps_of(graph), H200)
    assert found.active == "launch"
    assert found.seconds == found.launch == pytest.approx(1000 * LAUNCH + CALL)
    assert bounds(steps_of(graph), H200, launch=2e-6).launch == pytest.approx(2e-3 + CALL)


def test_what_xla_compiles_counts_products_alone() -> None:
    graph = replace(dense(65536, 4096, 4096), is_compiled=True)
    operations = (*graph.body.operations, op("z", "Relu", [2], [tensor(65536, 4096)]))
    graph = replace(graph, body=replace(graph.body, operations=operations, must_run=(2, 3)))
    steps = steps_of(graph)
    found = bounds(steps, T4)
    assert (steps.operations, steps.launches, found.launch, found.memory) == (2, 0, CALL, 0)
    assert found.compute == pytest.approx(2 * 65536 * 4096 * 4096 / 8.1e12)
    assert steps.bytes == 4 * (2 * 65536 * 4096 + 4096 * 4096)


def test_the_busiest_device_bounds_the_step() -> None:
    big = [tensor(1 << 26)]
    graph = step(
        [
            op("x", "_Arg", outputs=big),
            op("y", "Relu", [0], big, device="GPU:0"),
            op("a", "Relu", [0], big, device="GPU:1"),
            op("b", "Relu", [2], big, device="GPU:1"),
            op("c", "Relu", [3], big, device="CPU:0"),
        ]
    )
    assert steps_of(graph).operations == 2


def test_an_iteration_of_a_loop_in_the_function_takes_no_call() -> None:
    steps = steps_of(replace(dense(8), is_in_loop=True))
    assert (steps.operations, bounds(steps, H200).launch) == (1, pytest.approx(LAUNCH))
    assert bounds(steps_of(dense(8)), H200).launch == pytest.approx(LAUNCH + CALL)


def test_input_is_copied_from_the_host() -> None:
    graph = dense(1 << 20, 1024, 8)
    found = bounds(steps_of(graph), T4)
    assert found.copy == pytest.approx((1 << 32) / 15.8e9)
    assert found.active == "copy"


def test_a_card_whose_rates_are_unknown_has_only_the_other_bounds() -> None:
    (own,) = cards.cards("memory=24GiB")
    found = bounds(steps_of(dense(1024)), own)
    assert (found.compute, found.memory, found.copy) == (0, 0, 0)
    assert found.active == "launch"


def test_lines_are_listed_with_their_bound() -> None:
    found = bounds(steps_of(dense(65536, 4096, 4096, layers=2)), T4)
    (first, bound, seconds), (second, _, _) = lines_of(found)
    assert {first, second} == {Line("train.py", 10), Line("train.py", 11)}
    assert bound == "compute"
    assert seconds == pytest.approx(found.compute / 2)


def test_gradients_are_exchanged_in_a_ring() -> None:
    steps = steps_of(dense(65536, 4096, 4096))
    one = bounds(steps, T4)
    found = scaling(steps, one, T4, 8)
    exchange = 2 * 7 / 8 * (4096 * 4096 * 4) / 15.8e9
    assert found.exchange_seconds == pytest.approx(exchange)
    assert found.speedup_at_most == pytest.approx(8 * one.seconds / (one.seconds + exchange))
    assert scaling(steps, one, T4, 1).speedup_at_most == 1


def test_a_batch_is_free_until_kernels_take_as_long_as_launching() -> None:
    small, large = dense(64, layers=100), dense(128, layers=100)
    batch = free_batch(steps_of(small), steps_of(large), (64, 128), H200)
    assert batch is not None and batch > 128
    near = bounds(steps_of(dense(batch, layers=100)), H200)
    assert near.launch * 0.99 <= near.device <= near.launch * 1.01


def test_no_batch_is_free_where_kernels_bound_the_step() -> None:
    assert free_batch(steps_of(dense(1 << 16)), steps_of(dense(1 << 17)), (1 << 16, 1 << 17), T4) is None
    assert free_batch(steps_of(dense(8)), steps_of(dense(8)), (8, 8), H200) is None


def test_no_batch_is_free_where_each_example_launches_operations() -> None:
    assert free_batch(steps_of(dense(64, layers=100)), steps_of(dense(128, layers=200)), (64, 128), H200) is None
    assert Timing(dense(64, layers=100), dense(128, layers=200)).is_iterated
    assert not Timing(dense(64, layers=100), dense(128, layers=101)).is_iterated


def test_mixed_precision_shortens_what_the_card_bounds() -> None:
    steps = steps_of(dense(65536, 4096, 4096))
    found = bounds(steps, T4)
    assert mixed_precision(steps, found, T4) == pytest.approx(found.compute / found.copy)
    steps = replace(steps, input_bytes=0)
    assert mixed_precision(steps, bounds(steps, T4), T4) == pytest.approx(65 / 8.1)
    steps = steps_of(dense(64, layers=100))
    assert mixed_precision(steps, bounds(steps, H200), H200) == 1
    (own,) = cards.cards("memory=24GiB")
    assert mixed_precision(steps, bounds(steps, own), own) is None


def test_statements() -> None:
    steps = steps_of(dense(64, layers=100))
    found = bounds(steps, H200)
    assert active(steps, found, H200).startswith(
        "launch-bound: the host needs 750 µs for 100 operations, their kernels"
    )
    assert list(unused(steps, 256, 64, 1.0, found)) == [
        "a larger batch is free up to about 256 (now 64)",
        "mixed precision gains nothing: launching operations bounds the step",
    ]
    steps = steps_of(dense(65536, 4096, 4096))
    found = bounds(steps, T4)
    assert active(steps, found, T4) == "compute-bound: 271 ms of matrix products at the card's peak"
    assert list(unused(steps, None, 65536, 8.0, found)) == ["mixed precision: at most 8.0× as fast"]
    assert more_gpus(scaling(steps, found, T4, 8), steps, T4) == (
        "8 GPUs: at most 7.8× as fast; all-reduce of 64 MiB over PCIe 3 is 2.7 % of the step"
    )
    assert more_gpus(scaling(steps, found, T4, 8), replace(steps, is_compiled=True), T4) == (
        "8 GPUs: all-reduce of 64 MiB over PCIe 3 adds 7.4 ms to each step"
    )


def test_nothing_is_reported_of_what_the_bounds_do_not_decide() -> None:
    steps = steps_of(dense(64, layers=100))
    found = bounds(steps, H200)
    near = replace(found, compute=found.launch * 0.6, memory=0.0)
    assert list(unused(steps, None, 64, 1.0, near)) == []
    assert list(unused(replace(steps, is_compiled=True), 256, 64, 1.0, found)) == []


def test_of_unknown_shapes_nothing_is_concluded() -> None:
    known = steps_of(dense(64, layers=100))
    found = bounds(known, H200)
    exchange = more_gpus(scaling(known, found, H200, 8), replace(known, is_compiled=True), H200)
    for steps in (replace(known, unsized=Counter({"Einsum": 2})), replace(known, uncounted_loops=1)):
        assert list(unused(steps, 256, 64, 1.0, found)) == []
        assert active(steps, found, H200) == (
            "launch-bound: the host needs 750 µs for 100 operations; what their kernels need is known in part only"
        )
        assert more_gpus(scaling(steps, found, H200, 8), steps, H200) == exchange
    assert list(unused(replace(known, unsized=Counter({"Where": 1})), 256, 64, 1.0, found)) != []


def test_what_the_bounds_leave_out_is_reported() -> None:
    graph = step([op("x", "_Arg", outputs=[tensor(4)]), op("y", "FFT", [0], [tensor(4)])], is_compiled=True)
    steps = steps_of(graph)
    assert steps.unknown == Counter({"FFT": 1})
    assert list(missing(steps)) == ["1 operation without a cost model counts nothing: FFT"]


def test_replicas_have_their_own_gradients_and_input() -> None:
    graph = dense(64, 4096, 4096)
    (weights,) = graph.variables
    mirrored = replace(
        graph,
        replicas=2,
        variables=(replace(weights, device="GPU:0"), replace(weights, device="GPU:1")),
        arguments=graph.arguments * 2,
    )
    one, two = steps_of(graph), steps_of(mirrored)
    assert (one.gradient_bytes, one.input_bytes) == (two.gradient_bytes, two.input_bytes)


def test_the_exchange_of_a_mirrored_program_is_part_of_its_step() -> None:
    graph = replace(dense(64, 4096, 4096), replicas=8)
    made = Timing(graph, None).on(H200, [8], LAUNCH)
    found = made.bounds
    assert found.collective == pytest.approx(2 * 7 / 8 * (4096 * 4096 * 4) / 450e9)
    assert found.seconds == found.alone + found.collective
    assert found.active == "collective"
    assert made.active.startswith("bound by the all-reduce of 64 MiB of gradients over NVLink: ")
    assert made.scaling[0].speedup_at_most == pytest.approx(8 * found.alone / found.seconds)


def test_what_shares_a_buffer_launches_nothing() -> None:
    given, kept = op("x", "_Arg", outputs=[tensor(64, 64)]), op("sum", "Sum", [0], [tensor(64, 64)])
    reduced = op("mean", "Sum", [0], [tensor(64)])
    assert steps_of(step([given, kept])).operations == 0
    assert steps_of(step([given, kept, reduced])).operations == 1
