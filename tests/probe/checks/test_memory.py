"""Checks of memory, on pairs of captures that differ in one relevant point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from gpulint.linting.finding import Severity
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import (
    Call,
    Card,
    Execution,
    Holding,
    Kept,
    Node,
    Sample,
    Where,
)
from gpulint.probe.checks.verify import verify
from gpulint.probe.expectations.expectation import Level, Run, Status
from tests.probe.checks.captures import (
    GIB,
    MADE,
    MIRRORED,
    USED,
    finding,
    one_of,
    over_steps,
    ran,
    said,
    stepped,
    variable,
)


def test_memory_that_grows_with_every_step_is_found() -> None:
    growing = said(over_steps(*(GIB + step * 40 * 2**20 for step in range(40))))
    assert growing["mem-leak"] == (Status.FAIL, "GPU307")
    level = said(over_steps(*[GIB] * 40))
    assert level["mem-leak"] == (Status.PASS, "")
    assert said(over_steps(GIB, GIB))["mem-leak"] == (Status.INCONCLUSIVE, "")


def test_a_straight_line_grows_however_slowly() -> None:
    capture = over_steps(*(GIB + step * 2**20 for step in range(40)))
    capture.steps = stepped(39)
    capture.nodes = Counter({Node(USED, "MatMul", "", "GPU:0", "", part="step"): 1})
    leak = one_of(capture, "mem-leak")
    assert (leak.status, leak.observed) == (
        Status.WARN,
        "+39.0 MiB over 40 samples, 1 MiB per step: full in 119 minutes at this rate",
    )


def test_memory_of_a_gpu_that_no_step_used_says_nothing_of_growth() -> None:
    capture = over_steps(*[GIB] * 40)
    capture.steps = stepped(40)
    assert said(capture)["mem-leak"] == (Status.SKIP, "")


@pytest.mark.parametrize(
    ("error", "subject", "observed"),
    [
        (
            "ResourceExhaustedError: Graph execution error:\n\nOOM when allocating tensor with shape[1024,1024,100] "
            "and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n [Op:f]",
            "memory of GPU:0",
            "400 MiB could not be allocated; at most 1 GiB was in use before",
        ),
        (
            "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to "
            "/job:localhost/replica:0/task:0/device:GPU:0 in order to run MatMul: Dst tensor is not initialized.",
            "memory of GPU:0",
            "an allocation failed; at most 1 GiB was in use before",
        ),
        (
            "ResourceExhaustedError: Out of memory while trying to allocate 2147483648 bytes.",
            "memory of the simulated GPUs together",
            "2 GiB could not be allocated",
        ),
    ],
)
def test_a_program_that_ran_out_of_memory_fails_for_it(error: str, subject: str, observed: str) -> None:
    capture = over_steps(GIB, GIB)
    capture.error, capture.error_at = error, USED
    capture.simulated, capture.limits = 1, {"GPU:0": 2 * GIB}
    found = [one for one in verify(Run(capture)) if one.status is Status.FAIL]
    assert [(one.id, one.subject, one.observed, one.where) for one in found] == [
        ("out-of-memory", subject, observed, USED)
    ]
    kept_out = [one.subject for one in verify(Run(capture)) if one.id == "simulated-memory"]
    assert bool(kept_out) is (subject == "memory of the simulated GPUs together")


def test_allocations_that_fail_over_and_over_are_reported() -> None:
    line = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.53GiB (rounded to 1641022208)requested by op"
    found = one_of(Capture(logs={"stderr": Log(messages=[line])}), "out-of-memory")
    assert (found.status, found.observed) == (Status.WARN, "1 failed, each of which TensorFlow retries for 10 s")


def kept(size: int, where: Where = USED) -> Kept:
    """Tensors that a line left alive in each of eight steps."""
    return Kept(where, "AddV2", "GPU:0", 8, 8, 8 * size)


def test_growth_is_reported_at_the_line_that_causes_most_of_it() -> None:
    capture = over_steps(*(GIB + step * 40 * 2**20 for step in range(40)))
    capture.steps = stepped(40)
    for size, where in ((39 << 20, USED), (1 << 20, None)):
        capture.kept = [kept(size)]
        (leak,) = [one for one in verify(Run(capture)) if one.id == "mem-leak"]
        assert (leak.status, leak.where) == (Status.FAIL, where)
    capture.kept = [kept(1 << 20, MADE), kept(39 << 20)]
    (leak,) = [one for one in verify(Run(capture)) if one.id == "mem-leak"]
    assert leak.evidence == (
        "a.py:9 outlives its step: 39 MiB per step, from `AddV2`",
        "a.py:4 outlives its step: 1 MiB per step, from `AddV2`",
    )


def test_a_warning_that_the_run_shows_to_be_an_error_is_reported_once_as_one() -> None:
    capture = over_steps(*(GIB + step * 40 * 2**20 for step in range(40)))
    capture.steps, capture.kept = stepped(40), [kept(39 << 20)]
    predicted = finding("GPU307", USED.row, severity=Severity.WARNING)
    broken = [one for one in verify(Run(capture, [predicted])) if one.code == "GPU307"]
    assert [(one.id, one.status, one.level) for one in broken] == [("prediction", Status.FAIL, Level.ERROR)]


def over_the_run(*current: int, group: str = "weights", sizes: Sequence[int] = (8, 4) * 12, uses: int = 50) -> Capture:
    """A program without training steps whose GPU had these sizes, a second apart, and which created variables of such
    sizes on one line."""
    samples = [Sample(float(t), "build", {"GPU:0": (size, size)}) for t, size in enumerate(current)]
    return Capture(
        memory=samples,
        logical=("GPU:0",),
        holdings=[Holding(USED, "GPU:0", group, "model", max(current))],
        variables=[variable("GPU:0", size, USED) for size in sizes],
        executions=Counter({Execution(USED, "MatMul", "", "GPU:0"): uses}),
    )


GROWING = tuple(second * 7 * 2**20 for second in range(24))


def test_memory_that_grows_in_a_run_without_steps_is_warned_of_at_the_line_that_holds_it() -> None:
    leak = one_of(over_the_run(*GROWING), "mem-leak")
    assert (leak.status, leak.where) == (Status.WARN, USED)
    assert leak.observed.startswith("+161.0 MiB over 24 samples")
    assert leak.evidence == ("a.py:9 holds 161 MiB: weights",)
    assert "mem-leak" in said(over_the_run(*GROWING, group="python", sizes=()))


@pytest.mark.parametrize(
    "capture",
    [
        over_the_run(1),
        over_the_run(0, *[GIB] * 30),
        over_the_run(*(second % 5 * GIB for second in range(40))),
        over_the_run(*GROWING, *[GROWING[-1]] * 4),
        over_the_run(*GROWING, sizes=range(24)),
        over_the_run(*GROWING, uses=2),
    ],
    ids=["short", "levels off", "is freed", "a model that is built, then used", "one model", "nothing is computed"],
)
def test_memory_that_need_not_be_left_over_is_not_said_to_grow(capture: Capture) -> None:
    assert "mem-leak" not in said(capture)


def test_memory_near_the_limit_is_reported() -> None:
    assert said(over_steps(*[int(7.8 * GIB)] * 40))["mem-headroom"] == (Status.WARN, "")
    assert said(over_steps(*[5 * GIB] * 40))["mem-headroom"] == (Status.PASS, "")


def test_other_programs_on_the_card_are_reported() -> None:
    card = Card(1.0, "0000:86:00.0", "Tesla K80", 8 * GIB, 5 * GIB, GIB, 4 * GIB, 90)
    assert said(Capture(cards=[card])) == {"mem-foreign": (Status.WARN, "")}
    assert said(Capture(cards=[card._replace(by_others=0)])) == {}


def test_memory_of_a_program_that_the_driver_does_not_see_is_not_that_of_others() -> None:
    card = Card(1.0, "0000:86:00.0", "Tesla K80", 8 * GIB, 5 * GIB, 0, 5 * GIB, 90)
    used = [Sample(1.0, "steps", {"GPU:0": (GIB, GIB)})]
    assert "mem-foreign" not in said(Capture(cards=[card], memory=used))
    assert said(Capture(cards=[card]))["mem-foreign"] == (Status.WARN, "")


def test_peaks_that_differ_by_little_of_a_card_are_balanced() -> None:
    both = MIRRORED._replace(devices=("GPU:0", "GPU:1"))
    samples = [Sample(1.0, "steps", {"GPU:0": (55 << 20,) * 2, "GPU:1": (22 << 20,) * 2})]
    capture = Capture(strategies=[both], memory=samples)
    assert said(capture)["mem-balance"] == (Status.WARN, "")
    capture.cards = [Card(1.0, "0000:86:00.0", "NVIDIA H200", 140 * GIB, GIB, GIB, 0, 90)]
    assert said(capture)["mem-balance"] == (Status.PASS, "")


def on_the_host(*resident: int, machine: int = 8 * GIB) -> Capture:
    """A program whose own memory had these sizes, a second apart."""
    samples = [Sample(float(t), "steps", {"CPU:0": (GIB, GIB), "CPU:1": (GIB, GIB)}) for t in range(len(resident))]
    return Capture(
        start={"memory": {"host": machine, "CPU": machine}},
        logical=("CPU:0", "CPU:1"),
        memory=samples,
        resident=[(float(t), size) for t, size in enumerate(resident)],
    )


def test_a_program_that_grows_on_the_host_is_warned_of() -> None:
    growing = on_the_host(*(GIB + second * 40 * 2**20 for second in range(40)))
    assert said(growing)["host-growth"] == (Status.WARN, "")
    assert said(on_the_host(*[GIB] * 40))["host-growth"] == (Status.PASS, "")
    assert "host-growth" not in said(on_the_host(GIB, 2 * GIB))
    growing.start = {}
    assert "host-growth" not in said(growing)


def test_a_leak_of_the_cpu_is_reported_once() -> None:
    capture = on_the_host(*(GIB + second * 40 * 2**20 for second in range(40)))
    capture.memory = [Sample(t, "steps", dict.fromkeys(capture.logical, (size, size))) for t, size in capture.resident]
    broken = [one for one in verify(Run(capture)) if one.status in (Status.FAIL, Status.WARN)]
    assert [(one.id, one.subject) for one in broken] == [("mem-leak", "memory of CPU:0 over the steps")]


@pytest.mark.parametrize(
    ("taken", "status", "part"),
    [
        (76 * GIB, Status.PASS, "77824 MiB, of which at most 1024 MiB was in use: reserved in advance"),
        (2 * GIB, Status.PASS, "2048 MiB, of which at most 1024 MiB was in use"),
        (-1, Status.SKIP, "the driver does not report"),
    ],
)
def test_memory_that_is_taken_beforehand_is_reported_and_never_violated(taken: int, status: Status, part: str) -> None:
    capture = over_steps(*[GIB] * 40)
    capture.cards = [Card(3.0, "0000:86:00.0", "A100", 80 * GIB, 77 * GIB, taken, 0, 90)]
    (told,) = [one for one in verify(Run(capture)) if one.id == "mem-preallocated"]
    assert told.status is status
    assert told.observed.startswith(part)


def test_memory_on_a_card_on_which_nothing_ran_is_reported() -> None:
    capture = over_steps(*[GIB] * 3)
    capture.executions = ran("MatMul", "", "CPU:0")
    capture.cards = [Card(float(t), "0000:86:00.0", "Tesla K80", 8 * GIB, GIB, GIB, 0, 0) for t in range(3)]
    assert said(capture)["gpu-idle-held"] == (Status.WARN, "")
    capture.executions = ran("MatMul", "", "GPU:0")
    assert "gpu-idle-held" not in said(capture)


def growth(*devices: str, error: str = "") -> list[Call]:
    name = "tf.config.experimental.set_memory_growth"
    return [Call(name, {"0": device, "1": "True"}, error, USED) for device in devices]


def test_growth_that_is_set_for_all_gpus_holds() -> None:
    two = {"visible": ("CPU:0", "GPU:0", "GPU:1"), "logical": ("CPU:0", "GPU:0", "GPU:1")}
    assert said(Capture(**two, calls=growth("GPU:0", "GPU:1")))["growth-set"] == (Status.PASS, "")
    assert said(Capture(**two, calls=growth("GPU:0")))["growth-set"] == (Status.FAIL, "GPU303")
    assert "growth-set" not in said(Capture(**two, calls=growth("GPU:0", error="RuntimeError: late")))
    assert "growth-set" not in said(Capture(**two))


def test_a_gpu_that_the_program_does_not_see_needs_no_growth() -> None:
    one = {"physical": ("CPU:0", "GPU:0", "GPU:1"), "visible": ("CPU:0", "GPU:0"), "logical": ("CPU:0", "GPU:0")}
    assert said(Capture(**one, calls=growth("GPU:0")))["growth-set"] == (Status.PASS, "")


def test_growth_that_is_dropped_for_a_limit_is_not_in_force() -> None:
    gpu = {"visible": ("CPU:0", "GPU:0"), "logical": ("CPU:0", "GPU:0"), "growth": False}
    split = Call("tf.config.set_logical_device_configuration", {"0": "GPU:0"}, "", MADE)
    capture = Capture(**gpu, calls=[*growth("GPU:0"), split])
    (broken,) = [one for one in verify(Run(capture)) if one.id == "growth-set"]
    assert (broken.status, broken.code, broken.where) == (Status.FAIL, "GPU306", MADE)
    forced = {"runtime": {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}}
    assert said(Capture(**gpu, calls=capture.calls, environment=forced))["growth-set"] == (Status.PASS, "")
