"""Why operations are on the host."""

from __future__ import annotations

import pytest

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Kernel, Node
from gpulint.probe.measures.reasons import HOST_MEMORY, NO_GPU, REQUESTED, is_heavy, kernel_of, reason

WITH_GPU = Capture(physical=("CPU:0", "GPU:0"), logical=("CPU:0", "GPU:0"))
WITHOUT = Capture(physical=("CPU:0",), logical=("CPU:0", "CPU:1"))


def of(op: str, dtype: str = "float32", requested: str = "", device: str = "CPU:0", capture: Capture = WITH_GPU) -> str:
    return reason(Execution(None, op, requested, device, dtype), capture)


@pytest.mark.parametrize(
    ("op", "dtype", "requested", "expected"),
    [
        ("ParallelMapDatasetV2", "variant", "", "tf.data"),
        ("IteratorGetNext", "resource", "", "tf.data"),
        ("Identity", "float32", "", "bookkeeping"),
        ("MatMul", "float32", "CPU:0", REQUESTED),
        ("DecodePng", "string", "GPU:0", "no GPU kernel for DecodePng of string"),
        ("MatMul", "int32", "", "no GPU kernel for MatMul of int32"),
        ("AddV2", "int32", "", HOST_MEMORY),
        ("MatMul", "float32", "", ""),
        ("Conv2D", "float16", "GPU:0", ""),
    ],
)
def test_an_operation_on_the_host_of_a_machine_with_a_gpu_has_its_reason(
    op: str, dtype: str, requested: str, expected: str
) -> None:
    assert of(op, dtype, requested) == expected


def test_without_a_gpu_that_is_the_reason_unless_there_is_no_kernel_either() -> None:
    assert of("MatMul", capture=WITHOUT) == NO_GPU
    assert of("MatMul", device="CPU:1", requested="GPU:0", capture=WITHOUT) == NO_GPU
    assert of("DecodePng", "string", capture=WITHOUT) == "no GPU kernel for DecodePng of string"


def test_what_is_on_a_gpu_needs_no_reason() -> None:
    assert of("MatMul", device="GPU:0") == ""


def test_functions_of_a_pipeline_are_on_the_host() -> None:
    node = Node(None, "MatMul", "", "CPU:0", "", "float32", "tf.data")
    assert reason(node, WITH_GPU) == "tf.data"
    assert reason(node._replace(part="step"), WITH_GPU) == ""


def test_the_registry_of_the_tensorflow_that_ran_counts_before_the_table() -> None:
    asked = Capture(logical=("CPU:0", "GPU:0"), kernels={("MatMul", "float32"): Kernel(False, False)})
    assert kernel_of("MatMul", "float32", asked) == Kernel(False, False)
    assert kernel_of("MatMul", "float32", WITH_GPU) == Kernel(True, False)
    assert kernel_of("NoSuchOp", "float32", WITH_GPU) is None


@pytest.mark.parametrize("op", ["MatMul", "Conv2DBackpropFilter", "CudnnRNNV3", "RFFT2D", "Einsum", "_FusedConv2D"])
def test_these_are_what_a_gpu_is_for(op: str) -> None:
    assert is_heavy(op)
    assert not is_heavy("AddV2")
