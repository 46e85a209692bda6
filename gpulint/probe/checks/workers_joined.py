"""Every worker of a cluster takes part."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.cluster.folder import tasks_of
from gpulint.probe.cluster.worker_text import by_value, how_it_ended, last_words, names
from gpulint.probe.expectations.expectation import Expectation, Run, Status, held, undecided, violated

_ID = "worker-joined"
_EXPECTED = "takes training steps"


def check(run: Run) -> Iterator[Expectation]:
    """Each training worker by its capture and steps, then whether all list the same cluster.

    A program may train without recognised steps; if no worker has any, this is inconclusive.
    """
    trainers = {task for task, _ in run.capture.trainers}
    training = [one for one in run.capture.members if one.task in trainers or (not one.capture and one.task.trains)]
    if not training:
        return
    taken = {one.task: _steps(one.capture) for one in training}
    absent = [one for one in training if one.capture is None]
    late = [one for one in training if one.capture is not None and not taken[one.task]] if any(taken.values()) else []
    for one in (*absent, *late):
        seen = f"took no step, {how_it_ended(one.capture)}" if one.capture is not None else "left no capture"
        yield violated(
            _ID,
            one.task.name,
            _EXPECTED,
            seen,
            where=(one.capture.stopped_at or one.capture.error_at) if one.capture is not None else None,
            evidence=tuple(filter(None, (last_words(one.capture),))),
            fix="look at its log and its launcher: the others wait for it, or train without it",
        )
    joined = [one.task for one in training if taken[one.task]]
    if joined:
        counts = {task: f"{taken[task]} steps" for task in joined}
        yield held(_ID, names(joined), _EXPECTED, by_value(counts))
    elif not absent:
        reason = "no training step of any worker was seen"
        yield undecided(_ID, Status.INCONCLUSIVE, names(taken), _EXPECTED, reason)
    yield from _one_cluster(run)


def _one_cluster(run: Run) -> Iterator[Expectation]:
    """Detects captures of two runs in one directory, and workers with different cluster specifications."""
    clusters = {task: tasks for task, capture in run.capture.trainers if (tasks := tasks_of(capture))}
    if len({frozenset(tasks) for tasks in clusters.values()}) > 1:
        observed = by_value({task: names(tasks) for task, tasks in clusters.items()})
        fix = "give each run a directory of its own, and each worker the same cluster"
        yield violated(_ID, "the cluster", "the same for every worker", observed, fix=fix)


def _steps(capture: Capture | None) -> int:
    return capture.taken.total() if capture is not None else 0
