"""Copies of operands that kernels make while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpulint.estimate.graph import Attribute, Tensor
from gpulint.estimate.memory.copies import copied
from gpulint.estimate.memory.liveness import play
from tests.estimate.made import Graph
from tests.estimate.traced import traced


def of(kind: str, given: tuple[Tensor, ...], result: Tensor, **attributes: Attribute) -> int:
    graph = Graph()
    inputs = [graph.add("RandomUniform", outputs=(one,)) for one in given]
    graph.add(kind, *inputs, outputs=(result,), attributes=attributes)
    body = graph.step().body
    return copied(body, body.operations[-1])


def floats(*shape: int) -> Tensor:
    return Tensor("float32", shape)


KERNEL = 4 * 3 * 3 * 8 * 16


@pytest.mark.parametrize(
    ("padding", "stride", "side", "padded"),
    [("SAME", 2, 32, 33), ("SAME", 2, 33, None), ("SAME", 1, 32, None), ("VALID", 2, 32, None)],
)
@pytest.mark.parametrize("kind", ["Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"])
def test_an_image_is_copied_that_needs_more_padding_on_one_side(
    kind: str, padding: str, stride: int, side: int, padded: int | None
) -> None:
    image, kernel, result = floats(2, 8, side, side), floats(3, 3, 8, 16), floats(2, 16, 16, 16)
    by_kind = {
        "Conv2D": ((image, kernel), result),
        "Conv2DBackpropInput": ((floats(4), kernel, result), image),
        "Conv2DBackpropFilter": ((image, floats(4), result), kernel),
    }
    size = of(kind, *by_kind[kind], data_format="NCHW", padding=padding, strides=(1, 1, stride, stride))
    assert size == KERNEL + (4 * 2 * 8 * padded * padded if padded else 0)


def test_a_dilated_window_is_as_wide_as_it_reaches() -> None:
    image, kernel, result = floats(2, 8, 32, 32), floats(2, 2, 8, 16), floats(2, 16, 32, 32)
    common = {"data_format": "NCHW", "padding": "SAME", "strides": (1, 1, 1, 1)}
    assert of("Conv2D", (image, kernel), result, **common, dilations=(1, 1, 1, 1)) == 4 * (512 + 2 * 8 * 33 * 33)
    assert of("Conv2D", (image, kernel), result, **common, dilations=(1, 1, 2, 2)) == 4 * 512


def test_a_window_of_one_element_is_a_matrix_product_if_channels_are_last() -> None:
    image, kernel, result = floats(2, 32, 32, 8), floats(1, 1, 8, 16), floats(2, 32, 32, 16)
    assert of("Conv2D", (image, kernel), result, padding="SAME", strides=(1, 1, 1, 1)) == 0
    assert of("Conv2D", (image, kernel), result, padding="SAME", strides=(1, 2, 2, 1)) == 4 * 8 * 16


def test_a_volume_is_padded_in_three_dimensions() -> None:
    image, kernel, result = floats(1, 16, 16, 16, 4), floats(3, 3, 3, 4, 4), floats(1, 8, 8, 8, 4)
    size = of("Conv3D", (image, kernel), result, padding="SAME", strides=(1, 2, 2, 2, 1))
    assert size == 4 * (27 * 16 + 17**3 * 4)


TRACED: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "sum over the last dimension": (lambda tf, x: tf.reduce_sum(x, -1), 0),
    "sum over the first and the third": (lambda tf, x: tf.reduce_sum(x, (0, 2)), 1),
    "group normalization": (lambda tf, x: tf.reduce_mean(x, (1, 3), keepdims=True), 1),
    "batch normalization": (lambda tf, x: tf.reduce_mean(x, (0, 1, 2)), 0),
    "product in order": (lambda tf, x: tf.einsum("abcd,abde->abce", x, tf.transpose(x, (0, 1, 3, 2))), 0),
    "operands in another order": (lambda tf, x: tf.einsum("abcd,abed->cabe", x, x), 1),
    "result in another order": (lambda tf, x: tf.einsum("abcd,abed->aceb", x, x), 1),
    "heads between": (lambda tf, x: tf.einsum("acbd,aebd->abce", x, x), 2),
}


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", TRACED)
def test_dimensions_are_put_in_order(name: str) -> None:
    import tensorflow as tf

    compute, times = TRACED[name]
    step = traced(tf.function(lambda x: compute(tf, x)).get_concrete_function(tf.TensorSpec((4, 4, 4, 4))))
    assert sum(copied(step.body, one) for one in step.body.operations) == times * 4 * 4**4


def test_a_copy_is_in_memory_while_the_kernel_runs() -> None:
    graph = Graph()
    image, kernel = (graph.add("RandomUniform", outputs=(one,)) for one in (floats(64, 8, 32, 32), floats(3, 3, 8, 16)))
    attributes: dict[str, Attribute] = {"data_format": "NCHW", "padding": "SAME", "strides": (1, 1, 2, 2)}
    output = floats(64, 16, 16, 16)
    graph.add("Conv2D", image, kernel, outputs=(output,), attributes=attributes)
    run = play(graph.step(2))
    held = sum(one.size for one in run.held if one.is_own)
    assert held >= 4 * 64 * 8 * 33 * 33
    assert run.peak >= held + 4 * (64 * 8 * 32 * 32 + (output.elements or 0))
