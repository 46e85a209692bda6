"""Whether memory rises steadily, and how fast.

Spikes bend a least-squares line, so the slope is Theil and Sen's: the median slope of all pairs of points, robust
against 29 % of outliers. A slope alone does not tell a leak from noise, a single step or a sawtooth. Two more
statistics do: Kendall's test on the same pairs (could chance have ordered them so?), and the floor, the minimum from a
moment on. What is in the floor was never freed; only with a leak does it rise in every quarter of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt
from statistics import median

NEEDED = 20
"""Points needed: five in each quarter, so that its minimum is meaningful."""

MOST = 300
"""Points compared pairwise: 44,850 pairs, 13 ms."""

CERTAIN = 4.0
"""Standard deviations of Kendall's statistic above which a rise is not chance: one noise series in 30,000 passes."""

EVEN = 0.5
"""Each quarter must rise by at least this share of the fastest quarter's rise, which rules out growth that stops and
single jumps."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Trend:
    """The trend of a curve, in the units of its points."""

    points: int
    span: float
    """Last x minus first x."""
    slope: float
    rising: float
    """Share of rising pairs of points, 0 to 1."""
    tau: float
    """Kendall's tau-b: 1 if all pairs rise, -1 if all fall, about 0 for noise."""
    certainty: float
    """Kendall's statistic in standard deviations under chance."""
    floors: tuple[float, ...]
    """Minima of the curve, each from the start of a quarter of the points to the end."""

    @property
    def growth(self) -> float:
        """Slope times span."""
        return self.slope * self.span

    @property
    def steady(self) -> bool:
        """Whether it rises throughout and never falls back."""
        rises = [after - before for before, after in pairwise(self.floors)]
        return self.slope > 0 and self.certainty >= CERTAIN and min(rises) > 0 and min(rises) >= EVEN * max(rises)


def trend(points: Iterable[Point]) -> Trend | None:
    """The trend of points in any order, None for fewer than NEEDED or if all have the same x."""
    ordered = sorted(points)
    if len(ordered) < NEEDED or ordered[0][0] == ordered[-1][0]:
        return None
    some = _thinned(ordered)
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(some, 2) if x2 > x1]
    up, down = sum(slope > 0 for slope in slopes), sum(slope < 0 for slope in slopes)
    tau, certainty = _kendall(some, up - down)
    return Trend(
        points=len(ordered),
        span=ordered[-1][0] - ordered[0][0],
        slope=median(slopes),
        rising=up / len(slopes),
        tau=tau,
        certainty=certainty,
        floors=_floors([y for _, y in ordered]),
    )


def _thinned(points: Sequence[Point]) -> Sequence[Point]:
    """At most MOST points, including the first and the last, thinned where they are densest."""
    gap = (points[-1][0] - points[0][0]) / (MOST - 1)
    kept = list(points[:1])
    for point in points[1:-1]:
        if point[0] - kept[-1][0] >= gap:
            kept.append(point)
    return [*kept, points[-1]]


def _kendall(points: Sequence[Point], balance: int) -> tuple[float, float]:
    """Tau-b, and the statistic of the Mann-Kendall test; both corrected for ties."""
    count = len(points)
    equal_x, equal_y = (Counter(point[axis] for point in points).values() for axis in (0, 1))
    pairs = count * (count - 1) / 2
    untied = [pairs - sum(n * (n - 1) / 2 for n in equal) for equal in (equal_x, equal_y)]
    if not all(untied):
        return 0.0, 0.0
    variance = (count * (count - 1) * (2 * count + 5) - sum(n * (n - 1) * (2 * n + 5) for n in equal_y)) / 18
    sign = (balance > 0) - (balance < 0)
    return balance / sqrt(untied[0] * untied[1]), (balance - sign) / sqrt(variance)


def _floors(values: Sequence[float]) -> tuple[float, ...]:
    """Minima of the values, each from the start of a quarter to the end."""
    starts = [len(values) * quarter // 4 for quarter in range(4)]
    return tuple(min(values[start:]) for start in starts)
