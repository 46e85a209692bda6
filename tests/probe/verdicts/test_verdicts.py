"""Verdicts on findings: for each rule, a capture that confirms it and one that does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from gpulint.linting.finding import Finding, Related, Severity
from gpulint.places import Span
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import (
    Batch,
    Call,
    Copy,
    Execution,
    Function,
    Kept,
    ModelCall,
    Node,
    Read,
    ReplicaRun,
    Split,
    Steps,
    Strategy,
    Traced,
    Variable,
    Wait,
    Where,
)
from gpulint.probe.verdicts import VERDICTS

PATH = "/p/a.py"
ROW = 20
HERE, BELOW, ELSEWHERE = Where(PATH, ROW), Where(PATH, ROW + 2), Where(PATH, 90)
CPUS = ("CPU:0", "CPU:1")
MIRRORED = Strategy(1, "MirroredStrategy", CPUS, 2, Where(PATH, 2))


def finding(code: str, message: str = "something is wrong", related: Sequence[tuple[int, str]] = ()) -> Finding:
    span = Span(PATH, ROW, 1, ROW, 9)
    others = tuple(Related(Span(PATH, row, 1, row, 9), text) for row, text in related)
    return Finding(code, "some-rule", Severity.WARNING, span, message, related=others)


def said(code: str, capture: Capture, message: str = "", related: Sequence[tuple[int, str]] = ()) -> bool | None:
    """True if the run confirms the finding, False if it refutes it, None if it shows neither."""
    found = VERDICTS[code](finding(code, message, related), capture)
    return found.confirmed if found is not None else None


def observed(code: str, capture: Capture, message: str = "", related: Sequence[tuple[int, str]] = ()) -> str:
    found = VERDICTS[code](finding(code, message, related), capture)
    assert found is not None
    return found.observed


def ran(*rows: tuple[Where, str, str, str], times: int = 4, dtype: str = "float32") -> Counter[Execution]:
    return Counter({Execution(where, op, asked, device, dtype): times for where, op, asked, device in rows})


def nodes(*rows: tuple[Where, str, str, str]) -> Counter[Node]:
    return Counter({Node(where, op, asked, device, "", "float32", "step"): 2 for where, op, asked, device in rows})


def capture(**fields: Any) -> Capture:
    return Capture(**{"physical": ("CPU:0",), "logical": CPUS, **fields})


def variable(device: str, where: Where = HERE, name: str = "kernel") -> Variable:
    return Variable(name, (4, 4), "float32", 64, device, where)


def test_work_that_is_all_on_the_pinned_device_confirms_it() -> None:
    pinned = (BELOW, "MatMul", "CPU:0", "CPU:0")
    assert said("GPU101", capture(executions=ran(pinned))) is True
    assert said("GPU101", capture(executions=ran(pinned, (ELSEWHERE, "MatMul", "", "CPU:1")))) is None
    assert said("GPU101", capture(executions=ran(pinned), logical=("CPU:0",))) is None
    alone = capture(executions=ran((HERE, "MatMul", "GPU:0", "GPU:0")), logical=("CPU:0", "GPU:0"))
    assert said("GPU101", alone) is True


@pytest.mark.parametrize("evidence", ["operations", "graphs", "functions", "sessions", "the backend of Keras"])
def test_work_that_may_be_unseen_leaves_open_what_did_not_run_or_copy(evidence: str) -> None:
    pinned, lost = ran((BELOW, "MatMul", "CPU:0", "CPU:0")), [(evidence, "it is gone")]
    assert said("GPU101", capture(executions=pinned, lost=lost)) is None
    assert said("GPU102", capture(executions=ran((HERE, "AddV2", "", "CPU:0")), lost=lost)) is None
    here = MIRRORED._replace(where=HERE)
    assert said("GPU203", capture(strategies=[here], executions=pinned)) is True
    assert said("GPU203", capture(strategies=[here], executions=pinned, lost=lost)) is None


def test_operations_without_a_line_run_as_well() -> None:
    nowhere = Execution(None, "MatMul", "", "CPU:1")
    pinned = ran((BELOW, "MatMul", "CPU:0", "CPU:0"))
    assert said("GPU101", capture(executions=pinned + Counter([nowhere]))) is None


def test_copies_on_the_line_confirm_an_operation_across_devices() -> None:
    here = capture(copies=Counter({Copy("EagerCopy", "CPU:1", "CPU:0", HERE, "AddV2", "", 256, False, True): 4}))
    assert observed("GPU102", here) == "copies on this line: 4 from CPU:1 to CPU:0, 1,024 bytes"
    assert said("GPU102", capture(executions=ran((HERE, "AddV2", "", "CPU:0")))) is False
    assert said("GPU102", capture()) is None


def test_an_error_confirms_where_it_was_raised_only() -> None:
    error = "ValueError: Unknown attribute 'gpu0' is encountered while parsing the device spec: 'gpu0'."
    assert said("GPU103", capture(error=error, error_at=HERE)) is True
    assert said("GPU103", capture(error=error, error_at=ELSEWHERE)) is None
    assert said("GPU304", capture(error="TypeError: str expected, not int", error_at=HERE)) is True
    assert said("GPU304", capture(error="KeyError: 3", error_at=HERE)) is None


def test_replicas_that_all_compute_on_one_device_confirm_a_pin() -> None:
    pinned = nodes((BELOW, "MatMul", "CPU:0", "CPU:0"), (BELOW, "AddV2", "CPU:0", "CPU:0"))
    free = nodes((BELOW, "MatMul", "CPU:0", "CPU:0"), (BELOW, "MatMul", "CPU:1", "CPU:1"))
    assert (
        observed("GPU104", capture(strategies=[MIRRORED], nodes=pinned)) == "all 2 replicas ran on CPU:0 (4 operations)"
    )
    assert said("GPU104", capture(strategies=[MIRRORED], nodes=free)) is False
    assert said("GPU104", capture(nodes=pinned)) is None


def test_variables_that_are_mirrored_all_the_same_confirm_a_pin() -> None:
    made = [variable("CPU:0", BELOW), variable("CPU:1", BELOW)]
    assert said("GPU104", capture(strategies=[MIRRORED], variables=made)) is True


def test_an_operation_without_a_kernel_is_confirmed_where_there_is_a_gpu() -> None:
    fell_back = ran((HERE, "DecodePng", "GPU:0", "CPU:0"), dtype="string")
    with_gpu = capture(executions=fell_back, logical=("CPU:0", "GPU:0"))
    assert observed("GPU105", with_gpu).endswith("no GPU kernel for DecodePng of string")
    assert said("GPU105", capture(executions=fell_back)) is None


def test_a_device_that_is_not_there_is_confirmed() -> None:
    assert said("GPU107", capture(executions=ran((BELOW, "MatMul", "CPU:7", "CPU:0")))) is True
    assert said("GPU107", capture(executions=ran((BELOW, "MatMul", "CPU:1", "CPU:1")))) is None


def test_a_model_of_one_replica_is_reported_with_the_idle_device() -> None:
    alone = capture(
        strategies=[MIRRORED], variables=[variable("CPU:0")], executions=ran((BELOW, "MatMul", "", "CPU:0"))
    )
    assert observed("GPU201", alone) == "variables on CPU:0 only, CPU:1 idle"
    both = capture(strategies=[MIRRORED], variables=[variable("CPU:0"), variable("CPU:1")])
    assert said("GPU201", both) is False


def test_a_strategy_whose_devices_idle_is_unused() -> None:
    made_here = MIRRORED._replace(where=HERE)
    lazy = capture(strategies=[made_here], executions=ran((BELOW, "MatMul", "", "CPU:0")))
    assert observed("GPU203", lazy) == "2 replicas, but CPU:0 does all the work; CPU:1 idle"
    busy = lazy.executions + ran((BELOW, "MatMul", "", "CPU:1"))
    assert said("GPU203", capture(strategies=[made_here], executions=busy)) is None
    assert said("GPU203", capture(strategies=[MIRRORED], executions=lazy.executions)) is None


def run_of(
    *, divided: bool = False, whole: bool = False, eager: bool = False, traced: bool = False
) -> Counter[ReplicaRun]:
    return Counter({ReplicaRun(HERE, "step", 2, eager, traced, divided, whole, 32): 5})


def test_what_replicas_are_given_decides_about_undivided_batches() -> None:
    assert (
        observed("GPU205", capture(runs=run_of(whole=True))) == "each of the 2 replicas got the whole of a batch of 32"
    )
    assert said("GPU205", capture(runs=run_of(divided=True))) is False
    assert said("GPU205", capture(runs=run_of())) is None


def test_eager_calls_of_run_are_counted() -> None:
    assert observed("GPU207", capture(runs=run_of(eager=True))).startswith("5 calls outside a function")
    assert said("GPU207", capture(runs=run_of())) is False
    assert said("GPU207", capture(runs=run_of(eager=True, traced=True))) is False
    assert said("GPU207", capture()) is None


def test_a_step_without_run_leaves_replicas_idle() -> None:
    one = ran((BELOW, "MatMul", "", "CPU:0"))
    assert said("GPU206", capture(strategies=[MIRRORED], executions=one)) is True
    assert said("GPU206", capture(strategies=[MIRRORED], executions=one, runs=run_of(divided=True))) is None


def test_the_batch_of_a_divided_dataset_is_what_replicas_share() -> None:
    message = "batch size 32 is not scaled by the number of replicas"
    divided = capture(strategies=[MIRRORED], batches=[Batch(HERE, 32)])
    assert observed("GPU209", divided, message) == "the 2 replicas got 16 of 32 each"
    assert said("GPU209", capture(strategies=[MIRRORED], batches=[Batch(HERE, 64)]), message) is None
    uneven = Counter({Split(HERE, (8, 8)): 9, Split(HERE, (32, 0)): 1})
    assert said("GPU209", capture(strategies=[MIRRORED], splits=uneven), message) is None
    assert observed("GPU209", capture(strategies=[MIRRORED], splits=Counter({Split(HERE, (20, 12)): 9})), message) == (
        "the 2 replicas got 20, 12 of 32"
    )
    sixteen = Counter({one._replace(batch=16): 1 for one in run_of(divided=True)})
    assert said("GPU209", capture(strategies=[MIRRORED], runs=sixteen), message) is True


def test_a_strategy_on_one_of_several_devices_is_confirmed() -> None:
    one = MIRRORED._replace(where=HERE, devices=("CPU:0",), replicas=1)
    assert observed("GPU101", capture(strategies=[one])) == "one replica, on CPU:0; CPU:1 unused"
    assert said("GPU101", capture(strategies=[one], logical=("CPU:0",))) is None
    assert said("GPU101", capture(strategies=[MIRRORED._replace(where=HERE)])) is False


def test_a_gradient_that_is_applied_each_time_is_not_accumulated() -> None:
    steps = {(EAGER_STEP, HERE): Steps(EAGER_STEP, HERE, 8, 1.0, 0.2)}
    applied = {Execution(HERE, "AssignAddVariableOp", "", "CPU:0"): 8}
    assert said("GPU212", capture(steps=steps, executions=Counter(applied))) is True
    assert said("GPU212", capture(steps=steps, executions=Counter(dict.fromkeys(applied, 2)))) is None


def test_one_copy_that_each_replica_updates_is_confirmed() -> None:
    updates = nodes((ELSEWHERE, "AssignAddVariableOp", "", "CPU:0"))
    related = [(ELSEWHERE.row, "it is updated here")]
    one = capture(strategies=[MIRRORED], variables=[variable("CPU:0")], nodes=updates)
    assert said("GPU213", one, related=related) is True
    both = capture(strategies=[MIRRORED], variables=[variable("CPU:0"), variable("CPU:1")], nodes=updates)
    assert said("GPU213", both, related=related) is False
    assert said("GPU213", capture(strategies=[MIRRORED], variables=[variable("CPU:0")]), related=related) is None


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("GPU202", "RuntimeError: Mixing different tf.distribute.Strategy objects: x is not y"),
        ("GPU210", "ValueError: Trainer must only be passed a variable created in this strategy"),
        ("GPU214", "TypeError: float() argument must be a string or a real number, not 'PerReplica'"),
        ("GPU215", "RuntimeError: `merge_call` called while defining a new graph or a tf.function."),
        ("GPU702", "RuntimeError: Collective ops must be configured at program startup"),
        ("GPU705", "ValueError: Attempt to convert a value (PerReplica:{"),
        (
            "GPU217",
            "InvalidArgumentError: You must feed a value for placeholder tensor 'cond/else/_1/cond/Placeholder'",
        ),
    ],
)
def test_the_error_that_a_rule_predicts_confirms_it(code: str, error: str) -> None:
    assert said(code, capture(error=error)) is True
    assert said(code, capture(error="KeyError: 'a'")) is None


def test_a_removed_name_is_confirmed_by_the_error_that_names_it() -> None:
    gone = capture(error="AttributeError: module 'tensorflow' has no attribute 'Session'")
    assert said("GPU901", gone, "`tf.Session` was removed") is None  # elsewhere
    gone.error_at = HERE
    assert said("GPU901", gone, "`tf.Session` was removed") is True
    assert said("GPU901", gone, "`tf.contrib` was removed") is None
    ran_here = capture(executions=ran((HERE, "MatMul", "", "CPU:0")))
    assert said("GPU901", ran_here, "`tf.Session` was removed") is False
    assert said("GPU901", gone, "`tf.contrib` and 4 other names were removed") is True


@pytest.mark.parametrize(
    ("error", "expected"), [("", False), ("RuntimeError: cannot be modified once initialized", True)]
)
def test_the_outcome_of_a_call_decides_about_late_configuration(error: str, expected: bool) -> None:
    made = Call("tf.config.set_visible_devices", {}, error, HERE)
    assert said("GPU301", capture(calls=[made])) is expected


def test_one_refused_call_of_several_refutes_nothing() -> None:
    made = Call("tf.config.set_visible_devices", {}, "", HERE)
    refused = Call("tf.config.set_visible_devices", {}, "TypeError: a device is expected", HERE)
    assert said("GPU301", capture(calls=[made, refused])) is None


def test_the_first_round_of_a_loop_does_not_refute_what_is_late_from_the_second_on() -> None:
    made = Call("tf.config.set_visible_devices", {}, "", HERE)
    below = [(ROW + 1, "this initialises it")]
    assert said("GPU301", capture(calls=[made]), related=below) is None
    assert said("GPU301", capture(calls=[made, made]), related=below) is False


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"TF_GPU_ALLOCATOR": "a"}, True),
        ({"TF_GPU_ALLOCATOR": "a"}, {"TF_GPU_ALLOCATOR": "a"}, False),
        ({}, {}, None),
    ],
)
def test_a_variable_that_changed_after_it_was_read_came_too_late(
    before: dict[str, str], after: dict[str, str], expected: bool | None
) -> None:
    seen = capture(environment={"query": before, "runtime": before, "end": after})
    assert said("GPU302", seen, "`TF_GPU_ALLOCATOR` is set after TensorFlow has read it") is expected


def models(*older: int, layers: int = 3) -> list[Variable]:
    """The variables of models that one line built, each before the model was used."""
    one = variable("CPU:0", BELOW)._replace(callers=(HERE,))
    return [one._replace(round=round, older=left) for round, left in enumerate(older) for _ in range(layers)]


def test_models_that_pile_up_are_counted_by_what_was_done_between_them() -> None:
    piled = capture(variables=models(0, 1, 2, 3, 4))
    assert (
        observed("GPU305", piled) == "5 models were created, 960 bytes of variables in all; 5 of them existed at once"
    )
    of_loop = [(ROW - 9, "the loop")]
    late = [one._replace(callers=()) for one in models(0, 1, 2)]
    assert said("GPU305", capture(variables=late)) is None
    assert said("GPU305", capture(variables=late), related=of_loop) is True
    assert said("GPU305", capture(variables=models(0, 1))) is None
    assert said("GPU305", capture(variables=models(0, layers=9))) is None


def test_models_that_are_freed_when_the_next_is_built_do_not_pile_up() -> None:
    assert said("GPU305", capture(variables=models(0, 0, 1, 0, 1))) is False
    assert said("GPU305", capture(variables=models(0, 1, 2, 0, 1, 2, 0, 1))) is None


def test_tensors_that_outlive_their_step_are_kept() -> None:
    related = [(BELOW.row, "the tensor comes from here")]
    kept = capture(kept=[Kept(BELOW, "step", "CPU:0", 8, 8, 8000)])
    said_of = "8 of 8 sampled steps kept a tensor alive on CPU:0 (1 KiB per step, from `step`)"
    assert observed("GPU307", kept, related=related) == said_of
    assert said("GPU307", capture(kept=[Kept(BELOW, "step", "CPU:0", 8, 0, 0)]), related=related) is False
    assert said("GPU307", capture(kept=[Kept(BELOW, "step", "CPU:0", 8, 1, 9)]), related=related) is None
    assert said("GPU307", capture(kept=[Kept(ELSEWHERE, "step", "CPU:0", 8, 8, 9)]), related=related) is None
    of_loop = [(ELSEWHERE.row - 1, "the step loop"), *related]
    assert said("GPU307", capture(kept=[Kept(ELSEWHERE, "step", "CPU:0", 8, 8, 9)]), related=of_loop) is True


def test_growth_that_was_dropped_for_a_limit_is_confirmed() -> None:
    calls = [
        Call("tf.config.experimental.set_memory_growth", {"0": "GPU:0", "1": "True"}, "", BELOW),
        Call("tf.config.set_logical_device_configuration", {"0": "GPU:0", "1": "[…]"}, "", HERE),
    ]
    assert said("GPU306", capture(calls=calls, growth=False)) is True
    assert said("GPU306", capture(calls=calls)) is None
    forced = {"runtime": {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}}
    assert said("GPU306", capture(calls=calls, growth=False, environment=forced)) is False
    assert said("GPU306", capture(calls=calls[1:], growth=False)) is None


def test_steps_that_wait_confirm_a_slow_pipeline() -> None:
    slow = capture(waits={HERE: Wait(50, 1.0, 2.0, 50)})
    assert observed("GPU404", slow) == "training waited for input 50% of the time, 20.0 ms for each of 50 elements"
    assert said("GPU404", capture(waits={HERE: Wait(50, 0.01, 2.0, 50)})) is None
    on_gpu = capture(waits={HERE: Wait(50, 0.01, 2.0, 50)}, logical=("CPU:0", "GPU:0"))
    assert said("GPU404", on_gpu) is False
    assert said("GPU404", capture(waits={HERE: Wait(3, 1.0, 2.0, 3)})) is None


def test_reads_by_the_host_are_counted_on_the_line() -> None:
    assert said("GPU501", capture(reads=Counter({Read(HERE, "CPU:0"): 40}))) is True
    assert said("GPU501", capture(reads=Counter({Read(HERE, "CPU:0"): 2}))) is None
    apart = capture(reads=Counter({Read(ELSEWHERE, "CPU:0"): 40}))
    assert said("GPU502", apart, related=[(ELSEWHERE.row, "it is read into NumPy here")]) is True
    assert said("GPU502", apart) is None


def test_calls_of_predict_are_counted_on_the_line() -> None:
    calls = {ModelCall(HERE, "predict"): (30, 1.5)}
    assert observed("GPU503", capture(model_calls=calls)) == "`predict` was called 30 times, 50.0 ms each"
    assert said("GPU503", capture(model_calls={ModelCall(HERE, "predict"): (1, 1.5)})) is None


def test_traces_confirm_or_refute_retracing() -> None:
    function = Function("step", HERE, 9, False, "CPU:0")
    assert said("GPU504", capture(functions={("step", HERE): function})) is True
    assert said("GPU504", capture(functions={("step", HERE): function._replace(traces=1)})) is False
    assert said("GPU505", capture()) is None


def test_what_is_switched_on_and_never_off_stays_on() -> None:
    start, stop = (
        Call("tf.profiler.experimental.start", {}, "", HERE),
        Call("tf.profiler.experimental.stop", {}, "", None),
    )
    assert said("GPU506", capture(calls=[start])) is True
    assert said("GPU506", capture(calls=[start, stop])) is False
    on = Call("tf.debugging.set_log_device_placement", {"0": "True"}, "", HERE)
    off = Call("tf.debugging.set_log_device_placement", {"0": "False"}, "", ELSEWHERE)
    assert said("GPU506", capture(calls=[on])) is True
    assert said("GPU506", capture(calls=[on, off])) is False
    assert said("GPU506", capture(calls=[off])) is None


def test_operations_one_by_one_confirm_an_eager_step() -> None:
    many = ran((BELOW, "MatMul", "", "CPU:0"), times=500)
    assert said("GPU508", capture(executions=many)) is True
    assert said("GPU506", capture(executions=many)) is True
    assert said("GPU508", capture(executions=ran((BELOW, "MatMul", "", "CPU:0")))) is None
    assert said("GPU509", capture(executions=ran((HERE, "MatMul", "", "CPU:0"), times=500))) is True


def test_the_dtype_of_the_work_decides_about_float64() -> None:
    assert said("GPU604", capture(executions=ran((BELOW, "MatMul", "", "CPU:0"), dtype="float64"))) is True
    assert said("GPU604", capture(executions=ran((BELOW, "MatMul", "", "CPU:0")))) is False
    assert said("GPU604", capture()) is None


def test_kernels_of_cudnn_decide_about_recurrent_layers() -> None:
    gpu = ("CPU:0", "GPU:0")
    assert said("GPU603", capture(logical=gpu)) is True
    assert said("GPU603", capture(logical=gpu, nodes=nodes((HERE, "CudnnRNNV3", "", "GPU:0")))) is False
    assert said("GPU603", capture()) is None


def test_an_error_of_compiling_under_replicas_confirms_it() -> None:
    failed = capture(error="InvalidArgumentError: Trying to access resource kernel", compiled={"step": HERE})
    assert said("GPU215", failed) is None
    failed.strategies.append(MIRRORED)
    assert said("GPU215", failed) is True


def test_the_function_of_a_finding_is_the_one_on_its_line_or_defined_there() -> None:
    called = Function("step", Where(PATH, ROW), 3, False, "GPU:0")
    nested = Function("sampled", Where(PATH, ROW + 1), 9, False, "GPU:0")
    functions = {(one.name, one.where): one for one in (called, nested)}
    assert "`step`" in observed("GPU504", capture(functions=functions))
    far = nested._replace(where=ELSEWHERE)
    defined = {("sampled", HERE, "trace"): Traced(9, 1.0, (), 8, 0.9)}
    found = capture(functions={("sampled", ELSEWHERE): far}, traced=defined)
    assert "`sampled`" in observed("GPU505", found)
    assert said("GPU505", capture(functions={("sampled", ELSEWHERE): far})) is None
