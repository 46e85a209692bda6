"""No step moves data between devices of one kind without having asked for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.agent.operation_records import EAGER_COPY
from gpulint.probe.capture.records import Copy, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.verdicts.evidence import MANY, kind_of, of_replicas

_ID = "copies"
_EXPECTED = "none between devices of one kind"


def check(run: Run) -> Iterator[Expectation]:
    """Copies between GPUs in every step, by the line that needs them.

    An operation in a device scope was put there on purpose, and one that reads from a single device has to go on from
    there: both need their copies. Strategies with several replicas copy by themselves. Batches come from the host.
    """
    capture = run.capture
    in_steps = [one for one in capture.copies if one.in_step]
    if of_replicas(capture) is not None:
        return
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
            fix="make its inputs on one device, or put it into a `tf.device` scope of its own",
            level=Level.WARN,
        )
    if in_steps and not by_line:
        yield held(_ID, "copies in each step", _EXPECTED, f"{len(in_steps)}, from the host or as asked for")
