"""Whether the memory in use of a device, or of the program, grows with the steps, and what of it lines can account for.

Sizes are bytes, times are seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.capture.records import Kept, Sample
from gpulint.probe.measures.memory import Verdict
from gpulint.probe.measures.trend import NEEDED, Trend, trend

LEAK = 0.05
"""Share of the limit that steady growth over the steps must exceed."""

KEPT = 3
"""Steps that have left tensors of one origin, for them to be no accident."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How the memory in use of a device, or of the program, runs over the steps."""

    subject: str
    verdict: Verdict
    reason: str
    """Why it is inconclusive, else ""."""
    samples: int
    trend: Trend | None
    steps: int
    """Training steps that were taken meanwhile, 0 where nobody counted."""
    limit: int | None
    in_use: int
    """At the last sample."""
    share: float = LEAK
    """Of the limit, that the growth must exceed."""

    @property
    def growth(self) -> float:
        """Bytes that the slope adds up to over the time seen."""
        return self.trend.growth if self.trend else 0.0

    @property
    def threshold(self) -> float | None:
        return self.share * self.limit if self.limit is not None else None

    @property
    def per_second(self) -> float:
        return self.trend.slope if self.trend else 0.0

    @property
    def per_step(self) -> float | None:
        return self.growth / self.steps if self.steps else None

    @property
    def steady(self) -> bool:
        """Whether it rises all the time and never comes back, however slowly."""
        return self.trend is not None and self.trend.steady

    @property
    def full_after(self) -> float | None:
        """Seconds from the last sample on until the limit is reached, where the growth is steady."""
        if self.limit is None or not self.steady:
            return None
        return max(0.0, self.limit - self.in_use) / self.per_second


def leaks(samples: Iterable[Sample], limits: Mapping[str, int], steps: int = 0, share: float = LEAK) -> list[Growth]:
    """The growth of each device over the steps. `limits` are those that are known, `steps` the training steps."""
    curves: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for sample in samples:
        curves.update({device: curves[device] for device in sample.devices})
        if sample.phase == MEASURED:
            for device, (current, _) in sample.devices.items():
                curves[device].append((sample.t, current))
    return [_growth(device, curve, limits.get(device), steps, share) for device, curve in sorted(curves.items())]


def is_kept(tensors: Kept) -> bool:
    """Whether tensors of an origin outlive the step that makes them, as a rule and not now and then."""
    return tensors.left >= KEPT and 2 * tensors.left > tensors.made


def explained(growth: Growth, kept: Iterable[Kept]) -> list[Kept]:
    """The tensors that outlive their steps on a device, those with the most bytes first, where they account for most
    of its growth; else nothing."""
    found = sorted(
        (one for one in kept if one.device == growth.subject and is_kept(one)), key=lambda one: one.bytes, reverse=True
    )
    per_step = sum(one.bytes / one.made for one in found)
    return found if growth.per_step is not None and 2 * per_step > growth.per_step else []


def host_growth(
    resident: Iterable[tuple[float, int]], limit: int | None, since: float, steps: int = 0, share: float = LEAK
) -> Growth:
    """The growth of the program's own memory from a moment on. `limit` is the memory of the machine, or what the
    program may take of it."""
    return _growth("host", [(t, size) for t, size in resident if t >= since], limit, steps, share)


def steps_began(samples: Iterable[Sample]) -> float | None:
    """When the first sample of the steps was taken."""
    return min((sample.t for sample in samples if sample.phase == MEASURED), default=None)


def _growth(
    subject: str, curve: Sequence[tuple[float, int]], limit: int | None, steps: int, share: float = LEAK
) -> Growth:
    seen = trend(curve)
    in_use = max(curve)[1] if curve else 0
    verdict: Verdict = "pass"
    reason = ""
    if seen is None:
        verdict, reason = "inconclusive", f"{len(curve)} samples after warm-up, {NEEDED} are needed"
        if len(curve) >= NEEDED:
            reason = "all samples are of the same moment"
    elif seen.steady:
        verdict = "fail" if limit is not None and seen.growth > share * limit else "warn"
    return Growth(subject, verdict, reason, len(curve), seen, steps, limit, in_use, share)
