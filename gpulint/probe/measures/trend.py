"""Whether a curve of memory rises for good, and how fast.

A least-squares line is bent by every spike, so the slope is Theil's and Sen's: the median of the slopes between all
pairs of points, which 29 % of outliers cannot move. A slope alone does not tell a leak from noise, from one step up or
from the teeth of a saw. Two more things do: Kendall's test of the same pairs (could chance alone have sorted them so?),
and the floor: what was in use at the least from a moment on is what was never given back, and under a leak, and only
there, that rises in every quarter of the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import sqrt
from statistics import median

NEEDED = 20
"""Points that a trend takes: five in each quarter, for its lowest one to be more than chance."""

MOST = 300
"""Points whose pairs are compared: 44,850 pairs, 13 ms."""

CERTAIN = 4.0
"""Standard deviations of Kendall's statistic from which on a rise is no chance: one series of noise in 30,000."""

EVEN = 0.5
"""The least share of the fastest quarter's rise that every quarter has to rise by: growth that comes to an end, and
growth at one time, fall below it."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Trend:
    """How a curve runs. Units are those of the points."""

    points: int
    span: float
    """From the first x to the last."""
    slope: float
    rising: float
    """Share of the pairs of points that rise, 0 to 1."""
    tau: float
    """Kendall's tau-b: 1 where all pairs rise, -1 where all fall, about 0 for noise."""
    certainty: float
    """Kendall's statistic in standard deviations of what chance gives."""
    floors: tuple[float, ...]
    """By quarter of the points: the lowest y from its beginning on, to the end of the curve."""

    @property
    def growth(self) -> float:
        """What the slope adds up to over the span."""
        return self.slope * self.span

    @property
    def steady(self) -> bool:
        """Whether it rises all the time and never comes back."""
        rises = [after - before for before, after in pairwise(self.floors)]
        return self.slope > 0 and self.certainty >= CERTAIN and min(rises) > 0 and min(rises) >= EVEN * max(rises)


def trend(points: Iterable[Point]) -> Trend | None:
    """The trend of points in any order, None for fewer than NEEDED or where all have the same x."""
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
    """At most MOST of the points, the first and the last among them: where they are denser than even spacing, some."""
    gap = (points[-1][0] - points[0][0]) / (MOST - 1)
    kept = list(points[:1])
    for point in points[1:-1]:
        if point[0] - kept[-1][0] >= gap:
            kept.append(point)
    return [*kept, points[-1]]


def _kendall(points: Sequence[Point], balance: int) -> tuple[float, float]:
    """Tau-b, and the statistic of Mann's test; both with the corrections for equal values."""
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
    """By quarter: the lowest value from its beginning to the end."""
    starts = [len(values) * quarter // 4 for quarter in range(4)]
    return tuple(min(values[start:]) for start in starts)
