"""Memory and utilisation of this machine's physical GPUs (cards), from NVML through nvidia-ml-py.

NVML reports whole processes: everything TensorFlow reserved on the card, used or not, CUDA's context, library
workspaces, and other programs. Utilisation is the share of the last 1/6 to 1 s in which any kernel ran. Two caveats:
under WDDM the driver does not know the memory of processes, and inside a container pids may be the host's, or hidden.
Unknown values are NOT_KNOWN, never 0.

Cards are named by PCI bus id: NVML's order differs from CUDA's, and CUDA_VISIBLE_DEVICES renumbers.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

NOT_KNOWN = -1

HIDDEN = 300 << 20
"""Bytes in use by no listed process above which processes must be hidden. The driver's own use of an idle card is
below."""

_BUS = re.compile(r"(?:([\da-f]{4,8}):)?([\da-f]{2}):([\da-f]{2})\.([\da-f])", re.IGNORECASE)


class Row(NamedTuple):
    """One card at one moment, as in a "cards" record. Sizes are bytes, utilisation is percent."""

    bus: str
    name: str
    total: int
    used: int
    by_program: int
    by_others: int
    utilisation: int


def bus_id(text: str) -> str:
    """A PCI bus id as TensorFlow prints it, `0000:86:00.0`; NVML's domain has eight digits. Other text is returned
    unchanged."""
    found = _BUS.fullmatch(text.strip())
    if found is None:
        return text
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def on_bus(bus: str, of_card: str) -> bool:
    """Whether a row's bus is that of a card, or of a MIG instance on it, `0000:86:00.0/0`."""
    return bus == of_card or bus.startswith(f"{of_card}/")


class Cards:
    """Samples all cards. `nvml` is the initialised module pynvml; `alive` says whether a pid exists in this
    process's namespace."""

    def __init__(self, nvml: Any, alive: Callable[[int], bool] | None = None) -> None:
        self._nvml = nvml
        self._alive = alive or _alive
        self.lost: dict[str, str] = {}
        """Card, by bus id or index → why it was left out of a sample; the first reason is kept."""

    @classmethod
    def open(cls) -> Cards | str:
        """The cards of this machine, or why none are visible."""
        try:
            nvml = importlib.import_module("pynvml")
            nvml.nvmlInit()
            count = nvml.nvmlDeviceGetCount()
        except Exception as error:  # no library, no driver, or a version mismatch: nvidia-ml-py has a class for each
            return _reason(error)
        return cls(nvml) if count else "the NVIDIA driver has no card"

    def close(self) -> None:
        """Shuts NVML down."""
        try:
            self._nvml.nvmlShutdown()
        except Exception:  # the driver is already unloaded
            pass

    def sample(self, pids: Collection[int]) -> list[Row]:
        """A row for each card, or for each MIG instance. `pids` are the program's processes.

        A card that fails is left out, with the reason in `lost`; the next sample tries it again.
        """
        try:
            count = int(self._nvml.nvmlDeviceGetCount())
        except Exception as error:  # the driver may be unloaded at any time
            self.lost.setdefault("", _reason(error))
            return []
        rows: list[Row] = []
        for number in range(count):
            bus = str(number)
            try:
                handle = self._nvml.nvmlDeviceGetHandleByIndex(number)
                bus = bus_id(_text(self._nvml.nvmlDeviceGetPciInfo(handle).busId))
                instances = list(self._instances(handle))
                for place, instance in instances:
                    rows += self._row(f"{bus}/{place}", instance, pids)
                if not instances:
                    rows += self._row(bus, handle, pids)
            except Exception as error:
                self.lost.setdefault(bus, _reason(error))
        return rows

    def _row(self, bus: str, handle: Any, pids: Collection[int]) -> Iterator[Row]:
        try:
            memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
            total, used = int(memory.total), int(memory.used)
            name = _text(self._nvml.nvmlDeviceGetName(handle))
        except Exception as error:
            self.lost.setdefault(bus, _reason(error))
            return
        mine, others = self._shares(handle, pids, used)
        yield Row(bus, name, total, used, mine, others, self._utilisation(handle))

    def _instances(self, handle: Any) -> Iterator[tuple[int, Any]]:
        """The MIG instances of a card, by index. Cards without MIG raise an error."""
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(handle)
            most = int(self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if current else 0
        except Exception:
            return
        for number in range(most):
            try:
                yield number, self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            except Exception:  # indices may have gaps
                continue

    def _utilisation(self, handle: Any) -> int:
        """Percent; NOT_KNOWN for MIG instances and some old cards."""
        try:
            return int(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        except Exception:
            return NOT_KNOWN

    def _shares(self, handle: Any, pids: Collection[int], used: int) -> tuple[int, int]:
        """Bytes of the program and of others, each NOT_KNOWN if the driver's list does not say."""
        processes = self._processes(handle)
        if processes is None or (not processes and used > HIDDEN):
            return NOT_KNOWN, NOT_KNOWN
        if not all(pid in pids or self._alive(pid) for pid in processes):
            return NOT_KNOWN, NOT_KNOWN  # the pids belong to another namespace
        mine = _sum(size for pid, size in processes.items() if pid in pids)
        others = _sum(size for pid, size in processes.items() if pid not in pids)
        return mine, others

    def _processes(self, handle: Any) -> dict[int, int | None] | None:
        """Process → bytes on the card. A process that both computes and draws is in both lists with the same bytes."""
        found: dict[int, int | None] = {}
        ask = (self._nvml.nvmlDeviceGetComputeRunningProcesses, self._nvml.nvmlDeviceGetGraphicsRunningProcesses)
        try:
            listed = [process for running in ask for process in running(handle)]
        except Exception:
            return None
        for process in listed:
            pid, size = int(process.pid), process.usedGpuMemory
            known = found.get(pid)
            found[pid] = known if size is None else max(int(size), known or 0)
        return found


def _sum(sizes: Iterable[int | None]) -> int:
    total = 0
    for size in sizes:
        if size is None:
            return NOT_KNOWN
        total += size
    return total


def _alive(pid: int) -> bool:
    """Whether a process with this pid is visible from here."""
    if os.name == "nt":
        return True  # Windows: no foreign pids, and os.kill would end the process
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
