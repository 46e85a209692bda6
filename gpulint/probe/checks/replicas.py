"""Each replica is given a part of the batch, and its own."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import ReplicaRun, Strategy, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.verdicts.evidence import MANY

_INPUTS, _BATCH = "replica-inputs", "replica-batch"
SMALLEST = 2
"""Elements of a replica's batch below which its device has next to nothing to do at once."""


def check(run: Run) -> Iterator[Expectation]:
    """What `strategy.run` was given, by line, and what each replica gets of datasets that were divided."""
    capture = run.capture
    trained = bool(capture.steps)
    lines: dict[Where | None, ReplicaRun] = {}
    for one, count in capture.runs.items():
        if not trained or (one.eager and count < MANY):
            continue  # a test of a layer, or an evaluation
        before = lines.get(one.where)
        if before is None or (one.whole and not one.divided):
            lines[one.where] = one
    for where, one in lines.items():
        subject, expected = f"inputs of the {one.replicas} replicas of `{one.function}`", "a part for each"
        if one.divided:
            yield held(_INPUTS, subject, expected, "a part for each", where=where)
        elif one.whole:
            batch = f"the same batch of {one.batch}" if one.batch else "the same"
            yield violated(
                _INPUTS,
                subject,
                expected,
                f"{batch} for all",
                code="GPU205",
                where=where,
                fix="divide the dataset with `strategy.experimental_distribute_dataset`",
                level=Level.WARN,
            )
    if (strategy := _only(capture)) is not None:
        yield from _batches(capture, strategy)


def _only(capture: Capture) -> Strategy | None:
    """The strategy with several replicas, where there is one only."""
    several = [one for one in capture.strategies if one.replicas > 1]
    return several[0] if len(several) == 1 else None


def _batches(capture: Capture, strategy: Strategy) -> Iterator[Expectation]:
    for batch in sorted({one for one in capture.batches if one.size > 0}, key=str):
        each = batch.size / strategy.replicas
        subject, expected = f"batches for {strategy.replicas} replicas", f"at least {SMALLEST} elements for each"
        observed = f"{each:g} of {batch.size} for each"
        if each < SMALLEST:
            yield violated(
                _BATCH,
                subject,
                expected,
                observed,
                code="GPU209",
                where=batch.where,
                fix="multiply the batch by `strategy.num_replicas_in_sync`",
                level=Level.WARN,
            )
        else:
            yield held(_BATCH, subject, expected, observed, where=batch.where)
