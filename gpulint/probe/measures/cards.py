"""What the cards of this machine hold, as the driver sees it: NVML through nvidia-ml-py.

NVML sees whole processes: what TensorFlow took from the card whether it uses it or not, CUDA's context, libraries'
workspaces, and other programs. Utilisation is the share of the last 1/6 to 1 s in which any kernel ran. Two caveats
about processes: under WDDM the driver does not know their memory, and from inside a container their numbers may be
those of the host, or hidden. What cannot be told is NOT_KNOWN, never 0.

Cards are named by their PCI bus id, as NVML's order is not CUDA's and CUDA_VISIBLE_DEVICES renumbers.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

NOT_KNOWN = -1

HIDDEN = 300 << 20
"""Bytes in use, by no process that is listed, from which on processes must be hidden. A card at rest has less: what the
driver keeps for itself."""

_BUS = re.compile(r"(?:([\da-f]{4,8}):)?([\da-f]{2}):([\da-f]{2})\.([\da-f])", re.IGNORECASE)


class Row(NamedTuple):
    """A card at one moment, in the form of the record "cards". Sizes are bytes, utilisation is percent."""

    bus: str
    name: str
    total: int
    used: int
    by_program: int
    by_others: int
    utilisation: int


def bus_id(text: str) -> str:
    """A PCI bus id as TensorFlow prints it, `0000:86:00.0`; NVML's domain has eight digits. Other text stays."""
    found = _BUS.fullmatch(text.strip())
    if found is None:
        return text
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def on_bus(bus: str, of_card: str) -> bool:
    """Whether a row's bus is that of a card, or of an instance (MIG) on it, `0000:86:00.0/0`."""
    return bus == of_card or bus.startswith(f"{of_card}/")


class Cards:
    """Samples all cards. `nvml` is the module pynvml, already initialised; `alive` says whether a process number is one
    of this machine's, as this process sees it."""

    def __init__(self, nvml: Any, alive: Callable[[int], bool] | None = None) -> None:
        self._nvml = nvml
        self._alive = alive or _alive
        self.lost: dict[str, str] = {}
        """Card, by its bus id or its number, → why it was left out of a sample; the first reason stays."""

    @classmethod
    def open(cls) -> Cards | str:
        """The cards of this machine, or why there are none to be seen."""
        try:
            nvml = importlib.import_module("pynvml")
            nvml.nvmlInit()
            count = nvml.nvmlDeviceGetCount()
        except Exception as error:  # no library, no driver, one of another version: nvidia-ml-py has a class for each
            return _reason(error)
        return cls(nvml) if count else "the NVIDIA driver has no card"

    def close(self) -> None:
        """Lets go of the driver."""
        try:
            self._nvml.nvmlShutdown()
        except Exception:  # it went before
            pass

    def sample(self, pids: Collection[int]) -> list[Row]:
        """A row for each card, or for each instance where a card is cut up (MIG). `pids` are the program's processes.

        A card that fails is left out, and `lost` says why; the next sample asks it again.
        """
        try:
            count = int(self._nvml.nvmlDeviceGetCount())
        except Exception as error:  # the driver can go away at any time
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
        """The MIG instances of a card by their number. Cards without MIG answer with an error."""
        try:
            current, _ = self._nvml.nvmlDeviceGetMigMode(handle)
            most = int(self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) if current else 0
        except Exception:
            return
        for number in range(most):
            try:
                yield number, self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            except Exception:  # numbers may have gaps
                continue

    def _utilisation(self, handle: Any) -> int:
        """Percent; instances of MIG and some old cards do not say."""
        try:
            return int(self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu)
        except Exception:
            return NOT_KNOWN

    def _shares(self, handle: Any, pids: Collection[int], used: int) -> tuple[int, int]:
        """Bytes of the program and of others, each NOT_KNOWN where the driver's list does not tell."""
        processes = self._processes(handle)
        if processes is None or (not processes and used > HIDDEN):
            return NOT_KNOWN, NOT_KNOWN
        if not all(pid in pids or self._alive(pid) for pid in processes):
            return NOT_KNOWN, NOT_KNOWN  # the numbers are another machine's
        mine = _sum(size for pid, size in processes.items() if pid in pids)
        others = _sum(size for pid, size in processes.items() if pid not in pids)
        return mine, others

    def _processes(self, handle: Any) -> dict[int, int | None] | None:
        """Process → bytes on the card. One that computes and draws is in both lists with the same bytes."""
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
    """Whether a process of this number is there, as far as can be seen from here."""
    if os.name == "nt":
        return True  # no numbers but one's own; and there os.kill ends processes, whatever the signal
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
