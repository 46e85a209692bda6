"""What the checks make of a run: pairs of captures that differ in what matters."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.linting.finding import Finding, Related, Severity
from gpulint.places import Span
from gpulint.probe.capture import (
    Call,
    Capture,
    Card,
    Execution,
    Function,
    Log,
    Sample,
    Strategy,
    Variable,
    Where,
)
from gpulint.probe.expectation import Expectation, Level, Run, Status
from gpulint.probe.verify import exit_status, verify

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


def spread(*variables: Variable, ops: Counter[Execution] | None = None) -> Capture:
    both = ran("MatMul", "", "CPU:0") + ran("MatMul", "", "CPU:1")
    return Capture(strategies=[MIRRORED], variables=list(variables), executions=both if ops is None else ops)


def test_variables_on_every_replica_hold() -> None:
    found = said(spread(variable("CPU:0"), variable("CPU:1")))
    assert found == {
        "strategy-spread": (Status.PASS, ""),
        "variables-mirrored": (Status.PASS, ""),
    }


def test_a_variable_of_one_replica_is_found_where_it_was_made() -> None:
    capture = spread(variable("CPU:0"), variable("CPU:1"), variable("CPU:0", 128, USED, "other"))
    (broken,) = [one for one in verify(Run(capture)) if one.status is Status.FAIL]
    assert (broken.id, broken.code, broken.where) == ("variables-mirrored", "GPU201", USED)
    assert broken.evidence == ("other (128 bytes) only on CPU:0",)


def test_a_replica_without_work_is_found() -> None:
    assert said(spread(ops=ran("MatMul", "", "CPU:0")))["strategy-spread"] == (Status.FAIL, "GPU201")


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
def test_what_is_asked_for_is_held_against_where_it_ran(
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


def prediction(capture: Capture, of: Finding) -> Expectation:
    (found,) = [one for one in verify(Run(capture, [of])) if one.id == "prediction"]
    return found


def test_a_model_outside_the_scope_is_confirmed_by_its_variables() -> None:
    alone = prediction(spread(variable("CPU:0")), finding("GPU201", 9, MADE.row))
    assert alone.status is Status.FAIL
    assert alone.observed == "confirmed: variables on CPU:0 only"
    mirrored = prediction(spread(variable("CPU:0"), variable("CPU:1")), finding("GPU201", 9, MADE.row))
    assert mirrored.status is Status.PASS
    assert mirrored.observed == "refuted: variables on CPU:0, CPU:1"


def test_without_evidence_a_finding_is_neither_confirmed_nor_refuted() -> None:
    elsewhere = spread(variable("CPU:0", where=Where("/p/b.py", 4)))
    for capture in (elsewhere, Capture(), spread()):
        assert prediction(capture, finding("GPU201", 9, MADE.row)).status is Status.INCONCLUSIVE
    assert prediction(Capture(), finding("GPU404", 9)).status is Status.INCONCLUSIVE


def test_a_warning_that_is_confirmed_does_not_fail_the_run() -> None:
    function = Function("step", USED, 30, False, "CPU:0")
    confirmed = prediction(
        Capture(functions={("step", USED): function}), finding("GPU504", 9, severity=Severity.WARNING)
    )
    assert (confirmed.status, confirmed.level) == (Status.WARN, Level.WARN)


def test_a_violation_that_a_finding_predicted_is_told_once() -> None:
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


def test_memory_near_the_limit_is_told_of() -> None:
    assert said(over_steps(*[int(7.8 * GIB)] * 40))["mem-headroom"] == (Status.WARN, "")
    assert said(over_steps(*[5 * GIB] * 40))["mem-headroom"] == (Status.PASS, "")


def test_other_programs_on_the_card_are_told_of() -> None:
    card = Card(1.0, "0000:86:00.0", "Tesla K80", 8 * GIB, 5 * GIB, GIB, 4 * GIB, 90)
    assert said(Capture(cards=[card])) == {"mem-foreign": (Status.WARN, "")}
    assert said(Capture(cards=[card._replace(by_others=0)])) == {}


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


def test_a_leak_of_the_cpu_is_told_once() -> None:
    capture = on_the_host(*(GIB + second * 40 * 2**20 for second in range(40)))
    capture.memory = [Sample(t, "steps", dict.fromkeys(capture.logical, (size, size))) for t, size in capture.resident]
    broken = [one for one in verify(Run(capture)) if one.status in (Status.FAIL, Status.WARN)]
    assert [(one.id, one.subject) for one in broken] == [("mem-leak", "memory of CPU:0 over the steps")]


@pytest.mark.parametrize(
    ("taken", "status", "part"),
    [
        (76 * GIB, Status.PASS, "77824 MiB, 1024 MiB of it in use at most: taken beforehand"),
        (2 * GIB, Status.PASS, "2048 MiB, 1024 MiB of it in use at most"),
        (-1, Status.SKIP, "the driver does not say"),
    ],
)
def test_memory_that_is_taken_beforehand_is_told_and_never_broken(taken: int, status: Status, part: str) -> None:
    capture = over_steps(*[GIB] * 40)
    capture.cards = [Card(3.0, "0000:86:00.0", "A100", 80 * GIB, 77 * GIB, taken, 0, 90)]
    (told,) = [one for one in verify(Run(capture)) if one.id == "mem-preallocated"]
    assert told.status is status
    assert told.observed.startswith(part)
