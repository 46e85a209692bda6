"""What a run's memory says: detectors over the samples of a Capture.

Each takes samples and gives what it saw, the threshold it compares with, and a verdict: "pass", "fail", "warn", "info"
(worth saying, nothing wrong), or "inconclusive" with the reason, where the samples are too few or the numbers are not
known. None where there is nothing to judge. Sizes are bytes, times are seconds, shares are 0 to 1.

The definitions of memory-limited programs and of batches that are too small are those of Gao et al. (ICSE 2024, "An
Empirical Study on Low GPU Utilization of Deep Learning Jobs").
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

Verdict = Literal["pass", "fail", "warn", "info", "inconclusive"]


UNEVEN = 1.2
"""Greatest peak by least peak of the devices of a strategy."""

UNEVEN_BYTES = 16 << 20
"""Peaks that differ by less are not uneven: workspaces and buffers do that in small models."""

TIGHT = 0.9
"""Share of the limit from which on the next larger batch, or fragmentation, is the end."""

IDLE, ROOMY, FULL = 0.5, 0.5, 0.8
"""Gao et al.: utilisation at most IDLE with a peak of at most ROOMY is a batch too small, above FULL memory-limited."""

UTILISATION_NEEDED = 5
"""Samples that a mean utilisation takes."""

PREALLOCATED = 3.0
"""Memory taken from the card by the peak of what was in use."""

HELD = 100 << 20
"""Bytes that a card with no operations may have: a context of CUDA alone takes 249 MiB (tensorflow#52159)."""

FOREIGN = 300 << 20
"""Bytes of other programs on a card: about one idle process with a context of CUDA and its libraries."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The peaks of the devices of a strategy."""

    strategy: Strategy
    verdict: Verdict
    reason: str
    peaks: dict[str, int]
    threshold: float = UNEVEN

    @property
    def ratio(self) -> float | None:
        """Greatest by least, None where one of them is not known or had nothing."""
        least = min(self.peaks.values(), default=0)
        return max(self.peaks.values()) / least if least else None


def balance(
    strategy: Strategy, samples: Iterable[Sample], shared: Collection[str] = (), uneven: float = UNEVEN
) -> Balance | None:
    """Whether the devices of a strategy peak alike over the steps. `shared` are devices with one allocator, whose
    numbers are the same whatever happens; CPUs are. None for a strategy of one device."""
    if len(strategy.devices) < 2:
        return None
    peaks = {device: peak for device, peak in _peaks(samples).items() if device in strategy.devices}
    joint = [device for device in strategy.devices if device in shared or _is_cpu(device)]
    missing = [device for device in strategy.devices if device not in peaks]
    if joint:
        return Balance(strategy, "inconclusive", f"{', '.join(joint)}: devices of one allocator", peaks, uneven)
    if missing:
        return Balance(strategy, "inconclusive", f"no memory is known of {', '.join(missing)}", peaks, uneven)
    least, greatest = min(peaks.values()), max(peaks.values())
    broken = greatest > uneven * least and greatest - least >= UNEVEN_BYTES
    return Balance(strategy, "fail" if broken else "pass", "", peaks, uneven)


Kind = Literal["tight", "batch too small", "memory-limited"]


@dataclass(frozen=True, slots=True)
class Headroom:
    """How much of its limit a device used at most, beside how busy its card was."""

    device: str
    verdict: Verdict
    reason: str
    kinds: tuple[Kind, ...]
    peak: int
    limit: int
    utilisation: float | None
    """Mean over the steps, None where it is not known."""
    threshold: float = TIGHT

    @property
    def share(self) -> float:
        return self.peak / self.limit


def headroom(
    device: str, samples: Sequence[Sample], limit: int | None, cards: Iterable[Card] = (), tight: float = TIGHT
) -> Headroom | None:
    """Whether the peak is near the limit, or so far from it that a larger batch fits. `cards` are the samples of the
    card that the device is on. None without a limit or a peak."""
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
    verdict: Verdict = "warn" if kinds else "pass"
    reason = ""
    asked = not _is_cpu(device) and not ROOMY * limit < peak <= FULL * limit
    if not kinds and asked and busy is None:
        verdict = "inconclusive"
        reason = f"the utilisation is not known: {UTILISATION_NEEDED} samples of the card are needed during the steps"
    return Headroom(device, verdict, reason, tuple(kinds), peak, limit, busy, tight)


@dataclass(frozen=True, slots=True)
class Preallocation:
    """What a program took from its card beside what it had in use."""

    device: str
    verdict: Verdict
    reason: str
    taken: int
    peak: int

    threshold = PREALLOCATED

    @property
    def ratio(self) -> float | None:
        return self.taken / self.peak if self.peak else None


def preallocation(device: str, samples: Iterable[Sample], cards: Iterable[Card]) -> Preallocation | None:
    """Whether most of what the program took from the card was never in use: what TensorFlow does unless memory growth
    or a limit is set. `cards` are the samples of the device's card. None where the device was not used or there is no
    card."""
    peak = max((_of(sample, device) for sample in samples), default=0)
    rows = list(cards)
    if not rows or not peak:
        return None
    taken = max(card.by_program for card in rows)
    if taken < 0:
        return Preallocation(device, "inconclusive", "the driver does not say whose the memory is", taken, peak)
    return Preallocation(device, "info" if taken > PREALLOCATED * peak else "pass", "", taken, peak)


@dataclass(frozen=True, slots=True)
class Held:
    """Memory of a device where nothing ran."""

    device: str
    verdict: Verdict
    reason: str
    taken: int
    """Of the card by the program, or what the device had in use at most where that is more."""

    threshold = HELD


def held(device: str, operations: Mapping[str, int], samples: Iterable[Sample], cards: Iterable[Card]) -> Held | None:
    """Whether the program holds memory of a device on which it runs nothing. `operations` counts by device what ran
    anywhere, `cards` are the samples of the device's card. None for a device with operations."""
    if operations.get(device):
        return None
    rows, in_use = list(cards), [_of(sample, device) for sample in samples if device in sample.devices]
    taken = max([*in_use, *(card.by_program for card in rows)], default=-1)
    if not any(operations.values()):
        return Held(device, "inconclusive", "no operation was seen anywhere", taken)
    if taken > HELD:
        return Held(device, "warn", "", taken)
    if not rows or min(card.by_program for card in rows) < 0:
        return Held(device, "inconclusive", "the driver does not say what the program holds there", taken)
    return Held(device, "pass", "", taken)


@dataclass(frozen=True, slots=True)
class Foreign:
    """What other programs held on a card, at most."""

    bus: str
    name: str
    verdict: Verdict
    reason: str
    taken: int
    total: int

    threshold = FOREIGN


def foreign(cards: Iterable[Card]) -> list[Foreign]:
    """Other programs' memory on each card."""
    found: list[Foreign] = []
    for bus, rows in sorted(_by_bus(cards).items()):
        taken = max(card.by_others for card in rows)
        verdict: Verdict = "warn" if taken > FOREIGN else "pass"
        reason = ""
        if taken < 0:
            verdict, reason = "inconclusive", "the driver does not say whose the memory is"
        found.append(Foreign(bus, rows[-1].name, verdict, reason, taken, rows[-1].total))
    return found


def cards_on(bus: str, cards: Iterable[Card]) -> list[Card]:
    """The samples of the card with a PCI bus id. Where it is cut up (MIG), those of the instance that the program is
    on: the one where it holds most."""
    rows = _by_bus(card for card in cards if on_bus(card.bus, bus))
    return max(rows.values(), key=lambda one: max(card.by_program for card in one), default=[])


def _by_bus(cards: Iterable[Card]) -> dict[str, list[Card]]:
    rows: defaultdict[str, list[Card]] = defaultdict(list)
    for card in cards:
        rows[card.bus].append(card)
    return rows


def _peaks(samples: Iterable[Sample]) -> dict[str, int]:
    """The peak of each device over the steps, or over all where no steps were seen."""
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
    """The mean share between the first sample of the steps and the last; cards that do not say it have a negative
    one."""
    times = [sample.t for sample in samples if sample.phase == MEASURED]
    if not times:
        return None
    known = [card.utilisation for card in cards if card.utilisation >= 0 and min(times) <= card.t <= max(times)]
    return fmean(known) / 100 if len(known) >= UTILISATION_NEEDED else None


def _is_cpu(device: str) -> bool:
    return device.rsplit("/", 1)[-1].startswith("CPU:")
