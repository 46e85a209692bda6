"""Tables of counts by name and device."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gpulint.probe.capture.contents import Capture, Log
from gpulint.probe.measures.reasons import is_bookkeeping


@dataclass(frozen=True, slots=True)
class Matrix:
    """Numbers by name and device. `rows` are sorted, largest first; `devices` are those with any number."""

    title: str
    devices: tuple[str, ...]
    rows: tuple[tuple[str, Counter[str]], ...]

    def beyond(self, rows: int) -> Counter[str]:
        """Sum of the rows after the first `rows`."""
        total = Counter[str]()
        for _, counts in self.rows[rows:]:
            total.update(counts)
        return total


def operations(capture: Capture) -> Matrix:
    """Operations run and nodes of executed graphs, without bookkeeping."""
    seen = [(ran.op, ran.device, count) for ran, count in capture.executions.items()]
    seen += [(node.op, node.assigned, count) for node, count in capture.nodes.items()]
    return _matrix("operations and graph nodes", (one for one in seen if not is_bookkeeping(one[0])), capture)


def variables(capture: Capture) -> Matrix:
    """Bytes of variables; copies on replicas share a row."""
    seen = ((one.name.partition("/replica_")[0], one.device, one.bytes) for one in capture.variables)
    return _matrix("bytes of variables", seen, capture)


def logged(log: Log, capture: Capture) -> Matrix:
    """Operations in a placement log, without bookkeeping."""
    seen = ((op, device, count) for (op, device), count in (*log.placed.items(), *log.ran.items()))
    return _matrix("operations in the placement log", (one for one in seen if not is_bookkeeping(one[0])), capture)


def _matrix(title: str, seen: Iterable[tuple[str, str, int]], capture: Capture) -> Matrix:
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    for name, device, number in seen:
        if device:
            by_name[name][device] += number
    used = {device for counts in by_name.values() for device, number in counts.items() if number}
    order = {device: place for place, device in enumerate(capture.logical)}
    devices = sorted(used, key=lambda device: (order.get(device, len(order)), device))
    rows = sorted(by_name.items(), key=lambda item: (-item[1].total(), item[0]))
    return Matrix(title, tuple(devices), tuple(rows))
