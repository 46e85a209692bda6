"""How much memory a device may take, and which card it is on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpulint.probe.measures.cards import bus_id
from gpulint.probe.placement_log.counts import short_device
from gpulint.probe.placement_log.hints import hints
from gpulint.probe.placement_log.records import Created

_MIB = 1 << 20
_CPU_LIMIT = 64 << 30
"""What TensorFlow's BFC allocator for the CPU takes at most when nothing is said: `memory_limit_` in 2.21's dump."""


class Place(NamedTuple):
    """A GPU of TensorFlow's: the card it is on, by PCI bus id, and how many bytes its allocator may take."""

    bus: str
    limit: int | None


def places(messages: Iterable[str]) -> dict[str, Place]:
    """GPUs by name, from TensorFlow's own lines, `Created device …/device:GPU:0 with 14784 MB memory: -> …, pci bus id:
    0000:86:00.0`. Its MB are 2^20 bytes, rounded down. Logical GPUs of one card have a place each, on the same bus."""
    found: dict[str, Place] = {}
    for message in messages:
        for record in hints(f"{message}\n".encode("utf-8", "surrogateescape")):
            if isinstance(record, Created):
                limit = record.memory_mb * _MIB if record.memory_mb else None
                found[short_device(record.device)] = Place(bus_id(record.pci_bus_id), limit)
    return found


def cpu_limit(environment: Mapping[str, str], machine: int) -> int | None:
    """What the allocator of the CPU may take, by the environment of the program; `machine` is the memory of the
    machine, which oneDNN's allocator may fill (2.16 and 2.21). None where the CPU has no allocator that tells."""
    if environment.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true"):
        try:
            return int(environment.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", "")) * _MIB
        except ValueError:
            return _CPU_LIMIT
    return machine if environment.get("TF_ENABLE_ONEDNN_OPTS", "").lower() not in ("0", "false") else None
