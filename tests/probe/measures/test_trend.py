"""The trend of known curves; curves without a leak are not reported."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.probe.measures.trend import MOST, NEEDED, Point, trend

CASES = 200
LEAK = 0.05
"""Share of the limit; all curves here are shares of it."""

lines = st.tuples(st.integers(-(10**9), 10**9), st.integers(0, 10**9), st.integers(NEEDED, 400))
series = st.lists(st.integers(0, 10**12), min_size=NEEDED, max_size=60)


def found(values: list[float]) -> bool:
    """Whether a curve of shares of the limit counts as a leak."""
    seen = trend(enumerate(values))
    return seen is not None and seen.steady and seen.growth > LEAK


class TestKnown:
    @settings(max_examples=50)
    @given(lines)
    def test_a_line_has_its_slope(self, line: tuple[int, int, int]) -> None:
        slope, start, count = line
        seen = trend((x, start + slope * x) for x in range(count))
        assert seen is not None
        assert seen.slope == slope and seen.growth == slope * (count - 1) and seen.span == count - 1
        assert seen.tau == pytest.approx((slope > 0) - (slope < 0))
        assert seen.rising == (slope > 0)
        assert seen.steady == (slope > 0)

    @given(series, st.integers(-(10**12), 10**12), st.integers(-(10**6), 10**6))
    def test_shifted_it_is_the_same(self, values: list[int], up: int, along: int) -> None:
        here = trend((float(x), float(y)) for x, y in enumerate(values))
        there = trend((float(x + along), float(y + up)) for x, y in enumerate(values))
        assert here is not None and there is not None
        assert (here.slope, here.tau, here.rising) == (there.slope, there.tau, there.rising)
        assert [floor + up for floor in here.floors] == list(there.floors)
        assert here.steady == there.steady

    @given(series, st.randoms(use_true_random=False))
    def test_the_order_of_the_points_is_no_matter(self, values: list[int], chance: random.Random) -> None:
        points: list[Point] = [(x // 2, y) for x, y in enumerate(values)]
        mixed = points[:]
        chance.shuffle(mixed)
        assert trend(points) == trend(mixed)

    def test_outliers_do_not_move_it(self) -> None:
        points = [(x, 3.0 * x) for x in range(100)]
        for x in range(0, 100, 4):
            points[x] = (x, 10.0**9)
        seen = trend(points)
        assert seen is not None and seen.slope == pytest.approx(3.0, rel=0.5)

    def test_many_points_are_thinned_and_none_is_missed(self) -> None:
        values = [float(x) for x in range(50 * MOST)]
        values[-2] = -5.0
        seen = trend(enumerate(values))
        assert seen is not None and seen.points == 50 * MOST and seen.slope == 1.0
        assert seen.floors == (-5.0,) * 4 and not seen.steady

    @pytest.mark.parametrize("points", [[], [(x, x) for x in range(NEEDED - 1)], [(7, y) for y in range(100)]])
    def test_too_few_points_have_none(self, points: list[Point]) -> None:
        assert trend(points) is None

    def test_a_level_line_has_no_rise(self) -> None:
        seen = trend((x, 5.0) for x in range(NEEDED))
        assert seen is not None
        assert (seen.slope, seen.tau, seen.certainty, seen.rising, seen.steady) == (0.0, 0.0, 0.0, 0.0, False)


Curve = Callable[[random.Random, int], list[float]]


def plateau(chance: random.Random, count: int) -> list[float]:
    """An allocator takes a region once, at any time."""
    base, step, at = chance.uniform(0.1, 0.5), chance.uniform(0.05, 0.4), chance.uniform(0, 0.95) * count
    noise = chance.uniform(0, 0.05)
    return [base + step * (x >= at) + chance.gauss(0, noise) for x in range(count)]


def stairs(chance: random.Random, count: int) -> list[float]:
    """Several regions, all in the first part."""
    times = [chance.uniform(0, 0.4) * count for _ in range(chance.randint(1, 5))]
    noise = chance.choice([0, 0.001, 0.02])
    return [0.1 + 0.06 * sum(x >= at for at in times) + chance.gauss(0, noise) for x in range(count)]


def sawtooth(chance: random.Random, count: int) -> list[float]:
    """A buffer that is filled and emptied at least twice, but less often than samples are taken."""
    period, phase = count / chance.uniform(2, count / 3), chance.random()
    height, noise = chance.uniform(0.05, 0.6), chance.choice([0, 0.001, 0.02])
    return [0.1 + height * ((x / period + phase) % 1) + chance.gauss(0, noise) for x in range(count)]


def wave(chance: random.Random, count: int) -> list[float]:
    period, phase, height = count / chance.uniform(2, count / 3), chance.random(), chance.uniform(0.05, 0.6)
    return [0.5 + height / 2 * math.sin(2 * math.pi * (x / period + phase)) for x in range(count)]


def noise(chance: random.Random, count: int) -> list[float]:
    """Samples at any moment of a step, between the permanent memory and the peak."""
    height = chance.uniform(0.01, 0.5)
    draw = chance.choice(
        [
            lambda: chance.uniform(0, height),
            lambda: chance.gauss(0, height),
            lambda: chance.choice([0, height]),
            lambda: chance.expovariate(1 / height),
        ]
    )
    return [0.2 + draw() for _ in range(count)]


def warm_up(chance: random.Random, count: int) -> list[float]:
    """Growth that stops."""
    time, height = count * chance.uniform(0.01, 0.3), chance.uniform(0.05, 0.6)
    noise = chance.choice([0, 0.001, 0.02])
    return [0.2 + height * (1 - math.exp(-x / time)) + chance.gauss(0, noise) for x in range(count)]


def wandering(chance: random.Random, count: int) -> list[float]:
    """Correlated noise: a cache that fills and empties."""
    memory, level, values = chance.uniform(0.3, 0.9), 0.0, []
    for _ in range(count):
        level = memory * level + chance.gauss(0, 0.05)
        values.append(0.5 + level)
    return values


def leak(chance: random.Random, count: int) -> list[float]:
    growth = chance.uniform(0.06, 0.6)
    noise = growth * chance.uniform(0, 0.1)
    return [0.1 + growth * x / (count - 1) + chance.uniform(0, noise) for x in range(count)]


def leak_by_epoch(chance: random.Random, count: int) -> list[float]:
    """An occasional leak."""
    growth, times = chance.uniform(0.08, 0.6), chance.randint(12, 20)
    return [0.1 + growth * int(times * x / count) / times for x in range(count)]


COUNTS = (NEEDED, 25, 40, 60, 100, 200, 300, 500)


class TestCurves:
    @pytest.mark.parametrize("curve", [plateau, stairs, sawtooth, wave, noise, warm_up, wandering])
    def test_what_is_no_leak_is_silent(self, curve: Curve) -> None:
        chance = random.Random(curve.__name__)
        wrong = [case for case in range(CASES) if found(curve(chance, chance.choice(COUNTS)))]
        assert wrong == []

    @pytest.mark.parametrize("curve", [leak, leak_by_epoch])
    def test_leaks_are_found(self, curve: Curve) -> None:
        chance = random.Random(curve.__name__)
        missed = [case for case in range(CASES) if not found(curve(chance, chance.choice(COUNTS)))]
        assert missed == []

    def test_a_leak_below_the_height_of_a_step_is_found(self) -> None:
        """Samples at any moment of a step, with activations of up to half of the total leak."""
        chance = random.Random(7)
        missed = 0
        for _ in range(100):
            growth = chance.uniform(0.08, 0.5)
            values = [0.1 + growth * x / 299 + chance.uniform(0, growth / 2) for x in range(300)]
            missed += not found(values)
        assert missed == 0
