"""What each metric measures, and that it is unknown without evidence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.capture.records import (
    Card,
    Copy,
    Execution,
    Function,
    Node,
    Sample,
    Steps,
    Strategy,
    Variable,
    Where,
)
from gpulint.probe.expectations.expression import parse
from gpulint.probe.expectations.metrics import METRICS, Measured, Unknown

HERE = Where("/p/a.py", 3)
GIB = 1 << 30
CREATED = (
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 8192 MB memory:  -> device: 0, name: Tesla K80, "
    "pci bus id: 0000:86:00.0, compute capability: 3.7"
)


def measured(capture: Capture, subject: str) -> Measured | Unknown:
    metric, _, argument = subject.rstrip("]").partition("[")
    found = next(one for one in METRICS if one.name == metric)
    return found.measure(capture, argument)


def value(capture: Capture, subject: str) -> float:
    found = measured(capture, subject)
    assert isinstance(found, Measured), found
    return found.value


def reason(capture: Capture, subject: str) -> str:
    found = measured(capture, subject)
    assert isinstance(found, Unknown), found
    return found.reason


def ran(**counts: int) -> Capture:
    """Eager operations, `MatMul_on_GPU_0=3`, and the same as nodes."""
    executions: Counter[Execution] = Counter()
    for name, count in counts.items():
        op, _, device = name.partition("_on_")
        executions[Execution(HERE, op, "", device.replace("_", ":"))] = count
    return Capture(executions=executions, tensorflow={"tensorflow": "2.21.0"}, logical=("CPU:0", "GPU:0", "GPU:1"))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_nothing_is_measured_in_an_empty_run(metric: object) -> None:
    """Without evidence there is no value, so that nothing can pass."""
    name = metric.form  # type: ignore[attr-defined]
    assert reason(Capture(), name.replace("DEVICE", "GPU:0").replace("FUNCTION", "step"))


def test_the_share_of_operations_leaves_bookkeeping_out() -> None:
    capture = ran(MatMul_on_GPU_0=3, AddV2_on_CPU_0=1, Const_on_CPU_0=50)
    assert value(capture, "ops.on_gpu") == value(capture, "ops.on[GPU:0]") == 0.75
    assert value(capture, "ops.on[GPU:1]") == 0
    assert value(capture, "ops.on_cpu") == 0.25
    found = measured(capture, "ops.on_gpu")
    assert isinstance(found, Measured)
    assert found.evidence == ("3 of 4 there", "1 × AddV2 on CPU:0")


def test_what_has_no_kernel_for_a_gpu_is_not_missed_there() -> None:
    capture = ran(MatMul_on_GPU_0=3)
    capture.executions[Execution(HERE, "DecodePng", "", "CPU:0", "string")] = 5
    capture.executions[Execution(HERE, "Mul", "", "CPU:0", "int32")] = 5
    assert value(capture, "ops.on_gpu") == 1
    assert value(capture, "ops.on_cpu") == 10 / 13
    capture.executions[Execution(HERE, "MatMul", "CPU:0", "CPU:0", "float32")] = 1
    assert value(capture, "ops.on_gpu") == 0.75


def test_nodes_of_graphs_and_functions_that_xla_compiles_count_as_operations() -> None:
    capture = ran(MatMul_on_CPU_0=1)
    capture.nodes[Node(HERE, "MatMul", "", "GPU:0", "")] = 2
    capture.functions["f", HERE] = Function("f", HERE, 1, True, "GPU:0", graph=False)
    assert value(capture, "ops.on_gpu") == 0.75


def test_a_function_whose_graph_was_not_seen_leaves_the_share_open() -> None:
    capture = ran(MatMul_on_GPU_0=3)
    capture.functions["f", HERE] = Function("f", HERE, 1, False, "GPU:0", graph=False)
    for subject in ("ops.on_gpu", "copies.in_graphs", "devices.gpu.idle"):
        assert reason(capture, subject) == "no graph was recorded for `f`"


def test_the_placement_log_serves_where_there_is_nothing_else() -> None:
    log = Log(placed=Counter({("MatMul", "GPU:0"): 3, ("Const", "CPU:0"): 9}), ran=Counter({("Add", "CPU:0"): 1}))
    capture = Capture(logs={"stdout": log, "stderr": Log(placed=Counter({("MatMul", "GPU:0"): 3}))})
    assert value(capture, "ops.on_gpu") == 0.75


def test_variables_are_measured_in_bytes() -> None:
    variables = [
        Variable("kernel", (3,), "float32", 300, "GPU:0", HERE),
        Variable("bias", (1,), "float32", 100, "CPU:0", HERE),
    ]
    capture = Capture(variables=variables)
    assert value(capture, "variables.on_gpu") == 0.75
    assert value(capture, "variables.on_cpu") == value(capture, "variables.on[CPU:0]") == 0.25


def test_peaks_are_those_of_the_devices_that_are_meant() -> None:
    samples = [
        Sample(1.0, "build", {"GPU:0": (1, 5), "GPU:1": (1, 7), "CPU:0": (1, 90)}),
        Sample(2.0, "steps", {"GPU:0": (2, 6), "GPU:1": (1, 2), "CPU:0": (0, 1)}),
    ]
    capture = Capture(memory=samples, resident=[(1.0, 10), (2.0, 30), (3.0, 20)])
    assert value(capture, "memory.peak[GPU:0]") == 6
    assert value(capture, "memory.peak[GPU]") == 7
    assert value(capture, "memory.peak") == 90
    assert value(capture, "memory.host.peak") == 30
    assert reason(capture, "memory.peak[GPU:7]") == "memory is unknown for GPU:7"
    assert "oneDNN" in reason(Capture(memory=[Sample(1.0, "build", {"CPU:0": (0, 0)})]), "memory.peak")


def test_traces_are_those_of_a_function_or_the_most_of_any() -> None:
    functions = {(name, HERE): Function(name, HERE, traces, False, "CPU:0") for name, traces in (("f", 2), ("g", 9))}
    capture = Capture(functions=functions)
    assert value(capture, "traces[f]") == 2
    assert value(capture, "traces.max") == 9
    assert reason(capture, "traces[h]") == "`h` was not run; these were: `f`, `g`"


def test_copies_in_graphs_are_counted() -> None:
    capture = Capture(
        functions={("f", HERE): Function("f", HERE, 1, False, "CPU:0")},
        copies=Counter({Copy("_Send", "GPU:0", "CPU:0"): 2, Copy("_HostSend", "GPU:0", "CPU:0"): 1}),
    )
    capture.copies[Copy("EagerCopy", "GPU:0", "CPU:0")] = 9
    found = measured(capture, "copies.in_graphs")
    assert found == Measured(3, ("3 from GPU:0 to CPU:0",))


def test_copies_of_a_step_are_those_of_one_trace() -> None:
    capture = Capture(
        functions={(name, HERE): Function(name, HERE, 2, False, "CPU:0") for name in ("step", "init")},
        copies=Counter({Copy("_Send", "GPU:0", "CPU:0", in_step=True): 6, Copy("_Send", "CPU:0", "GPU:0"): 40}),
    )
    assert reason(capture, "copies.per_step") == "no training step was seen"
    capture.steps["step", HERE] = Steps("step", HERE, 100, 1.0, 0.1)
    assert measured(capture, "copies.per_step") == Measured(3, ("6 from GPU:0 to CPU:0",))
    capture.functions["step", HERE] = capture.functions["step", HERE]._replace(graph=False)
    assert reason(capture, "copies.per_step") == "no graph was recorded for `step`"
    capture.steps = {(EAGER_STEP, HERE): Steps(EAGER_STEP, HERE, 100, 1.0, 0.1)}
    assert "eagerly" in reason(capture, "copies.per_step")


def test_eager_operations_per_step_are_those_after_the_warm_up() -> None:
    capture = Capture(
        tensorflow={"tensorflow": "2.21.0"},
        eager=Counter({("build", "MatMul"): 100, ("steps", "AddV2"): 20, ("steps", "Const"): 70}),
        taken=Counter({"warm-up": 3, "steps": 10}),
    )
    assert value(capture, "eager_ops.per_step") == 2
    assert value(capture, "eager_ops") == 120
    assert value(capture, "steps") == 13


def test_the_time_of_a_step_is_the_mean() -> None:
    steps = {("f", HERE): Steps("f", HERE, 4, 2.0, 1.0)}
    assert value(Capture(steps=steps), "step.mean") == 0.5
    assert value(Capture(end={"seconds": 3.5}), "seconds") == 3.5


def test_without_a_strategy_there_is_one_replica() -> None:
    assert value(ran(), "replicas") == 1
    capture = ran()
    capture.strategies = [Strategy(1, "MirroredStrategy", ("GPU:0", "GPU:1"), 2, HERE)]
    assert value(capture, "replicas") == 2


def test_where_the_watching_began_late_what_may_have_been_missed_is_unknown() -> None:
    capture = ran(MatMul_on_GPU_0=1)
    capture.lost.append(("what ran before", "TensorFlow was already in use when watching began"))
    capture.functions["f", HERE] = Function("f", HERE, 1, True, "GPU:0", graph=False)
    assert "before watching began" in reason(capture, "replicas")
    assert "before watching began" in reason(capture, "steps")


def test_devices_are_counted_and_idle_ones_found() -> None:
    capture = ran(MatMul_on_GPU_0=1, MatMul_on_GPU_1=1)
    assert value(capture, "devices.gpu") == 2
    assert value(capture, "devices.cpu") == 1
    assert "no training step" in reason(capture, "devices.gpu.idle")
    capture.steps["step", HERE] = Steps("step", HERE, 9, 1.0, 0.1)
    capture.nodes[Node(HERE, "MatMul", "", "GPU:0", "", part="step")] = 1
    assert measured(capture, "devices.gpu.idle") == Measured(1, ("GPU:1",))
    capture.logical = ("CPU:0",)
    assert "no GPU" in reason(capture, "devices.gpu.idle")


def test_what_divides_the_input_of_a_strategy_is_no_work() -> None:
    capture = ran(MatMul_on_GPU_0=3)
    capture.executions[Execution(HERE, "Pack", "", "CPU:0", "float32", "tf.data")] = 50
    assert value(capture, "ops.on_gpu") == 1


def test_the_utilisation_is_that_of_the_card_a_device_is_on() -> None:
    samples = [Sample(float(t), "steps", {"GPU:0": (1, 1)}) for t in range(10)]
    cards = [Card(float(t), "0000:86:00.0", "Tesla K80", 8 * GIB, GIB, GIB, 0, 40) for t in range(10)]
    capture = Capture(memory=samples, cards=cards, logs={"stderr": Log(messages=[CREATED])})
    assert value(capture, "utilisation[GPU:0]") == pytest.approx(0.4)
    assert "samples of the card" in reason(Capture(memory=samples, cards=cards), "utilisation[GPU:0]")


def test_the_documentation_lists_every_metric_as_it_is() -> None:
    text = (Path(__file__).parents[3] / "docs" / "expectations.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    for metric in METRICS:
        assert f"| `{metric.form}` | {metric.kind} | {metric.help} |" in rows
    for line in text.splitlines():
        if line.startswith("gpulint probe --expect '"):
            parse(line.split("'")[1])
