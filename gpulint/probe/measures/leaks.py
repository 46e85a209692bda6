"""Growth of memory over the steps or the run, of a device or of the program, and the lines that explain it.

Sizes are bytes, times are seconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpulint.probe.capture.reader import MEASURED
from gpulint.probe.capture.records import Kept, Sample, Variable
from gpulint.probe.measures.memory import Outcome
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.trend import EVEN, NEEDED, Trend, trend

LEAK = 0.05
"""Share of the limit above which steady growth counts as a leak."""

KEPT = 3
"""Steps with tensors of one origin left over that rule out coincidence."""


@dataclass(frozen=True, slots=True)
class Growth:
    """Memory in use over the steps or the run, of a device or of the program."""

    subject: str
    verdict: Outcome
    reason: str
    """Why it is inconclusive, else ""."""
    samples: int
    trend: Trend | None
    steps: int
    """Training steps meanwhile, 0 if not counted."""
    limit: int | None
    in_use: int
    """At the last sample."""
    share: float = LEAK
    """Share of the limit that the growth must exceed."""

    @property
    def growth(self) -> float:
        """Bytes: slope times observed time."""
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
        """Whether it rises throughout, however slowly, and never falls back."""
        return self.trend is not None and self.trend.steady

    @property
    def to_the_end(self) -> bool:
        """Whether it still rises in the last quarter, as it did before."""
        if self.trend is None or not self.steady:
            return False
        floors = self.trend.floors
        return self.in_use - floors[-1] >= EVEN * max(after - before for before, after in pairwise(floors))

    @property
    def full_after(self) -> float | None:
        """Seconds from the last sample until the limit is reached, if growth is steady."""
        if self.limit is None or not self.steady:
            return None
        return max(0.0, self.limit - self.in_use) / self.per_second


def leaks(
    samples: Iterable[Sample],
    limits: Mapping[str, int],
    steps: int = 0,
    share: float = LEAK,
    phases: Collection[str] = (MEASURED,),
) -> list[Growth]:
    """Growth of each device in these phases. `limits` holds the known ones, `steps` is the number of training steps."""
    curves: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for sample in samples:
        curves.update({device: curves[device] for device in sample.devices})
        if sample.phase in phases:
            for device, (current, _) in sample.devices.items():
                curves[device].append((sample.t, current))
    return [_growth(device, curve, limits.get(device), steps, share) for device, curve in sorted(curves.items())]


def is_created_repeatedly(variables: Sequence[Variable]) -> bool:
    """Whether the sizes of variables, in the order of their creation, repeat, as of models that a loop creates. Those
    of one model seldom do."""
    sizes = [one.bytes for one in variables]
    return bool(sizes) and _period(sizes) <= len(sizes) // KEPT


def _period(sizes: Sequence[int]) -> int:
    """The least number of sizes after which they repeat, by the prefix function of Knuth, Morris and Pratt."""
    borders = [0]
    length = 0
    for size in sizes[1:]:
        while length and sizes[length] != size:
            length = borders[length - 1]
        length += sizes[length] == size
        borders.append(length)
    return len(sizes) - length


def is_kept(tensors: Kept) -> bool:
    """Whether tensors of an origin regularly outlive the step that creates them."""
    return tensors.left >= KEPT and 2 * tensors.left > tensors.made


def explained(growth: Growth, kept: Iterable[Kept]) -> list[Kept]:
    """The tensors that outlive their steps on a device, largest first, if they explain most of its growth; else
    none."""
    found = sorted(
        (one for one in kept if one.device == growth.subject and is_kept(one)), key=lambda one: one.bytes, reverse=True
    )
    per_step = sum(one.bytes / one.made for one in found)
    return found if growth.per_step is not None and 2 * per_step > growth.per_step else []


def host_growth(
    resident: Iterable[tuple[float, int]], limit: int | None, since: float, steps: int = 0, share: float = LEAK
) -> Growth:
    """Growth of the program's own memory since a time. `limit` is the machine's memory, or the program's share of
    it."""
    return _growth("host", [(t, size) for t, size in resident if t >= since], limit, steps, share)


def steps_began(samples: Iterable[Sample]) -> float | None:
    """Time of the first sample during the steps."""
    return min((sample.t for sample in samples if sample.phase == MEASURED), default=None)


def _growth(
    subject: str, curve: Sequence[tuple[float, int]], limit: int | None, steps: int, share: float = LEAK
) -> Growth:
    seen = trend(curve)
    in_use = max(curve)[1] if curve else 0
    verdict: Outcome = "pass"
    reason = ""
    if seen is None:
        verdict, reason = "inconclusive", f"{len(curve)} samples after warm-up, {NEEDED} are needed"
        if len(curve) >= NEEDED:
            reason = "all samples are of the same moment"
    elif seen.steady:
        verdict = "fail" if limit is not None and seen.growth > share * limit else "warn"
    return Growth(subject, verdict, reason, len(curve), seen, steps, limit, in_use, share)


def each_step(kept: Kept) -> str:
    """Bytes that a line leaves behind per step, in words."""
    return f"{in_words(kept.bytes / kept.made)} per step, from `{kept.op}`"
