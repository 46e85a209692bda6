"""Checks of steps: waiting, eager operations, reads and traces."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpulint.linting.finding import Severity
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import (
    Call,
    Execution,
    Function,
    InnerDevice,
    Read,
    Retrace,
    Strategy,
    Wait,
    Where,
)
from gpulint.probe.checks.verify import verify
from gpulint.probe.expectations.expectation import Run, Status
from tests.probe.checks.captures import (
    MADE,
    USED,
    eager,
    finding,
    one_of,
    said,
    stepped,
)


@pytest.mark.parametrize(("traces", "status"), [(1, Status.PASS), (5, Status.PASS), (6, Status.WARN)])
def test_functions_that_are_traced_again_and_again_are_found(traces: int, status: Status) -> None:
    function = Function("step", USED, traces, False, "CPU:0")
    assert said(Capture(functions={("step", USED): function}))["retrace"][0] is status


def test_folds_that_have_functions_of_their_own_are_not_traced_again() -> None:
    function = Function("multi_step_on_iterator", USED, 16, False, "CPU:0", made=8)
    assert said(Capture(functions={("f", USED): function}))["retrace"][0] is Status.PASS
    assert said(Capture(functions={("f", USED): function._replace(made=2)}))["retrace"][0] is Status.WARN


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
