"""Kinds of operations by type: those without a kernel, and what the kernels of the others read, write and compute."""

from __future__ import annotations

from typing import Literal

Kind = Literal["free", "elementwise", "reduction", "move", "write", "take", "matrix", "update", "call"]
"""free: no kernel, only the executor's bookkeeping · elementwise: one FLOP for each element of the output · reduction:
one for each element of the first input · move: copies data · write: writes its output, reads next to nothing · take:
reads as much as it writes · matrix: `work` has its own formula · update: changes a variable in place · call: runs
functions, which have operations of their own."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


FREE = _names(
    """
    Const HostConst Snapshot Placeholder PlaceholderWithDefault _Arg _Retval _DeviceArg _DeviceRetval NoOp Identity
    IdentityN StopGradient PreventGradient CheckNumerics EnsureShape Reshape Squeeze ExpandDims Bitcast Shape ShapeN
    Size Rank VariableShape BroadcastArgs BroadcastGradientArgs ConcatOffset DataFormatDimMap DataFormatVecPermute
    InvertPermutation VarHandleOp VarIsInitializedOp ReadVariableOp AssignVariableOp _ReadVariablesOp _VarHandlesOp
    DisableCopyOnRead DestroyResourceOp EmptyTensorList TensorListReserve TensorListSetItem TensorListGetItem
    TensorListPushBack TensorListPopBack TensorListLength TensorListElementShape TensorListResize
    TensorListFromTensor Switch RefSwitch Merge Enter Exit NextIteration LoopCond ControlTrigger Assert Print
    PrintV2 StringFormat Iterator IteratorV2 OneShotIterator IteratorGetNext IteratorGetNextSync
    IteratorGetNextAsOptional OptionalFromValue OptionalGetValue OptionalHasValue OptionalNone AnonymousIteratorV3
    MakeIterator DeleteIterator MultiDeviceIteratorGetNextFromShard _Send _Recv _HostSend _HostRecv
    AnonymousRandomSeedGenerator StatelessRandomGetKeyCounter StatelessRandomGetAlg StatelessRandomGetKeyCounterAlg
    RngReadAndSkip RngSkip XlaSharding FakeParam CollectiveInitializeCommunicator CollectiveAssignGroupV2
    """
)
"""Reshapes and reads of variables share the buffer of their input; an assignment takes over that of the new value."""

CALLS = _names(
    """
    PartitionedCall StatefulPartitionedCall StatelessIf If StatelessWhile While StatelessCase Case SymbolicGradient
    RemoteCall XlaLaunch _XlaCompile _XlaRun
    """
)

ELEMENTWISE = _names(
    """
    Abs Acos Acosh Add AddN AddV2 Asin Asinh Atan Atan2 Atanh BesselI0e BesselI1e BiasAdd BiasAddV1 BitwiseAnd
    BitwiseOr BitwiseXor Cast Ceil ClipByValue Complex ComplexAbs Conj Cos Cosh Digamma Div DivNoNan Elu EluGrad
    Equal Erf Erfc Erfinv Exp Expm1 Floor FloorDiv FloorMod Greater GreaterEqual Imag Inv InvGrad IsFinite IsInf
    IsNan LeakyRelu LeakyReluGrad LeftShift Less LessEqual Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr Maximum
    Minimum Mod Mul MulNoNan Ndtri Neg NextAfter NotEqual Polygamma Pow Real RealDiv Reciprocal ReciprocalGrad Relu
    Relu6 Relu6Grad ReluGrad RightShift Rint Round Rsqrt RsqrtGrad Select SelectV2 Selu SeluGrad Sigmoid SigmoidGrad
    Sign Sin Sinh Softplus SoftplusGrad Softsign SoftsignGrad Sqrt SqrtGrad Square SquaredDifference Sub Tan Tanh
    TanhGrad TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta FakeQuantWithMinMaxVars FakeQuantWithMinMaxArgs
    FakeQuantWithMinMaxVarsGradient Dequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV4 _UnaryOpsComposition
    RGBToHSV HSVToRGB AdjustContrastv2 AdjustHue AdjustSaturation _FusedBatchNormEx FusedBatchNorm FusedBatchNormV2
    FusedBatchNormV3 FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 _FusedBatchNormGradEx LRN LRNGrad
    SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Softmax LogSoftmax Cumsum Cumprod
    CumulativeLogsumexp MaxPoolGrad MaxPoolGradV2 MaxPoolGradWithArgmax AvgPoolGrad AvgPool3DGrad MaxPool3DGrad
    CollectiveReduce CollectiveReduceV2 CollectiveReduceV3 CollectiveGather CollectiveGatherV2 CollectiveBcastRecv
    CollectiveBcastSend CollectiveBcastRecvV2 CollectiveBcastSendV2 NcclAllReduce NcclReduce NcclBroadcast
    """
)
"""Normalisations, softmax and the gradients of pooling are here for their bytes: their FLOP are few beside those."""

REDUCTIONS = _names(
    """
    All Any ArgMax ArgMin BiasAddGrad EuclideanNorm InTopK InTopKV2 L2Loss Max Mean Min Prod Sum SegmentSum
    SegmentMean SegmentMax UnsortedSegmentSum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd
    SparseSegmentSum SparseSegmentMean Bincount DenseBincount TopK TopKV2 MaxPool MaxPoolV2 MaxPool3D
    MaxPoolWithArgmax AvgPool AvgPool3D
    """
)

MOVES = _names(
    """
    BatchToSpaceND BroadcastTo ConcatV2 Concat DeepCopy DepthToSpace MirrorPad MirrorPadGrad Pack Pad PadV2
    ResizeBicubic ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResizeNearestNeighborGrad Reverse
    ReverseV2 ReverseSequence Roll ScatterNd SpaceToBatchND SpaceToDepth Split SplitV TensorListConcat
    TensorListConcatV2 TensorListStack Tile Transpose ConjugateTranspose Unpack MatrixBandPart MatrixDiagV3
    MatrixSetDiagV3 MatrixDiagPartV3 LowerBound UpperBound ExtractImagePatches DynamicStitch ParallelDynamicStitch
    DynamicPartition SparseToDense ParallelConcat _ParallelConcatUpdate
    """
)

WRITES = _names(
    """
    Empty Fill OneHot OnesLike RandomStandardNormal RandomUniform RandomUniformInt Range StatelessRandomNormalV2
    StatelessRandomUniformV2 StatelessRandomUniformIntV2 StatelessRandomUniformFullIntV2 StatelessTruncatedNormalV2
    StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformInt StridedSliceGrad
    TruncatedNormal ZerosLike LinSpace RandomShuffle Multinomial StatelessMultinomial
    """
)

TAKES = _names(
    """
    CropAndResize DiagPart Gather GatherNd GatherV2 ImageProjectiveTransformV2 ImageProjectiveTransformV3
    ResourceGather ResourceGatherNd Slice StridedSlice TensorListGather Where
    """
)

MATRICES = _names(
    """
    MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum _FusedMatMul Conv2D Conv2DBackpropInput
    Conv2DBackpropFilter Conv2DBackpropInputV2 Conv2DBackpropFilterV2 _FusedConv2D Conv3D Conv3DBackpropInputV2
    Conv3DBackpropFilterV2 _FusedConv3D Conv DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput
    DepthwiseConv2dNativeBackpropFilter _FusedDepthwiseConv2dNative CudnnRNN CudnnRNNV2 CudnnRNNV3 CudnnRNNBackprop
    CudnnRNNBackpropV2 CudnnRNNBackpropV3
    """
)

UPDATES = _names(
    """
    AssignAddVariableOp AssignSubVariableOp ResourceApplyAdaMax ResourceApplyAdadelta ResourceApplyAdagrad
    ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdamWithAmsgrad ResourceApplyAddSign
    ResourceApplyCenteredRMSProp ResourceApplyFtrl ResourceApplyFtrlV2 ResourceApplyGradientDescent
    ResourceApplyKerasMomentum ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyProximalAdagrad
    ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceScatterAdd ResourceScatterSub
    ResourceScatterUpdate ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl
    ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum ResourceSparseApplyRMSProp
    ResourceStridedSliceAssign TensorScatterAdd TensorScatterSub TensorScatterUpdate
    """
)

_KINDS: tuple[tuple[frozenset[str], Kind], ...] = (
    (FREE, "free"),
    (CALLS, "call"),
    (ELEMENTWISE, "elementwise"),
    (REDUCTIONS, "reduction"),
    (MOVES, "move"),
    (WRITES, "write"),
    (TAKES, "take"),
    (MATRICES, "matrix"),
    (UPDATES, "update"),
)

KINDS: dict[str, Kind] = {name: kind for names, kind in _KINDS for name in names}
"""Type → kind. A type that is missing has no cost model."""

SLOTS = {
    "Adadelta": 2, "Adagrad": 1, "AdagradV2": 1, "Adam": 2, "AdamWithAmsgrad": 3, "AdaMax": 2, "AddSign": 1,
    "CenteredRMSProp": 3, "Ftrl": 2, "FtrlV2": 2, "GradientDescent": 0, "KerasMomentum": 1, "Momentum": 1,
    "PowerSign": 1, "ProximalAdagrad": 1, "ProximalGradientDescent": 0, "RMSProp": 2,
}  # fmt: skip
"""Slots that `ResourceApply…` reads and writes beside the variable; each is as large as the gradient."""
