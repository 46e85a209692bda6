"""What `gpulint check` says of the program, held against what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.probe.capture import Capture, Where
from gpulint.probe.checks.configuration import code_of
from gpulint.probe.expectation import Expectation, Level, Run, Status

_ID = "prediction"
NEAR = 3
"""Rows between a finding and the call that shows it: a call over several rows has one place."""


def check(run: Run) -> Iterator[Expectation]:
    """Each finding: confirmed, refuted, or neither."""
    for finding in run.findings:
        decide = _DECIDERS.get(finding.code)
        said = decide(finding, run.capture) if decide is not None else None
        where = Where(finding.span.path, finding.span.row, finding.span.cell)
        level = Level.ERROR if finding.severity is Severity.ERROR else Level.WARN
        if said is None:
            yield Expectation(
                _ID,
                Status.INCONCLUSIVE,
                Level.WARN,
                finding.message,
                f"not {finding.name}",
                "this run shows neither that nor the contrary",
                finding.code,
                where,
                fix=finding.instead,
            )
            continue
        is_confirmed, observed = said
        broken = Status.FAIL if level is Level.ERROR else Status.WARN
        yield Expectation(
            _ID,
            broken if is_confirmed else Status.PASS,
            level,
            finding.message,
            f"not {finding.name}",
            f"{'confirmed' if is_confirmed else 'refuted'}: {observed}",
            finding.code,
            where,
            fix=finding.instead if is_confirmed else "",
        )


Said = tuple[bool, str]
"""Whether it is confirmed (or else refuted), and by what."""


def _variables_of_one_replica(finding: Finding, capture: Capture) -> Said | None:
    strategy = next((one for one in capture.strategies if one.replicas > 1), None)
    if strategy is None or len(set(strategy.devices)) < 2:
        return None
    made = strategy.where
    related = [one.span for one in finding.related]
    spans = [
        finding.span,
        *(span for span in related if made is None or not _is_in(made, span._replace(end_row=span.row))),
    ]
    here = [
        one for one in capture.variables if one.where is not None and any(_is_in(one.where, span) for span in spans)
    ]
    if not here:
        return None
    devices = sorted({variable.device for variable in here})
    on = ", ".join(devices)
    if len(devices) == 1:
        return True, f"variables on {on} only"
    return False, f"variables on {on}"


def _error_of_run(*texts: str) -> Callable[[Finding, Capture], Said | None]:
    def decide(finding: Finding, capture: Capture) -> Said | None:
        if any(text in capture.error for text in texts):
            return True, f"the program ended with {capture.error.splitlines()[0][:200]}"
        return None

    return decide


def _configuration(finding: Finding, capture: Capture) -> Said | None:
    made = [one for one in capture.calls if one.where is not None and _is_in(one.where, finding.span)]
    if (failed := next((one for one in made if code_of(one.error) == finding.code), None)) is not None:
        return True, failed.error
    return (False, f"{made[0].name} was accepted") if made and not any(one.error for one in made) else None


def _traces(finding: Finding, capture: Capture) -> Said | None:
    for function in capture.functions.values():
        if function.where is not None and _is_near(function.where, finding):
            return function.traces > 2, f"`{function.name}` was traced {function.traces} times"
    return None


def _eager(finding: Finding, capture: Capture) -> Said | None:
    ran = sum(
        count
        for one, count in capture.executions.items()
        if one.where is not None and _is_beside(one.where, finding.span) and _is_inside(one.where.row, finding)
    )
    return (True, f"{ran} operations were run one by one in these lines") if ran > MANY else None


MANY = 100
"""Eager operations of a step that was run a few times."""


def _is_beside(where: Where, span: Span) -> bool:
    """Whether both are in the same file, in a notebook in the same cell."""
    return (where.path, where.cell) == (span.path, span.cell)


def _is_in(where: Where, span: Span) -> bool:
    return _is_beside(where, span) and span.row <= where.row <= span.end_row


def _is_near(where: Where, finding: Finding) -> bool:
    span = finding.span
    return _is_beside(where, span) and span.row - NEAR <= where.row <= span.end_row + NEAR


def _is_inside(row: int, finding: Finding) -> bool:
    return finding.span.row <= row <= max(finding.span.end_row, finding.span.row + STEP)


STEP = 30
"""Rows of a training step whose end a finding does not give."""

_DECIDERS: dict[str, Callable[[Finding, Capture], Said | None]] = {
    "GPU201": _variables_of_one_replica,
    "GPU202": _error_of_run("Mixing different tf.distribute.Strategy"),
    "GPU210": _error_of_run("Mixing different tf.distribute.Strategy", "different strategy"),
    "GPU212": _error_of_run("merge_call", "gradient_accumulation_steps"),
    "GPU216": _error_of_run("merge_call", "gradient_accumulation_steps"),
    "GPU214": _error_of_run("PerReplica"),
    "GPU301": _configuration,
    "GPU303": _configuration,
    "GPU306": _configuration,
    "GPU504": _traces,
    "GPU505": _traces,
    "GPU508": _eager,
    "GPU702": _error_of_run("Collective ops must be configured at program startup"),
    "GPU901": _error_of_run("has no attribute", "No module named", "cannot import name", "unexpected keyword"),
}
"""How the run can decide a rule, by its code."""
