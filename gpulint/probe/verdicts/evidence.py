"""Evidence in a capture for the rows of a finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.evidence import BACKEND, FUNCTIONS, GRAPHS, OPERATIONS, SESSIONS
from gpulint.probe.capture.records import Strategy, Variable, Where
from gpulint.probe.measures.reasons import is_bookkeeping


class Verdict(NamedTuple):
    """Whether a finding is confirmed or refuted, and the observation."""

    confirmed: bool
    observed: str


Judge = Callable[[Finding, Capture], "Verdict | None"]
"""The verdict on a finding, None if the run does not exercise it."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

NEAR = 3
"""Rows between a finding and the call that confirms it: a call over several rows has one location."""

STEP = 30
"""Assumed rows of a block or function whose end a finding does not give."""

MANY = 10
"""Times that a line inside the step runs, even in a short run."""


_WORK = frozenset({OPERATIONS, SESSIONS, BACKEND, GRAPHS, FUNCTIONS})
"""The evidence without which part of a program's operations is not known."""


def is_all_seen(capture: Capture, *others: str) -> bool:
    """Whether every operation of the program was seen, and this other evidence was not lost: only then can a verdict
    rely on what did not happen."""
    return not capture.loops and not any(what in _WORK or what in others for what, _ in capture.lost)


class PlacedOp(NamedTuple):
    """Equal operations or nodes on one line, bookkeeping excluded."""

    where: Where
    op: str
    requested: str
    device: str
    dtype: str
    times: int


def placed(capture: Capture) -> Iterator[PlacedOp]:
    """All operations and nodes with a device and a line, bookkeeping excluded."""
    for ran, count in capture.executions.items():
        if ran.where is not None and ran.device and not ran.part and not is_bookkeeping(ran.op):
            yield PlacedOp(ran.where, ran.op, ran.requested, ran.device, ran.dtype, count)
    for node, count in capture.nodes.items():
        if node.where is not None and node.assigned and not is_bookkeeping(node.op):
            yield PlacedOp(node.where, node.op, node.requested, node.assigned, node.dtype, count)


def is_in(where: Where | None, span: Span, after: int = 0) -> bool:
    """Whether a line is in the rows of a span, or at most `after` rows below."""
    if where is None or (where.path, where.cell) != (span.path, span.cell):
        return False
    return span.row <= where.row <= span.end_row + after


def made_by(span: Span, capture: Capture) -> list[Variable]:
    """Variables created in the rows of a span, or by calls there."""
    return [one for one in capture.variables if any(is_in(where, span) for where in (one.where, *one.callers))]


def is_near(where: Where | None, span: Span) -> bool:
    """Whether a line is in the rows of a span, or a few rows away."""
    return is_in(where, span._replace(row=span.row - NEAR), NEAR)


def of_replicas(capture: Capture) -> Strategy | None:
    """The first strategy with several replicas on several devices."""
    return next((one for one in capture.strategies if one.replicas > 1 and len(set(one.devices)) > 1), None)


def kind_of(device: str) -> str:
    """`GPU` of `GPU:0`."""
    return device.rpartition("/")[2].partition(":")[0]


def peers(device: str, capture: Capture) -> list[str]:
    """Other devices of the same kind."""
    return [name for name in capture.logical if name != device and kind_of(name) == kind_of(device)]


def by_device(devices: Counter[str]) -> str:
    """`12 on GPU:0, 3 on GPU:1`."""
    return ", ".join(f"{count} on {device}" for device, count in sorted(devices.items()))


def first_line(error: str) -> str:
    """The first line of an error, shortened."""
    return _ADDRESS.sub("", error.splitlines()[0])[:200] if error else ""


def ended_with(*texts: str) -> Judge:
    """Confirmed if the program ended with an error that contains one of these texts."""

    def decide(finding: Finding, capture: Capture) -> Verdict | None:
        if any(text in capture.error for text in texts):
            return Verdict(True, f"the program ended with {first_line(capture.error)}")
        return None

    return decide


def raised_here(*types: str) -> Judge:
    """Confirmed if the program ended with such an exception, raised in the rows of the finding or its related lines."""

    def decide(finding: Finding, capture: Capture) -> Verdict | None:
        spans = [finding.span, *(related.span for related in finding.related)]
        if capture.error.startswith(types) and any(is_in(capture.error_at, span) for span in spans):
            return Verdict(True, f"the program ended here with {first_line(capture.error)}")
        return None

    return decide


def first_of(*judges: Judge) -> Judge:
    """The first verdict that is not None."""

    def decide(finding: Finding, capture: Capture) -> Verdict | None:
        return next((said for one in judges if (said := one(finding, capture)) is not None), None)

    return decide
