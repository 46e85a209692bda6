"""Each replica gets its own shard of the batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import ReplicaRun, Strategy, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.measures.splits import divided, shares, splits_by_loop
from gpulint.probe.verdicts.evidence import MANY

_INPUTS, _BATCH = "replica-inputs", "replica-batch"
SMALLEST = 2
"""Elements of a replica's batch below which its device has almost no parallel work."""


def check(run: Run) -> Iterator[Expectation]:
    """Arguments of `strategy.run`, by line, and the shards of distributed datasets."""
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
        subject, expected = (
            f"inputs of the {one.replicas} replicas of `{one.function}`",
            "each replica gets its own shard of the batch",
        )
        if one.divided:
            yield held(_INPUTS, subject, expected, "its own shard each", where=where)
        elif one.whole:
            batch = f"the whole batch of {one.batch}" if one.batch else "the same tensors"
            yield violated(
                _INPUTS,
                subject,
                expected,
                f"every replica gets {batch}",
                code="GPU205",
                where=where,
                fix="distribute the dataset with `strategy.experimental_distribute_dataset`",
                level=Level.WARN,
            )
    if (strategy := _only(capture)) is not None:
        yield from _batches(capture, strategy)


def _only(capture: Capture) -> Strategy | None:
    """The strategy with several replicas, if there is exactly one."""
    several = [one for one in capture.strategies if one.replicas > 1]
    return several[0] if len(several) == 1 else None


def _batches(capture: Capture, strategy: Strategy) -> Iterator[Expectation]:
    """Shards of the batches that a loop read; if none were seen, the batch size by replicas."""
    expected = f"at least {SMALLEST} elements for each"
    seen = set()
    for where, splits in splits_by_loop(capture).items():
        seen |= {sum(sizes) for sizes in splits}
        yield _of_loop(where, splits, f"batches for {strategy.replicas} replicas", expected)
    for batch in sorted({one for one in capture.batches if one.size > 0}, key=str):
        if batch.size in seen:
            continue
        sizes = divided(batch.size, strategy.replicas)
        subject, observed = f"batches for {strategy.replicas} replicas", shares(sizes)
        if min(sizes) < SMALLEST:
            yield _too_small(subject, expected, observed, batch.where)
        else:
            yield held(_BATCH, subject, expected, observed, where=batch.where)


def _of_loop(where: Where | None, splits: Counter[tuple[int, ...]], subject: str, expected: str) -> Expectation:
    total = splits.total()
    for sizes, count in splits.most_common():
        if 0 in sizes:
            empty = f"replica {sizes.index(0)} got 0 of {sum(sizes)} in {count} of {total} batches"
            fix = "pass `drop_remainder=True` to `batch`, or choose another size: the mean of no elements is NaN"
            return violated(_BATCH, subject, expected, empty, where=where, fix=fix, level=Level.WARN)
    ((usual, times),) = splits.most_common(1)
    observed = shares(usual)
    if min(usual) < SMALLEST:
        return _too_small(subject, expected, observed, where)
    if times < total:
        observed += f" in {times} of {total} batches"
    return held(_BATCH, subject, expected, observed, where=where)


def _too_small(subject: str, expected: str, observed: str, where: Where | None) -> Expectation:
    fix = "multiply the batch by `strategy.num_replicas_in_sync`"
    return violated(_BATCH, subject, expected, observed, code="GPU209", where=where, fix=fix, level=Level.WARN)
