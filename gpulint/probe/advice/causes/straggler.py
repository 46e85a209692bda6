"""The workers of a cluster wait for one of them."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.checks.stragglers import NEEDED, SLOW, own_times
from gpulint.probe.measures.pace import pace
from gpulint.probe.measures.time_spent import TimeSpent, time_spent
from gpulint.probe.measures.time_words import duration


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The worker whose own time for a step is longest. The others wait for it inside their steps."""
    trainers = observed.capture.trainers
    times = {task: pace(capture) for task, capture in trainers}
    if len(trainers) < 2 or min(one.steps for one in times.values()) < NEEDED:
        return
    own = own_times(times)
    middle = sorted(own.values())[(len(own) - 1) // 2]
    worst = max(own, key=lambda one: own[one])
    lost = own[worst] - middle
    if own[worst] <= SLOW * middle:
        return
    where, what = _busiest(dict(trainers)[worst])
    yield Candidate(
        "straggler",
        where,
        f"the other workers wait for {worst.name}",
        f"Its own time per step is {duration(own[worst])}; the median is {duration(middle)}.",
        f"Give all workers the same work between steps{what}.",
        _waited(observed.time, lost * observed.time.steps),
    )


def _waited(time: TimeSpent, seconds: float) -> dict[str, float]:
    """Where the wait shows: in the step of a worker that waits, between the steps of the one that is waited for."""
    cures: dict[str, float] = {}
    for part in ("collective", "launch", "input", "python", "checkpoint"):
        cures[part] = min(seconds, time.seconds_of(part))
        seconds -= cures[part]
    return cures


def _busiest(capture: Capture) -> tuple[Where | None, str]:
    """The line of a worker that takes longest between steps."""
    time = time_spent(capture)
    lines = [one for one in time.by_line if one.name in ("python", "input", "checkpoint")] if time is not None else []
    longest = max(lines, key=lambda one: one.seconds, default=None)
    if longest is None:
        return None, ": input, logging, checkpoints, another program"
    return longest.where, f": this line took {duration(longest.seconds)}"
