"""Expressions of the user: in the program (`gpulint.expect.that`), in the settings, with `--expect`."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.knowledge.devices import parse_device
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import (
    Expectation,
    Level,
    Run,
    Source,
    Status,
    UserExpectation,
    held,
    undecided,
    violated,
)
from gpulint.probe.expectations.expression import Bound, Expression, ExpressionError, parse, shown
from gpulint.probe.expectations.metrics import Unknown

_ID = "expect"

_ORDER: tuple[Source, ...] = ("program", "settings", "--expect")


def check(run: Run) -> Iterator[Expectation]:
    """The result of each expression. If two sources bound the same side of a metric, the first in `_ORDER` wins."""
    deciding: dict[tuple[str, Bound], UserExpectation] = {}
    for one in sorted(_all_stated(run), key=lambda each: _ORDER.index(each.source)):
        try:
            expression = parse(one.text)
        except ExpressionError as error:  # those of the settings and the command line were parsed before the run
            yield violated(_ID, one.text, "an expectation", str(error), where=one.where)
            continue
        first = deciding.setdefault((expression.subject, expression.bound), one)
        if first.source != one.source:
            yield undecided(_ID, Status.SKIP, expression.subject, expression.limit, _overruled_by(first))
            continue
        yield _measured(run, expression, one.where)


def _all_stated(run: Run) -> Iterator[UserExpectation]:
    for one in run.capture.stated.values():
        if one.form == "that":
            yield UserExpectation(one.expected, "program", one.where)
    yield from run.requested


def _overruled_by(first: UserExpectation) -> str:
    """Reason why an expression is skipped: another source bounds the same metric."""
    by = "the program" if first.source == "program" else first.source
    return f"{by} {'say' if by == 'settings' else 'says'} `{first.text}`, which takes precedence"


def _measured(run: Run, expression: Expression, where: Where | None) -> Expectation:
    subject, limit = expression.subject, expression.limit
    without_gpu = is_of_gpu(expression) and lacks_gpu(run.capture)
    if without_gpu and run.settings.probe.without_gpu == "skip":
        return undecided(_ID, Status.SKIP, subject, limit, NO_GPU)
    found = expression.metric.of(run.capture, expression.argument)
    if isinstance(found, Unknown):
        return Expectation(_ID, Status.INCONCLUSIVE, Level.ERROR, subject, limit, found.reason, where=where)
    observed = shown(expression.metric.kind, found.value)
    if expression.holds(found.value):
        return held(_ID, subject, limit, observed, where=where)
    evidence = (NO_GPU, *found.evidence) if without_gpu else found.evidence
    return violated(_ID, subject, limit, observed, where=where, evidence=evidence)


NO_GPU = "TensorFlow has no GPU on this machine"


def lacks_gpu(capture: Capture) -> bool:
    """Whether TensorFlow listed its devices without a GPU."""
    devices = (*capture.physical, *capture.logical)
    return bool(devices) and not any(name.rpartition("/")[2].startswith("GPU") for name in devices)


def is_of_gpu(expression: Expression) -> bool:
    """Whether an expression is about GPUs."""
    device = parse_device(expression.argument) if expression.metric.argument == "DEVICE" else None
    return (device is not None and device.is_gpu) or "gpu" in expression.metric.name
