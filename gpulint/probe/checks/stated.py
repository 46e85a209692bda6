"""What the user states in expressions: in the program (`gpulint.expect.that`), in the settings, with `--expect`."""

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
    Wanted,
    held,
    undecided,
    violated,
)
from gpulint.probe.expectations.expression import Bound, Expression, ExpressionError, parse, shown
from gpulint.probe.expectations.metrics import Unknown

_ID = "expect"

_ORDER: tuple[Source, ...] = ("program", "settings", "--expect")


def check(run: Run) -> Iterator[Expectation]:
    """Each expression. Where two sources speak of one side of the same metric, the first of `Source` counts."""
    deciding: dict[tuple[str, Bound], Wanted] = {}
    for wanted in sorted(_wanted(run), key=lambda one: _ORDER.index(one.source)):
        try:
            expression = parse(wanted.text)
        except ExpressionError as error:  # those of the settings and the command line were read before the run
            yield violated(_ID, wanted.text, "an expectation", str(error), where=wanted.where)
            continue
        first = deciding.setdefault((expression.subject, expression.bound), wanted)
        if first.source != wanted.source:
            yield undecided(_ID, Status.SKIP, expression.subject, expression.limit, _told_otherwise(first))
            continue
        yield _measured(run, expression, wanted.where)


def _wanted(run: Run) -> Iterator[Wanted]:
    for one in run.capture.stated.values():
        if one.form == "that":
            yield Wanted(one.expected, "program", one.where)
    yield from run.wanted


def _told_otherwise(first: Wanted) -> str:
    by = "the program" if first.source == "program" else first.source
    return f"{by} {'say' if by == 'settings' else 'says'} `{first.text}`, which counts first"


def _measured(run: Run, expression: Expression, where: Where | None) -> Expectation:
    subject, limit = expression.subject, expression.limit
    without_gpu = is_of_gpu(expression) and lacks_gpu(run.capture)
    if without_gpu and run.settings.probe_without_gpu == "skip":
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
    """Whether TensorFlow said which devices it has, and no GPU was among them."""
    devices = (*capture.physical, *capture.logical)
    return bool(devices) and not any(name.rpartition("/")[2].startswith("GPU") for name in devices)


def is_of_gpu(expression: Expression) -> bool:
    """Whether an expression speaks of GPUs."""
    device = parse_device(expression.argument) if expression.metric.argument == "DEVICE" else None
    return (device is not None and device.is_gpu) or "gpu" in expression.metric.name
