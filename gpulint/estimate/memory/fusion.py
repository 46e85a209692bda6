"""The memory of a step that XLA compiles.

XLA fuses operations: a kernel computes a chain of them from what was in memory before, and what lies between is never
there. All that is in memory during the step is one allocation, planned at compile time; new values of variables are
written in place.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import suppress

from gpulint.estimate.graph import INPUTS, SMALL, Function, Operation, StepGraph
from gpulint.estimate.memory.beginning import initialized
from gpulint.estimate.memory.bfc import Bfc, Exhausted, rounded
from gpulint.estimate.memory.kernels import (
    BINARY,
    CHOICES,
    TUNED,
    UNARY,
    named,
    opaque_size,
    tuning_memory,
)
from gpulint.estimate.memory.lists import listed
from gpulint.estimate.memory.liveness import REDZONES, Held, Run
from gpulint.estimate.sharing import VIEWS

FUSED = (UNARY | BINARY | CHOICES | VIEWS) | named(
    "BatchToSpaceND BroadcastTo Cast ClipByValue ComplexAbs Concat ConcatV2 Const DepthToSpace Equal Erfinv Fill "
    "FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 _FusedBatchNormEx Gather GatherNd GatherV2 Greater "
    "GreaterEqual HostConst Imag IsFinite IsInf IsNan Less LessEqual LogSoftmax MatrixBandPart MirrorPad NotEqual "
    "OneHot OnesLike Pad PadV2 Range Real ResourceGather ResourceGatherNd Reverse ReverseV2 Roll Slice Softmax "
    "SpaceToBatchND SpaceToDepth Split SplitV StatelessRandomGetKeyCounter StatelessRandomNormalV2 "
    "StatelessRandomUniformV2 StatelessTruncatedNormalV2 StridedSlice StridedSliceGrad Tile Transpose Unpack ZerosLike"
)
"""Operations of whose output each element is computed from a few of the inputs': kernels that read it compute it again.
Sums and products with which softmax and batch normalization begin are small."""

FUSING = FUSED | named(
    "All Any ArgMax ArgMin BiasAddGrad L2Loss Max Mean Min Prod SoftmaxCrossEntropyWithLogits "
    "SparseSoftmaxCrossEntropyWithLogits Sum"
)
"""Operations that compute what they read; the others read it from memory."""

EXPENSIVE = named(
    "Acos Acosh Asin Asinh Atan Atan2 Atanh Cos Cosh Digamma Div DivNoNan Elu Erf Erfc Erfinv Exp Expm1 Lgamma Log "
    "Log1p LogSoftmax Pow RealDiv Rsqrt Selu Sigmoid Sin Sinh Softmax Softplus Sqrt StatelessRandomNormalV2 "
    "StatelessRandomUniformV2 StatelessTruncatedNormalV2 Tan Tanh Xlogy"
)
"""Operations that are not computed twice: they are in memory if several kernels read them
(`InstructionFusion::IsExpensive`)."""

PRODUCTS = named("BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum MatMul _FusedMatMul")
"""Operations of which, as of convolutions, XLA times several kernels while it compiles the step."""

_WORKSPACE = 32 << 20
"""Bytes that a matrix product of cuBLASLt may use on Hopper (`GemmConfig::kHopperWorkspace`)."""

_POOLING_GRADIENTS = ("MaxPoolGrad",)

_ASSIGNS = ("Assign", "ResourceApply", "ResourceScatter", "ResourceSparseApply")


def play_compiled(graph: StepGraph, device: str = "GPU:0", allocator: Bfc | None = None, steps: int = 3) -> list[Run]:
    """Runs some steps that XLA compiles, as `play_steps` does those of the executor. Raises Exhausted if the step does
    not fit into the allocator's limit."""
    allocator = allocator or Bfc()
    kept = [Held(variable, chunk.size, False) for variable, chunk in initialized(graph, device, allocator)]
    kept += [Held(None, allocator.allocate(one.tensor.bytes or 0).size, False) for one in graph.arguments]
    planned = _Plan(graph, graph.body, device).run()
    _compile(graph, device, allocator)
    runs = []
    for number in range(steps):
        before, asked = allocator.in_use, allocator.asked + planned.peak
        block = allocator.allocate(planned.peak)
        peak = allocator.in_use
        tuned = _tuning(graph, device) if not number else 0
        allocator.free(block)
        unused = peak - before - planned.peak
        spare = Held(planned.curve[planned.at][0], unused, True) if planned.curve and unused else None
        run = Run(
            peak=peak,
            before=before,
            asked=asked,
            at=planned.at,
            held=(*kept, *planned.held, *((spare,) if spare is not None else ())),
            curve=[(one, before + size) for one, size in planned.curve],
            unknown=planned.unknown,
        )
        run.peak += tuned
        runs.append(run)
    return runs


def _compile(graph: StepGraph, device: str, allocator: Bfc) -> None:
    """Kernels are timed with operands between redzones, a result and that of the first kernel, to which it is compared
    (`GpuProfiler::CreateInputBuffers`, `Autotuner::ProfileAll`). The regions that this takes are there when the step
    begins."""
    for function in (graph.body, *graph.functions.values()):
        for one in function.operations:
            if one.type not in PRODUCTS | TUNED or one.device not in ("", device):
                continue
            operands = [function.operations[source].outputs[output].bytes or 0 for source, output in one.inputs]
            own = 2 * [one.outputs[0].bytes or 0] + ([_WORKSPACE] if one.type in PRODUCTS else [])
            chunks = []
            with suppress(Exhausted):
                for size in (*(size + REDZONES for size in operands), *own):
                    chunks.append(allocator.allocate(size))
            for chunk in chunks:
                allocator.free(chunk)


def _tuning(graph: StepGraph, device: str) -> int:
    """Bytes with which algorithms of convolutions are tried, one after another: measured beside the step's own."""
    most = 0
    for one in graph.body.operations:
        if one.device in ("", device):
            inputs = [graph.body.operations[source].outputs[output] for source, output in one.inputs]
            result, workspaces = tuning_memory(one, inputs)
            most = max(most, rounded(result + max(workspaces, default=0)) if result else 0)
    return most


class _Plan:
    """Buffers of a compiled function, each from the kernel that writes it to the last one that reads it."""

    def __init__(self, graph: StepGraph, function: Function, device: str) -> None:
        self._graph, self._function, self._device = graph, function, device
        self._in_memory = self._materialized()
        self._reads = [self._origins(index) for index in range(len(function.operations))]
        """Operation → those whose buffers its kernel reads."""

    def run(self) -> Run:
        """XLA tries several orders, and takes the one that needs least (`DefaultMemoryScheduler`)."""
        orders = _order(self._function), _depth_first(self._function)
        return min((self._run(order) for order in orders), key=lambda one: one.peak)

    def _run(self, order: Sequence[int]) -> Run:
        operations = self._function.operations
        result = Run()
        readers = [0] * len(operations)
        for index, sources in enumerate(self._reads):
            if self._in_memory[index]:
                for source in sources:
                    readers[source] += 1
        live: dict[int, int] = {}
        now = 0
        for index in order:
            if not self._in_memory[index]:
                continue
            one = operations[index]
            size = self._size(one, result)
            taken = None
            if one.type in FUSED:
                last = [source for source in self._reads[index] if readers[source] == 1 and source in live]
                taken = next((source for source in last if live[source] == size), None)
            now += size if taken is None else 0
            own = self._own(one, result)
            result.curve.append((one, now + own))
            if now + own > result.peak:
                result.peak, result.at = now + own, len(result.curve) - 1
                held = {**live, index: size}
                if taken is not None:
                    del held[taken]
                result.held = tuple(Held(operations[at], bytes_, False) for at, bytes_ in held.items() if bytes_)
                result.held += (Held(one, own, True),) if own else ()
            live[index] = size
            for source in self._reads[index]:
                readers[source] -= 1
                if not readers[source] and source in live:
                    now -= 0 if source == taken else live[source]
                    del live[source]
            if not readers[index]:
                now -= live.pop(index)
        return result

    def _materialized(self) -> list[bool]:
        """For each operation, whether what it computes is in memory: an operation that does not fuse reads it, or it
        cannot be fused itself."""
        operations = self._function.operations
        found = [one.type not in FUSED and one.type != "_Arg" for one in operations]
        pending = []
        for one in operations:
            if one.type not in FUSING and one.type not in SMALL and not one.type.startswith(_ASSIGNS):
                pending += [edge.operation for edge in one.inputs]
        while pending:
            index = pending.pop()
            if operations[index].type in VIEWS:
                pending += [edge.operation for edge in operations[index].inputs[:1]]
            elif operations[index].type in FUSED:
                found[index] = True
        users: list[list[int]] = [[] for _ in operations]
        for index, one in enumerate(operations):
            for edge in one.inputs:
                users[edge.operation].append(index)
        for index in reversed(range(len(operations))):
            if operations[index].type in EXPENSIVE and not found[index] and len(self._kernels(index, users, found)) > 1:
                found[self._smallest(index, users)] = True
        # The new value of a variable is written in place; inputs are in memory before.
        for index, one in enumerate(operations):
            if one.type.startswith(_ASSIGNS) or one.type in INPUTS or not one.is_on_gpu:
                found[index] = found[index] and one.type.startswith(_ASSIGNS)
        return found

    def _smallest(self, index: int, users: Sequence[Sequence[int]]) -> int:
        """The operation that is in memory for an expensive one: one that alone reads it, and is smaller, such as the
        mask that a comparison makes of random numbers (`PriorityFusion`)."""
        operations = self._function.operations
        while len(readers := set(users[index])) == 1:
            (user,) = readers
            size, smaller = operations[index].outputs[0].bytes, operations[user].outputs[0].bytes
            if operations[user].type not in FUSED or size is None or smaller is None or smaller > size:
                break
            index = user
        return index

    def _kernels(self, index: int, users: Sequence[Sequence[int]], in_memory: Sequence[bool]) -> set[int]:
        """The operations in whose kernels one that is fused is computed."""
        found: set[int] = set()
        pending, seen = list(users[index]), {index}
        while pending:
            user = pending.pop()
            if user in seen or self._function.operations[user].type in SMALL:
                continue
            seen.add(user)
            if in_memory[user]:
                found.add(user)
            else:
                pending += users[user]
        return found

    def _origins(self, index: int) -> tuple[int, ...]:
        """The operations whose buffers are read to compute an operation."""
        found: dict[int, None] = {}
        pending = [edge.operation for edge in self._function.operations[index].inputs]
        seen = set()
        while pending:
            source = pending.pop()
            if source in seen:
                continue
            seen.add(source)
            if self._in_memory[source]:
                found[source] = None
            else:
                pending += [edge.operation for edge in self._function.operations[source].inputs]
        return tuple(found)

    def _size(self, one: Operation, result: Run) -> int:
        """Bytes of what an operation writes."""
        if one.type.startswith(_ASSIGNS) or one.device not in ("", self._device):
            return 0
        total = 0
        for output, tensor in enumerate(one.outputs):
            if output in one.host_outputs:
                continue
            opaque = opaque_size(one, output)
            size = tensor.bytes if opaque is None else opaque
            if tensor.dtype == "variant" and "body" in one.calls:
                size = listed(self._graph, self._function, one, output)
            if size is None:
                result.unknown.append(one)
            elif size:
                total += rounded(size)
        return total

    def _own(self, one: Operation, result: Run) -> int:
        """Bytes that an operation needs beside its output: those of the functions that it calls, or of its kernel."""
        needed = 0
        for function in self._graph.called(one):
            inner = _Plan(self._graph, function, self._device).run()
            needed = max(needed, inner.peak)
            result.unknown += inner.unknown
        if one.device in ("", self._device):
            operations = self._function.operations
            inputs = [operations[source].outputs[output] for source, output in one.inputs]
            if one.type.startswith(_POOLING_GRADIENTS) and inputs[-1].elements and inputs[-1].shape:
                # The greatest element of each window with its indices, and the indices once more for the scatter
                # (`SelectAndScatterExpander`).
                needed += inputs[-1].elements * (4 + 2 * 4 * len(inputs[-1].shape))
        return needed


def _order(function: Function) -> Sequence[int]:
    """The operations as they were created, each after what it depends on; those that the graph's optimizer added stand
    where they are needed."""
    operations = function.operations
    users: list[list[int]] = [[] for _ in operations]
    waiting = [0] * len(operations)
    for index, one in enumerate(operations):
        for source in {*(edge.operation for edge in one.inputs), *one.controls}:
            users[source].append(index)
            waiting[index] += 1
    place = list(range(len(operations)))
    for index in reversed(_sorted(users, waiting, place)):
        place[index] = min([place[index], *(place[user] for user in users[index])])
    return _sorted(users, waiting, place)


def _depth_first(function: Function) -> Sequence[int]:
    """The operations, each right after what it depends on: what one of several branches computes is used before the
    next begins."""
    operations = function.operations
    found: dict[int, None] = {}
    sources = [(*(edge.operation for edge in one.inputs), *one.controls) for one in operations]
    used = {source for of_one in sources for source in of_one}
    pending = [(index, False) for index in reversed(range(len(operations))) if index not in used]
    while pending:
        index, is_ready = pending.pop()
        if is_ready:
            found[index] = None
        elif index not in found:
            pending.append((index, True))
            pending += [(source, False) for source in reversed(sources[index])]
    return list(found)


def _sorted(users: Sequence[Sequence[int]], waiting: Sequence[int], place: Sequence[int]) -> list[int]:
    left = list(waiting)
    ready = [(place[index], index) for index, count in enumerate(left) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        _, index = heapq.heappop(ready)
        found.append(index)
        for user in users[index]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (place[user], user))
    return found
