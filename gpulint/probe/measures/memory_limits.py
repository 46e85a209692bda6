"""Memory limit of each device, and the card it is on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpulint.probe.measures.cards import bus_id
from gpulint.probe.placement_log.counts import short_device
from gpulint.probe.placement_log.hints import hints
from gpulint.probe.placement_log.records import Created

_MIB = 1 << 20
_CPU_LIMIT = 64 << 30
"""Default limit of TensorFlow's BFC allocator for the CPU: `memory_limit_` in a dump of 2.21."""


class Place(NamedTuple):
    """A TensorFlow GPU: the PCI bus id of its card, and its allocator's limit in bytes."""

    bus: str
    limit: int | None


def places(messages: Iterable[str]) -> dict[str, Place]:
    """GPUs by name, from TensorFlow's lines `Created device …/device:GPU:0 with 14784 MB memory: -> …, pci bus id:
    0000:86:00.0`. Its MB are 2^20 bytes, rounded down. Logical GPUs of one card each have an entry with the same
    bus."""
    found: dict[str, Place] = {}
    for message in messages:
        for record in hints(f"{message}\n".encode("utf-8", "surrogateescape")):
            if isinstance(record, Created):
                limit = record.memory_mb * _MIB if record.memory_mb else None
                found[short_device(record.device)] = Place(bus_id(record.pci_bus_id), limit)
    return found


def cpu_limit(environment: Mapping[str, str], machine: int) -> int | None:
    """Limit of the CPU allocator in the program's environment. `machine` is the memory of the machine, which
    oneDNN's allocator may use in full (2.16 and 2.21). None if the allocator keeps no statistics."""
    if environment.get("TF_CPU_ALLOCATOR_USE_BFC", "").lower() in ("1", "true"):
        try:
            return int(environment.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", "")) * _MIB
        except ValueError:
            return _CPU_LIMIT
    return machine if environment.get("TF_ENABLE_ONEDNN_OPTS", "").lower() not in ("0", "false") else None
