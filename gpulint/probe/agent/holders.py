"""Holders of memory: bytes of living variables, large tensors and arrays, by device, group and line.

Only the moment with the largest sum counts: what is recorded is the state at the peak of each device, of the training
steps if there are any.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from gpulint.probe.agent.places import Place
from gpulint.probe.agent.writer import Writer

LARGE = 1 << 18
"""Number of elements from which a tensor is examined; smaller ones do not fill a GPU."""

GROWTH = 1.02
"""Factor by which a sum exceeds the recorded one before it is recorded again."""

FEW = 100
"""Longest list that is searched for arrays: one of inputs or outputs, not of examples."""

_OPTIMIZERS = ("/optimizers/", "\\optimizers\\", "/optimizer_v2/", "\\optimizer_v2\\")
"""Folders of Keras whose functions create the variables of optimizers."""

_FROM_INPUT = ("IteratorGetNext", "OptionalGetValue", "MultiDeviceIteratorGetNext")
"""Beginnings of operations whose outputs are elements of a dataset."""


class Holder(NamedTuple):
    """A holder of memory. `device` is "" for arrays of Python, which TensorFlow copies to where it needs them; `what`
    is the operation or method."""

    device: str
    group: str
    place: Place | None
    what: str


class Holders:
    """Adds up the living. Thread-safe, also during garbage collection."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._living: dict[int, tuple[weakref.ref[Any], Holder, int]] = {}
        self._bytes: dict[Holder, int] = {}
        self._sums: dict[str, int] = {}
        self._most: dict[str, int] = {}
        """Device → sum at its recorded peak."""
        self._peaks: dict[str, dict[Holder, int]] = {}
        self._is_fresh = False

    def add(self, owner: Any, holder: Holder, size: int) -> None:
        """Memory that is held as long as `owner` exists, which must be weakly referable."""
        key = id(owner)

        def gone(reference: weakref.ref[Any]) -> None:
            with self._lock:
                entry = self._living.get(key)
                if entry is not None and entry[0] is reference:
                    del self._living[key]
                    self._change(holder, -size)

        with self._lock:
            if size > 0 and key not in self._living:
                self._living[key] = weakref.ref(owner, gone), holder, size
                self._change(holder, size)

    def level(self, holder: Holder, size: int) -> None:
        """Memory whose size changes, as of a buffer: what it holds now."""
        with self._lock:
            self._change(holder, size - self._bytes.get(holder, 0))

    @contextmanager
    def during(self, holder: Holder, size: int) -> Iterator[None]:
        """Memory that is held within a block."""
        with self._lock:
            self._change(holder, size)
        try:
            yield
        finally:
            with self._lock:
                self._change(holder, -size)

    def _change(self, holder: Holder, size: int) -> None:
        device = holder.device
        self._bytes[holder] = self._bytes.get(holder, 0) + size
        if not self._bytes[holder]:
            del self._bytes[holder]
        total = self._sums[device] = self._sums.get(device, 0) + size
        if total > GROWTH * self._most.get(device, 0):
            self._most[device] = total
            self._peaks[device] = {one: held for one, held in self._bytes.items() if one.device == device}
            self._is_fresh = True

    def begin(self) -> None:
        """The training steps begin, whose peak counts from now on, as it does of the allocator."""
        with self._lock:
            self._most.clear()
            self._peaks.clear()
            for holder in list(self._bytes):
                self._change(holder, 0)

    def write(self, writer: Writer) -> None:
        """Writes the holders at each device's peak, if there is a new one."""
        with self._lock:
            if not self._is_fresh:
                return
            self._is_fresh = False
            held = [(one, size) for peak in self._peaks.values() for one, size in peak.items()]
        rows = [[*writer.numbered(one.place), one.device, one.group, one.what, size] for one, size in held]
        writer.write("holders", rows=rows)


def group_of_variable() -> str:
    """ "slots" if an optimizer creates the variable that is being created, otherwise "weights"."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if any(folder in frame.f_code.co_filename for folder in _OPTIMIZERS):
            return "slots"
        frame = frame.f_back
    return "weights"


def group_of_tensor(op: str) -> str:
    """ "input" for elements of datasets, otherwise "python"."""
    return "input" if op.startswith(_FROM_INPUT) else "python"


def array_bytes(values: Any) -> int:
    """Bytes of the NumPy arrays in nested tuples and dicts, and in lists of a few; other values count as 0."""
    if isinstance(values, dict):
        return sum(array_bytes(one) for one in values.values())
    if isinstance(values, tuple) or (isinstance(values, list) and len(values) <= FEW):
        return sum(array_bytes(one) for one in values)
    return int(values.nbytes) if hasattr(values, "__array_interface__") else 0
