"""Which operations have a GPU kernel, asked of the registry of the TensorFlow that runs, or of simulated GPUs."""

from __future__ import annotations

from typing import Any

from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.simulation import Simulation

GPU_TYPES = ("GPU", "DEFAULT")
"""Devices whose kernels run on a GPU; those for DEFAULT run on every device."""


class Kernels:
    """Answers for operations and dtypes, each once. A TensorFlow without CUDA has no GPU kernels to ask for; GPUs that
    are simulated have."""

    def __init__(self, internals: Internals, cuda: bool, simulation: Simulation | None = None) -> None:
        self._internals = internals
        self._cuda = cuda
        self._simulation = simulation
        self._known: set[tuple[str, int]] = set()

    def fresh(self, op: str, dtype: int) -> tuple[bool, bool] | None:
        """Whether an operation on inputs of a dtype (a number of `types.proto`) has a GPU kernel, and whether that
        takes its first input from host memory; None where it was asked before, or cannot be."""
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
    """Whether a kernel takes inputs of a dtype: its constraint on the type of the first input, if it has one."""
    attribute = first.type_attr if first is not None else ""
    for constraint in kernel.constraint:
        if attribute and constraint.name == attribute:
            return dtype in constraint.allowed_values.list.type
    return True
