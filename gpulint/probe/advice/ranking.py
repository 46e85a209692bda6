"""Ranks advice by the seconds that it gains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from statistics import quantiles

from gpulint.probe.advice.advice import Advice, Candidate
from gpulint.probe.measures.time_spent import TimeSpent

MOST = 5
"""Maximum number of pieces of advice for one run."""

LEAST = 0.05
"""Share of the time below which a gain is not worth a change: TensorFlow's profiler does not report shorter waits for
input."""

ERRORS = 3
"""Number of standard errors of the time that a gain must exceed: a smaller one may be chance."""

REHEARSED = ("idle-device", "copies", "precision")
"""Causes that a rehearsal shows as GPUs would: they come first there, whatever takes most of its time."""

QUARTILES = 1.349
"""Distance of the quartiles of a normal distribution, in standard deviations."""


def ranked(
    candidates: Iterable[Candidate], time: TimeSpent, run: float = 0.0, is_timed: bool = True
) -> tuple[Advice, ...]:
    """Urgent advice first, then the advice that gains most, then the one that gains most after that is followed, and so
    on. `run`: seconds of the whole run."""
    found = list(candidates)
    chosen = [_advice(one, 0.0, 1.0, is_timed) for one in found if one.is_urgent]
    open_ = [one for one in found if not one.is_urgent]
    whole = {part.name: part.seconds for part in time.shown}
    left = dict(whole)
    while open_ and len(chosen) < MOST:
        certain = [one for one in open_ if not is_timed and _is_certain(one, left, whole)]
        best = max(certain or open_, key=lambda one: sum(saved(one, left, whole).values()) + _outside(one))
        open_.remove(best)
        is_rehearsed = not is_timed and best.cause in REHEARSED  # the time that other changes leave says nothing of it
        gains, remaining = saved(best, whole if is_rehearsed else left, whole), sum(left.values())
        seconds = sum(gains.values())
        after = {name: max(value - gains.get(name, 0.0), 0.0) for name, value in left.items()}
        outside = _outside(best)
        if outside and seconds + outside > LEAST * run:
            chosen.append(_of_run(best, seconds, remaining, run, is_timed))
            run -= seconds + outside
        elif seconds > (LEAST * whole.get("launch", 0.0) if is_rehearsed else least_gain(time, after)):
            advice = _advice(best, seconds, remaining / max(remaining - seconds, 1e-9), is_timed)
            chosen.append(replace(advice, is_after_outside=any(one.is_outside for one in chosen)))
        else:
            continue
        left = after
    return tuple(chosen[:MOST])


def saved(one: Candidate, left: Mapping[str, float], whole: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each part that a change saves. `left` has the seconds of each part after the changes before it,
    `whole` those without any change."""
    gains = {}
    for part, seconds in one.cures.items():
        rest = left.get(part, 0.0)
        if one.in_proportion and whole.get(part):
            seconds *= rest / whole[part]
        gains[part] = min(seconds, rest)
    return gains


def _is_certain(one: Candidate, left: Mapping[str, float], whole: Mapping[str, float]) -> bool:
    """Whether a rehearsal shows that GPUs would lose most by this cause."""
    if one.cause != "copies":
        return one.cause in REHEARSED
    return 2 * sum(saved(one, left, whole).values()) > whole.get("launch", 0.0)


def least_gain(time: TimeSpent, after: Mapping[str, float]) -> float:
    """Minimum number of seconds that a change must save to be worth it. `after`: seconds of each part after the change.
    A gain within the noise of the remaining time may be chance."""
    return max(LEAST * time.seconds, ERRORS * standard_error(time, after))


def standard_error(time: TimeSpent, after: Mapping[str, float]) -> float:
    """Standard error of the time of all steps if each part took the seconds of `after`. It is estimated from quartiles,
    so that a single slow step does not count as noise."""
    if len(time.each) < 2:
        return 0.0
    shares = {part.name: after.get(part.name, 0.0) / part.seconds for part in time.parts if part.seconds}
    steps = [
        one.seconds - sum(seconds * (1 - shares.get(part, 1.0)) for part, seconds in one.parts.items())
        for one in time.each
    ]
    low, _, high = quantiles(steps, n=4, method="inclusive")
    return (high - low) / QUARTILES * sqrt(time.steps)


def is_beyond_chance(waits: Sequence[tuple[float, int]]) -> bool:
    """Whether the sum of waits (seconds, how many of them) exceeds its standard error as much as a gain must. That of a
    single wait is unknown."""
    number = sum(count for _, count in waits)
    if number < 2:
        return False
    total = sum(seconds * count for seconds, count in waits)
    deviations = sum(count * (seconds - total / number) ** 2 for seconds, count in waits)
    return total > ERRORS * sqrt(number * deviations / (number - 1))


def _outside(one: Candidate) -> float:
    return one.outside.saved if one.outside is not None else 0.0


def _of_run(one: Candidate, seconds: float, training: float, run: float, is_timed: bool) -> Advice:
    """Advice that saves time both in training (`seconds`) and outside it. Its speed-up is that of whichever gains more:
    of the `training` time or of the whole `run`."""
    outside = _outside(one)
    total, whole = (seconds + outside, run) if outside > seconds else (seconds, training)
    advice = _advice(one, seconds + outside, whole / max(whole - total, 1e-9), is_timed)
    return replace(advice, outside=one.outside)


def _advice(one: Candidate, seconds: float, speedup: float, is_timed: bool) -> Advice:
    return Advice(one.cause, one.code, one.where, one.text, one.evidence, one.fix, seconds, speedup, is_timed=is_timed)
