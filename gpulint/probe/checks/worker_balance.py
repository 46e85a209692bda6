"""The workers of a cluster have equal shares of the work."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Task
from gpulint.probe.cluster.worker_text import by_value
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated

_ID = "worker-balance"


def check(run: Run) -> Iterator[Expectation]:
    """Training steps of each worker, and each replica's part of a batch. Workers that were stopped are left out of
    the step counts."""
    trainers = run.capture.trainers
    if len(trainers) < 2:
        return
    taken = {task: capture.taken.total() for task, capture in trainers}
    if any(taken.values()):
        subject, expected = "training steps of each worker", "as many"
        counts = {task: str(count) for task, count in taken.items()}
        if all(capture.end.get("status") == 0 for _, capture in trainers):
            fix = "give every worker as many batches: shards of one size, or `repeat()` and a number of steps"
            yield _alike(counts, subject, expected, fix)
        else:
            reason = f"{by_value(counts)}; not every worker finished"
            yield undecided(_ID, Status.INCONCLUSIVE, subject, expected, reason)
    batches = {task: batch for task, capture in trainers if (batch := _batches(capture))}
    if len(batches) > 1:
        fix = "use the same batch size on every worker: gradients are averaged as if every replica had the same share"
        yield _alike(batches, "elements of a batch for each replica", "as many on each worker", fix)


def _alike(values: dict[Task, str], subject: str, expected: str, fix: str) -> Expectation:
    if len(set(values.values())) == 1:
        return held(_ID, subject, expected, by_value(values))
    return violated(_ID, subject, expected, by_value(values), fix=fix, level=Level.WARN)


def _batches(capture: Capture) -> str:
    """A replica's part in `strategy.run`, in training; graphs are traced with the first batch."""
    sizes = {one.batch for one in capture.runs if one.batch and capture.steps}
    return ", ".join(map(str, sorted(sizes)))
