"""Raises TensorFlow's out-of-memory error when a simulated GPU, or all of them together, are full.

All logical CPUs share one allocator, which cannot tell that one of several GPUs is full. One thing is certain without
it: a GPU cannot hold more distinct bytes than it has. When the estimate exceeds a GPU's memory, the buffers of its
tensors and variables are examined, each byte once; only if they alone are too large, an error is raised. A real GPU
also needs memory for running functions, workspaces and fragmentation, so it is full at this point or earlier.

What all of them need together, functions included, is the peak of that allocator, which is looked at after each
operation. The allocator itself is not limited to it: kernels for CPUs do not expect an allocation to fail (the process
died in `MakeIterator`, and in what XLA compiled; 2.21).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpulint.probe.agent.simulation.buffers import LARGE, Buffers
from gpulint.probe.agent.simulation.ledger import Ledger
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces

HOSTED = frozenset({"int32"})
"""Types whose constants stay in host memory although they are on a GPU (kernel of `_EagerConst`)."""

_RESOURCE_EXHAUSTED = 8

_HOST = "CPU:0"


class Capacity:
    """The memory of the simulated GPUs. Create it before anything in TensorFlow is wrapped."""

    def __init__(self, names: Names, ledger: Ledger, buffers: Buffers, pieces: Pieces, total: int) -> None:
        """`total`: bytes of all GPUs together, 0 if unspecified."""
        self._names = names
        self._ledger = ledger
        self._pieces = pieces
        self._buffers = buffers
        self._usage, self._reset = pieces.tfe.TFE_GetMemoryInfo, pieces.tfe.TFE_ResetMemoryStats
        self._limits: Mapping[int, int] = {}
        self._surplus: dict[int, int] = {}
        """GPU → bytes by which the estimate was found to be too high."""
        self._total = total
        self._noted = 0
        """Peak of the allocator up to its last reset, not examined yet."""
        self._is_stale = False
        """Whether the allocator's peak has led to an error."""

    def limit(self, limits: Mapping[int, int]) -> None:
        """Sets the bytes of each GPU; GPUs without a limit never raise."""
        self._limits = limits

    def check(self, op: str, tensor: Any, gpu: int) -> None:
        """An operation has created a tensor. Raises what reaches the program as ResourceExhaustedError."""
        if self._is_exceeded(gpu):
            message = self._oom(tensor._shape_tuple(), tensor.dtype, self._device(gpu), f"GPU_{gpu}_bfc")
            raise self._pieces.core._NotOkStatusException(f"{message} [Op:{op}]", _RESOURCE_EXHAUSTED, {})

    def check_total(self, op: str) -> None:
        """An operation or function has run. Raises what reaches the program as ResourceExhaustedError if more memory
        was needed than all GPUs have."""
        if not self._total:
            return
        handle = self._pieces.context.context()._handle
        if self._is_stale:  # by now nothing refers to the results of what failed
            self._is_stale = False
            self._reset(handle, _HOST)
        peak = max(self._noted, self._usage(handle, _HOST)["peak"])
        self._noted = 0
        if peak > self._total:
            self._is_stale = True
            message = f"OOM when allocating {peak - self._total} bytes beyond the {self._total} of all simulated GPUs"
            raise self._pieces.core._NotOkStatusException(f"{message} [Op:{op}]", _RESOURCE_EXHAUSTED, {})

    def note_peak(self, handle: Any) -> None:
        """The allocator's peak is about to be reset, perhaps by an observer of the operation that is running."""
        if self._total and not self._is_stale:
            self._noted = max(self._noted, self._usage(handle, _HOST)["peak"])

    def check_copy(self, op: str, gpu: int, size: int = 0) -> None:
        """A host tensor of `size` bytes has been, or is about to be, copied to a GPU. Raises InternalError."""
        if self._is_exceeded(gpu, size):
            ends = f"from {self._names.head}/device:CPU:0 to {self._device(gpu)}"
            message = f"Failed copying input tensor {ends} in order to run {op}: Dst tensor is not initialized."
            raise self._pieces.errors.InternalError(None, None, message)

    def check_array(self, value: Any, dtype: Any, gpu: int | None) -> None:
        """An array is about to become a tensor. TensorFlow allocates host memory first, without checking for
        failure. Raises InternalError if a GPU is full, ResourceExhaustedError if the host is."""
        if not self._limits or getattr(value, "nbytes", 0) < LARGE:
            return
        try:
            kind = self._pieces.dtypes.as_dtype(value.dtype if dtype is None else dtype)
        except (AttributeError, TypeError):
            return
        size = value.size * kind.size
        if gpu is not None and kind.name not in HOSTED:
            self.check_copy("_EagerConst", gpu, size)
        handle = self._pieces.context.context()._handle
        if self._total and self._usage(handle, _HOST)["current"] + size > self._total:
            message = self._oom(value.shape, kind, f"{self._names.head}/device:CPU:0", "bfc_cpu_allocator_for_gpu")
            raise self._pieces.errors.ResourceExhaustedError(None, None, message)

    def _oom(self, shape: Iterable[Any], dtype: Any, device: str, allocator: str) -> str:
        kind = self._pieces.types_proto.DataType.Name(dtype.as_datatype_enum).removeprefix("DT_").lower()
        size = ",".join(map(str, shape))
        return f"OOM when allocating tensor with shape[{size}] and type {kind} on {device} by allocator {allocator}"

    def _device(self, gpu: int) -> str:
        return f"{self._names.head}/device:GPU:{gpu}"

    def _is_exceeded(self, gpu: int, more: int = 0) -> bool:
        limit = self._limits.get(gpu)
        if limit is None:
            return False
        estimate = self._ledger.usage(gpu)["current"]
        if estimate + more <= limit:
            self._surplus.pop(gpu, None)
            return False
        if estimate + more - self._surplus.get(gpu, 0) <= limit:
            return False
        held = self._buffers.held(self._ledger.living(gpu))
        self._surplus[gpu] = max(0, estimate - held)
        return held + more > limit
