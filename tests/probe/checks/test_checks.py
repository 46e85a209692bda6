"""The checks of a run, on pairs of captures that differ in one relevant point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpulint.linting.finding import Finding, Related, Severity
from gpulint.places import Span
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import (
    Batch,
    Call,
    Card,
    Copy,
    Execution,
    Function,
    Holding,
    InnerDevice,
    Kept,
    Node,
    Read,
    ReplicaRun,
    Retrace,
    Sample,
    Segment,
    SourceText,
    Split,
    Steps,
    Strategy,
    Traced,
    Variable,
    Wait,
    Where,
    Work,
)
from gpulint.probe.checks.verify import exit_status, verify
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status

MADE, USED = Where("/p/a.py", 4), Where("/p/a.py", 9)
MIRRORED = Strategy(1, "MirroredStrategy", ("CPU:0", "CPU:1"), 2, Where("/p/a.py", 2))


def variable(device: str, size: int = 64, where: Where = MADE, name: str = "kernel") -> Variable:
    return Variable(name, (size // 4,), "float32", size, device, where)


GIB = 1 << 30
CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 8192 MB memory:  -> device: 0, name: Tesla K80, "
    "pci bus id: 0000:86:00.0, compute capability: 3.7"
)


def ran(op: str, requested: str, device: str, where: Where = USED) -> Counter[Execution]:
    return Counter({Execution(where, op, requested, device): 3})


def finding(code: str, row: int, *related: int, severity: Severity = Severity.ERROR) -> Finding:
    span = Span("/p/a.py", row, 1, row, 9)
    places = tuple(Related(Span("/p/a.py", other, 1, other, 9), "made here") for other in related)
    return Finding(code, "some-rule", severity, span, "something is wrong", instead="do it right", related=places)


def said(capture: Capture, *findings: Finding) -> dict[str, tuple[Status, str]]:
    """Status and code by id of the check."""
    return {one.id: (one.status, one.code) for one in verify(Run(capture, findings))}


def stepped(taken: int, name: str = "step") -> dict[tuple[str, Where | None], Steps]:
    return {(name, USED): Steps(name, USED, taken, 1.0, 0.1)}


def spread(*variables: Variable, busy: tuple[str, ...] = ("CPU:0", "CPU:1")) -> Capture:
    nodes = Counter({Node(USED, "MatMul", "", device, "", part="step"): 1 for device in busy})
    return Capture(strategies=[MIRRORED], variables=list(variables), nodes=nodes, steps=stepped(9))


def test_variables_on_every_replica_hold() -> None:
    found = said(spread(variable("CPU:0"), variable("CPU:1")))
    assert found["strategy-spread"] == (Status.PASS, "")
    assert found["variables-mirrored"] == (Status.PASS, "")


def test_a_variable_of_one_replica_that_another_uses_is_found_where_it_was_made() -> None:
    capture = spread(variable("CPU:0"), variable("CPU:1"), variable("CPU:0", 128, USED, "other"))
    (alone,) = [one for one in verify(Run(capture)) if one.id == "variables-mirrored"]
    assert alone.status is Status.INCONCLUSIVE
    capture.nodes[Node(USED, "ReadVariableOp", "", "CPU:1", "", replica=1)] = 2
    (alone,) = [one for one in verify(Run(capture)) if one.id == "variables-mirrored"]
    assert alone.status is Status.PASS
    capture.nodes[Node(USED, "ReadVariableOp", "", "CPU:0", "", replica=1)] = 2
    (broken,) = [one for one in verify(Run(capture)) if one.status is Status.FAIL]
    assert (broken.id, broken.code, broken.where) == ("variables-mirrored", "GPU201", USED)
    assert broken.evidence == (
        "other (128 bytes) only on CPU:0",
        "replica 1 uses variables of CPU:0 (2 ×)",
    )


def test_counters_of_one_replica_are_no_sign_of_a_missing_scope() -> None:
    counter = Variable("iteration", (), "int64", 8, "CPU:0", USED)
    assert said(spread(variable("CPU:0"), variable("CPU:1"), counter))["variables-mirrored"] == (Status.PASS, "")


def test_a_replica_without_work_is_found() -> None:
    assert said(spread(busy=("CPU:0",)))["strategy-spread"] == (Status.FAIL, "GPU201")
    evaluated = replace(spread(busy=("CPU:0",)), steps={})
    assert said(evaluated)["strategy-spread"] == (Status.FAIL, "GPU201")
    before_training = replace(evaluated, error="ValueError: no")
    assert said(before_training)["strategy-spread"] == (Status.INCONCLUSIVE, "")


def test_initialising_variables_is_no_work_of_a_replica() -> None:
    capture = spread(busy=("CPU:0",))
    capture.executions += ran("StatelessRandomUniformV2", "CPU:1", "CPU:1")
    capture.nodes[Node(MADE, "RandomUniform", "", "CPU:1", "", part="initialisation")] = 14
    assert said(capture)["strategy-spread"] == (Status.FAIL, "GPU201")
    capture.steps = {}
    capture.nodes = Counter()
    assert said(capture)["strategy-spread"] == (Status.INCONCLUSIVE, "")


def test_eager_steps_are_work_of_the_devices_that_ran_them_since_the_first() -> None:
    capture = spread(busy=())
    capture.steps = stepped(9, EAGER_STEP)
    capture.executions = ran("MatMul", "", "CPU:0") + ran("MatMul", "", "CPU:1")
    assert said(capture)["strategy-spread"] == (Status.FAIL, "GPU203")
    capture.running = ran("MatMul", "", "CPU:0") + ran("MatMul", "", "CPU:1")
    assert said(capture)["strategy-spread"] == (Status.PASS, "")


def test_a_function_without_a_graph_may_have_worked_anywhere() -> None:
    capture = spread(busy=("CPU:0",))
    capture.functions["step", USED] = Function("step", USED, 1, True, "CPU:0", graph=False)
    assert said(capture)["strategy-spread"] == (Status.INCONCLUSIVE, "")


@pytest.mark.parametrize(
    ("gpus", "busy", "status"),
    [
        (2, ("GPU:0", "GPU:1"), Status.PASS),
        (4, ("GPU:0",), Status.WARN),
        (1, ("CPU:0",), Status.FAIL),
        (0, ("CPU:0",), None),
    ],
)
def test_gpus_that_do_nothing_in_steps_are_found(gpus: int, busy: tuple[str, ...], status: Status | None) -> None:
    capture = Capture(logical=("CPU:0", *(f"GPU:{index}" for index in range(gpus))), steps=stepped(9))
    capture.executions = ran("StatelessRandomUniformV2", "GPU:1", "GPU:1")
    capture.nodes = Counter({Node(USED, "MatMul", "", device, "", part="step"): 1 for device in busy})
    found = said(capture).get("gpu-idle")
    assert (found[0] if found else None) is status


def test_a_call_of_what_xla_compiles_is_work_of_its_device() -> None:
    capture = Capture(logical=("CPU:0", "GPU:0"), steps=stepped(9))
    capture.nodes = Counter({Node(None, "StatefulPartitionedCall", "", "GPU:0", "", part="step"): 1})
    assert said(capture)["gpu-idle"] == (Status.PASS, "")


def test_idle_gpus_that_a_finding_explains_are_reported_once() -> None:
    capture = Capture(logical=("CPU:0", "GPU:0", "GPU:1"), steps=stepped(9))
    capture.nodes = Counter({Node(USED, "MatMul", "GPU:0", "GPU:0", "", part="step"): 1})
    assert "gpu-idle" not in said(capture, finding("GPU101", USED.row))


def test_replicas_that_share_a_device_are_no_evidence() -> None:
    capture = Capture(strategies=[MIRRORED._replace(devices=("CPU:0", "CPU:0"))])
    assert said(capture) == {"strategy-spread": (Status.INCONCLUSIVE, "")}


@pytest.mark.parametrize(
    ("op", "requested", "device", "expected"),
    [
        ("MatMul", "CPU:1", "CPU:1", (Status.PASS, "")),
        ("MatMul", "CPU:1", "CPU:0", (Status.WARN, "")),
        ("MatMul", "CPU:7", "CPU:0", (Status.FAIL, "GPU107")),
        ("MatMul", "GPU:0", "CPU:0", (Status.SKIP, "")),
        ("ReadVariableOp", "CPU:1", "CPU:0", None),
        ("ParallelMapDatasetV2", "CPU:1", "CPU:0", None),
        ("MatMul", "", "CPU:0", None),
    ],
)
def test_requested_devices_are_checked_against_placements(
    op: str, requested: str, device: str, expected: tuple[Status, str] | None
) -> None:
    capture = Capture(physical=("CPU:0",), logical=("CPU:0", "CPU:1"), executions=ran(op, requested, device))
    assert said(capture).get("scope-placement") == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("", (Status.PASS, "")),
        ("RuntimeError: Physical devices cannot be modified after being initialized", (Status.FAIL, "GPU301")),
        ("RuntimeError: Visible devices cannot be modified after being initialized", (Status.FAIL, "GPU301")),
        ("ValueError: Memory growth cannot differ between GPU devices", (Status.FAIL, "GPU303")),
        ("ValueError: something else", (Status.FAIL, "")),
    ],
)
def test_a_configuration_that_raises_is_found(error: str, expected: tuple[Status, str]) -> None:
    capture = Capture(calls=[Call("tf.config.set_visible_devices", {"0": "[]"}, error, USED)])
    assert said(capture)["configuration"] == expected


@pytest.mark.parametrize(("traces", "status"), [(1, Status.PASS), (5, Status.PASS), (6, Status.WARN)])
def test_functions_that_are_traced_again_and_again_are_found(traces: int, status: Status) -> None:
    function = Function("step", USED, traces, False, "CPU:0")
    assert said(Capture(functions={("step", USED): function}))["retrace"][0] is status


def test_folds_that_have_functions_of_their_own_are_not_traced_again() -> None:
    function = Function("multi_step_on_iterator", USED, 16, False, "CPU:0", made=8)
    assert said(Capture(functions={("f", USED): function}))["retrace"][0] is Status.PASS
    assert said(Capture(functions={("f", USED): function._replace(made=2)}))["retrace"][0] is Status.WARN


def prediction(capture: Capture, of: Finding) -> Expectation:
    (found,) = [one for one in verify(Run(capture, [of])) if one.id == "prediction"]
    return found


def built(device: str, caller: Where = USED) -> Variable:
    """A variable created by a builder that was called on another line."""
    return variable(device)._replace(callers=(caller,))


def test_a_builder_that_is_called_in_the_scope_too_decides_nothing() -> None:
    inside = Where("/p/a.py", 30)
    of_both = spread(built("CPU:0"), built("CPU:0", inside), built("CPU:1", inside))
    assert prediction(of_both, finding("GPU201", USED.row, MADE.row)).status is Status.FAIL
    assert prediction(of_both, finding("GPU201", inside.row, MADE.row)).status is Status.PASS


def test_the_variables_of_an_optimizer_are_not_those_of_the_model() -> None:
    compiled = Where("/p/a.py", 30)
    mirrored = [variable(device, where=compiled, name="momentum") for device in MIRRORED.devices]
    assert (
        prediction(spread(built("CPU:0"), *mirrored), finding("GPU201", USED.row, compiled.row)).status is Status.FAIL
    )


def test_a_model_outside_the_scope_is_confirmed_by_its_variables() -> None:
    alone = prediction(spread(built("CPU:0")), finding("GPU201", 9, MADE.row))
    assert alone.status is Status.FAIL
    assert alone.observed == "confirmed: variables on CPU:0 only"
    mirrored = prediction(spread(built("CPU:0"), built("CPU:1")), finding("GPU201", 9, MADE.row))
    assert mirrored.status is Status.PASS
    assert mirrored.observed == "refuted: variables on CPU:0, CPU:1"


def test_without_evidence_a_finding_is_neither_confirmed_nor_refuted() -> None:
    elsewhere = spread(variable("CPU:0", where=Where("/p/b.py", 4)))
    for capture in (elsewhere, Capture(), spread()):
        assert prediction(capture, finding("GPU201", 9, MADE.row)).status is Status.INCONCLUSIVE
    assert prediction(Capture(), finding("GPU404", 9)).status is Status.INCONCLUSIVE


def test_a_line_that_ran_is_not_called_unexercised() -> None:
    built = Execution(Where("/p/a.py", 9), "MapDataset", "", "CPU:0")
    ran = Capture(executions=Counter({built: 1}))
    assert prediction(Capture(), finding("GPU404", 9)).observed == "not exercised by this run"
    assert prediction(ran, finding("GPU404", 8)).observed == "not exercised by this run"
    assert prediction(ran, finding("GPU404", 9)).observed == "ran, but this run neither confirms nor refutes it"


@pytest.mark.parametrize(
    ("waited", "said"),
    [
        (0.0, "ran, but training did not wait for it (0 % of the time)"),
        (0.1, "ran, and training waited for input 10.0 % of the time"),
    ],
)
def test_a_pipeline_that_ran_says_how_long_training_waited(waited: float, said: str) -> None:
    """The finding is in a function that the pipeline calls."""
    where = Where("/p/a.py", 20)
    seconds = {"launch": 1.0 - waited, "input": waited}
    ran = Capture(
        traced={("Dataset_map_prepare", where, "trace"): Traced(1, 0.1, (), 0, 0.0)},
        sources={"/p/a.py": SourceText(0.0, "", "def prepare(x):\n    y = x\n    return y\n")},
        segments=[Segment(0, 0.0, 1.0, 10, seconds, 0, (Work(where, "input", "next", waited, 10),))],
    )
    assert prediction(ran, finding("GPU404", 2)).observed == said
    assert prediction(ran, finding("GPU404", 9)).observed == "not exercised by this run"


def test_a_warning_that_is_confirmed_does_not_fail_the_run() -> None:
    function = Function("step", USED, 30, False, "CPU:0")
    confirmed = prediction(
        Capture(functions={("step", USED): function}), finding("GPU504", 9, severity=Severity.WARNING)
    )
    assert (confirmed.status, confirmed.level) == (Status.WARN, Level.WARN)


def test_a_violation_that_a_finding_predicted_is_reported_once() -> None:
    call = Call(
        "tf.config.set_visible_devices",
        {},
        "RuntimeError: Visible devices cannot be modified after being initialized",
        USED,
    )
    found = verify(Run(Capture(calls=[call]), [finding("GPU301", USED.row)]))
    assert [(one.id, one.status) for one in found] == [("prediction", Status.FAIL)]


BROKEN = Expectation("a", Status.FAIL, Level.ERROR, "", "", "")


@pytest.mark.parametrize(
    ("expectations", "end", "strict", "status"),
    [
        ([], {"status": 0}, True, 0),
        ([BROKEN], {"status": 0}, False, 1),
        ([replace(BROKEN, status=Status.WARN, level=Level.WARN)], {"status": 0}, True, 0),
        ([replace(BROKEN, status=Status.INCONCLUSIVE)], {"status": 0}, False, 0),
        ([replace(BROKEN, status=Status.INCONCLUSIVE)], {"status": 0}, True, 3),
        ([replace(BROKEN, id="expect", status=Status.INCONCLUSIVE)], {"status": 0}, False, 3),
        ([replace(BROKEN, id="expect-on", status=Status.INCONCLUSIVE)], {"status": 7}, False, 4),
        ([], {"status": 7}, False, 4),
        ([], {"status": None, "signal": 9}, False, 4),
        ([BROKEN], {"status": 7}, False, 1),
        ([BROKEN], {"status": None, "reason": "timeout"}, False, 124),
        ([], {}, False, 4),
    ],
)
def test_the_exit_status_is_that_of_the_contract(
    expectations: list[Expectation], end: dict[str, object], strict: bool, status: int
) -> None:
    assert exit_status(expectations, end, strict) == status


def test_a_fault_of_the_probe_is_no_success() -> None:
    assert exit_status([], {"status": 0}, False, ["arming: AttributeError"]) == 2
    assert exit_status([BROKEN], {"status": 0}, False, ["arming: AttributeError"]) == 1
    (fault,) = verify(
        Run(Capture(process={"pid": 1}, tensorflow={"tensorflow": "2.21.0"}, faults=["arming: it broke"]))
    )
    assert (fault.id, fault.status, fault.observed) == ("evidence", Status.INCONCLUSIVE, "fault: arming: it broke")


def test_a_program_without_tensorflow_is_not_all_well() -> None:
    found = verify(Run(Capture(process={"pid": 1})))
    assert [(one.id, one.status) for one in found] == [("evidence", Status.INCONCLUSIVE)]
    assert exit_status(found, {"status": 0}, True) == 3
    assert exit_status(found, {"status": 0}, False) == 0


def over_steps(*current: int, device: str = "GPU:0") -> Capture:
    """A program on a card of 8 GiB whose memory had these sizes, a second apart."""
    samples = [Sample(float(t), "steps", {device: (size, size)}) for t, size in enumerate(current)]
    return Capture(memory=samples, logs={"stderr": Log(messages=[CREATED])}, executions=ran("MatMul", "", device))


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


WITH_GPU = {"physical": ("CPU:0", "GPU:0"), "logical": ("CPU:0", "GPU:0")}


def one_of(capture: Capture, id: str) -> Expectation:
    (found,) = [one for one in verify(Run(capture)) if one.id == id]
    return found


@pytest.mark.parametrize(
    ("op", "dtype", "requested", "device", "expected"),
    [
        ("MatMul", "float32", "", "CPU:0", (Status.FAIL, "")),
        ("MatMul", "float32", "CPU:0", "CPU:0", None),
        ("MatMul", "int32", "", "CPU:0", None),
        ("MatMul", "float32", "", "GPU:0", (Status.PASS, "")),
        ("DecodePng", "string", "GPU:0", "CPU:0", (Status.FAIL, "GPU105")),
        ("DecodePng", "string", "", "CPU:0", None),
        ("AddV2", "float32", "", "CPU:0", None),
    ],
)
def test_work_on_the_host_beside_a_gpu_is_found_unless_there_is_a_reason(
    op: str, dtype: str, requested: str, device: str, expected: tuple[Status, str] | None
) -> None:
    capture = Capture(**WITH_GPU, executions=Counter({Execution(USED, op, requested, device, dtype): 3}))
    assert said(capture).get("no-cpu-fallback") == expected


def test_without_a_gpu_nothing_falls_back() -> None:
    assert "no-cpu-fallback" not in said(Capture(logical=("CPU:0",), executions=ran("MatMul", "", "CPU:0")))


TWO = Strategy(1, "MirroredStrategy", ("CPU:0", "CPU:1"), 2, MADE)


def of_batches(*splits: tuple[tuple[int, ...], int]) -> tuple[Status, str]:
    capture = Capture(strategies=[TWO], splits=Counter({Split(USED, sizes): count for sizes, count in splits}))
    found = one_of(capture, "replica-batch")
    return found.status, found.observed


def test_a_replica_without_elements_is_found() -> None:
    assert of_batches(((32, 32), 50), ((1, 0), 5)) == (Status.WARN, "replica 1 got 0 of 1 in 5 of 55 batches")
    assert of_batches(((32, 32), 50)) == (Status.PASS, "32 of 64 for each")
    assert of_batches(((3, 3, 3, 3), 50), ((3, 3, 3, 1), 5)) == (Status.PASS, "3 of 12 for each in 50 of 55 batches")
    assert of_batches(((1, 1), 50)) == (Status.WARN, "1 of 2 for each")


COPY = Copy("_Send", "CPU:1", "CPU:0", USED, "AddV2", "", 256, in_step=True, mixed=True)


@pytest.mark.parametrize(
    ("copy", "count", "status"),
    [
        (COPY, 1, Status.WARN),
        (COPY._replace(requested="CPU:0"), 1, Status.PASS),
        (COPY._replace(mixed=False), 1, Status.PASS),
        (COPY._replace(source="GPU:0"), 1, Status.PASS),
        (COPY._replace(op="EagerCopy", in_step=False), 40, Status.WARN),
        (COPY._replace(op="EagerCopy", in_step=False), 2, None),
        (COPY._replace(in_step=False), 9, None),
    ],
)
def test_copies_of_a_step_that_nobody_asked_for_are_found(copy: Copy, count: int, status: Status | None) -> None:
    found = said(Capture(copies=Counter({copy: count}))).get("copies")
    assert (found[0] if found else None) is status


@pytest.mark.parametrize(
    ("copy", "status"),
    [
        (COPY._replace(requested="CPU:0", reduces=False), Status.WARN),
        (COPY._replace(requested="CPU:0", reduces=False, mixed=False), Status.WARN),
        (COPY._replace(requested="CPU:0", reduces=True), Status.PASS),
        (COPY._replace(reduces=False), Status.PASS),
        (COPY._replace(requested="CPU:0"), Status.INCONCLUSIVE),
        (COPY._replace(requested="CPU:0", reduces=False, in_step=False), Status.WARN),
        (COPY._replace(requested="CPU:0", reduces=False, op="EagerCopy", in_step=False), None),
    ],
)
def test_copies_between_replicas_are_found_but_for_the_strategys_own(copy: Copy, status: Status | None) -> None:
    found = said(Capture(copies=Counter({copy: 1}), strategies=[MIRRORED])).get("copies")
    assert (found[0] if found else None) is status


def test_a_variable_outside_the_scope_that_replicas_read_is_no_equal_share() -> None:
    capture = spread(variable("CPU:0"), variable("CPU:1"), variable("CPU:1", 5 << 20, USED, "table"))
    capture.copies[COPY._replace(requested="CPU:0", bytes=5 << 20)] = 1
    assert said(capture)["variables-mirrored"][0] is Status.INCONCLUSIVE
    capture.copies = Counter({COPY._replace(requested="CPU:0", bytes=5 << 20, reduces=False): 1})
    (broken,) = [one for one in verify(Run(capture)) if one.status is Status.FAIL]
    assert (broken.id, broken.code, broken.where) == ("variables-mirrored", "GPU201", USED)
    assert broken.evidence == (
        "table (5,242,880 bytes) only on CPU:1",
        "5,242,880 bytes from CPU:1 to CPU:0 each time",
    )


@pytest.mark.parametrize(
    ("wait", "status", "observed"),
    [
        (Wait(100, 3.0, 10.0, 100), Status.WARN, "30% of the time, 30.0 ms for each of 100 elements"),
        (Wait(100, 1.0, 10.0, 100), Status.PASS, "10% of the time, moderate, 10.0 ms for each of 100 elements"),
        (Wait(100, 0.1, 10.0, 100), Status.PASS, "1% of the time, 1.0 ms for each of 100 elements"),
        (Wait(100, 0.3, 0.44, 100), Status.WARN, "68% of the time, 3.0 ms for each of 100 elements"),
        (
            Wait(100, 0.03, 0.1, 100),
            Status.INCONCLUSIVE,
            "30% of the time, 0.3 ms for each of 100 elements: about what `next()` itself takes, so steps are too "
            "short to tell",
        ),
        (Wait(5, 3.0, 4.0, 5), Status.INCONCLUSIVE, "no loop over a dataset had 20 elements and steps"),
    ],
)
def test_the_share_of_a_loop_that_waits_is_judged(wait: Wait, status: Status, observed: str) -> None:
    found = one_of(Capture(steps=stepped(100), waits={USED: wait}), "input-wait")
    assert (found.status, found.observed) == (status, observed)


def test_a_loop_in_which_nothing_is_trained_may_wait() -> None:
    capture = Capture(waits={USED: Wait(100, 3.0, 4.0, 0)})
    assert "input-wait" not in said(capture)


def eager(busy: int, taken: int, name: str = "step") -> Capture:
    """Steps, some of which followed 40 operations each."""
    steps = Steps(name, USED, taken, 1.0, 0.1, busy, 40 * busy)
    return Capture(steps={(name, USED): steps}, executions=ran("MatMul", "", "CPU:0"))


def test_steps_of_many_eager_operations_are_found() -> None:
    found = one_of(eager(48, 50, EAGER_STEP), "eager-hot-loop")
    assert (found.status, found.code, found.where) == (Status.WARN, "GPU508", USED)
    assert found.observed == "40 in 48 of 50 steps"
    assert said(eager(5, 50))["eager-hot-loop"] == (Status.PASS, "")
    assert said(eager(3, 3))["eager-hot-loop"] == (Status.INCONCLUSIVE, "")
    assert said(eager(0, 3))["eager-hot-loop"] == (Status.PASS, "")
    few = eager(3, 3, EAGER_STEP)
    few.executions = Counter({Execution(USED, "MatMul", "", "CPU:0"): 300})
    assert "eager-hot-loop" not in said(few, finding("GPU508", USED.row, severity=Severity.WARNING))
    assert "eager-hot-loop" not in said(eager(0, 1))
    reads = replace(eager(48, 50), eager=Counter({("steps", "ReadVariableOp"): 5000}), taken=Counter({"steps": 50}))
    assert said(reads)["eager-hot-loop"] == (Status.PASS, ""), "as of `v.numpy()`"


def test_what_is_run_between_traced_steps_is_distinguished_from_eager_steps() -> None:
    assert one_of(eager(48, 50), "eager-hot-loop").fix.startswith("decorate what runs between the steps")
    assert one_of(eager(48, 50, EAGER_STEP), "eager-hot-loop").fix == "decorate the step with `tf.function`"


@pytest.mark.parametrize("code", ["GPU506", "GPU508"])
def test_a_confirmed_finding_about_eager_steps_is_all_that_is_reported_of_them(code: str) -> None:
    capture = eager(48, 50, EAGER_STEP)
    capture.executions = Counter({Execution(USED, "MatMul", "", "CPU:0"): 300})
    predicted = finding(code, USED.row, severity=Severity.WARNING)
    assert said(capture, predicted)["prediction"] == (Status.WARN, code)
    assert "eager-hot-loop" not in said(capture, predicted)


def test_what_makes_steps_eager_is_named() -> None:
    capture = eager(48, 50, EAGER_STEP)
    capture.calls.append(Call("tf.config.run_functions_eagerly", {"0": "True"}, "", MADE))
    assert said(capture)["eager-hot-loop"] == (Status.WARN, "GPU506")


def test_what_xla_compiles_is_named_and_devices_inside_it_are_found() -> None:
    function = Function("step", USED, 1, True, "CPU:0")
    capture = Capture(compiled={"step": MADE}, functions={("step", USED): function})
    assert said(capture) == {"xla-opaque": (Status.SKIP, ""), "retrace": (Status.PASS, "")}
    capture.inner_devices.add(InnerDevice(USED, "step", "CPU:0"))
    assert said(capture)["xla-opaque"][0] is Status.SKIP
    capture.inner_devices.add(InnerDevice(USED, "step", "CPU:1"))
    found = [one for one in verify(Run(capture)) if one.id == "xla-opaque"]
    assert [(one.status, one.where) for one in found] == [(Status.WARN, USED), (Status.SKIP, MADE)]


def test_a_strategy_on_devices_that_do_not_exist_is_reported_once() -> None:
    missing = MIRRORED._replace(devices=("GPU:0", "GPU:1"))
    capture = Capture(logical=("CPU:0",), strategies=[missing], executions=ran("MatMul", "", "CPU:0"))
    assert said(capture) == {"device-exists": (Status.FAIL, "GPU107")}


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


RUN = ReplicaRun(USED, "step", 2, False, False, True, False, 8)


def test_replicas_that_are_given_the_same_are_found() -> None:
    steps = stepped(9)
    assert said(Capture(steps=steps, runs=Counter({RUN: 1})))["replica-inputs"] == (Status.PASS, "")
    same = RUN._replace(divided=False, whole=True, batch=32)
    found = one_of(Capture(steps=steps, runs=Counter({RUN: 1, same: 1})), "replica-inputs")
    assert (found.status, found.code, found.observed) == (
        Status.WARN,
        "GPU205",
        "every replica gets the whole batch of 32",
    )
    neither = RUN._replace(divided=False)
    assert "replica-inputs" not in said(Capture(steps=steps, runs=Counter({neither: 1})))


def test_what_is_not_trained_may_be_given_whole() -> None:
    same = RUN._replace(divided=False, whole=True)
    assert "replica-inputs" not in said(Capture(runs=Counter({same: 1})))
    once = same._replace(eager=True)
    assert "replica-inputs" not in said(Capture(steps=stepped(9), runs=Counter({once: 1})))
    assert said(Capture(steps=stepped(9), runs=Counter({once: 20})))["replica-inputs"] == (Status.WARN, "GPU205")


@pytest.mark.parametrize(("size", "status"), [(32, Status.PASS), (2, Status.WARN), (-1, None)])
def test_what_a_replica_gets_of_a_batch_is_reported(size: int, status: Status | None) -> None:
    capture = spread(variable("CPU:0"), variable("CPU:1"))
    capture.batches.append(Batch(USED, size))
    found = said(capture).get("replica-batch")
    assert (found[0] if found else None) is status


def test_findings_that_a_program_which_failed_did_not_reach_are_one_line() -> None:
    capture = Capture(
        error="ValueError: no", error_at=Where("/p/a.py", 9), error_frames=((Where("/p/a.py", 9), "<module>"),)
    )
    findings = [finding("GPU501", row) for row in (4, 20, 30)]
    before, after = [one for one in verify(Run(capture, findings)) if one.id == "prediction"]
    assert before.where == Where("/p/a.py", 4)
    assert (after.subject, after.observed) == (
        "2 findings after the failure",
        "not reached: a.py:20 GPU501, a.py:30 GPU501",
    )
    assert after.status is Status.INCONCLUSIVE
    capture.error = ""
    assert len([one for one in verify(Run(capture, findings)) if one.id == "prediction"]) == 3


def retraced(cause: str, argument: str, example: str = "", own: bool = True) -> Retrace:
    return Retrace(USED, "step", own, cause, argument, example)


def test_a_function_that_is_created_for_each_call_is_found_though_each_is_traced_once() -> None:
    function = Function("step", USED, 40, False, "GPU:0", made=40, runs=40)
    capture = Capture(functions={("step", USED): function}, retraces=Counter({retraced("function", ""): 39}))
    assert said(capture)["retrace"] == (Status.WARN, "GPU505")
    capture.functions["step", USED] = function._replace(runs=4000)  # as for 40 layers
    assert said(capture)["retrace"] == (Status.PASS, "")
    capture.functions["step", USED] = function._replace(runs=0)
    assert said(capture)["retrace"] == (Status.PASS, "")


def test_shapes_of_batches_in_fit_are_for_the_pipeline_to_fix() -> None:
    capture = Capture(functions={("step", USED): Function("step", USED, 9, False, "GPU:0", made=1)})
    capture.retraces = Counter({retraced("shape", "data[0]", "(4, 2) → (5, 2)", own=False): 8})
    (one,) = [one for one in verify(Run(capture)) if one.id == "retrace"]
    assert one.evidence == ("8 ×: the shape of `data[0]` changed, first (4, 2) → (5, 2)",)
    assert "drop_remainder" in one.fix and "input_signature" not in one.fix


def test_reads_that_a_finding_covers_are_reported_once() -> None:
    capture = Capture(steps=stepped(30), step_reads={Read(USED, "CPU:0"): (30, 30), Read(MADE, "CPU:0"): (3, 30)})
    assert said(capture)["host-reads"] == (Status.WARN, "GPU501")
    assert "host-reads" not in said(capture, finding("GPU501", USED.row))
    capture.logical = ("CPU:0", "GPU:0")
    assert said(capture)["host-reads"] == (Status.PASS, "")


def test_what_a_worker_waits_for_the_others_is_no_waiting_for_input() -> None:
    several = Strategy(1, "MultiWorkerMirroredStrategy", ("GPU:0",), 2, Where("/p/a.py", 2))
    waits = {USED: Wait(100, 9.0, 10.0, 100)}
    capture = Capture(strategies=[several], steps=stepped(100), waits=waits, local_input={USED: (102, 0.102)})
    found = said(capture)
    assert (found["input-wait"][0], found["peer-wait"][0]) == (Status.PASS, Status.WARN)
    capture.local_input = {USED: (102, 9.18)}
    found = said(capture)
    assert found["input-wait"][0] is Status.WARN and "peer-wait" not in found
    capture.strategies, capture.local_input = [several._replace(replicas=1)], {USED: (102, 0.102)}
    assert said(capture)["input-wait"][0] is Status.WARN


def test_retraces_that_a_finding_is_about_are_reported_once() -> None:
    capture = Capture(functions={("step", USED): Function("step", USED, 9, False, "GPU:0", made=1)})
    assert said(capture)["retrace"] == (Status.WARN, "GPU504")
    found = said(capture, finding("GPU504", USED.row))
    assert "retrace" not in found and found["prediction"][1] == "GPU504"
