"""How TensorFlow's GPU kernels use memory, by type of operation: outputs that share a buffer, outputs that take over an
input's, and what a kernel allocates for itself while it runs.

Read in the kernels of TensorFlow 2.21 (`tensorflow/core/kernels`); each kind states what it follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.estimate.graph import SMALL, Operation, Tensor


def named(names: str) -> frozenset[str]:
    return frozenset(names.split())


UNARY = named(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Conj Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv Invert "
    "LeakyRelu Lgamma Log Log1p LogicalNot LogSoftmax Neg Ndtri Reciprocal Relu Relu6 Rint Round Rsqrt Selu "
    "Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Square Tan Tanh BiasAdd BiasAddV1 ClipByValue "
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3"
)
"""Operations whose output 0 takes over input 0: `forward_input_or_allocate_output({0}, 0, …)`."""

BINARY = named(
    "Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan EluGrad FloorDiv FloorMod InvGrad "
    "LeakyReluGrad LogicalAnd LogicalOr Maximum Minimum Mod Mul MulNoNan Pow ReciprocalGrad RealDiv Relu6Grad "
    "ReluGrad RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad SquaredDifference Sub TanhGrad "
    "TruncateDiv TruncateMod Xdivy Xlog1py Xlogy AddN"
)
"""Operations whose output 0 takes over either input (`BinaryOpShared`, `AddN`)."""

CHOICES = frozenset({"Select", "SelectV2"})
"""Operations whose output 0 takes over input 1 or 2."""

CROSS_ENTROPIES = frozenset({"SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"})
"""Operations whose gradient, output 1, takes over the logits."""

ADDS_TO_LIST = frozenset({"TensorListPushBack", "TensorListSetItem"})
"""Operations that add their last input to a list of tensors."""

CONSTANTS = frozenset({"Const", "HostConst"})
"""Operations whose output lives as long as their kernel."""

TUNED = named(
    "Conv2D _FusedConv2D Conv2DBackpropInput Conv2DBackpropFilter "
    "Conv3D _FusedConv3D Conv3DBackpropInputV2 Conv3DBackpropFilterV2"
)
"""Operations of which TensorFlow tries algorithms in the first step (`AutotuneUnfusedConv`)."""

_SMALLEST_TRANSFORM, _LARGEST_TRANSFORM = 16, 256
"""Sides of the Fourier transforms that cuDNN uses, in elements."""

_WORKSPACE_LIMIT = 4 << 30
"""Bytes of workspace that TensorFlow allows a convolution."""

_GATES = {"lstm": 4, "gru": 3, "rnn_relu": 1, "rnn_tanh": 1}
"""Gates of a recurrent cell by the attribute `rnn_mode`."""


def takes_over(operation: Operation, output: int) -> Sequence[int]:
    """Inputs whose buffer an output may take over if nothing else needs it; they must have its size and dtype."""
    if operation.type in CROSS_ENTROPIES:
        return (0,) if output == 1 else ()
    if output:
        return ()
    if operation.type in UNARY:
        return (0,)
    if operation.type in BINARY:
        return range(min(2, len(operation.inputs))) if operation.type != "AddN" else (0,)
    return (1, 2) if operation.type in CHOICES else ()


def opaque_size(operation: Operation, output: int) -> int | None:
    """Bytes of an output whose shape only the kernel knows; None if this is none of those.

    cuDNN's reserve space keeps what the backward pass of a recurrent layer needs, at each time step. For an LSTM that
    was measured to be 10 times the output: its gates before and after their activation, its state and its output.
    """
    if operation.type in SMALL:
        return 0
    if operation.type in ("CudnnRNNV2", "CudnnRNNV3"):
        if output == 3:
            gates = _GATES.get(str(operation.attributes.get("rnn_mode", "lstm")), 4)
            return 2 * (gates + 1) * (operation.outputs[0].bytes or 0) * _layers(operation)
        if output == 4:
            return 0
    return None


def tuning_memory(operation: Operation, inputs: Sequence[Tensor]) -> tuple[int, tuple[int, ...]]:
    """Bytes that a convolution allocates while TensorFlow times its algorithms, in the first step: for a result beside
    the operation's output, and for one workspace after another.

    The largest workspace is that of the algorithm by Fourier transforms in float32: spectra of the input, the output
    and twice the filter, of which those of a filter of one element are needed once; at most 4 GiB
    (`TF_CUDNN_WORKSPACE_LIMIT_IN_MB`). There is none for images of three dimensions.
    """
    if operation.type not in TUNED:
        return 0, ()
    output = operation.outputs[0].bytes or 0
    convolution = _convolution(operation, inputs)
    if convolution is None:
        return output, ()
    batch, channels, filters, size, kernel, stride = convolution
    if operation.outputs[0].dtype != "float32" or stride > 1:
        return output, ()
    side = max(_SMALLEST_TRANSFORM, 1 << (size + kernel - 2).bit_length())
    spectrum = 8 * side * (side // 2 + 1)
    workspace = spectrum * (batch * (channels + filters) + (2 if kernel > 1 else 1) * channels * filters)
    if side > _LARGEST_TRANSFORM or workspace > _WORKSPACE_LIMIT:
        return output, ()
    return output, tuple(workspace >> shift for shift in (8, 6, 4, 2, 0))


def _convolution(operation: Operation, inputs: Sequence[Tensor]) -> tuple[int, int, int, int, int, int] | None:
    """Batch, channels, filters, the longer side of the image and of the kernel, and the stride of a convolution or of
    its gradients; None for images of three dimensions and unknown shapes."""
    kind = operation.type
    if kind in ("Conv2D", "_FusedConv2D"):
        image, kernel = inputs[0].shape, inputs[1].shape
    elif kind == "Conv2DBackpropInput":
        image, kernel = operation.outputs[0].shape, inputs[1].shape
    elif kind == "Conv2DBackpropFilter":
        image, kernel = inputs[0].shape, operation.outputs[0].shape
    else:
        return None
    if image is None or kernel is None or len(image) != 4 or len(kernel) != 4:
        return None
    known = [one for one in (*image, *kernel) if one is not None]
    if len(known) < 8:
        return None
    batch, first, second, third, height, width, channels, filters = known
    sides = (second, third) if operation.attributes.get("data_format") == "NCHW" else (first, second)
    strides = operation.attributes.get("strides")
    stride = max(one for one in strides if isinstance(one, int)) if isinstance(strides, tuple) else 1
    return batch, channels, filters, max(sides), max(height, width), stride


def _layers(operation: Operation) -> int:
    """Layers of a recurrent operation: its last states have one row for each layer and direction."""
    states, output = operation.outputs[1].shape, operation.outputs[0].shape
    if not states or not output or None in (states[-1], output[-1], states[0], states[1]):
        return 1
    directions = max(1, (output[-1] or 1) // (states[-1] or 1))
    return max(1, min(states[0] or 1, states[1] or 1) // directions)
