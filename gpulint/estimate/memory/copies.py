"""Copies that GPU kernels make of their operands while they run: padded, or with the dimensions in another order.

Read in the kernels of TensorFlow 2.21 (`tensorflow/core/kernels`); each function names what it follows. XLA's kernels
make none of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpulint.estimate.graph import WIDTHS, Function, Operation, Tensor
from gpulint.estimate.sharing import REDUCTIONS, constant

_CONVOLUTIONS = frozenset(
    {
        *("Conv2D", "_FusedConv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        *("Conv3D", "_FusedConv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    }
)


def copied(function: Function, operation: Operation) -> int:
    """Bytes of the copies that an operation makes of its operands; 0 where sizes are unknown."""
    kind = operation.type
    if kind not in _CONVOLUTIONS and kind not in REDUCTIONS and kind != "Einsum":
        return 0
    inputs = [function.operations[source].outputs[number] for source, number in operation.inputs]
    if kind in _CONVOLUTIONS:
        return _convolution(operation, inputs)
    if kind == "Einsum":
        return _einsum(str(operation.attributes.get("equation", "")), inputs, operation.outputs[0])
    return _reduction(inputs[0], constant(function, operation, 1))


def _reduction(given: Tensor, axes: tuple[int, ...] | None) -> int:
    """The input with the dimensions that stay in front, where those that are reduced lie between several that stay
    (`ReductionOp::Compute`)."""
    if given.shape is None or axes is None:
        return 0
    reduced = {axis % len(given.shape) for axis in axes} if given.shape else set()
    kinds = [axis in reduced for axis, size in enumerate(given.shape) if size != 1]
    groups = [one for number, one in enumerate(kinds) if not number or one != kinds[number - 1]]
    return (given.bytes or 0) if len(groups) > 3 else 0


def _convolution(operation: Operation, inputs: Sequence[Tensor]) -> int:
    """The filter in cuDNN's order, and the image with the padding that one side has more than the other
    (`LaunchConvOpImpl`, `LaunchConv2DBackpropFilterOpImpl`, `LaunchConv2DBackpropInputOpImpl`)."""
    if "BackpropInput" in operation.type:
        image, kernel = operation.outputs[0], inputs[1]
    elif "BackpropFilter" in operation.type:
        image, kernel = inputs[0], operation.outputs[0]
    else:
        image, kernel = inputs[0], inputs[1]
    if image.bytes is None or kernel.bytes is None or image.shape is None or kernel.shape is None:
        return 0
    count = len(kernel.shape) - 2
    is_first = str(operation.attributes.get("data_format", "NHWC")).startswith("NC")
    first = 2 if is_first else 1
    strides, dilations = (_along(operation, name, first, count) for name in ("strides", "dilations"))
    sides, windows = image.shape[first : first + count], kernel.shape[:count]
    if not is_first and strides == dilations == (1,) * count and windows == (1,) * count:
        return 0  # computed as a matrix product
    padded = list(image.shape)
    if operation.attributes.get("padding") == "SAME":
        for axis, (size, window, stride, dilation) in enumerate(zip(sides, windows, strides, dilations, strict=True)):
            total = (-(-(size or 0) // stride) - 1) * stride + ((window or 0) - 1) * dilation + 1 - (size or 0)
            padded[first + axis] = (size or 0) + (total % 2 if total > 0 else 0)
    if tuple(padded) == image.shape:
        return kernel.bytes
    return kernel.bytes + math.prod(one or 0 for one in padded) * WIDTHS.get(image.dtype, 0)


def _along(operation: Operation, name: str, first: int, count: int) -> tuple[int, ...]:
    """An attribute of a convolution for each spatial dimension."""
    found = operation.attributes.get(name)
    if not isinstance(found, tuple) or len(found) != count + 2:
        return (1,) * count
    return tuple(int(one) for one in found[first : first + count])


def _einsum(equation: str, inputs: Sequence[Tensor], output: Tensor) -> int:
    """Operands of a product, and its result, whose dimensions are not in the order of a matrix product: those of both
    operands and the result, then the others, either those of the result or those that are summed first
    (`EinsumHelper::PreprocessOperand`, `ContractOperands`)."""
    left, _, result = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != 2 or "." in equation or any(len(set(term)) < len(term) for term in (*terms, result)):
        return 0
    batch = [one for one in terms[0] if one in terms[1] and one in result]
    summed = [one for one in terms[0] if one in terms[1] and one not in result]
    size, free = 0, [*batch]
    for term, given in zip(terms, inputs, strict=True):
        other = terms[1] if term is terms[0] else terms[0]
        alone = [one for one in term if one not in other and one in result]
        lost = [one for one in term if one not in other and one not in result]
        free += alone
        orders = ([*batch, *alone, *summed, *lost], [*batch, *summed, *alone, *lost])
        if list(term) not in orders:
            size += given.bytes or 0
    return size + ((output.bytes or 0) if list(result) != free else 0)
