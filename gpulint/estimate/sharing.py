"""Outputs that are the buffer of an input, whole or in part: kernels that change no element copy nothing.

Follows the kernels of TensorFlow 2.21 (`Tensor::CopyFrom`, `Tensor::Slice` and `set_output(0, input)` in
`tensorflow/core/kernels`). On a CPU the same code shares the same buffers.
"""

from __future__ import annotations

from collections.abc import Callable

from gpulint.estimate.graph import WIDTHS, Function, Operation, Tensor

VIEWS = frozenset(
    {
        *("Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient"),
        *("EnsureShape", "Bitcast", "CheckNumerics", "ReadVariableOp", "Snapshot", "_Retval"),
    }
)
"""Operations whose output `i` is always input `i` under another shape."""

REDUCTIONS = frozenset({"All", "Any", "Max", "Mean", "Min", "Prod", "Sum"})

_ALIGNMENT = 64
"""Bytes to which the beginning of a slice must be aligned to be shared (`EIGEN_MAX_ALIGN_BYTES`)."""


def shared_input(function: Function, operation: Operation, output: int) -> int | None:
    """The input whose buffer an output is, or is a part of; None if the output has a buffer of its own."""
    if operation.type in VIEWS:
        return output if output < len(operation.inputs) else None
    shares = _SHARING.get(operation.type)
    if shares is None or not operation.inputs:
        return None
    position = 1 if operation.type == "Split" else 0
    source, number = operation.inputs[position]
    given, result = function.operations[source].outputs[number], operation.outputs[output]
    if given.shape is None or result.shape is None or None in given.shape or None in result.shape:
        return None
    return position if shares(function, operation, given, result) else None


def constant(function: Function, operation: Operation, position: int) -> tuple[int, ...] | None:
    """The integers of an input that is constant; None for another one, and for one that is not there."""
    if position >= len(operation.inputs):
        return None
    source = function.operations[operation.inputs[position].operation]
    while source.type in VIEWS and source.inputs:
        source = function.operations[source.inputs[0].operation]
    value = source.attributes.get("value") if source.type in ("Const", "HostConst") else None
    if isinstance(value, tuple):
        return tuple(int(one) for one in value)
    return (int(value),) if isinstance(value, int) else None


def _unchanged(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    """No dimension is reduced, padded or repeated."""
    return given.elements == result.elements


def _same_type(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    return given == result


def _single(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    return len(operation.inputs) == 1


def _transposed(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    """Only dimensions of size 1 change their place."""
    order = constant(function, operation, 1)
    if order is None:
        return False
    sizes = given.shape or ()
    moved = [one for one in order if sizes[one] != 1]
    return moved == sorted(moved)


def _split(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    return given == result or _is_slice(given, result)


def _unpacked(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    return operation.attributes.get("axis", 0) in (0, -len(given.shape or ())) and _is_slice(given, result)


def _strided(function: Function, operation: Operation, given: Tensor, result: Tensor) -> bool:
    """Elements that follow one another: all, under another shape, or a range of the first dimension."""
    strides = constant(function, operation, 3)
    if strides is None or any(one != 1 for one in strides):
        return False
    if given.elements == result.elements:
        return True
    masks = [operation.attributes.get(f"{name}_mask", 0) for name in ("shrink_axis", "new_axis", "ellipsis")]
    return masks[0] in (0, 1) and not masks[1] and masks[2] != 1 and _is_slice(given, result)


def _is_slice(given: Tensor, result: Tensor) -> bool:
    """Whether a tensor has all of the other dimensions of another one, and is aligned in its buffer."""
    sizes, left = given.shape or (), result.shape or ()
    inner = sizes[1:]
    if not sizes or left[len(left) - len(inner) :] != inner or len(left) not in (len(inner), len(sizes)):
        return False
    size = WIDTHS.get(given.dtype, 0)
    for one in inner:
        size *= one or 0
    return size % _ALIGNMENT == 0


_Shares = Callable[[Function, Operation, Tensor, Tensor], bool]

_SHARING: dict[str, _Shares] = {
    **dict.fromkeys((*REDUCTIONS, "MirrorPad", "Pad", "PadV2", "Tile"), _unchanged),
    **dict.fromkeys(("BroadcastTo", "Cast"), _same_type),
    **dict.fromkeys(("AddN", "Pack"), _single),
    **dict.fromkeys(("Slice", "Split", "SplitV"), _split),
    "StridedSlice": _strided,
    "Transpose": _transposed,
    "Unpack": _unpacked,
}
"""Type → whether an output shares the buffer of the input, for sizes that are all known."""
