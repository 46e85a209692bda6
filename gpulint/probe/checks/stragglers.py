"""No worker makes the others wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Task
from gpulint.probe.cluster.worker_text import names
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated

_ID = "straggler"

SLOW = 1.5
"""A worker is a straggler whose own time for a step is more than 1.5 × the median over the workers: so Ananthanarayanan
et al. define it for the tasks of a phase ("Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010)."""

NEEDED = 20
"""Steps after the warm-up that are needed of each worker."""

SHORT = 0.005
"""Seconds by which the own time must exceed the median, too: Python takes milliseconds more or less."""


@dataclass(frozen=True, slots=True)
class Times:
    """Median seconds of one worker for a step: in the function of the step, and of Python's between two of them."""

    steps: int
    inside: float
    between: float


def check(run: Run) -> Iterator[Expectation]:
    """The own time of each worker: what it spends between steps, waits for input left out, and the time of the step
    itself where nobody waits for anybody.

    In synchronous training every step ends for all workers when the last one has come to it: the times from step to
    step are the same, and who comes first waits longest inside of its step. The shortest of the times inside is that of
    a step without waiting; what a worker has beyond it, it waits for others. A worker whose step itself is slow, on a
    slow device, delays the end of everybody's step, and this does not tell it from the others.
    """
    trainers = run.capture.trainers
    if len(trainers) < 2 or run.capture.simulated:
        return
    times = {task: times_of(capture) for task, capture in trainers}
    subject, expected = "own time of each worker for a step", f"at most {SLOW} × the median"
    if min(one.steps for one in times.values()) < NEEDED:
        if any(capture.steps for _, capture in trainers):
            reason = f"{NEEDED} steps after the warm-up are needed of each worker"
            yield undecided(_ID, Status.INCONCLUSIVE, subject, expected, reason)
        return
    own = own_times(times)
    middle = sorted(own.values())[(len(own) - 1) // 2]
    slow = [task for task, seconds in own.items() if seconds > SLOW * middle and seconds - middle > SHORT]
    evidence = tuple(_told(task, times[task], own[task]) for task in sorted(own, key=lambda one: -own[one]))
    worst = max(own, key=lambda one: own[one])
    observed = f"{own[worst] * 1e3:.1f} ms on {worst.name}, median {middle * 1e3:.1f} ms"
    if slow:
        yield violated(
            _ID,
            f"{subject}: {names(slow)}",
            expected,
            observed,
            evidence=evidence[:5],
            fix="look at what only that worker does between steps: input, logging, checkpoints, another program",
            level=Level.WARN,
        )
    else:
        yield held(_ID, subject, expected, observed)


def own_times(times: dict[Task, Times]) -> dict[Task, float]:
    """Seconds of each worker for a step, without those in which it waits for others."""
    least = min(one.inside for one in times.values())
    return {task: one.between + least for task, one in times.items()}


def times_of(capture: Capture) -> Times:
    """The times of a worker, of the steps after the warm-up; zeros where there are none."""
    return Times(
        sum(one.steps for one in capture.paces),
        _median([(one.inside, one.steps) for one in capture.paces]),
        _median([(one.between, one.steps) for one in capture.paces]),
    )


def _median(values: Sequence[tuple[float, int]]) -> float:
    """The median of medians, each as many times as it has steps."""
    left = sum(count for _, count in values) / 2
    for value, count in sorted(values):
        left -= count
        if left <= 0:
            return value
    return 0.0


def _told(task: Task, times: Times, own: float) -> str:
    return (
        f"{task.name}: {own * 1e3:.1f} ms of its own, {times.between * 1e3:.1f} ms of them between steps; "
        f"{times.inside * 1e3:.1f} ms in the step, waiting included"
    )
