"""Memory detectors over the samples of a capture.

Each takes samples and returns the observed values, the threshold, and a verdict: "pass", "fail", "warn", "info" (worth
mentioning), or "inconclusive" with the reason: too few samples, or unknown values. None if it does not apply. Sizes are
bytes, times are seconds, shares are 0 to 1.

"Memory-limited" and "batch too small" are defined as in Gao et al. (ICSE 2024, "An Empirical Study on Low GPU
Utilization of Deep Learning Jobs").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.capture.records import Card, Sample, Strategy
from gpulint.probe.measures.cards import on_bus

Outcome = Literal["pass", "fail", "warn", "info", "inconclusive"]


UNEVEN = 1.2
"""Ratio of the largest to the smallest peak among a strategy's devices."""

UNEVEN_SHARE = 0.01
"""Share of a card's memory by which peaks must differ."""

UNEVEN_BYTES = 16 << 20
"""Smaller differences do not count: workspaces and buffers cause them in small models."""

TIGHT = 0.9
"""Share of the limit above which a larger batch, or fragmentation, runs out of memory."""

IDLE, ROOMY, FULL = 0.5, 0.5, 0.8
"""Gao et al.: utilisation up to IDLE with a peak up to ROOMY is a batch too small, above FULL memory-limited."""

UTILISATION_NEEDED = 5
"""Samples needed for a mean utilisation."""

PREALLOCATED = 3.0
"""Ratio of memory reserved on the card to peak memory in use."""

HELD = 100 << 20
"""Bytes allowed on a card without operations: a CUDA context alone takes 249 MiB (tensorflow#52159)."""

FOREIGN = 300 << 20
"""Bytes of other programs on a card: about one idle process with a CUDA context and its libraries."""


@dataclass(frozen=True, slots=True)
class Balance:
    """Peaks of a strategy's devices."""

    strategy: Strategy
    verdict: Outcome
    reason: str
    peaks: dict[str, int]
    threshold: float = UNEVEN

    @property
    def ratio(self) -> float | None:
        """Largest by smallest, None if one is unknown or 0."""
        least = min(self.peaks.values(), default=0)
        return max(self.peaks.values()) / least if least else None


def balance(
    strategy: Strategy,
    samples: Iterable[Sample],
    shared: Collection[str] = (),
    uneven: float = UNEVEN,
    total: int = 0,
) -> Balance | None:
    """Whether a strategy's devices have similar peaks over the steps. `shared` devices have one allocator and always
    report the same values, as CPUs do. `total`: bytes of a card, 0 if unknown, for what is worth a warning. None for a
    strategy with one device."""
    if len(strategy.devices) < 2:
        return None
    peaks = {device: peak for device, peak in _peaks(samples).items() if device in strategy.devices}
    joint = [device for device in strategy.devices if device in shared or _is_cpu(device)]
    missing = [device for device in strategy.devices if device not in peaks]
    if joint:
        return Balance(strategy, "inconclusive", f"{', '.join(joint)}: devices of one allocator", peaks, uneven)
    if missing:
        return Balance(strategy, "inconclusive", f"memory is unknown for {', '.join(missing)}", peaks, uneven)
    least, greatest = min(peaks.values()), max(peaks.values())
    broken = greatest > uneven * least and greatest - least >= max(UNEVEN_BYTES, UNEVEN_SHARE * total)
    return Balance(strategy, "fail" if broken else "pass", "", peaks, uneven)


Kind = Literal["tight", "batch too small", "memory-limited"]


@dataclass(frozen=True, slots=True)
class Headroom:
    """Peak use of a device relative to its limit, with the utilisation of its card."""

    device: str
    verdict: Outcome
    reason: str
    kinds: tuple[Kind, ...]
    peak: int
    limit: int
    utilisation: float | None
    """Mean over the steps, None if unknown."""
    threshold: float = TIGHT

    @property
    def share(self) -> float:
        return self.peak / self.limit


def headroom(
    device: str, samples: Sequence[Sample], limit: int | None, cards: Iterable[Card] = (), tight: float = TIGHT
) -> Headroom | None:
    """Whether the peak is near the limit, or low enough for a larger batch. `cards` are the samples of the device's
    card. None without a limit or a peak."""
    peak = _peaks(samples).get(device)
    if not limit or peak is None:
        return None
    busy = utilisation(samples, cards)
    idle = busy is not None and busy <= IDLE
    kinds: list[Kind] = []
    if peak > tight * limit:
        kinds.append("tight")
    if idle and peak > FULL * limit:
        kinds.append("memory-limited")
    if idle and peak <= ROOMY * limit:
        kinds.append("batch too small")
    verdict: Outcome = "warn" if kinds else "pass"
    reason = ""
    asked = not _is_cpu(device) and not ROOMY * limit < peak <= FULL * limit
    if not kinds and asked and busy is None:
        verdict = "inconclusive"
        reason = f"the utilisation is not known: {UTILISATION_NEEDED} samples of the card are needed during the steps"
    return Headroom(device, verdict, reason, tuple(kinds), peak, limit, busy, tight)


@dataclass(frozen=True, slots=True)
class Preallocation:
    """Memory that a program reserved on its card, compared with its use."""

    device: str
    verdict: Outcome
    reason: str
    taken: int
    peak: int

    threshold = PREALLOCATED

    @property
    def ratio(self) -> float | None:
        return self.taken / self.peak if self.peak else None


def preallocation(device: str, samples: Iterable[Sample], cards: Iterable[Card]) -> Preallocation | None:
    """Whether most of the reserved memory was never used: TensorFlow's default without memory growth or a limit.
    `cards` are the samples of the device's card. None for an unused device, or without a card."""
    peak = max((_of(sample, device) for sample in samples), default=0)
    rows = list(cards)
    if not rows or not peak:
        return None
    taken = max(card.by_program for card in rows)
    if taken < 0:
        return Preallocation(
            device, "inconclusive", "the driver does not report which processes hold the memory", taken, peak
        )
    return Preallocation(device, "info" if taken > PREALLOCATED * peak else "pass", "", taken, peak)


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of a device on which nothing ran."""

    device: str
    verdict: Outcome
    reason: str
    taken: int
    """The larger of the program's memory on the card and the device's peak."""

    threshold = HELD


def held(device: str, operations: Mapping[str, int], samples: Iterable[Sample], cards: Iterable[Card]) -> Held | None:
    """Whether the program holds memory of a device on which it runs nothing. `operations` counts all operations by
    device; `cards` are the samples of the device's card. None for a device with operations."""
    if operations.get(device):
        return None
    rows, in_use = list(cards), [_of(sample, device) for sample in samples if device in sample.devices]
    taken = max([*in_use, *(card.by_program for card in rows)], default=-1)
    if not any(operations.values()):
        return Held(device, "inconclusive", "no operation was observed", taken)
    if taken > HELD:
        return Held(device, "warn", "", taken)
    if not rows or min(card.by_program for card in rows) < 0:
        return Held(device, "inconclusive", "the driver does not say what the program holds there", taken)
    return Held(device, "pass", "", taken)


@dataclass(frozen=True, slots=True)
class Foreign:
    """Peak memory of other programs on a card."""

    bus: str
    name: str
    verdict: Outcome
    reason: str
    taken: int
    total: int

    threshold = FOREIGN


def foreign(cards: Iterable[Card], uses_gpu: bool = False) -> list[Foreign]:
    """Memory of other programs on each card. Of a program that `uses_gpu` and has no memory on any card, the driver
    does not see the process id, as in containers: its memory would count as that of others."""
    cards = list(cards)
    is_unseen = uses_gpu and max((card.by_program for card in cards), default=0) <= 0
    found: list[Foreign] = []
    for bus, rows in sorted(_by_bus(cards).items()):
        taken = max(card.by_others for card in rows)
        verdict: Outcome = "warn" if taken > FOREIGN else "pass"
        reason = ""
        if taken < 0 or is_unseen:
            verdict, reason = "inconclusive", "the driver does not report which processes hold the memory"
        found.append(Foreign(bus, rows[-1].name, verdict, reason, taken, rows[-1].total))
    return found


def cards_on(bus: str, cards: Iterable[Card]) -> list[Card]:
    """The samples of the card with a PCI bus id. With MIG, those of the instance on which the program has most
    memory."""
    rows = _by_bus(card for card in cards if on_bus(card.bus, bus))
    return max(rows.values(), key=lambda one: max(card.by_program for card in one), default=[])


def _by_bus(cards: Iterable[Card]) -> dict[str, list[Card]]:
    rows: defaultdict[str, list[Card]] = defaultdict(list)
    for card in cards:
        rows[card.bus].append(card)
    return rows


def _peaks(samples: Iterable[Sample]) -> dict[str, int]:
    """The peak of each device over the steps, or over the whole run if there were no steps."""
    known = list(samples)
    measured = [sample for sample in known if sample.phase == MEASURED]
    peaks: dict[str, int] = {}
    for sample in measured or known:
        for device in sample.devices:
            peaks[device] = max(peaks.get(device, 0), _of(sample, device))
    return peaks


def _of(sample: Sample, device: str) -> int:
    return max(sample.devices.get(device, (0, 0)))


def utilisation(samples: Iterable[Sample], cards: Iterable[Card]) -> float | None:
    """Mean share between the first and the last sample of the steps; NOT_KNOWN samples are negative."""
    times = [sample.t for sample in samples if sample.phase == MEASURED]
    if not times:
        return None
    known = [card.utilisation for card in cards if card.utilisation >= 0 and min(times) <= card.t <= max(times)]
    return fmean(known) / 100 if len(known) >= UTILISATION_NEEDED else None


def _is_cpu(device: str) -> bool:
    return device.rsplit("/", 1)[-1].startswith("CPU:")
