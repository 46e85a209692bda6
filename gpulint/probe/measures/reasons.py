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
    """Whether an operation is the kind of work that a GPU is there for."""
    return op in HEAVY_OPS or op.startswith(HEAVY_BEGINNINGS) or op.endswith(HEAVY_ENDS)


def has_gpu(capture: Capture) -> bool:
    """Whether TensorFlow had a GPU to put operations on."""
    return any(_of_worker(name).startswith("GPU") for name in capture.logical)


def kernel_of(op: str, dtype: str, capture: Capture) -> Kernel | None:
    """What is known of the GPU kernels of an operation on inputs of a dtype: the registry of the TensorFlow that ran,
    or else the table that was read off a release's; None where neither knows."""
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
    """Why an operation is on the host, "" where it is not, or where nothing explains it."""
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
    """`CPU:0` of `/job:worker/task:1/CPU:0`: what it is called on its own machine."""
    return device.rpartition("/")[2]


def is_bound(placed: Execution | Node, capture: Capture) -> bool:
    """Whether an operation is on the host for a reason that is neither the program's nor the machine's: TensorFlow
    keeps it there, or has no kernel that would run it on a GPU."""
    why = reason(placed, capture)
    return why in (PIPELINE, BOOKKEEPING, HOST_MEMORY) or why.startswith(NO_KERNEL)


def bound(capture: Capture) -> set[tuple[str, str]]:
    """(op, device) for the operations of which all on that device are bound to the host."""
    is_so: dict[tuple[str, str], bool] = {}
    placed: list[Execution | Node] = [*capture.executions, *capture.nodes]
    for one in placed:
        key = one.op, one.device if isinstance(one, Execution) else one.assigned
        is_so[key] = is_so.get(key, True) and is_bound(one, capture)
    return {key for key, holds in is_so.items() if holds}


def is_bookkeeping(op: str) -> bool:
    """Whether TensorFlow keeps an operation on the host whatever is asked: constants, pipelines, strings, control."""
    return op in _BOOKKEEPING or op.startswith(("Summary", "Write")) or is_of_pipeline(op)


def is_of_pipeline(op: str) -> bool:
    """Whether an operation is one of tf.data, which is on the host always."""
    return op.startswith(_OF_PIPELINES) or op.endswith(("Dataset", "DatasetV2", "DatasetV3"))


def is_free(op: str) -> bool:
    """Whether an operation need not run where it is asked to: it is bookkeeping, or runs where its variable is."""
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
