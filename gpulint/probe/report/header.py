"""First and last lines of a report: where the program ran, and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Card
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Status
from gpulint.probe.measures.cards import on_bus
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.failures import signal_name
from gpulint.probe.measures.fallbacks import fallbacks
from gpulint.probe.measures.memory_limits import places
from gpulint.probe.measures.number_words import counted
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import duration
from gpulint.probe.report import RunReport, workers

SIMULATED = "SIMULATED GPUs: logical CPUs stand for them; speed, NCCL, kernels and real memory are not known"
MAX_MISSING = 12
"""Limit of operations without a GPU kernel that are named."""


def header(capture: Capture) -> Iterator[str]:
    """TensorFlow, its devices, the cards, the steps, and lost evidence. Empty for a placement log, which has none of
    this."""
    version = capture.tensorflow.get("tensorflow")
    if not capture.process:
        return
    if capture.simulated:
        yield SIMULATED
    if not version:
        yield "The program did not import TensorFlow."
        yield from unseen(capture)
        return
    strategies = ", ".join(f"{one.cls} of {one.replicas}" for one in capture.strategies) or "no strategy"
    devices = listed(capture.logical) or "not initialised"
    if capture.members:
        own = {task: listed(one.own_devices) or "not initialised" for task, one in capture.trainers}
        devices = f"{len(capture.members)} workers, {by_value(own)}"
    yield f"TensorFlow {version} on {devices}; {strategies}" + (f"; {capture.seconds:.1f} s" if capture.end else "")
    yield from _driver(capture)
    steps = sum(one.taken for one in capture.steps.values())
    if steps:
        yield counted(steps, "training step")
    yield from unseen(capture)


def unseen(capture: Capture) -> Iterator[str]:
    """Evidence that was lost, and faults of the probe."""
    yield from (f"not seen: {evidence} ({reason})" for evidence, reason in capture.lost)
    yield from (f"fault of the probe: {fault}" for fault in capture.faults)


def own_cost(capture: Capture) -> str | None:
    """Cost of gpulint itself, None if unknown."""
    if capture.own_cost is None or not capture.seconds:
        return None
    spent = capture.own_cost.total
    return f"gpulint itself took {duration(spent)} of the program's {duration(capture.seconds)}; no figure includes it."


def cards(capture: Capture) -> list[tuple[Card, tuple[str, ...] | None]]:
    """The last sample of each card, with the TensorFlow devices on it, None if unknown. TensorFlow prints which card
    a device is on, unless its log is off; a single card needs no such line."""
    on = places(message for log in capture.logs.values() for message in log.messages)
    last = {card.bus: card for card in capture.cards}
    gpus = () if capture.simulated else tuple(one for one in capture.own_devices if one.startswith("GPU"))
    if gpus and not on:
        return [(last[bus], gpus if len(last) == 1 else None) for bus in sorted(last)]
    return [
        (last[bus], tuple(device for device, place in on.items() if on_bus(bus, place.bus))) for bus in sorted(last)
    ]


def _driver(capture: Capture) -> Iterator[str]:
    """Equal cards share a line; cards that TensorFlow does not use have their own."""
    kinds: dict[tuple[str, int, bool | None], list[tuple[str, ...]]] = {}
    for card, devices in cards(capture):
        is_used = bool(devices) if devices is not None else None
        kinds.setdefault((card.name, card.total, is_used), []).append(devices or ())
    for (name, total, is_used), alike in kinds.items():
        whose = listed([device for devices in alike for device in devices])
        number = f"{len(alike)} × " if len(alike) > 1 else ""
        told = whose if is_used else "no device of TensorFlow"
        yield f"the driver has {number}{name} of {in_words(total)}" + (f": {told}" if is_used is not None else "")


def unused_cards(capture: Capture) -> Iterator[str]:
    """Cards that the driver has and TensorFlow does not use."""
    counts = Counter((card.name, card.total) for card, devices in cards(capture) if devices == ())
    for (name, total), count in counts.items():
        number = f"{count} × " if count > 1 else ""
        yield f"the driver has {number}{name} of {in_words(total)}: no device of TensorFlow"


def missing_kernels(capture: Capture) -> Iterator[str]:
    """Operations that would fall back to the CPU on real GPUs, as observed in a simulation."""
    if counts := fallbacks(capture):
        names = ", ".join(f"{op} ({count:,})" for op, count in counts.most_common(MAX_MISSING))
        more = f" and {len(counts) - MAX_MISSING} others" if len(counts) > MAX_MISSING else ""
        yield f"no kernel for GPUs, would run on the CPU: {names}{more}"


def verdict(report: RunReport) -> str:
    """One line: the number of violations, and how the program ended."""
    counts = Counter(one.status for one in report.expectations)
    said = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status]) or "nothing to check"
    ended = ending(report.capture)
    return f"{said}; {ended}" if ended else said


def ending(capture: Capture) -> str:
    """How the program ended, "" if it ended without an error or its end is missing."""
    end = capture.end
    if capture.members:
        return workers.ending(capture)
    if end.get("reason") in ("timeout", "hang"):
        return f"the program was stopped ({end['reason']})"
    if end.get("signal"):
        return f"the program was killed by signal {signal_name(int(end['signal']))}"
    if end.get("status"):
        return f"the program ended with status {end['status']}"
    return ""
