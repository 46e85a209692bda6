"""Heavy work does not run on the host."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpulint.probe.capture.records import Execution, Node, Where
from gpulint.probe.expectations.expectation import Expectation, Level, Run, held, violated
from gpulint.probe.measures.reasons import NO_KERNEL, has_gpu, is_heavy, reason

_ID = "no-cpu-fallback"
_EXPECTED = "on a GPU"


def check(run: Run) -> Iterator[Expectation]:
    """Unexplained heavy operations on the host of a machine with a GPU, by line; and operations that were requested
    on a GPU and have no kernel for it, which only the program itself is wrong to request."""
    capture = run.capture
    if not has_gpu(capture):
        return
    lost: dict[tuple[Where | None, str, str], Counter[str]] = defaultdict(Counter)
    on_gpu = 0
    placed: list[tuple[Execution | Node, int]] = [*capture.executions.items(), *capture.nodes.items()]
    for one, count in placed:
        device = one.device if isinstance(one, Execution) else one.assigned
        on_gpu += count if is_heavy(one.op) and device.startswith("GPU") else 0
        if not device.startswith("CPU"):
            continue
        why = reason(one, capture)
        pinned = one.requested.startswith("GPU")
        if (is_heavy(one.op) and not why) or (pinned and why.startswith(NO_KERNEL)):
            lost[one.where, why, one.requested][_named(one)] += count
    for (where, why, requested), ops in lost.items():
        pinned = requested.startswith("GPU")
        named = ", ".join(op for op, _ in ops.most_common(3))
        by_strategy = any(requested in one.devices for one in capture.strategies)
        fix = "look for what keeps it there: a variable or a table on the host, or soft placement"
        if why:
            fix = "use an operation, or a dtype, that has a GPU kernel"
            fix = fix if by_strategy else f"leave it out of the `tf.device` scope, or {fix}"
        is_asked_for = pinned and not by_strategy  # a strategy asks for all operations of its replicas
        yield violated(
            _ID,
            f"{named} asked for {requested}" if pinned else named,
            _EXPECTED,
            f"{sum(ops.values())} on the host" + (f": {why}" if why else ", for no known reason"),
            code="GPU105" if why.startswith(NO_KERNEL) else "",
            where=where,
            fix=fix,
            level=Level.ERROR if is_asked_for or not why else Level.WARN,
        )
    if on_gpu and not lost:
        yield held(_ID, "heavy operations", _EXPECTED, f"{on_gpu} on a GPU, none on the host without a reason")


def _named(one: Execution | Node) -> str:
    return f"{one.op}[{one.dtype}]" if one.dtype else one.op
