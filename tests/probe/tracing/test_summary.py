"""Summaries of traces of GPUs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from gpulint.probe.capture.records import Where
from gpulint.probe.capture.windows import Window as Read
from gpulint.probe.tracing.summary import Window, summary
from gpulint.probe.tracing.xspace import Trace, Unreadable, schema
from tests.probe.tracing.traces import BEGAN, Planes, moment

pytestmark = pytest.mark.skipif(find_spec("tensorflow") is None, reason="needs TensorFlow's definition of a trace")


def told(planes: Planes, folder: Path, ended: float = 1000, **fields: Any) -> Read:
    window = Window(moment(0), moment(ended), fields.pop("steps", 2), **fields)
    return Read.of(summary(planes.trace(folder), window), lambda file, row: Where(f"file {file}", row))


def near(seconds: float) -> Any:
    return pytest.approx(seconds, abs=1e-6)


def near_each(*microseconds: float) -> tuple[Any, ...]:
    return tuple(near(one / 1e6) for one in microseconds)


def test_a_device_is_busy_while_a_kernel_runs_on_any_stream(tmp_path: Path) -> None:
    planes = Planes()
    planes.kernel("GPU:0", 100, 200)
    planes.kernel("GPU:0", 250, 100, stream=20)
    planes.kernel("GPU:0", 800, 100)
    planes.kernel("GPU:1", 0, 10)
    first, second = told(planes, tmp_path).devices
    assert (first.device, first.busy, first.kernels) == ("GPU:0", near(350e-6), 3)
    assert (first.pauses, first.idle, first.longest) == (3, near(650e-6), near(450e-6))
    assert (second.device, second.busy, second.kernels) == ("GPU:1", near(10e-6), 1)


def test_what_is_outside_of_the_window_does_not_count(tmp_path: Path) -> None:
    planes = Planes()
    planes.kernel("GPU:0", -30, 40)
    planes.kernel("GPU:0", 990, 100)
    planes.kernel("GPU:0", 2000, 100)
    (device,) = told(planes, tmp_path).devices
    assert (device.busy, device.kernels) == (near(20e-6), 2)


def test_lines_that_repeat_kernels_are_not_read(tmp_path: Path) -> None:
    planes = Planes()
    planes.kernel("GPU:0", 100, 100)
    for line in ("Steps", "XLA Modules", "XLA Ops", "TensorFlow Ops", "TensorFlow Name Scope", "Source code"):
        planes.event("/device:GPU:0", line, "1", 0, 1000, kernel_details="regs:1")
    planes.event("/host:CUPTI", "Host Threads/7", "cuLaunchKernel", 0, 1000, kernel_details="regs:1")
    (device,) = told(planes, tmp_path).devices
    assert (device.busy, device.kernels) == (near(100e-6), 1)


def test_allocations_are_no_work(tmp_path: Path) -> None:
    planes = Planes()
    planes.event("/device:GPU:0", "Stream #7(MemoryAlloc)", "cuMemAlloc", 0, 1000, memalloc_details="num_bytes:1")
    (device,) = told(planes, tmp_path).devices
    assert (device.busy, device.kernels, device.copying) == (0, 0, 0)


def test_a_cuda_graph_whose_kernels_are_not_traced_is_work(tmp_path: Path) -> None:
    planes = Planes()
    planes.event("/device:GPU:0", "Stream #7(CudaGraph)", "CudaGraphExec:1", 100, 300, cuda_graph_exec_id="1")
    (device,) = told(planes, tmp_path).devices
    assert device.busy == near(300e-6)


def test_copies_by_direction_with_their_bytes(tmp_path: Path) -> None:
    planes = Planes()
    planes.copy("GPU:0", "H2D", 0, 100, size=1 << 20)
    planes.copy("GPU:0", "H2D", 200, 50, size=1 << 10)
    planes.copy("GPU:0", "D2H", 225, 100, size=8, stream=15)
    planes.event("/device:GPU:0", "Stream #13(Memset)", "Memset 3", 500, 5, memset_details="num_bytes:4")
    window = told(planes, tmp_path)
    assert [(one.kind, one.number, one.bytes) for one in window.copies] == [
        ("D2H", 1, 8),
        ("H2D", 2, (1 << 20) + (1 << 10)),
        ("memset", 1, 0),
    ]
    (device,) = window.devices
    assert (device.busy, device.copying) == (0, near(230e-6))


def test_each_moment_is_one_of_a_state(tmp_path: Path) -> None:
    """The first that holds: computing on any device, a collective, a copy, waiting for input."""
    planes = Planes()
    planes.kernel("GPU:0", 100, 100)
    planes.kernel("GPU:1", 150, 100)
    planes.kernel("GPU:0", 200, 200, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", stream=21)
    planes.copy("GPU:1", "H2D", 350, 150)
    planes.host("tf_data_iterator_get_next/1", "IteratorGetNextOp::DoCompute", 450, 250)
    planes.host("tf_Compute/1", "IteratorGetNext:IteratorGetNext", 460, 240)
    spans = [
        ("launch", moment(0), moment(175)),
        ("python", moment(175), moment(480)),
        ("launch", moment(480), moment(1000)),
    ]
    window = told(planes, tmp_path, spans=spans)
    whole, launch, python = (window.states[state] for state in ("", "launch", "python"))
    assert whole[1:] == near_each(1000, 150, 150, 100, 200)
    assert launch[1:] == near_each(695, 75, 0, 20, 200)
    assert python[1:] == near_each(305, 75, 150, 80, 0)
    assert [one.collective for one in window.devices] == [near(200e-6), 0]


def test_waiting_is_that_of_iterators_in_functions_and_of_loops(tmp_path: Path) -> None:
    planes = Planes()
    planes.host("a", "IteratorGetNextOp::DoCompute", 0, 10)
    planes.host("b", "IteratorGetNextAsOptionalOp::DoCompute", 100, 10)
    planes.host("c", "ReduceIterator::Root::Prefetch::Scan::Map", 200, 10)  # a loop over a dataset in a function
    planes.host("c", "ReduceIterator::Root::Prefetch::Scan::Map::Batch", 200, 500)  # its own input
    planes.host("c", "ReduceIterator::Root::Prefetch::Scan", 200, 600)  # with the body of the loop
    planes.host("d", "Iterator::Root::Prefetch", 0, 1000)  # works ahead
    assert told(planes, tmp_path).host == {"input": (3, near(30e-6))}


def test_kernels_by_name_and_by_the_line_of_their_operation(tmp_path: Path) -> None:
    planes = Planes()
    planes.kernel("GPU:0", 0, 30, name="sgemm", op="StatefulPartitionedCall/dense/MatMul:MatMul")
    planes.kernel("GPU:0", 100, 20, name="relu", op="dense/Relu:Relu")
    planes.kernel("GPU:0", 200, 10, name="relu", op="other/Relu:Relu")
    planes.kernel("GPU:0", 300, 5, name="relu")
    window = told(planes, tmp_path, places={"dense/MatMul": (0, 7), "dense/Relu": (0, 7)})
    assert [(one.name, one.number, one.seconds) for one in window.kernels] == [
        ("relu", 3, near(35e-6)),
        ("sgemm", 1, near(30e-6)),
    ]
    assert [(one.where, one.number, one.seconds) for one in window.lines] == [(Where("file 0", 7), 2, near(50e-6))]


def test_kernels_that_xla_compiled_have_the_line_of_the_operation_that_they_come_from(tmp_path: Path) -> None:
    planes = Planes()
    details = {"kernel_details": "regs:32", "tf_op": "XlaLaunch:XlaLaunch", "hlo_module": "a_inference_step_12"}
    stream = "Stream #13(Compute)"
    planes.event("/device:GPU:0", stream, "fusion_1", 0, 30, **details, name="dense/MatMul", prefix="model")
    planes.event("/device:GPU:0", stream, "fusion_2", 50, 20, **details, name="model/dense/Relu")
    planes.event("/device:GPU:0", stream, "fusion_3", 90, 10, **details)
    places = {"model/dense/MatMul": (0, 7), "model/dense/Relu": (0, 8)}
    window = told(planes, tmp_path, places=places)
    assert [(one.where, one.seconds) for one in window.lines] == [
        (Where("file 0", 7), near(30e-6)),
        (Where("file 0", 8), near(20e-6)),
    ]


def test_the_line_of_a_node_is_not_that_of_an_eager_operation_of_the_same_name(tmp_path: Path) -> None:
    planes = Planes()
    planes.kernel("GPU:0", 0, 30, op="MatMul:MatMul")
    planes.kernel("GPU:0", 100, 30, op="Relu:Relu")
    planes.host("python", "EagerLocalExecute: MatMul", 0, 10)
    window = told(planes, tmp_path, places={"MatMul": (0, 7), "Relu": (0, 8)})
    assert [one.where for one in window.lines] == [Where("file 0", 8)]


def test_as_many_kernels_as_a_card_ran(tmp_path: Path) -> None:
    """64 of 512 steps of five Dense layers on an H200: 64 kernels a step, 4.9 % of the time."""
    kernels, copies, busy, lasted = 4_102, 132, 0.120492262 / 8, 2_437_658 / 8
    planes = Planes()
    for number in range(kernels):
        planes.kernel("GPU:0", number * lasted / kernels, busy / kernels * 1e6)
    for number in range(copies):
        planes.copy("GPU:0", "H2D", number * lasted / copies + 40, 2.865, size=131_072)
    window = told(planes, tmp_path, ended=lasted, steps=64)
    (device,) = window.devices
    assert (device.kernels, device.kernels / window.steps) == (kernels, pytest.approx(64.1, abs=0.01))
    assert device.busy == pytest.approx(busy, rel=1e-3)
    assert device.busy / window.seconds == pytest.approx(0.0494, abs=1e-4)
    assert [(one.kind, one.number, one.bytes) for one in window.copies] == [("H2D", copies, copies * 131_072)]


def test_times_are_those_of_the_wall_clock(tmp_path: Path) -> None:
    """Times keep their microseconds, although nanoseconds since the epoch have 19 digits."""
    planes = Planes()
    planes.kernel("GPU:0", 0.25, 1.5)
    (one,) = planes.trace(tmp_path).of_device("GPU:0")
    assert (one.began - BEGAN, one.ended - one.began) == (250, 1500)


def test_a_device_that_did_nothing_is_idle_and_one_that_was_not_traced_is_unknown(tmp_path: Path) -> None:
    planes = Planes()
    assert told(planes, tmp_path).devices == ()
    planes.plane("/device:GPU:0")
    (device,) = told(planes, tmp_path).devices
    assert (device.busy, device.idle, device.pauses) == (0, near(1000e-6), 1)


def test_what_the_profiler_says_is_missing(tmp_path: Path) -> None:
    planes = Planes()
    planes.space.warnings.append("7 events dropped")
    assert told(planes, tmp_path).warnings == ("7 events dropped",)


@pytest.mark.parametrize(
    ("content", "reason"), [(b"\xff" * 9, "the trace is damaged"), (b"", "the trace does not say when it began")]
)
def test_a_file_that_is_no_trace(content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(Unreadable, match=reason):
        Trace(str(tmp_path / "a"), schema())
