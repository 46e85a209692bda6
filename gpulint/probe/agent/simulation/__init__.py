"""Simulated GPUs: logical CPUs that stand for GPUs, so that a program for many GPUs can be rehearsed without any.

TensorFlow's Python code, Keras and the program read and write names of GPUs; the runtime below knows logical CPUs. The
names are turned where Python calls into the runtime and where its answers come back, so that all that lies above, the
checks of `tf.config`, strategies, device scopes, works as on a machine with GPUs, because it is the same code.
"""

from __future__ import annotations

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
from gpulint.probe.agent.simulation.substitutes import Substitutes


class Simulation:
    """Simulated GPUs in this process. `memory`: bytes of each, None where nothing is said of it."""

    def __init__(self, gpus: int, memory: int | None) -> None:
        self._gpus = gpus
        self._memory = memory
        self._names = Names()
        self.built_with_cuda = False
        """Whether the TensorFlow below is built for GPUs."""
        self._kernels: Kernels | None = None
        self._placing: Placing | None = None
        self._listing: Listing | None = None
        self._graphs: Graphs | None = None

    def install(self, tensorflow: Any) -> None:
        """Put the façade before TensorFlow, which has just been imported. Raises Unsupported."""
        try:
            pieces = Pieces()
            self.built_with_cuda = bool(pieces.build.IsGoogleCudaEnabled())
            self._kernels = kernels = Kernels(_registry(pieces) if self.built_with_cuda else None)
            ledger = Ledger()
            buffers = Buffers(pieces)
            capacity = Capacity(self._names, ledger, buffers, pieces)
            self._placing = placing = Placing(self._names, kernels, pieces)
            self._listing = Listing(self._gpus, self._memory, self._names, placing, ledger, capacity, pieces)
            self._listing.install()
            Eager(self._names, placing, ledger, capacity, buffers, pieces).install()
            self._graphs = Graphs(self._names, placing, pieces)
            self._graphs.install()
            Substitutes(pieces).install(tensorflow)
        except AttributeError as error:
            raise Unsupported(f"this TensorFlow is not as it should be ({error})") from None

    def limits(self) -> dict[str, int]:
        """Bytes that each simulated GPU may take, by its name; nothing for those of which nothing is said."""
        return self._listing.limits() if self._listing is not None else {}

    @property
    def growth(self) -> bool | None:
        """Whether the runtime of GPUs would have been told to take memory as it needs it; None before it was asked."""
        return self._listing.growth if self._listing is not None else None

    def told(self, graph: Any) -> None:
        """Put the program's names of devices into a graph of RunMetadata."""
        if self._graphs is not None:
            self._graphs.told(graph)

    def kernel(self, op: str, first: Any, dtype: int) -> tuple[bool, bool] | None:
        """Whether an operation whose first input (ArgDef, None for none) has a dtype has a kernel for GPUs, and whether
        that takes this input from host memory; None for an operation that is not known. What was put on the CPU for
        want of a kernel has none, whichever of its types that was for."""
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
    """Asks the registry of a TensorFlow that is built with CUDA."""

    def name_of_type(number: int) -> str:
        return str(pieces.dtypes.as_dtype(number).name)

    def registered(op: str) -> tuple[Kernel, ...] | None:
        found = pieces.kernels.get_registered_kernels_for_op(op).kernel
        if not found:
            return None  # a function, or an operation of which nothing is known
        ranked = sorted(found, key=lambda one: one.device_type != "GPU")
        kernels = [kernel_of(one, name_of_type) for one in ranked]
        return tuple(kernel for kernel in kernels if kernel is not None)

    return registered
