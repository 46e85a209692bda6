"""Copies, GPUs without work, stragglers, precision, and devices that are out of memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from gpulint.probe.advice.advise import advise
from gpulint.probe.advice.words import gain, with_gain
from gpulint.probe.capture.contents import Capture, Log, Member
from gpulint.probe.capture.records import Copy, Node, Pace, Strategy, Task, Variable
from gpulint.probe.measures.holders import Held, Holder
from gpulint.probe.measures.time_spent import PartAt
from tests.probe.advice.seen import GPUS, HERE, OTHER, THERE, capture, eager, finding, first, heavy, input_at, opened
from tests.probe.advice.times import spent


def test_a_rehearsal_promises_no_gain() -> None:
    time = spent({"input": 9.0, "launch": 1.0}, by_line=[input_at(HERE)])
    (one,) = advise(capture(simulated=2), (), time)
    assert one.gained == {"seconds": None, "speedup": None}
    assert gain(one, is_first=True) == ""
    assert with_gain(one, is_first=True) == one.text


def test_a_rehearsal_says_first_what_gpus_would_show() -> None:
    """Replicas that share a CPU wait, and end pipelines late."""
    nodes = Counter({Node(HERE, "MatMul", "", "GPU:0", "", "float16", "step"): 4})
    seen = capture(logical=GPUS, nodes=nodes, simulated=2)
    time = spent({"input": 90.0, "launch": 10.0}, by_line=[input_at(HERE, 80.0), *opened(HERE, 4)])
    assert [one.cause for one in advise(seen, (), time)] == ["idle-device", "input-bound"]
    assert not advise(capture(simulated=2), (), spent({"input": 4.0, "launch": 5.0}, 100, opened(HERE, 4)))


def test_copies_are_blamed_on_the_line_that_moves_most() -> None:
    moved = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 1 << 20, in_step=True)
    reduced = Copy("_Send", "GPU:1", "GPU:0", HERE, "AddN", "", 1 << 30, in_step=True, reduces=True)
    seen = capture(logical=GPUS, copies=Counter({moved: 2, reduced: 5}))
    one = first(spent({"copy": 5.0, "gpu": 5.0}, busy={"GPU:0": 0.5}), seen)
    assert (one.cause, one.where, one.seconds) == ("copies", THERE, 5.0)
    assert one.evidence.startswith("2 copies of 2 MiB in each step, GPU:1 to GPU:0")
    assert not advise(seen, (), spent({"gpu": 5.0, "launch": 0.01}, busy={"GPU:0": 0.99}))


def test_of_several_lines_with_copies_the_largest_is_blamed_for_its_share() -> None:
    large = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 3 << 20, in_step=True)
    small = Copy("_Send", "GPU:1", "GPU:0", HERE, "MatMul", "", 1 << 20, in_step=True)
    seen = capture(logical=GPUS, copies=Counter({small: 1, large: 1}))
    one = first(spent({"copy": 4.0, "gpu": 6.0}, busy={"GPU:0": 0.6}), seen)
    assert (one.where, one.seconds) == (THERE, 3.0)


def test_copies_of_a_rehearsal_have_the_share_that_they_would_have_on_gpus() -> None:
    moved = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 20_000_000, in_step=True)
    fed = Copy("_Send", "CPU:0", "GPU:0", HERE, "MatMul", "", 1 << 30, in_step=True)
    seen = capture(logical=GPUS, copies=Counter({moved: 1, fed: 1}), simulated=2)
    one = first(spent({"launch": 8.0, "python": 2.0}, operations=38.0), seen)
    assert (one.cause, one.where) == ("copies", THERE)
    assert one.seconds == pytest.approx(8.0 * 0.81)  # 810 µs of copying beside 190 µs of launching
    assert "GPU:1 to GPU:0. On real GPUs copying takes at least 810 µs, launching the step 190 µs" in one.evidence
    launched = advise(seen, (), spent({"launch": 8.0, "python": 2.0}, operations=100_000.0))
    assert [one.cause for one in launched] == ["launch-bound"]


def hosted(*more: Copy, device: str = "CPU:0", **contents: Any) -> Capture:
    """A step on two GPUs that reads two variables from the host. Their gradients are applied there, eagerly."""
    sizes = (4 << 20, 2 << 20)
    variables = [Variable("w", (8,), "float32", size, device, OTHER) for size in sizes]
    read = [
        Copy("_Send", "CPU:0", f"GPU:{gpu}", THERE, "MatMul", "", size, in_step=True)
        for gpu in (0, 1)
        for size in sizes
    ]
    back = [Copy("EagerCopy", "GPU:1", "CPU:0", HERE, "Identity", "CPU:0", size) for size in sizes]
    copies = Counter({**dict.fromkeys([*read, *more], 1), **dict.fromkeys(back, 100)})
    return capture(logical=GPUS, copies=copies, variables=variables, **contents)


def test_variables_that_stay_on_the_host_are_copied_in_each_step() -> None:
    time = spent({"copy": 5.0, "gpu": 5.0}, busy={"GPU:0": 0.5})
    one = first(time, hosted())
    assert (one.cause, one.where, one.seconds) == ("copies", OTHER, 5.0)
    assert one.text == "steps read 2 variables from the host"
    assert one.evidence.startswith("6 copies of 18 MiB in each step, CPU:0 to GPU:0, CPU:0 to GPU:1, GPU:1 to CPU:0")
    assert "`tf.device('/CPU:0')`" in one.fix
    batch = Copy("_Send", "CPU:0", "GPU:0", HERE, "Conv2D", "", 6 << 20, in_step=True)
    assert first(time, hosted(batch)).seconds == pytest.approx(5.0 * 18 / 24)
    for other in (
        hosted(device="GPU:0"),
        hosted(strategies=[Strategy(1, "ParameterServerStrategy", GPUS[1:], 2, THERE)]),
    ):
        assert not [one for one in advise(other, (), time) if "variable" in one.text]


def test_copies_come_first_in_a_rehearsal_where_they_would_take_most_of_the_time() -> None:
    lines = [PartAt("launch", HERE, 7.0, 100, "eager operations")]
    seen = replace(hosted(simulated=2), steps=eager(400).steps, taken=eager(400).taken, eager=eager(400).eager)
    many = advise(seen, (), spent({"launch": 8.0}, 100, lines, operations=400.0))
    assert [one.cause for one in many][:2] == ["eager-step", "copies"]
    few = advise(hosted(simulated=2), (), spent({"launch": 8.0}, operations=20.0))
    assert [one.cause for one in few] == ["copies"]


def test_eager_copies_between_gpus_are_part_of_the_step() -> None:
    moved = Copy("EagerCopy", "GPU:1", "GPU:0", THERE, "MatMul", "", 1 << 20)
    time = spent({"copy": 5.0, "gpu": 5.0}, busy={"GPU:0": 0.5})
    one = first(time, capture(logical=GPUS, copies=Counter({moved: 200})))
    assert (one.cause, one.where) == ("copies", THERE)
    assert one.evidence.startswith("2 copies of 2 MiB in each step")
    for rare in ({moved: 3}, {moved._replace(source="CPU:0"): 200}):
        assert not [
            one for one in advise(capture(logical=GPUS, copies=Counter(rare)), (), time) if one.cause == "copies"
        ]


def test_a_gpu_without_work_would_share_it() -> None:
    nodes = Counter({Node(HERE, "MatMul", "", "GPU:0", "", "float16", "step"): 4})
    seen = capture(logical=GPUS, nodes=nodes, strategies=[Strategy(1, "MirroredStrategy", GPUS[1:], 2, THERE)])
    one = first(spent({"gpu": 9.0, "python": 1.0}, busy={"GPU:0": 0.9, "GPU:1": 0.0}), seen)
    assert (one.cause, one.where, one.text) == ("idle-device", THERE, "GPU:1 has no work")
    assert one.fix == "Build the model in `strategy.scope()`, and train it with `fit` or `strategy.run`."
    assert one.seconds == pytest.approx(4.5)
    rehearsed = capture(logical=GPUS, nodes=nodes, simulated=2)
    assert first(spent({"launch": 9.0}), rehearsed).fix.startswith("Train under `tf.distribute.MirroredStrategy`")
    assert first(spent({"launch": 9.0, "python": 1.0}), rehearsed, finding("GPU101", THERE)).code == "GPU101"


def test_the_slowest_worker_is_named_at_its_slowest_line() -> None:
    def worker(index: int, between: float) -> Member:
        return Member(Task("worker", index), capture(paces=[Pace(100, 0.01, between)]))

    members = (worker(0, 0.01), worker(1, 0.2), worker(2, 0.01))
    one = first(spent({"launch": 20.0, "python": 1.0}), capture(members=members))
    assert (one.cause, one.text) == ("straggler", "the other workers wait for worker 1")
    assert one.seconds == pytest.approx(19.0, abs=0.01)
    alike = tuple(worker(index, 0.01) for index in range(3))
    assert not advise(capture(members=alike), (), spent({"launch": 20.0, "python": 1.0}))


def test_fewer_bits_are_for_gpus_that_are_busy_computing() -> None:
    busy = spent({"gpu": 9.0, "launch": 1.0}, busy={"GPU:0": 0.9})
    one = first(busy, heavy("float32"))
    assert (one.cause, one.where, one.seconds) == ("precision", THERE, 4.5)
    assert not [one for one in advise(heavy("bfloat16"), (), busy) if one.cause == "precision"]
    idle = spent({"gpu": 0.4, "launch": 0.6}, busy={"GPU:0": 0.4})
    assert {one.cause for one in advise(heavy("float32"), (), idle)} == {"launch-bound"}


def test_float64_is_slow_everywhere() -> None:
    one = first(spent({"launch": 10.0}), heavy("float64"), finding("GPU604", HERE, instead="train in float32"))
    assert (one.cause, one.code, one.where, one.seconds) == ("precision", "GPU604", HERE, 5.0)


OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[64,1024,1024] and type float on "
    "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
)


def test_a_program_without_memory_needs_that_first() -> None:
    one = advise(capture(error=OOM, error_at=THERE), (), None)[0]
    assert (one.cause, one.where, one.text) == ("out-of-memory", THERE, "GPU:0 has no memory left for 256 MiB")
    assert one.seconds == 0


def test_memory_that_python_keeps_is_not_the_batchs() -> None:
    who = (Holder("GPU:0", "python", THERE, 600), Holder("GPU:0", "weights", HERE, 400))
    seen, full = capture(error=OOM, error_at=THERE), Held("GPU:0", 1000, None, None, None, who)
    assert advise(seen, (), None, [full])[0].fix.startswith("Keep no tensor of a step longer than the step")
    assert advise(seen, (), None, [full._replace(holders=who[1:])])[0].fix.startswith("Use a smaller batch")


def test_allocations_that_are_retried_are_lost_time() -> None:
    lines = [f"Allocator (GPU_0_bfc) ran out of memory trying to allocate {n}.00GiB" for n in range(3)]
    seen = capture(logs={"stderr": Log(messages=lines)})
    assert advise(seen, (), None)[0].cause == "out-of-memory"
    one = first(spent({"launch": 40.0}), seen)
    assert (one.cause, one.seconds) == ("out-of-memory", 30.0)


def test_gpus_beside_those_of_a_strategy_are_to_be_added_to_it() -> None:
    nodes = Counter({Node(HERE, "MatMul", "", gpu, "", "float16", "step"): 4 for gpu in ("GPU:0", "GPU:1")})
    made = Strategy(1, "MirroredStrategy", ("GPU:0", "GPU:1"), 2, THERE)
    seen = capture(logical=(*GPUS, "GPU:2"), nodes=nodes, strategies=[made], simulated=3)
    one = first(spent({"launch": 10.0}), seen)
    assert (one.where, one.text) == (THERE, "GPU:2 has no work")
    assert one.fix.startswith("Add them to the devices of `MirroredStrategy`, or pass none, which takes all, or hide")


def test_float64_on_simulated_gpus_does_not_depend_on_the_time_of_cpus() -> None:
    """Waiting takes most of the time of this rehearsal."""
    time = spent({"input": 95.0, "launch": 5.0})
    assert "precision" not in [one.cause for one in advise(heavy("float64"), (), time)]
    rehearsed = replace(heavy("float64"), simulated=1)
    assert first(time, rehearsed).cause == "precision"
    assert "precision" not in [one.cause for one in advise(replace(heavy("float32"), simulated=1), (), time)]


def test_several_operations_that_read_from_another_device_are_plural() -> None:
    moved = Copy("_Send", "GPU:1", "GPU:0", THERE, "MatMul", "", 1 << 20, in_step=True)
    seen = capture(logical=GPUS, copies=Counter({moved: 1, moved._replace(consumer="AddV2"): 1}))
    one = first(spent({"copy": 5.0, "gpu": 5.0}, busy={"GPU:0": 0.5}), seen)
    assert one.text == "`AddV2` and `MatMul` read tensors from another device"
    assert one.fix.startswith("Compute their inputs on one device")


def test_a_compiled_step_counts_as_one_operation() -> None:
    nodes = Counter({Node(HERE, "StatefulPartitionedCall", "", "GPU:0", "", "float32", "step"): 1})
    compiled = capture(logical=GPUS, simulated=2, nodes=nodes, compiled={"one_step_on_data": HERE})
    time = spent({"launch": 9.0, "python": 1.0})
    evidence = "A training step runs 1 operation on GPU:0"
    assert first(time, compiled).evidence == f"{evidence} (XLA compiles `one_step_on_data` to one)."
    assert first(time, replace(compiled, compiled={})).evidence == f"{evidence}."
