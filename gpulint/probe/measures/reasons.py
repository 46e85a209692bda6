"""Why an operation is on the host."""

from __future__ import annotations

from gpulint.knowledge.table import op_kernels
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Execution, Kernel, Node

PIPELINE = "tf.data"
BOOKKEEPING = "bookkeeping"
REQUESTED = "requested there"
NO_GPU = "no GPU on this machine"
HOST_MEMORY = "host-memory argument"
NO_KERNEL = "no GPU kernel"
OPAQUE = "XLA compiles it as one unit"

HEAVY_OPS = frozenset(
    {
        *("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseTensorDenseMatMul", "Einsum"),
        *("LSTMBlockCell", "GRUBlockCell", "BlockLSTM", "BlockLSTMV2", "Cholesky", "Svd", "Qr", "MatrixInverse"),
    }
)
HEAVY_BEGINNINGS = ("Conv2D", "Conv3D", "DepthwiseConv2d", "Cudnn", "_Fused", "Fused")
HEAVY_ENDS = ("FFT", "FFT2D", "FFT3D", "FFTND")


def is_heavy(op: str) -> bool:
    """Whether an operation is heavy numerical work, as GPUs are for."""
    return op in HEAVY_OPS or op.startswith(HEAVY_BEGINNINGS) or op.endswith(HEAVY_ENDS)


def has_gpu(capture: Capture) -> bool:
    """Whether TensorFlow had a GPU."""
    return any(_of_worker(name).startswith("GPU") for name in capture.logical)


def kernel_of(op: str, dtype: str, capture: Capture) -> Kernel | None:
    """The GPU kernels of an operation for a dtype: from the registry of the TensorFlow that ran, else from the table
    of one release; None if neither has it."""
    if (asked := capture.kernels.get((op, dtype))) is not None:
        return asked
    known = op_kernels().get(op)
    if known is None:
        return None
    device, host = known
    if not device:
        return Kernel(False, False)
    return Kernel(dtype in device, dtype in host) if dtype else None


def reason(placed: Execution | Node, capture: Capture) -> str:
    """Why an operation is on the host; "" if it is not, or the reason is unknown."""
    device = placed.device if isinstance(placed, Execution) else placed.assigned
    if not _of_worker(device).startswith("CPU"):
        return ""
    if is_of_pipeline(placed.op) or placed.part == PIPELINE:
        return PIPELINE
    if is_bookkeeping(placed.op):
        return BOOKKEEPING
    if _of_worker(placed.requested).startswith("CPU"):
        return REQUESTED
    kernel = kernel_of(placed.op, placed.dtype, capture)
    if kernel is not None and not kernel.gpu:
        return f"{NO_KERNEL} for {placed.op}" + (f" of {placed.dtype}" if placed.dtype else "")
    if not has_gpu(capture):
        return NO_GPU
    return HOST_MEMORY if kernel is not None and kernel.host else ""


def _of_worker(device: str) -> str:
    """`CPU:0` of `/job:worker/task:1/CPU:0`: the name on its own machine."""
    return device.rpartition("/")[2]


def is_bound(placed: Execution | Node, capture: Capture) -> bool:
    """Whether an operation has to be on the host: TensorFlow keeps it there, or has no GPU kernel for it."""
    why = reason(placed, capture)
    return why in (PIPELINE, BOOKKEEPING, HOST_MEMORY) or why.startswith(NO_KERNEL)


def bound(capture: Capture) -> set[tuple[str, str]]:
    """(op, device) of operations that all have to be on the host."""
    is_so: dict[tuple[str, str], bool] = {}
    placed: list[Execution | Node] = [*capture.executions, *capture.nodes]
    for one in placed:
        key = one.op, one.device if isinstance(one, Execution) else one.assigned
        is_so[key] = is_so.get(key, True) and is_bound(one, capture)
    return {key for key, holds in is_so.items() if holds}


def is_bookkeeping(op: str) -> bool:
    """Whether TensorFlow always keeps an operation on the host: constants, pipelines, strings, control flow."""
    return op in _BOOKKEEPING or op.startswith(("Summary", "Write")) or is_of_pipeline(op)


def is_of_pipeline(op: str) -> bool:
    """Whether an operation belongs to tf.data, which always runs on the host."""
    return op.startswith(_OF_PIPELINES) or op.endswith(_OF_PIPELINES_TOO)


def is_free(op: str) -> bool:
    """Whether an operation may ignore the requested device: bookkeeping, and operations that follow their variable."""
    return is_bookkeeping(op) or op.endswith("VariableOp") or op.startswith("Resource") or op in _OF_VARIABLES


_OF_VARIABLES = frozenset({"VarIsInitializedOp", "VariableShape", "DestroyResourceOp"})
_BOOKKEEPING = frozenset(
    {
        *("Const", "Identity", "IdentityN", "NoOp", "Placeholder", "_EagerConst", "RemoteCall", "GetOptions"),
        *("PyFunc", "EagerPyFunc", "PyFuncStateless", "Print", "PrintV2", "Assert", "StringFormat", "StringJoin"),
        *("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "LookupTableFindV2", "HashTableV2"),
        *("Shape", "ShapeN", "Size", "Rank", "BroadcastGradientArgs", "BroadcastArgs", "OptionsDataset"),
        *("StatefulPartitionedCall", "PartitionedCall", "If", "While", "StatelessIf", "StatelessWhile", "Case"),
        *("ComputeBatchSize", "_EagerConst"),
    }
)
_OF_PIPELINES = ("Dataset", "Iterator", "Optional", "Anonymous", "MakeIterator", "DeleteIterator", "MultiDevice")
_OF_PIPELINES_TOO = ("Dataset", "DatasetV2", "DatasetV3", "MemoryCache", "SeedGenerator")
