"""No worker keeps the others waiting."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.records import Task
from gpulint.probe.cluster.worker_text import names
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.measures.pace import Pace, pace

_ID = "straggler"

SLOW = 1.5
"""A straggler's own time per step exceeds 1.5× the median over the workers, as Ananthanarayanan et al. define it
for the tasks of a phase ("Reining in the Outliers in Map-Reduce Clusters using Mantri", OSDI 2010)."""

NEEDED = 20
"""Steps after the warm-up needed from each worker."""

SHORT = 0.005
"""Seconds by which the own time must also exceed the median: Python varies by milliseconds."""


def check(run: Run) -> Iterator[Expectation]:
    """Own time of each worker: time between steps without input waits, plus the time of a step in which nobody waits.

    In synchronous training each step ends for all workers when the last one arrives, so step times are equal, and the
    first to arrive waits longest inside its step. The shortest time inside is that of a step without waiting; anything
    beyond it is waiting for others. A worker with a slow device delays the step of every worker, so this check cannot
    find it.
    """
    trainers = run.capture.trainers
    if len(trainers) < 2 or run.capture.simulated:
        return
    times = {task: pace(capture) for task, capture in trainers}
    subject, expected = "own time of each worker per step", f"at most {SLOW}× the median"
    if min(one.steps for one in times.values()) < NEEDED:
        if any(capture.steps for _, capture in trainers):
            reason = f"{NEEDED} steps after the warm-up are needed of each worker"
            yield undecided(_ID, Status.INCONCLUSIVE, subject, expected, reason)
        return
    own = own_times(times)
    middle = sorted(own.values())[(len(own) - 1) // 2]
    slow = [task for task, seconds in own.items() if seconds > SLOW * middle and seconds - middle > SHORT]
    evidence = tuple(_in_words(task, times[task], own[task]) for task in sorted(own, key=lambda one: -own[one]))
    worst = max(own, key=lambda one: own[one])
    observed = f"{own[worst] * 1e3:.1f} ms on {worst.name}, median {middle * 1e3:.1f} ms"
    if slow:
        yield violated(
            _ID,
            f"straggler: {names(slow)}",
            expected,
            observed,
            evidence=evidence[:5],
            fix="look at what only that worker does between steps: input, logging, checkpoints, another program",
            level=Level.WARN,
        )
    else:
        yield held(_ID, subject, expected, observed)


def own_times(times: dict[Task, Pace]) -> dict[Task, float]:
    """Seconds of each worker per step, without waiting for others."""
    least = min(one.inside for one in times.values())
    return {task: one.between + least for task, one in times.items()}


def _in_words(task: Task, times: Pace, own: float) -> str:
    return (
        f"{task.name}: {own * 1e3:.1f} ms of its own, {times.between * 1e3:.1f} ms of them between steps; "
        f"{times.inside * 1e3:.1f} ms in the step, waiting included"
    )
