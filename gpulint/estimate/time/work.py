"""FLOP of one execution of an operation, and the bytes that it reads and writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpulint.estimate.graph import Operation, Tensor
from gpulint.estimate.time.kinds import KINDS, SLOTS

_GATES = {"lstm": 4, "gru": 3}
"""Matrix products with the input, and with the state, of one cell of a cuDNN RNN; 1 for the others."""


@dataclass(frozen=True, slots=True)
class Work:
    """FLOP and bytes of one execution. Each tensor counts once, as if the kernel read it once."""

    has_kernel: bool = False
    """Whether the GPU runs a kernel for it."""
    flops: float = 0
    """FLOP by the usual counting: two for a multiplication with an addition."""
    is_matrix: bool = False
    """Whether tensor cores can do it."""
    multiplications: float = 1.0
    """Share of `flops` that a fast algorithm (Winograd) needs without tensor cores."""
    dtype: str = ""
    read: tuple[float, ...] = ()
    """Bytes of each tensor that it reads."""
    written: tuple[float, ...] = ()
    """Bytes of each tensor that it writes."""
    kernels: int = 0
    """Kernels that its library launches one after another, besides the first."""
    is_sized: bool = True
    """False if shapes are unknown: FLOP and bytes are then what is known of them."""

    @property
    def bytes(self) -> float:
        """All bytes that it reads and writes."""
        return sum(self.read) + sum(self.written)


NOTHING = Work()


def work_of(operation: Operation, inputs: Sequence[Tensor]) -> Work | None:
    """The work of an operation whose inputs have these types. None if its type has no cost model, and for one that
    calls functions (kind `call`)."""
    kind = KINDS.get(operation.type)
    if kind is None or kind == "call":
        return None
    if kind == "free" or not operation.is_on_gpu or _is_on_host(operation, inputs):
        return NOTHING
    is_sized = all(one.bytes is not None for one in (*inputs, *operation.outputs))
    read, written = _bytes(inputs), _bytes(operation.outputs)
    dtype = operation.outputs[0].dtype if operation.outputs else ""
    elements = max((one.elements or 0 for one in operation.outputs), default=0)
    if kind == "matrix":
        needed = inputs[:2] if operation.type.startswith("CudnnRNN") else inputs  # cuDNN's reserve has no shape
        is_sized = all(one.bytes is not None for one in (*needed, *operation.outputs[:1]))
        flops = _MATRIX[operation.type](operation, inputs) if is_sized else 0.0
        share = _WINOGRAD if _has_winograd(operation, inputs) else 1.0
        kernels = _kernels(operation, inputs) if operation.type.startswith("CudnnRNN") else 0
        return Work(True, flops, True, share, dtype, read, written, kernels, is_sized)
    if kind == "update":
        amount = max(_bytes(inputs[1:]), default=0.0)
        elements = max((one.elements or 0 for one in inputs[1:]), default=0)
        changed = 1 + SLOTS.get(operation.type.removeprefix("ResourceApply"), 0)
        return Work(
            True, changed * elements, False, 1.0, "", (amount,) * (changed + 1), (amount,) * changed, is_sized=is_sized
        )
    if kind == "reduction":
        elements = inputs[0].elements or 0 if inputs else 0
        is_sized = bool(inputs) and inputs[0].bytes is not None  # which dimensions are left may be computed
    elif kind == "write":
        elements, read = 0, ()
    elif kind == "take":
        elements, read = 0, written
    elif kind == "move":
        elements, read = 0, read or written
    return Work(True, elements, False, 1.0, dtype, read, written, is_sized=is_sized)


def _bytes(tensors: Sequence[Tensor]) -> tuple[float, ...]:
    return tuple(one.bytes for one in tensors if one.bytes)


def _is_on_host(operation: Operation, inputs: Sequence[Tensor]) -> bool:
    """Whether the GPU's kernel works in host memory: those of strings, handles and, nearly all, of int32, which hold
    sizes."""
    outputs = range(len(operation.outputs))
    if operation.outputs and all(number in operation.host_outputs for number in outputs):
        return True
    types = {one.dtype for one in (*inputs, *operation.outputs)}
    return bool(operation.outputs) and types <= {"int32", "string", "variant", "bool"} and "int32" in types


# ------------------------------------------------------------------------------------------------- matrix products

_WINOGRAD = 4 / 9
"""Multiplications of a 3×3 convolution as Winograd's F(2×2, 3×3) has them, over those of the plain one (Lavin and
Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016)."""


def _has_winograd(operation: Operation, inputs: Sequence[Tensor]) -> bool:
    if "Conv2D" not in operation.type:
        return False
    filters = _filter(operation, inputs)
    strides = operation.attributes.get("strides", (1, 1, 1, 1))
    return filters is not None and filters[:2] == (3, 3) and set(strides if isinstance(strides, tuple) else ()) == {1}


def _filter(operation: Operation, inputs: Sequence[Tensor]) -> tuple[int, ...] | None:
    """Shape of a convolution's filter: height, width, channels (of a group) of the input, channels of the output."""
    found = operation.outputs[0] if "BackpropFilter" in operation.type else inputs[1]
    return None if found.shape is None or None in found.shape else tuple(size or 0 for size in found.shape)


def _convolution(operation: Operation, inputs: Sequence[Tensor]) -> float:
    """Each element of the output, or of its gradient, takes as many products as a filter has elements."""
    filters = _filter(operation, inputs)
    of = inputs[2] if "Backprop" in operation.type else operation.outputs[0]
    if filters is None or not filters[-1]:
        return 0.0
    if "Depthwise" in operation.type:
        return 2.0 * (of.elements or 0) * math.prod(filters[:2])
    return 2.0 * (of.elements or 0) * math.prod(filters[:-1])


def _matmul(operation: Operation, inputs: Sequence[Tensor]) -> float:
    shape, is_transposed = inputs[0].shape or (), operation.attributes.get("transpose_a")
    return 2.0 * (operation.outputs[0].elements or 0) * (shape[-2 if is_transposed else -1] or 0)


def _batch_matmul(operation: Operation, inputs: Sequence[Tensor]) -> float:
    shape, is_transposed = inputs[0].shape or (), operation.attributes.get("adj_x")
    return 2.0 * (operation.outputs[0].elements or 0) * (shape[-2 if is_transposed else -1] or 0)


def _einsum(operation: Operation, inputs: Sequence[Tensor]) -> float:
    """The product of all dimensions; once for a single operand, which is summed, twice for two."""
    equation = str(operation.attributes.get("equation", "")).replace(" ", "")
    sizes: dict[str, int] = {}
    for term, one in zip(equation.partition("->")[0].split(","), inputs, strict=False):
        shape = [size or 0 for size in one.shape or ()]
        before, dots, after = term.partition("...")
        named = [*zip(before, shape, strict=False), *zip(reversed(after), reversed(shape), strict=False)]
        for label, size in named:
            sizes[label] = max(sizes.get(label, 1), size)
        if dots:
            rest = shape[len(before) : len(shape) - len(after)]
            sizes["..."] = max(sizes.get("...", 1), math.prod(rest))
    return min(len(inputs), 2) * float(math.prod(sizes.values()))


def _cudnn_rnn(operation: Operation, inputs: Sequence[Tensor]) -> float:
    """Products with the input and with the state, for each gate, time step and direction; layers above the first take
    the outputs of all directions."""
    source, state = inputs[0].shape or (), inputs[1].shape or ()
    if len(source) != 3 or len(state) != 3:
        return 0.0
    steps, width, units = (source[0] or 0) * (source[1] or 0), source[2] or 0, state[2] or 0
    directions = _directions(operation)
    gates = _GATES.get(str(operation.attributes.get("rnn_mode", "lstm")), 1)
    flops = 0.0
    for layer in range(_stacked(operation, state) // directions):
        taken = width if layer == 0 else units * directions
        flops += 2.0 * steps * gates * units * (taken + units) * directions
    return flops * (2 if "Backprop" in operation.type else 1)


def _kernels(operation: Operation, inputs: Sequence[Tensor]) -> int:
    """A product with the state and the rest of the cell, for each time step, layer and direction (Appleyard et al.,
    *Optimizing Performance of Recurrent Neural Networks on GPUs*, 2016). TensorFlow takes the algorithm that does so
    (`CUDNN_RNN_ALGO_STANDARD`), except for `CudnnRNNV2`, which tries others."""
    source, state = inputs[0].shape or (), inputs[1].shape or ()
    if len(source) != 3 or len(state) != 3 or operation.type.endswith("V2"):
        return 0
    steps = source[0 if operation.attributes.get("time_major", True) else 1] or 0
    return 2 * steps * _stacked(operation, state)


def _stacked(operation: Operation, state: Sequence[int | None]) -> int:
    """Layers times directions: a dimension of the state, whose other one is the batch."""
    return state[0 if operation.attributes.get("time_major", True) else 1] or 0


def _directions(operation: Operation) -> int:
    return 2 if operation.attributes.get("direction") == "bidirectional" else 1


_MATRIX: dict[str, Callable[[Operation, Sequence[Tensor]], float]] = {
    name: (
        _einsum
        if name == "Einsum"
        else _cudnn_rnn
        if name.startswith("CudnnRNN")
        else _batch_matmul
        if name.startswith("BatchMatMul")
        else _matmul
        if "MatMul" in name
        else _convolution
    )
    for name, kind in KINDS.items()
    if kind == "matrix"
}
