"""Where a simulated GPU is full, TensorFlow's own error for it.

All logical CPUs share one allocator, which cannot say that one GPU of several is full. What is sure without it: a GPU
cannot hold more different bytes than it has. So where the estimate passes the memory of a GPU, the buffers of its
tensors and variables are looked at, each byte once; only if they alone are too much, an error is raised. A real GPU
needs more than that, for functions that run, workspaces and fragments: it is full at this point or before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpulint.probe.agent.simulation.buffers import LARGE, Buffers
from gpulint.probe.agent.simulation.ledger import Ledger
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces

_RESOURCE_EXHAUSTED = 8


class Capacity:
    """The memory of the simulated GPUs. To be made before anything of TensorFlow is replaced."""

    def __init__(self, names: Names, ledger: Ledger, buffers: Buffers, pieces: Pieces) -> None:
        self._names = names
        self._ledger = ledger
        self._pieces = pieces
        self._buffers = buffers
        self._usage = pieces.tfe.TFE_GetMemoryInfo
        self._limits: Mapping[int, int] = {}
        self._surplus: dict[int, int] = {}
        """GPU → bytes by which the estimate was found to be too high."""
        self._total = int(os.environ.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", 0)) << 20

    def limit(self, limits: Mapping[int, int]) -> None:
        """Bytes of each GPU; nothing is raised for those of which nothing is said."""
        self._limits = limits

    def check(self, op: str, tensor: Any, gpu: int) -> None:
        """An operation has made a tensor. Raises what becomes ResourceExhaustedError on its way to the program."""
        if self._is_exceeded(gpu):
            kind = self._pieces.types_proto.DataType.Name(tensor.dtype.as_datatype_enum).removeprefix("DT_").lower()
            shape = ",".join(map(str, tensor._shape_tuple()))
            where = f"{self._device(gpu)} by allocator GPU_{gpu}_bfc"
            message = f"OOM when allocating tensor with shape[{shape}] and type {kind} on {where} [Op:{op}]"
            raise self._pieces.core._NotOkStatusException(message, _RESOURCE_EXHAUSTED, {})

    def check_copy(self, op: str, gpu: int, size: int = 0) -> None:
        """A tensor of the host has been copied to a GPU, or shall be, with `size` bytes. Raises InternalError."""
        if self._is_exceeded(gpu, size):
            raise self._not_copied(op, gpu)

    def check_array(self, value: Any, dtype: Any, gpu: int | None) -> None:
        """An array shall become a tensor, for which TensorFlow allocates memory on the host without asking whether it
        got it. Raises InternalError."""
        if not self._limits or getattr(value, "nbytes", 0) < LARGE:
            return
        size = value.size * self._pieces.dtypes.as_dtype(dtype).size if dtype is not None else value.nbytes
        if gpu is not None:
            self.check_copy("_EagerConst", gpu, size)
        handle = self._pieces.context.context()._handle
        if self._total and self._usage(handle, "CPU:0")["current"] + size > self._total:
            raise self._not_copied("_EagerConst", gpu or 0)

    def _not_copied(self, op: str, gpu: int) -> Exception:
        ends = f"from {self._names.head}/device:CPU:0 to {self._device(gpu)}"
        message = f"Failed copying input tensor {ends} in order to run {op}: Dst tensor is not initialized."
        error: Exception = self._pieces.errors.InternalError(None, None, message)
        return error

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
