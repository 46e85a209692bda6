"""Memory and utilisation over time, for each device, each card and the host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Card
from gpulint.probe.measures.device_words import listed
from gpulint.probe.measures.memory_limits import places

Points = tuple[tuple[float, float], ...]
"""(seconds since the start of the run, value), in order."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Memory or utilisation of one subject: several lines over the same time, the main one first."""

    subject: str
    unit: Literal["bytes", "percent"]
    lines: tuple[tuple[str, Points], ...]
    limit: float | None = None
    """Upper bound of the lines, None if unknown."""

    @property
    def last(self) -> float:
        """Last value of the main line."""
        return self.lines[0][1][-1][1]

    @property
    def peak(self) -> float:
        """Maximum of all lines."""
        return max(value for _, points in self.lines for _, value in points)


@dataclass(frozen=True, slots=True)
class Span:
    """A phase of the run, in seconds since its start."""

    phase: str
    begin: float
    end: float


def curves(capture: Capture) -> list[Curve]:
    """Devices as TensorFlow's allocators report them, cards as the driver does, and the program's memory on the
    host. Logical CPUs share one allocator and one curve."""
    return [*_devices(capture), *_cards(capture), *_host(capture)]


def phases(capture: Capture) -> list[Span]:
    """The phases, each until the start of the next, the last until the end of the run."""
    zero = beginning(capture)
    begun = [(t - zero, phase) for t, phase in capture.phases]
    ends = [t for t, _ in begun[1:]] + [ending(capture)]
    return [Span(phase, begin, max(begin, end)) for (begin, phase), end in zip(begun, ends, strict=False)]


def beginning(capture: Capture) -> float:
    """Start of the run, in seconds since the epoch; 0 if no record has a time."""
    times = [capture.start["t"]] if "t" in capture.start else []
    times += [sample.t for sample in capture.memory[:1]]
    times += [card.t for card in capture.cards[:1]]
    times += [t for t, _ in capture.resident[:1]]
    return float(min(times, default=0.0))


def ending(capture: Capture) -> float:
    """End of the run, in seconds since its start; the last record's time if the end is missing."""
    if capture.seconds and "t" in capture.start:
        return capture.seconds
    times = [*(one.t for one in capture.timeline), *(t for t, _ in capture.phases), *(t for t, _ in capture.resident)]
    times += [*(one.t for one in capture.memory), *(one.t for one in capture.cards)]
    zero = beginning(capture)
    return max((t - zero for t in times), default=0.0)


def _devices(capture: Capture) -> Iterator[Curve]:
    zero = beginning(capture)
    limits = {device: place.limit for device, place in places(_messages(capture)).items()} | capture.limits
    names = list(dict.fromkeys(device for sample in capture.memory for device in sample.devices))
    cpus = [name for name in names if name.startswith("CPU:")]
    for name in names:
        if name in cpus[1:]:
            continue
        seen = [(sample.t - zero, *sample.devices[name]) for sample in capture.memory if name in sample.devices]
        lines = (
            ("in use", tuple((t, current) for t, current, _ in seen)),
            ("peak of the phase", tuple((t, peak) for t, _, peak in seen)),
        )
        is_cpu = name in cpus
        limit = capture.start.get("memory", {}).get("CPU") if is_cpu else limits.get(name)
        yield Curve(listed(cpus) if is_cpu else name, "bytes", lines, limit)


def _cards(capture: Capture) -> Iterator[Curve]:
    zero = beginning(capture)
    by_bus: defaultdict[str, list[Card]] = defaultdict(list)
    for card in capture.cards:
        by_bus[card.bus].append(card)
    for bus, rows in sorted(by_bus.items()):
        used = ("all programs", tuple((card.t - zero, card.used) for card in rows))
        own = ("this program", tuple((card.t - zero, card.by_program) for card in rows if card.by_program >= 0))
        subject = f"card {bus}"
        yield Curve(subject, "bytes", (own, used) if own[1] else (used,), rows[-1].total)
        busy = tuple((card.t - zero, card.utilisation) for card in rows if card.utilisation >= 0)
        if busy:
            yield Curve(f"{subject} busy", "percent", (("busy", busy),), 100)


def _host(capture: Capture) -> Iterator[Curve]:
    zero = beginning(capture)
    points = tuple((t - zero, size) for t, size in capture.resident)
    if points:
        yield Curve("host", "bytes", (("resident", points),), capture.start.get("memory", {}).get("host"))


def _messages(capture: Capture) -> Iterator[str]:
    return (message for log in capture.logs.values() for message in log.messages)
