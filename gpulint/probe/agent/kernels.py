"""Which operations have a GPU kernel, from the registry of the running TensorFlow or of simulated GPUs."""

from __future__ import annotations

from typing import Any

from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.simulation import Simulation

GPU_TYPES = ("GPU", "DEFAULT")
"""Device types whose kernels run on a GPU; DEFAULT kernels run on every device."""


class Kernels:
    """Looks up each operation and dtype once. A TensorFlow without CUDA has no GPU kernels registered; simulated
    GPUs have."""

    def __init__(self, internals: Internals, cuda: bool, simulation: Simulation | None = None) -> None:
        self._internals = internals
        self._cuda = cuda
        self._simulation = simulation
        self._known: set[tuple[str, int]] = set()

    def fresh(self, op: str, dtype: int) -> tuple[bool, bool] | None:
        """Whether an operation has a GPU kernel for a dtype (a number of `types.proto`), and whether that kernel
        reads its first input from host memory; None if already reported or unknown."""
        if not (self._cuda or self._simulation) or (op, dtype) in self._known:
            return None
        self._known.add((op, dtype))
        if self._simulation is not None:
            return self._simulation.kernel(op, self._internals.first_input_of(op), dtype)
        kernels = self._internals.kernels_of(op)
        if kernels is None:
            return None
        first = self._internals.first_input_of(op)
        fitting = [kernel for kernel in kernels if kernel.device_type in GPU_TYPES and _takes(kernel, first, dtype)]
        return bool(fitting), bool(fitting) and all(
            first is not None and first.name in kernel.host_memory_arg for kernel in fitting
        )


def _takes(kernel: Any, first: Any, dtype: int) -> bool:
    """Whether a kernel accepts a dtype: the constraint on the type of the first input, if any."""
    attribute = first.type_attr if first is not None else ""
    for constraint in kernel.constraint:
        if attribute and constraint.name == attribute:
            return dtype in constraint.allowed_values.list.type
    return True
