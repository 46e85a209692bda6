"""What deciders look for in a Capture, by the rows of a finding."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Strategy, Variable, Where
from gpulint.probe.measures.reasons import is_bookkeeping


class Said(NamedTuple):
    """Whether a finding is confirmed (or else refuted), and by what."""

    confirmed: bool
    observed: str


Decider = Callable[[Finding, Capture], "Said | None"]
"""What a run says of a finding; None where it shows neither that nor the contrary."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")

NEAR = 3
"""Rows between a finding and the call that shows it: a call over several rows has one place."""

STEP = 30
"""Rows of a block or function whose end a finding does not give."""

MANY = 10
"""Times that something happens on a line which is run in every step of even a short run."""


class PlacedOp(NamedTuple):
    """Operations or nodes that are no bookkeeping, at one place."""

    where: Where
    op: str
    requested: str
    device: str
    dtype: str
    times: int


def placed(capture: Capture) -> Iterator[PlacedOp]:
    """Everything that was put on a device and has a place, but bookkeeping."""
    for ran, count in capture.executions.items():
        if ran.where is not None and ran.device and not ran.part and not is_bookkeeping(ran.op):
            yield PlacedOp(ran.where, ran.op, ran.requested, ran.device, ran.dtype, count)
    for node, count in capture.nodes.items():
        if node.where is not None and node.assigned and not is_bookkeeping(node.op):
            yield PlacedOp(node.where, node.op, node.requested, node.assigned, node.dtype, count)


def is_in(where: Where | None, span: Span, after: int = 0) -> bool:
    """Whether a place is in the rows of a span, or at most so many after them."""
    if where is None or (where.path, where.cell) != (span.path, span.cell):
        return False
    return span.row <= where.row <= span.end_row + after


def made_by(span: Span, capture: Capture) -> list[Variable]:
    """The variables that were made in the rows of a span, or by what was called there."""
    return [one for one in capture.variables if any(is_in(where, span) for where in (one.where, *one.callers))]


def is_near(where: Where | None, span: Span) -> bool:
    """Whether a place is in the rows of a span, or a few before or after."""
    return is_in(where, span._replace(row=span.row - NEAR), NEAR)


def of_replicas(capture: Capture) -> Strategy | None:
    """The first strategy with several replicas on several devices."""
    return next((one for one in capture.strategies if one.replicas > 1 and len(set(one.devices)) > 1), None)


def kind_of(device: str) -> str:
    """`GPU` of `GPU:0`."""
    return device.rpartition("/")[2].partition(":")[0]


def peers(device: str, capture: Capture) -> list[str]:
    """The other devices of the same kind."""
    return [name for name in capture.logical if name != device and kind_of(name) == kind_of(device)]


def counted(devices: Counter[str]) -> str:
    """`12 on GPU:0, 3 on GPU:1`."""
    return ", ".join(f"{count} on {device}" for device, count in sorted(devices.items()))


def first_line(error: str) -> str:
    """What an error says, as far as it fits on a line."""
    return _ADDRESS.sub("", error.splitlines()[0])[:200] if error else ""


def ended_with(*texts: str) -> Decider:
    """Confirmed where the program ended with an error that has one of these texts."""

    def decide(finding: Finding, capture: Capture) -> Said | None:
        if any(text in capture.error for text in texts):
            return Said(True, f"the program ended with {first_line(capture.error)}")
        return None

    return decide


def raised_here(*types: str) -> Decider:
    """Confirmed where the program ended with such an exception, raised in the rows of the finding or of what explains
    it."""

    def decide(finding: Finding, capture: Capture) -> Said | None:
        spans = [finding.span, *(related.span for related in finding.related)]
        if capture.error.startswith(types) and any(is_in(capture.error_at, span) for span in spans):
            return Said(True, f"the program ended here with {first_line(capture.error)}")
        return None

    return decide


def first_of(*deciders: Decider) -> Decider:
    """What the first of these says that says anything."""

    def decide(finding: Finding, capture: Capture) -> Said | None:
        return next((said for one in deciders if (said := one(finding, capture)) is not None), None)

    return decide
