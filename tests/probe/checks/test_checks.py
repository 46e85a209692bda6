"""The checks of a run, on pairs of captures that differ in one relevant point."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.linting.finding import Finding, Severity
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import (
    Batch,
    Call,
    Copy,
    Execution,
    Function,
    Node,
    ReplicaRun,
    Segment,
    SourceText,
    Split,
    Steps,
    Strategy,
    Traced,
    Variable,
    Where,
    Work,
)
from gpulint.probe.checks.verify import exit_status, verify
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from tests.probe.checks.captures import (
    MADE,
    MIRRORED,
    USED,
    WITH_GPU,
    finding,
    one_of,
    ran,
    said,
    spread,
    stepped,
    variable,
)


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
    assert prediction(ran, finding("GPU406", 9, 20)).observed == said, "`fit` reads the loader there"
    assert prediction(ran, finding("GPU201", 9, 20)).observed == "not exercised by this run"
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


def test_what_a_strategy_requests_is_no_fault_of_the_program() -> None:
    """It requests its device for everything that a replica runs."""
    strategy = Strategy(1, "MirroredStrategy", ("GPU:0",), 1, None)
    executions = ran("DecodePng", "GPU:0", "CPU:0", "string")
    capture = Capture(logical=("CPU:0", "GPU:0"), executions=executions, strategies=[strategy])
    assert said(capture).get("no-cpu-fallback") == (Status.WARN, "GPU105")


TWO = Strategy(1, "MirroredStrategy", ("CPU:0", "CPU:1"), 2, MADE)


def of_batches(*splits: tuple[tuple[int, ...], int]) -> tuple[Status, str]:
    capture = Capture(strategies=[TWO], splits=Counter({Split(USED, sizes): count for sizes, count in splits}))
    found = one_of(capture, "replica-batch")
    return found.status, found.observed


def test_a_replica_without_elements_is_found() -> None:
    assert of_batches(((32, 32), 50), ((1, 0), 5)) == (Status.WARN, "replica 1 got 0 of 1 in 5 of 55 batches")
    assert of_batches(((32, 32), 50)) == (Status.PASS, "32 of 64 each")
    assert of_batches(((3, 3, 3, 3), 50), ((3, 3, 3, 1), 5)) == (Status.PASS, "3 of 12 each in 50 of 55 batches")
    assert of_batches(((1, 1), 50)) == (Status.WARN, "1 of 2 each")


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


def test_a_strategy_on_devices_that_do_not_exist_is_reported_once() -> None:
    missing = MIRRORED._replace(devices=("GPU:0", "GPU:1"))
    capture = Capture(logical=("CPU:0",), strategies=[missing], executions=ran("MatMul", "", "CPU:0"))
    assert said(capture) == {"device-exists": (Status.FAIL, "GPU107")}


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


def test_a_read_by_numpy_is_not_seen_in_host_memory() -> None:
    """NumPy takes what is in host memory without a call of TensorFlow."""
    taken = {("train", MADE): Steps("train", MADE, 100, 1.0, 0.1)}
    unseen = "not seen: NumPy reads tensors in host memory directly; on a GPU, each read waits for the device"
    assert prediction(Capture(steps=taken, logical=("CPU:0",)), finding("GPU501", 9)).observed == unseen
    simulated = Capture(steps=taken, logical=("CPU:0", "GPU:0"), simulated=1)
    assert prediction(simulated, finding("GPU502", 9)).observed == unseen
    on_gpu = Capture(steps=taken, logical=("CPU:0", "GPU:0"))
    assert prediction(on_gpu, finding("GPU501", 9)).observed == "not exercised by this run"
