"""Counts placements: where operations of each kind were placed or ran, and where each node is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

from gpulint.knowledge.devices import parse_device
from gpulint.probe.placement_log.records import Execution, Placement, Record

_ALONE = "localhost"
"""Job name of a process outside a cluster."""


@lru_cache(maxsize=1024)
def short_device(name: str) -> str:
    """One name for every spelling of a device: `GPU:0`, or `/job:worker/task:1/GPU:0` in a cluster.

    Other text is returned unchanged.
    """
    device = parse_device(name)
    if device is None or not device.type:
        return name
    if device.job in ("", _ALONE):
        return f"{device.type}:{device.index or 0}"
    return f"/job:{device.job}/task:{device.task or 0}/{device.type}:{device.index or 0}"


class Placements:
    """Totals of placement logs. Grows with distinct nodes, ops and devices, not with lines.

    TensorFlow prints most placements twice, on standard output and on standard error: count one of the streams.
    """

    def __init__(self) -> None:
        self.placed: Counter[tuple[str, str]] = Counter()
        """(op, device) → number of graph nodes placed there; a node counts once per trace."""
        self.ran: Counter[tuple[str, str]] = Counter()
        """(op, device) → number of runs outside graphs; functions count as ops."""
        self.nodes: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        """Node → (op, device) → times. Nodes of different functions can share a name."""

    def add(self, records: Iterable[Record]) -> None:
        """Counts placements and executions. Skips node names that may be cut off."""
        for record in records:
            if isinstance(record, Placement):
                place = (record.op, short_device(record.device))
                self.placed[place] += 1
                if record.whole:
                    self.nodes[record.node][place] += 1
            elif isinstance(record, Execution):
                self.ran[record.op, short_device(record.device)] += 1

    @property
    def devices(self) -> Counter[str]:
        """Device → number of nodes placed and ops run there."""
        total: Counter[str] = Counter()
        for counted in (self.placed, self.ran):
            for (_, device), number in counted.items():
                total[device] += number
        return total
