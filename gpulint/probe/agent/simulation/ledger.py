"""An estimate of the memory of simulated GPUs: the bytes of the tensors and variables that live on each.

What functions need while they run, workspaces and fragments are not in it, and a tensor that shares the memory of
another may count for itself.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, NamedTuple

ALIASES = frozenset(
    {
        *("ReadVariableOp", "Identity", "IdentityN", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "Snapshot"),
        *("PreventGradient", "CheckNumerics", "EnsureShape", "Bitcast"),
    }
)
"""Operations whose outputs are the memory of an input."""


class _Entry(NamedTuple):
    reference: weakref.ref[Any]
    gpu: int
    size: int
    on_host: bool
    is_sure: bool


class Ledger:
    """Counts what lives. May be called from every thread, and while objects are being collected."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live: dict[int, _Entry] = {}
        self._current: dict[int, int] = {}
        self._peak: dict[int, int] = {}

    def add(self, tensor: Any, gpu: int, size: int, on_host: bool = False, is_sure: bool = True) -> None:
        """A tensor that lives on a simulated GPU; `on_host` where its memory is the host's, `is_sure` unless it may be
        on another device than it says."""
        key = id(tensor)

        def gone(reference: weakref.ref[Any]) -> None:
            self._remove(key, reference)

        size = 0 if on_host else size
        with self._lock:
            if key in self._live:
                return
            self._live[key] = _Entry(weakref.ref(tensor, gone), gpu, size, on_host, is_sure)
            current = self._current[gpu] = self._current.get(gpu, 0) + size
            self._peak[gpu] = max(current, self._peak.get(gpu, 0))

    def is_on_host(self, tensor: Any) -> bool:
        """Whether an operation on a GPU has left this tensor in the host's memory."""
        entry = self._live.get(id(tensor))
        return entry is not None and entry.on_host and entry.reference() is tensor

    def shares(self, tensor: Any) -> None:
        """The memory of a tensor is counted with another from now on: that of a value with the variable it went to."""
        with self._lock:
            entry = self._live.get(id(tensor))
            if entry is not None and entry.reference() is tensor:
                self._live[id(tensor)] = entry._replace(size=0)
                self._current[entry.gpu] -= entry.size

    def living(self, gpu: int) -> list[Any]:
        """The tensors of which it is sure that their memory is this GPU's."""
        with self._lock:
            entries = [one for one in self._live.values() if one.gpu == gpu and one.is_sure and not one.on_host]
        return [tensor for one in entries if (tensor := one.reference()) is not None]

    def usage(self, gpu: int) -> dict[str, int]:
        """`current` and `peak` in bytes, as `tf.config.experimental.get_memory_info` gives them."""
        with self._lock:
            return {"current": self._current.get(gpu, 0), "peak": self._peak.get(gpu, 0)}

    def reset_peak(self, gpu: int) -> None:
        """The peak becomes what is there now."""
        with self._lock:
            self._peak[gpu] = self._current.get(gpu, 0)

    def _remove(self, key: int, reference: weakref.ref[Any]) -> None:
        with self._lock:
            entry = self._live.get(key)
            if entry is not None and entry.reference is reference:
                del self._live[key]
                self._current[entry.gpu] -= entry.size
