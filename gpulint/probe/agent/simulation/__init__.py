"""Simulated GPUs: logical CPUs that act as GPUs, to rehearse a program for many GPUs without any.

TensorFlow's Python code, Keras and the program use names of GPUs; the runtime below has logical CPUs. Names are
translated where Python calls the runtime and where results come back. Everything above, such as the checks of
`tf.config`, strategies and device scopes, behaves as on a machine with GPUs because it is the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from gpulint.probe.agent.simulation.buffers import Buffers
from gpulint.probe.agent.simulation.capacity import Capacity
from gpulint.probe.agent.simulation.eager import Eager
from gpulint.probe.agent.simulation.graph import Graphs
from gpulint.probe.agent.simulation.kernels import Kernel, Kernels, kernel_of
from gpulint.probe.agent.simulation.ledger import Ledger
from gpulint.probe.agent.simulation.listing import Listing
from gpulint.probe.agent.simulation.names import Names
from gpulint.probe.agent.simulation.pieces import Pieces, Unsupported
from gpulint.probe.agent.simulation.placing import Placing
from gpulint.probe.agent.simulation.refusals import watch_meshes
from gpulint.probe.agent.simulation.substitutes import Substitutes


class Simulation:
    """Simulated GPUs of this process. `memory`: bytes of each, None if unspecified. `refuse` is called with the reason
    when the program begins something that they cannot do."""

    def __init__(self, gpus: int, memory: int | None, refuse: Callable[[str], None]) -> None:
        self._refuse = refuse
        self._gpus = gpus
        self._memory = memory
        self._names = Names()
        self.built_with_cuda = False
        """Whether the underlying TensorFlow is built for GPUs."""
        self._kernels: Kernels | None = None
        self._placing: Placing | None = None
        self._listing: Listing | None = None
        self._graphs: Graphs | None = None
        self._substitutes: Substitutes | None = None

    def install(self, tensorflow: Any) -> None:
        """Wraps TensorFlow, which has just been imported. Raises Unsupported."""
        try:
            pieces = Pieces()
            self.built_with_cuda = bool(pieces.build.IsGoogleCudaEnabled())
            self._kernels = kernels = Kernels(_registry(pieces) if self.built_with_cuda else None)
            ledger = Ledger()
            buffers = Buffers(pieces)
            capacity = Capacity(self._names, ledger, buffers, pieces, self._gpus * (self._memory or 0))
            self._placing = placing = Placing(self._names, kernels, pieces)
            self._listing = Listing(self._gpus, self._memory, self._names, placing, ledger, capacity, pieces)
            self._listing.install()
            Eager(self._names, placing, ledger, capacity, buffers, pieces).install()
            self._graphs = Graphs(self._names, placing, pieces)
            self._graphs.install()
            self._substitutes = Substitutes(pieces)
            self._substitutes.install(tensorflow)
            watch_meshes(self._refuse)
        except AttributeError as error:
            raise Unsupported(f"this TensorFlow differs from what the simulation needs ({error})") from None

    def limits(self) -> dict[str, int]:
        """Memory limit in bytes of each simulated GPU by name, if specified."""
        return self._listing.limits() if self._listing is not None else {}

    @property
    def growth(self) -> bool | None:
        """Whether memory growth would be in force for GPUs; None before the runtime is created."""
        return self._listing.growth if self._listing is not None else None

    def seen(self, device: str) -> str:
        """The program's name of a device of the runtime."""
        return self._names.seen(device)

    def for_real_kernels(self) -> AbstractContextManager[None]:
        """A context in which what is traced is meant for real GPUs: cuDNN and NCCL are not replaced."""
        return self._substitutes.suspended() if self._substitutes is not None else nullcontext()

    def for_reading(self) -> AbstractContextManager[None]:
        """A context in which imported graphs keep the devices that they name: they are read, and never run."""
        return self._graphs.suspended() if self._graphs is not None else nullcontext()

    def translate(self, graph: Any) -> None:
        """Translates the device names in a RunMetadata graph to the program's."""
        if self._graphs is not None:
            self._graphs.translate(graph)

    def kernel(self, op: str, first: Any, dtype: int) -> tuple[bool, bool] | None:
        """Whether an operation has a GPU kernel for the dtype of its first input (ArgDef, or None), and whether that
        kernel reads the input from host memory; None for an unknown operation. An operation that was placed on the
        CPU for lack of a kernel has none, whichever of its types caused that."""
        if self._kernels is None or self._placing is None or self._kernels.of(op) is None:
            return None
        attribute = first.type_attr if first is not None else ""
        types = ((attribute, (self._placing.type_name(dtype),)),) if attribute and dtype else ()
        for name, lacking in list(self._placing.unsupported):
            if name == op and all(one in lacking for one in types):
                return False, False
        found = self._kernels.find(op, types)
        return found is not None, found is not None and first is not None and first.name in found.host


def _registry(pieces: Pieces) -> Any:
    """Looks kernels up in the registry of a TensorFlow built with CUDA."""

    def name_of_type(number: int) -> str:
        return str(pieces.dtypes.as_dtype(number).name)

    def registered(op: str) -> tuple[Kernel, ...] | None:
        found = pieces.kernels.get_registered_kernels_for_op(op).kernel
        if not found:
            return None  # a function, or an unknown operation
        ranked = sorted(found, key=lambda one: one.device_type != "GPU")
        kernels = [kernel_of(one, name_of_type) for one in ranked]
        return tuple(kernel for kernel in kernels if kernel is not None)

    return registered
