"""Changes between two runs, beyond the noise of both."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot, sqrt
from statistics import quantiles
from typing import Literal

from gpulint.probe.advice.ranking import ERRORS, LEAST, QUARTILES
from gpulint.probe.capture.contents import Capture
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.curves import curves
from gpulint.probe.measures.time_spent import PARTS, TimeSpent
from gpulint.probe.report import RunReport

Unit = Literal["seconds", "bytes", "share", "number"]

_NOISE = {"seconds": 0.0, "bytes": float(1 << 20), "share": 0.02, "number": 0.0}
"""Differences that say nothing: an allocator's rounding, the choice of the steps that were traced."""

PREDICTION = "prediction"
"""The id of the checks of findings."""

BROKEN = (Status.FAIL, Status.WARN)


@dataclass(frozen=True, slots=True)
class Change:
    """A measure of both runs, None where a run lacks it. A difference up to `noise` may be chance. More is worse,
    except of what is `good`."""

    name: str
    unit: Unit
    before: float | None
    after: float | None
    noise: float = 0.0
    good: bool = False
    gates: bool = False
    """Whether it counts as a regression: parts and counts only explain the step."""

    @property
    def verdict(self) -> Literal["better", "worse", "same", "unknown"]:
        """Whether the second run is better, beyond noise."""
        if self.before is None or self.after is None:
            return "unknown"
        difference = self.after - self.before
        if abs(difference) <= max(self.noise, _NOISE[self.unit], LEAST * self.before):
            return "same"
        return "better" if (difference > 0) == self.good else "worse"

    @property
    def growth(self) -> float | None:
        """Relative change from the first run's value to the second's; None if either is unknown."""
        if self.before is None or self.after is None:
            return None
        if not self.before:
            return float("inf") if self.after else 0.0
        return self.after / self.before - 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check whose status changed; None in a run without it."""

    check: Expectation
    before: Status | None
    after: Status | None

    @property
    def is_new(self) -> bool:
        """Whether the second run violates what the first did not."""
        return self.after in BROKEN and self.before not in BROKEN


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, their measures, and the checks whose status changed, new violations first."""

    before: RunReport
    after: RunReport
    changes: tuple[Change, ...]
    verdicts: tuple[Verdict, ...]
    differences: tuple[str, ...]
    """Why times of the runs are hard to compare: other devices, another TensorFlow."""

    def regressions(self, share: float) -> tuple[Change, ...]:
        """The times and peaks that are worse by more than a share, beyond noise."""
        return tuple(
            one for one in self.changes if one.gates and one.verdict == "worse" and (one.growth or 0.0) > share
        )


def compared(before: RunReport, after: RunReport) -> Comparison:
    """The second run compared with the first."""
    return Comparison(
        before,
        after,
        tuple(_changes(before, after)),
        tuple(_verdicts(before, after)),
        tuple(_differences(before.capture, after.capture)),
    )


def _changes(before: RunReport, after: RunReport) -> Iterator[Change]:
    first, second = before.time, after.time
    if first is not None and second is not None:
        yield from _times(first, second)
        shares = [{one.device: one.busy_share for one in time.devices} for time in (first, second)]
        for device in (name for name in _names(*shares) if any(one.get(name) is not None for one in shares)):
            yield Change(f"{device} busy", "share", shares[0].get(device), shares[1].get(device), good=True)
        counts = first.operations_per_step, second.operations_per_step
        if any(counts):
            yield Change("operations per step", "number", *counts)
        traces = [float(sum(one.count for one in time.tracings)) for time in (first, second)]
        if any(traces):
            yield Change("traces and compilations", "number", traces[0], traces[1])
    peaks = [_peaks(one.capture) for one in (before, after)]
    for device in _names(*peaks):
        yield Change(f"{device} peak memory", "bytes", peaks[0].get(device), peaks[1].get(device), gates=True)


def _times(first: TimeSpent, second: TimeSpent) -> Iterator[Change]:
    """The step, and each part of it. Both runs' standard errors add up as those of independent values do."""
    noise = ERRORS * hypot(_error(first), _error(second))
    yield Change("step", "seconds", _each(first), _each(second), noise, gates=True)
    yield Change("median step", "seconds", first.step_median, second.step_median, noise, gates=True)
    for part in PARTS:
        values = _of_part(first, part), _of_part(second, part)
        if any(values):
            yield Change(f"step: {part}", "seconds", *values, noise)


def _each(time: TimeSpent) -> float:
    return time.seconds / max(time.steps, 1)


def _of_part(time: TimeSpent, part: str) -> float | None:
    """Seconds of a step, None if the part may be among what was not recorded."""
    seconds = time.seconds_of(part)
    return seconds / max(time.steps, 1) if seconds or not time.unrecorded else None


def _error(time: TimeSpent) -> float:
    """Standard error of the mean step, by the quartiles of the steps."""
    if len(time.each) < 2:
        return 0.0
    low, _, high = quantiles([one.seconds for one in time.each], n=4, method="inclusive")
    return (high - low) / QUARTILES / sqrt(len(time.each))


def _peaks(capture: Capture) -> dict[str, float]:
    return {
        one.subject: one.peak
        for one in curves(capture)
        if one.unit == "bytes" and one.peak and not one.subject.startswith("card ")
    }


def _names(*named: dict[str, float] | dict[str, float | None]) -> list[str]:
    return list(dict.fromkeys(name for one in named for name in one))


def _verdicts(before: RunReport, after: RunReport) -> Iterator[Verdict]:
    """Checks are the same by id, subject and file, those of findings by rule, too. Lines move between versions of a
    program, and the program itself may have another name."""
    first, second = _keyed(before), _keyed(after)
    changed = [
        Verdict(second.get(key, first.get(key)), _status(first.get(key)), _status(second.get(key)))  # type: ignore[arg-type]
        for key in dict.fromkeys([*second, *first])
    ]
    found = [one for one in changed if one.before != one.after and {one.before, one.after} & {*BROKEN}]
    yield from sorted(found, key=lambda one: not one.is_new)


def _keyed(report: RunReport) -> dict[tuple[str, str, str, str, int], Expectation]:
    """Expectations, keyed by what identifies them and their ordinal among identical ones."""
    program = os.path.basename(str(report.capture.process.get("main") or ""))
    seen = Counter[tuple[str, str, str, str]]()
    found: dict[tuple[str, str, str, str, int], Expectation] = {}
    for one in report.expectations:
        file = os.path.basename(one.where.path) if one.where is not None else ""
        code = one.code if one.id == PREDICTION else ""  # a check that passes names no rule
        key = one.id, code, one.subject, "" if file == program else file
        found[(*key, seen[key])] = one
        seen[key] += 1
    return found


def _status(one: Expectation | None) -> Status | None:
    return one.status if one is not None else None


def _differences(before: Capture, after: Capture) -> Iterator[str]:
    facts: defaultdict[str, list[str]] = defaultdict(list)
    for one in (before, after):
        facts["TensorFlow"].append(str(one.tensorflow.get("tensorflow") or ""))
        facts["Keras"].append(one.keras)
        facts["devices"].append(", ".join(one.logical))
        facts["cards"].append(", ".join(sorted({card.name for card in one.cards})))
        facts["simulated GPUs"].append(str(one.simulated or "none"))
        facts["platform"].append(str(one.start.get("platform") or ""))
    for name, (first, second) in facts.items():
        if first != second:
            yield f"{name}: {first or 'unknown'} before, {second or 'unknown'} after"
