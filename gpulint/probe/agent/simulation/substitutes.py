"""Replaces what needs a real GPU by equivalent computations: NCCL, and cuDNN in recurrent layers."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

from gpulint.probe.agent.simulation.pieces import Pieces
from gpulint.probe.agent.simulation.suspending import Suspendable

_HINT = "communication_hint"


class Substitutes(Suspendable):
    """Wraps operations that have kernels only in CUDA builds with a real GPU."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def install(self, tensorflow: Any) -> None:
        """Installs all wrappers. `tensorflow` is the module imported by the program."""
        self._pieces.nccl._apply_all_reduce = self._all_reduce(self._pieces.nccl._apply_all_reduce)
        for name, function in list(vars(self._pieces.collectives).items()):
            if inspect.isfunction(function) and _HINT in inspect.signature(function).parameters:
                setattr(self._pieces.collectives, name, _in_a_ring(function))
        tensorflow.raw_ops.CudnnRNNV3 = self._without_cudnn(tensorflow.raw_ops.CudnnRNNV3)

    def _all_reduce(self, reduce: Any) -> Any:
        """NCCL sums as sums on each device; other NCCL reductions still raise for lack of a kernel."""
        ops, math = self._pieces.ops, self._pieces.math

        @functools.wraps(reduce)
        def all_reduce(reduction: str, tensors: Any) -> Any:
            if reduction != "sum" or not tensors or self.is_suspended:
                return reduce(reduction, tensors)
            sums = []
            for tensor in tensors:
                with ops.device(tensor.device):
                    sums.append(math.add_n(tensors))
            return sums

        return all_reduce

    def _without_cudnn(self, operation: Any) -> Any:
        """Keras 3 tries cuDNN on GPUs and falls back to its own kernels if TensorFlow has none. Keras 2 builds both
        into the graph and leaves the choice to placement."""
        errors = self._pieces.errors

        @functools.wraps(operation)
        def cudnn(*arguments: Any, **keywords: Any) -> Any:
            is_of_keras = sys._getframe(1).f_globals.get("__name__", "").startswith("keras.")
            if is_of_keras and not self.is_suspended:
                raise errors.NotFoundError(None, None, "cuDNN is not simulated")
            return operation(*arguments, **keywords)

        return cudnn


def _in_a_ring(function: Any) -> Any:
    """Runs collective operations as a ring, instead of by NCCL or the automatic choice."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def collective(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords)
        given.arguments[_HINT] = "ring"
        return function(*given.args, **given.kwargs)

    return collective
