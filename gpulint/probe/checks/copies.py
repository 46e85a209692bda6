"""Steps copy data between devices of one kind only on request."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Set

from gpulint.probe.agent.operation_records import EAGER_COPY
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Copy, Strategy, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status, held, undecided, violated
from gpulint.probe.verdicts.evidence import MANY, kind_of, of_replicas

_ID = "copies"
_EXPECTED = "none between devices of one kind"
_REPLICAS = "none but the strategy's own all-reduce"

SHOWN = 3
"""Pairs of devices named as evidence."""


def check(run: Run) -> Iterator[Expectation]:
    """Copies between GPUs in every step, by the line that needs them.

    An operation in a device scope was placed there on purpose, and one with inputs from a single device continues from
    there: both need their copies. Replicas of a strategy read from each other only what it reduces. Batches come from
    the host.
    """
    capture = run.capture
    strategy = of_replicas(capture)
    if strategy is not None:
        yield from _between_replicas(capture, strategy)
        return
    in_steps = [one for one in capture.copies if one.in_step]
    by_line: dict[Where, Counter[Copy]] = defaultdict(Counter)
    for one, count in capture.copies.items():
        if one.where is not None and one.mixed and not one.requested and kind_of(one.source) == kind_of(one.target):
            if one.in_step or (one.op == EAGER_COPY and count >= MANY):
                by_line[one.where][one] += count
    for where, copies in by_line.items():
        ways = sorted({f"{one.source} to {one.target}" for one in copies})
        size = sum((one.bytes or 0) * count for one, count in copies.items())
        each = "in each step" if any(one.in_step for one in copies) else "in all"
        yield violated(
            _ID,
            f"inputs of {', '.join(sorted({one.consumer for one in copies}))}",
            _EXPECTED,
            f"{sum(copies.values())} {each}, {', '.join(ways)}" + (f", {size:,} bytes" if size else ""),
            code="GPU102",
            where=where,
            fix="create its inputs on one device, or put it into its own `tf.device` scope",
            level=Level.WARN,
        )
    if in_steps and not by_line:
        yield held(_ID, "copies in each step", _EXPECTED, f"{len(in_steps)}, from the host or as the program requests")


def between_replicas(capture: Capture, strategy: Strategy) -> Counter[Copy]:
    """Copies in graphs by which a replica reads from another's device, except those of the strategy's reduction: the
    value is not mirrored."""
    devices = set(strategy.devices)
    return Counter(
        {one: count for one, count in capture.copies.items() if one.reduces is False and _is_between(one, devices)}
    )


def _is_between(one: Copy, devices: Set[str]) -> bool:
    return one.op != EAGER_COPY and one.requested == one.target and {one.source, one.target} <= devices


def is_unsure(capture: Capture, strategy: Strategy) -> bool:
    """Whether the capture does not record if copies between replicas belong to a reduction."""
    return any(one.reduces is None and _is_between(one, set(strategy.devices)) for one in capture.copies)


def _between_replicas(capture: Capture, strategy: Strategy) -> Iterator[Expectation]:
    subject = f"copies between the {strategy.replicas} replicas"
    by_line: dict[Where | None, Counter[Copy]] = defaultdict(Counter)
    for one, count in between_replicas(capture, strategy).items():
        by_line[one.where][one] += count
    for where, copies in by_line.items():
        size = sum((one.bytes or 0) * count for one, count in copies.items())
        readers = ", ".join(sorted({one.consumer for one in copies}))
        each = "in each step" if any(one.in_step for one in copies) else "in each call"
        told = f"{copies.total()} {each} for {readers}" + (f", {size:,} bytes" if size else "")
        fix = "create the variables that the replicas read in `strategy.scope()`"
        ways = sorted({f"{one.source} to {one.target}" for one in copies})
        yield violated(
            _ID, subject, _REPLICAS, told, where=where, evidence=tuple(ways[:SHOWN]), fix=fix, level=Level.WARN
        )
    if is_unsure(capture, strategy):
        reason = "the capture does not say which copies are the strategy's own"
        yield undecided(_ID, Status.INCONCLUSIVE, subject, _REPLICAS, reason)
    elif any(one.in_step for one in capture.copies) and not by_line:
        reduced = sum(count for one, count in capture.copies.items() if one.in_step and one.reduces)
        yield held(_ID, subject, _REPLICAS, f"{reduced}, all of the strategy's own")
