"""Placements counted: where operations of each kind were put or ran, and where each node is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

from gpulint.knowledge.devices import parse_device
from gpulint.probe.placement_log.records import Execution, Placement, Record

_ALONE = "localhost"
"""The job of a process that is not part of a cluster."""


@lru_cache(maxsize=1024)
def short_device(name: str) -> str:
    """One name for every spelling of a device: `GPU:0`, or `/job:worker/task:1/GPU:0` in a cluster.

    What is no name of a device stays as it is.
    """
    device = parse_device(name)
    if device is None or not device.type:
        return name
    if device.job in ("", _ALONE):
        return f"{device.type}:{device.index or 0}"
    return f"/job:{device.job}/task:{device.task or 0}/{device.type}:{device.index or 0}"


class Placements:
    """What placement logs say in sum. Grows with the distinct nodes, ops and devices, not with the lines.

    TensorFlow prints most placements twice, on standard output and on standard error; both streams must not be
    added to the same sum.
    """

    def __init__(self) -> None:
        self.placed: Counter[tuple[str, str]] = Counter()
        """(op, device) → how many nodes of graphs were put there; a node counts once for each tracing."""
        self.ran: Counter[tuple[str, str]] = Counter()
        """(op, device) → how many times it ran there outside graphs; functions are ops here."""
        self.nodes: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        """Node → (op, device) → how many times. Nodes of different functions can have the same name."""

    def add(self, records: Iterable[Record]) -> None:
        """Counts records; those of other kinds are passed over, names of nodes that may lack their beginning, too."""
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
        """Device → how many nodes were put there and ops run there."""
        total: Counter[str] = Counter()
        for counted in (self.placed, self.ran):
            for (_, device), number in counted.items():
                total[device] += number
        return total
