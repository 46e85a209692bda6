"""Advice is ranked by its gain, assuming that the advice before it was followed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.advice.advice import CAUSES, Candidate
from gpulint.probe.advice.ranking import ERRORS, LEAST, MOST, least_gain, ranked, saved, standard_error
from gpulint.probe.measures.time_spent import PARTS, StepTime, TimeSpent
from tests.probe.advice.times import spent

SECONDS = st.floats(0.001, 1000)
PART_SECONDS = st.dictionaries(st.sampled_from(PARTS), SECONDS, min_size=1)


def candidate(cures: dict[str, float], cause: str = "input-bound", in_proportion: bool = False) -> Candidate:
    return Candidate(cause, None, "text", "Evidence.", "Fix.", cures, in_proportion=in_proportion)


CANDIDATES = st.lists(st.builds(candidate, PART_SECONDS, st.sampled_from(CAUSES), st.booleans()), max_size=9)


@st.composite
def times(draw: st.DrawFn) -> TimeSpent:
    """Times of steps that vary."""
    parts = draw(PART_SECONDS)
    even = spent(parts, draw(st.integers(2, 50)))
    factors = draw(st.lists(st.floats(0.5, 2), min_size=len(even.each), max_size=len(even.each)))
    each = tuple(
        StepTime(one.number, one.ended, one.seconds * by, {name: value * by for name, value in one.parts.items()})
        for one, by in zip(even.each, factors, strict=True)
    )
    return replace(even, each=each)


@given(times(), CANDIDATES)
def test_what_all_advice_gains_is_no_more_than_the_time(time: TimeSpent, candidates: list[Candidate]) -> None:
    advice = ranked(candidates, time)
    assert sum(one.seconds for one in advice) <= time.seconds * (1 + 1e-9)
    assert len(advice) <= MOST


@given(times(), CANDIDATES)
def test_each_advice_gains_what_is_left_after_those_before_it(time: TimeSpent, candidates: list[Candidate]) -> None:
    left = time.seconds
    for one in ranked(candidates, time):
        assert one.speedup == pytest.approx(left / max(left - one.seconds, 1e-9), rel=1e-6)
        left -= one.seconds


def test_time_that_was_not_recorded_stays() -> None:
    (one,) = ranked([candidate({"input": 20.0})], spent({"input": 20.0}, unrecorded=80.0))
    assert one.speedup == pytest.approx(1.25)


@given(times(), CANDIDATES)
def test_the_first_advice_gains_most(time: TimeSpent, candidates: list[Candidate]) -> None:
    advice = ranked(candidates, time)
    gains = [one.seconds for one in advice]
    assert gains == sorted(gains, reverse=True)
    whole = {part.name: part.seconds for part in time.parts}
    if advice:
        quiet = [one for one in candidates if _gain(one, whole) > gains[0] * (1 + 1e-9)]
        assert all(_gain(one, whole) <= least_gain(time, _after(one, whole)) for one in quiet)


@given(times(), CANDIDATES)
def test_no_advice_gains_less_than_the_noise(time: TimeSpent, candidates: list[Candidate]) -> None:
    advice = ranked(candidates, time)
    assert all(one.seconds > LEAST * time.seconds for one in advice)
    if advice:
        whole = {part.name: part.seconds for part in time.parts}
        alike = [one for one in candidates if _gain(one, whole) == pytest.approx(advice[0].seconds)]
        noises = [ERRORS * standard_error(time, _after(one, whole)) for one in alike]
        assert min(noises) <= advice[0].seconds


def _gain(one: Candidate, whole: dict[str, float]) -> float:
    return sum(saved(one, whole, whole).values())


def test_a_change_in_proportion_saves_its_share_of_what_is_left() -> None:
    first = candidate({"launch": 60.0})
    half = candidate({"launch": 50.0}, in_proportion=True)
    assert [one.seconds for one in ranked([half, first], spent({"launch": 100.0}))] == [60.0, 20.0]


def _after(one: Candidate, left: dict[str, float]) -> dict[str, float]:
    return {name: seconds - min(seconds, one.cures.get(name, 0.0)) for name, seconds in left.items()}


def test_two_cures_of_one_part_do_not_count_twice() -> None:
    time = spent({"launch": 8.0, "gpu": 2.0})
    first, *rest = ranked([candidate({"launch": 8.0}), candidate({"launch": 7.0}, "eager-step")], time)
    assert (first.seconds, first.speedup) == (8.0, 5.0)
    assert not rest


def test_the_second_is_computed_with_the_first_cured() -> None:
    time = spent({"input": 90.0, "launch": 7.5, "gpu": 2.5})
    first, second = ranked([candidate({"launch": 7.5}, "launch-bound"), candidate({"input": 90.0})], time)
    assert (first.cause, first.speedup) == ("input-bound", 10.0)
    assert (second.cause, second.speedup) == ("launch-bound", 4.0)


def test_a_gain_within_the_noise_of_the_rest_is_not_given() -> None:
    time = spent({"input": 6.0, "launch": 94.0}, 100)
    noisy = replace(
        time,
        each=tuple(replace_seconds(one, 0.05 if one.number % 2 else 1.95) for one in time.each),
    )
    assert ranked([candidate({"input": 6.0})], time)
    assert not ranked([candidate({"input": 6.0})], noisy)


def test_a_gain_of_less_than_5_percent_is_not_given() -> None:
    time = spent({"input": 6.0, "launch": 94.0}, 100)
    assert not ranked([candidate({"input": 4.9})], time)


def replace_seconds(one: StepTime, launch: float) -> StepTime:
    return StepTime(one.number, one.ended, launch + one.parts["input"], {**one.parts, "launch": launch})


def test_the_noise_of_what_is_cured_does_not_count() -> None:
    """Step times vary because of tracing: that is the gain, not noise."""
    time = spent({"trace": 50.0, "launch": 50.0}, 100)
    each = [
        StepTime(one.number, one.ended, 0.5 + cost, {"trace": cost, "launch": 0.5})
        for one in time.each
        for cost in (1.0 if one.number % 2 else 0.0,)
    ]
    assert ranked([candidate({"trace": 50.0}, "retracing")], replace(time, each=tuple(each)))


def test_urgent_advice_comes_first_whatever_the_rest_gains() -> None:
    time = spent({"input": 9.0, "launch": 1.0})
    urgent = replace(candidate({}, "out-of-memory"), is_urgent=True)
    assert [one.cause for one in ranked([candidate({"input": 9.0}), urgent], time)] == ["out-of-memory", "input-bound"]
