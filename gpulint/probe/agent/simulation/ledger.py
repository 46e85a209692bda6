"""Estimates the memory of simulated GPUs: bytes of live tensors and variables on each.

Excludes memory of running functions, workspaces and fragmentation. A tensor that shares another's memory may be counted
separately.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, NamedTuple


class _Entry(NamedTuple):
    reference: weakref.ref[Any]
    gpu: int
    size: int
    on_host: bool
    is_sure: bool


class Ledger:
    """Counts live tensors. Thread-safe, also during garbage collection."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._live: dict[int, _Entry] = {}
        self._current: dict[int, int] = {}
        self._peak: dict[int, int] = {}

    def add(self, tensor: Any, gpu: int, size: int, on_host: bool = False, is_sure: bool = True) -> None:
        """Adds a tensor on a simulated GPU; `on_host` if its memory is the host's, `is_sure` unless it may be on
        another device than it reports."""
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
        """Whether an operation on a GPU left this tensor in host memory."""
        entry = self._live.get(id(tensor))
        return entry is not None and entry.on_host and entry.reference() is tensor

    def shares(self, tensor: Any) -> None:
        """Count a tensor's memory with another from now on: a value with the variable that it was assigned to."""
        with self._lock:
            entry = self._live.get(id(tensor))
            if entry is not None and entry.reference() is tensor:
                self._live[id(tensor)] = entry._replace(size=0)
                self._current[entry.gpu] -= entry.size

    def living(self, gpu: int) -> list[Any]:
        """Tensors whose memory certainly belongs to this GPU."""
        with self._lock:
            entries = [one for one in self._live.values() if one.gpu == gpu and one.is_sure and not one.on_host]
        return [tensor for one in entries if (tensor := one.reference()) is not None]

    def usage(self, gpu: int) -> dict[str, int]:
        """`current` and `peak` in bytes, as from `tf.config.experimental.get_memory_info`."""
        with self._lock:
            return {"current": self._current.get(gpu, 0), "peak": self._peak.get(gpu, 0)}

    def reset_peak(self, gpu: int) -> None:
        """Resets the peak to the current use."""
        with self._lock:
            self._peak[gpu] = self._current.get(gpu, 0)

    def _remove(self, key: int, reference: weakref.ref[Any]) -> None:
        with self._lock:
            entry = self._live.get(key)
            if entry is not None and entry.reference is reference:
                del self._live[key]
                self._current[entry.gpu] -= entry.size
