"""Memory of kernels by kind: what cuDNN keeps, what a convolution tries, what a product is divided into."""

from __future__ import annotations

import pytest

from gpulint.estimate.graph import Edge, Operation, Tensor
from gpulint.estimate.memory.kernels import opaque_size, takes_over, tuning_memory


def tensor(*shape: int | None, dtype: str = "float32") -> Tensor:
    return Tensor(dtype, shape)


def recurrent(mode: str, layers: int = 1) -> Operation:
    sequence, state = tensor(4, 10, 8), tensor(4, layers, 8)
    outputs = (sequence, state, state, Tensor("float32", None), Tensor("int8", None))
    return Operation("r", "CudnnRNNV3", outputs=outputs, attributes={"rnn_mode": mode})


@pytest.mark.parametrize(("mode", "times"), [("lstm", 10), ("gru", 8), ("rnn_tanh", 4)])
def test_the_reserve_space_keeps_gates_twice_state_and_output(mode: str, times: int) -> None:
    assert opaque_size(recurrent(mode), 3) == times * 4 * 10 * 8 * 4
    assert opaque_size(recurrent(mode), 4) == 0
    assert opaque_size(recurrent(mode), 0) is None


def test_each_layer_of_a_recurrent_operation_has_its_reserve_space() -> None:
    assert opaque_size(recurrent("lstm", layers=2), 3) == 2 * (opaque_size(recurrent("lstm"), 3) or 0)


def convolution(
    kind: str = "Conv2D", side: int = 3, stride: int = 1, dtype: str = "float32"
) -> tuple[int, tuple[int, ...]]:
    image, kernel = tensor(8, 16, 28, 28, dtype=dtype), tensor(side, side, 16, 64, dtype=dtype)
    result = tensor(8, 64, 28 // stride, 28 // stride, dtype=dtype)
    attributes = {"data_format": "NCHW", "strides": (1, 1, stride, stride)}
    if kind == "Conv2DBackpropInput":
        return tuning_memory(Operation("c", kind, outputs=(image,), attributes=attributes), (tensor(4), kernel, result))
    if kind == "Conv2DBackpropFilter":
        return tuning_memory(Operation("c", kind, outputs=(kernel,), attributes=attributes), (image, tensor(4), result))
    return tuning_memory(Operation("c", kind, outputs=(result,), attributes=attributes), (image, kernel))


def test_the_largest_workspace_holds_spectra_of_input_output_and_twice_the_filter() -> None:
    spectrum = 8 * 32 * 17
    result, workspaces = convolution()
    assert (result, max(workspaces)) == (8 * 64 * 28 * 28 * 4, spectrum * (8 * (16 + 64) + 2 * 16 * 64))


def test_gradients_of_a_convolution_try_the_same() -> None:
    spectra = 8 * 32 * 17 * (8 * (16 + 64) + 2 * 16 * 64)
    for kind, size in (("Conv2DBackpropInput", 8 * 16 * 28 * 28 * 4), ("Conv2DBackpropFilter", 3 * 3 * 16 * 64 * 4)):
        result, workspaces = convolution(kind)
        assert (result, max(workspaces)) == (size, spectra)


@pytest.mark.parametrize(("stride", "dtype"), [(2, "float32"), (1, "float16")])
def test_transforms_need_stride_one_and_float32(stride: int, dtype: str) -> None:
    width = 2 if dtype == "float16" else 4
    assert convolution(stride=stride, dtype=dtype) == (8 * 64 * (28 // stride) ** 2 * width, ())


def test_a_workspace_beyond_the_limit_is_not_tried() -> None:
    image, kernel, result = tensor(1, 4096, 28, 28), tensor(3, 3, 4096, 4096), tensor(1, 4096, 28, 28)
    attributes = {"data_format": "NCHW", "strides": (1, 1, 1, 1)}
    assert tuning_memory(Operation("c", "Conv2D", outputs=(result,), attributes=attributes), (image, kernel)) == (
        result.bytes,
        (),
    )


def test_unknown_shapes_are_not_guessed() -> None:
    operation = Operation("c", "Conv2D", outputs=(tensor(None, 64, 28, 28),))
    assert tuning_memory(operation, (tensor(None, 16, 28, 28), tensor(3, 3, 16, 64))) == (0, ())


def test_of_convolutions_of_volumes_only_the_result_is_known() -> None:
    image, kernel, result = tensor(2, 8, 8, 8, 4), tensor(3, 3, 3, 4, 16), tensor(2, 8, 8, 8, 16)
    assert tuning_memory(Operation("c", "Conv3D", outputs=(result,)), (image, kernel)) == (result.bytes, ())
    assert tuning_memory(Operation("m", "MatMul", outputs=(result,)), (image, kernel)) == (0, ())


def test_which_inputs_an_output_takes_over() -> None:
    edges = (Edge(0, 0), Edge(1, 0))
    assert list(takes_over(Operation("a", "AddV2", edges), 0)) == [0, 1]
    assert list(takes_over(Operation("a", "Relu", edges[:1]), 0)) == [0]
    assert list(takes_over(Operation("a", "MatMul", edges), 0)) == []
    assert list(takes_over(Operation("a", "SparseSoftmaxCrossEntropyWithLogits", edges), 1)) == [0]
