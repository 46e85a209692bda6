"""FLOP and bytes of single operations."""

from __future__ import annotations

from typing import Any

import pytest

from gpulint.estimate.graph import Operation, Tensor
from gpulint.estimate.time.kinds import _KINDS, KINDS, SLOTS
from gpulint.estimate.time.work import NOTHING, Work, work_of
from tests.estimate.time.made import op, tensor
from tests.estimate.traced import traced


def work(kind: str, inputs: list[Tensor], outputs: list[Tensor], **attributes: Any) -> Work:
    found = work_of(op("one", kind, outputs=outputs, attributes=attributes), inputs)
    assert found is not None
    return found


def test_a_type_has_one_kind() -> None:
    assert sum(len(names) for names, _ in _KINDS) == len(KINDS)


@pytest.mark.tensorflow
def test_every_type_in_the_table_is_one_of_tensorflows() -> None:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session as session

    listed = op_def_pb2.OpList()
    listed.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    names = {one.name for one in listed.op}
    assert set(KINDS) <= names
    assert {f"ResourceApply{one}" for one in SLOTS} <= names


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "attributes", "flops"),
    [
        ("MatMul", [(8, 32), (32, 16)], [(8, 16)], {}, 2 * 8 * 32 * 16),
        ("MatMul", [(32, 8), (32, 16)], [(8, 16)], {"transpose_a": True}, 2 * 8 * 32 * 16),
        ("BatchMatMulV2", [(4, 8, 32), (4, 32, 16)], [(4, 8, 16)], {}, 4 * 2 * 8 * 32 * 16),
        ("BatchMatMulV2", [(4, 32, 8), (4, 32, 16)], [(4, 8, 16)], {"adj_x": True}, 4 * 2 * 8 * 32 * 16),
        ("Einsum", [(4, 8, 32), (32, 16)], [(4, 8, 16)], {"equation": "abc,cd->abd"}, 4 * 2 * 8 * 32 * 16),
        ("Einsum", [(4, 5, 8, 32), (32, 16)], [(4, 5, 8, 16)], {"equation": "...c,cd->...d"}, 4 * 5 * 2 * 8 * 32 * 16),
        ("Einsum", [(4, 8)], [(4,)], {"equation": "ab->a"}, 32),
        ("Conv2D", [(2, 9, 9, 3), (3, 3, 3, 16)], [(2, 9, 9, 16)], {}, 2 * 2 * 81 * 16 * 27),
        ("Conv2D", [(2, 9, 9, 8), (3, 3, 2, 16)], [(2, 9, 9, 16)], {}, 2 * 2 * 81 * 16 * 18),  # four groups
        ("Conv2DBackpropInput", [(4,), (3, 3, 3, 16), (2, 9, 9, 16)], [(2, 9, 9, 3)], {}, 2 * 2 * 81 * 16 * 27),
        ("Conv2DBackpropFilter", [(2, 9, 9, 3), (4,), (2, 9, 9, 16)], [(3, 3, 3, 16)], {}, 2 * 2 * 81 * 16 * 27),
        ("DepthwiseConv2dNative", [(2, 9, 9, 8), (3, 3, 8, 1)], [(2, 9, 9, 8)], {}, 2 * 2 * 81 * 8 * 9),
        ("Conv3D", [(2, 5, 9, 9, 3), (3, 3, 3, 3, 4)], [(2, 5, 9, 9, 4)], {}, 2 * 2 * 405 * 4 * 81),
        ("CudnnRNNV3", [(10, 2, 8), (1, 2, 16)], [(10, 2, 16)], {"rnn_mode": "lstm"}, 2 * 10 * 2 * 4 * 16 * 24),
        ("CudnnRNNV3", [(10, 2, 8), (1, 2, 16)], [(10, 2, 16)], {"rnn_mode": "gru"}, 2 * 10 * 2 * 3 * 16 * 24),
        (
            "CudnnRNNV3",
            [(2, 10, 8), (2, 1, 16)],
            [(2, 10, 16)],
            {"rnn_mode": "gru", "time_major": False},
            2 * 10 * 2 * 3 * 16 * 24,
        ),
        (
            "CudnnRNNBackpropV3",
            [(10, 2, 8), (4, 2, 16)],
            [(10, 2, 8)],
            {"rnn_mode": "lstm", "direction": "bidirectional"},
            2 * (2 * 2 * 10 * 2 * 4 * 16 * (24 + 48)),
        ),
    ],
)
def test_flops_of_matrix_products(
    kind: str, inputs: list[Any], outputs: list[Any], attributes: dict[str, Any], flops: float
) -> None:
    found = work(kind, [tensor(*one) for one in inputs], [tensor(*one) for one in outputs], **attributes)
    assert found.is_matrix
    assert found.flops == flops


def test_bytes_count_each_tensor_once() -> None:
    found = work("Mul", [tensor(256, 4), tensor(4)], [tensor(256, 4)])
    assert (found.flops, found.read, found.written) == (1024, (4096, 16), (4096,))
    assert found.bytes == 4096 + 16 + 4096


def test_what_a_slice_leaves_out_is_not_read() -> None:
    assert work("StridedSlice", [tensor(1000, 8)], [tensor(8)]).bytes == 2 * 32
    assert work("GatherV2", [tensor(100_000, 64), tensor(8, dtype="int64")], [tensor(8, 64)]).bytes == 2 * 2048


def test_an_optimizer_changes_the_variable_and_its_slots() -> None:
    state = Tensor("resource", ())
    adam = work("ResourceApplyAdam", [state, state, state, tensor(), tensor(100)], [])
    assert (sum(adam.read), sum(adam.written)) == (4 * 400, 3 * 400)
    plain = work("AssignSubVariableOp", [state, tensor(100)], [])
    assert (sum(plain.read), sum(plain.written)) == (2 * 400, 400)


def test_reshapes_reads_of_variables_and_sizes_need_no_kernel() -> None:
    assert work("Reshape", [tensor(4, 4), tensor(1, dtype="int32")], [tensor(16)]) == NOTHING
    assert work("ReadVariableOp", [Tensor("resource", ())], [tensor(16)]) == NOTHING
    assert work("Mul", [tensor(dtype="int32"), tensor(dtype="int32")], [tensor(dtype="int32")]) == NOTHING
    assert work("Cast", [tensor(4, dtype="int32")], [tensor(4)]).has_kernel


def test_what_runs_on_the_host_needs_no_kernel() -> None:
    on_host = Operation("one", "Mul", outputs=(tensor(4),), device="CPU:0")
    assert work_of(on_host, [tensor(4), tensor(4)]) == NOTHING
    size = Operation("one", "Unique", outputs=(tensor(4),), host_outputs=(0,))
    assert work_of(size, [tensor(4)]) is None  # no cost model, wherever its output is


def test_a_type_without_a_model_is_unknown() -> None:
    assert work_of(op("one", "FFT2D", outputs=[tensor(4, 4, dtype="complex64")]), [tensor(4, 4)]) is None


def test_an_unknown_shape_counts_in_part() -> None:
    found = work("Mul", [tensor(None, 4), tensor(4)], [tensor(None, 4)])
    assert not found.is_sized and found.has_kernel
    assert found.bytes == 16
    assert work("MatMul", [tensor(None, 4), tensor(4, 4)], [tensor(None, 4)]).flops == 0


def test_the_shape_of_cudnns_reserve_space_does_not_matter() -> None:
    inputs = [tensor(10, 2, 8), tensor(1, 2, 16)]
    outputs = [tensor(10, 2, 16), tensor(1, 2, 16), tensor(1, 2, 16), Tensor("float32", None)]
    found = work("CudnnRNNV3", inputs, outputs, rnn_mode="lstm")
    assert found.is_sized and found.flops == 2 * 10 * 2 * 4 * 16 * 24


@pytest.mark.parametrize(
    ("kind", "source", "state", "attributes", "kernels"),
    [
        ("CudnnRNNV3", (200, 32, 64), (1, 32, 256), {}, 2 * 200),
        ("CudnnRNNV3", (32, 200, 64), (32, 1, 256), {"time_major": False}, 2 * 200),
        ("CudnnRNNBackpropV3", (200, 32, 64), (4, 32, 256), {"direction": "bidirectional"}, 2 * 200 * 4),
        ("CudnnRNNV2", (200, 32, 64), (1, 32, 256), {}, 0),
    ],
)
def test_recurrent_layers_launch_two_kernels_for_each_time_step(
    kind: str, source: tuple[int, ...], state: tuple[int, ...], attributes: dict[str, Any], kernels: int
) -> None:
    found = work(kind, [tensor(*source), tensor(*state)], [tensor(*source[:2], 256)], **attributes)
    assert found.kernels == kernels


def test_a_reduction_is_known_by_its_input() -> None:
    found = work("Sum", [tensor(256, 4), tensor(None, dtype="int32")], [Tensor("float32", None)])
    assert found.is_sized
    assert (found.flops, found.bytes) == (1024, 4096)


def test_only_plain_3x3_convolutions_have_a_faster_algorithm() -> None:
    inputs = [tensor(2, 9, 9, 8), tensor(3, 3, 8, 16)]
    assert work("Conv2D", inputs, [tensor(2, 9, 9, 16)], strides=(1, 1, 1, 1)).multiplications < 1
    assert work("Conv2D", inputs, [tensor(2, 5, 5, 16)], strides=(1, 2, 2, 1)).multiplications == 1
    assert work("MatMul", [tensor(8, 8), tensor(8, 8)], [tensor(8, 8)]).multiplications == 1


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("ResNet50", 3.8e9),  # He et al., Deep Residual Learning for Image Recognition, table 1
        ("MobileNetV2", 300e6),  # Sandler et al., MobileNetV2, table 4
    ],
)
def test_flops_of_a_model_are_those_published(name: str, published: float) -> None:
    """Papers count a multiplication with its addition as one, and only in convolutions and products."""
    import keras
    import tensorflow as tf

    from gpulint.estimate.time.bounds import steps_of

    model = getattr(keras.applications, name)(weights=None)
    concrete = tf.function(lambda x: model(x, training=False)).get_concrete_function(
        tf.TensorSpec((1, 224, 224, 3), tf.float32)
    )
    steps = steps_of(traced(concrete))
    flops = sum(job.work.flops * job.times for job in steps.jobs if job.work.is_matrix)
    assert flops / 2 == pytest.approx(published, rel=0.03)
    assert not steps.unknown
