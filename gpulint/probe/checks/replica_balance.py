"""The replicas of all workers have equal work and variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Task
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.measures.variable_balance import MIRRORED

_ID = "replica-balance"

UNEVEN = 1.2
"""Ratio of the most to the fewest nodes of a training step on replicas' devices, as for memory peaks
(`probe.memory`). The first replica of a worker has extra nodes: schedules, counters."""


def check(run: Run) -> Iterator[Expectation]:
    """Balance of strategies that mirror variables, and of ranks with a model each: bytes of variables on every
    replica's device, and nodes of step graphs."""
    replicas = {(task, device): capture for task, capture in run.capture.trainers for device in _devices(capture)}
    if len({task for task, _ in replicas}) < 2:
        return
    sizes = {place: _bytes(capture, place[1]) for place, capture in replicas.items()}
    if any(sizes.values()):
        subject, expected = "variables of each replica", "the same bytes on each"
        observed = _in_words({place: f"{size:,} bytes" for place, size in sizes.items()})
        if len(set(sizes.values())) == 1:
            yield held(_ID, subject, expected, observed)
        else:
            fix = "build the same model on every worker, all of it in `strategy.scope()`"
            yield violated(_ID, subject, expected, observed, fix=fix, level=Level.WARN)
    nodes = {place: _nodes(capture)[place[1]] for place, capture in replicas.items()}
    if any(nodes.values()):
        subject, expected = "operations of a training step on each replica", f"within {UNEVEN - 1:.0%} of each other"
        observed = _in_words({place: f"{count:,} nodes" for place, count in nodes.items()})
        if min(nodes.values()) * UNEVEN >= max(nodes.values()):
            yield held(_ID, subject, expected, observed)
        else:
            fix = "have every replica do the same work: `strategy.run` with its part of each batch"
            yield violated(_ID, subject, expected, observed, fix=fix, level=Level.WARN)


def _devices(capture: Capture) -> list[str]:
    """Devices of a worker's replicas; without a strategy, as with Horovod, the one it trains on."""
    for strategy in capture.strategies:
        if strategy.cls in MIRRORED:
            return list(dict.fromkeys(strategy.devices))
    nodes = _nodes(capture)
    return [max(nodes, key=lambda device: nodes[device])] if nodes and not capture.strategies else []


def _bytes(capture: Capture, device: str) -> int:
    return sum(one.bytes for one in capture.variables if one.device == device)


def _nodes(capture: Capture) -> Counter[str]:
    counts: Counter[str] = Counter()
    for node, count in capture.nodes.items():
        if node.part == "step" and not is_bookkeeping(node.op):
            counts[node.assigned] += count
    return counts


def _in_words(values: dict[tuple[Task, str], str]) -> str:
    """Values in words: one for each worker whose devices have equal ones, otherwise one for each device."""
    of_tasks: dict[Task, dict[str, str]] = {}
    for (task, device), value in values.items():
        of_tasks.setdefault(task, {})[device] = value
    return by_value({task: _one(devices) for task, devices in of_tasks.items()})


def _one(devices: dict[str, str]) -> str:
    if len(set(devices.values())) == 1:
        return next(iter(devices.values()))
    return ", ".join(f"{device}: {value}" for device, value in devices.items())
