"""Python runs the step one operation at a time."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_at, place_of
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.measures.eager_operations import eager_per_step, eager_steps
from gpulint.probe.measures.time_words import duration

EAGER_OPERATIONS, CODE = "eager operations", "code"
"""Details of the time that lines spend in eager operations, and in Python's own code."""

EAGER = 30e-6
"""Seconds that Python and the eager runtime take for an operation on an idle machine, at most."""

SMALL = 100e-6
"""Median seconds of an operation above which operations compute. On a busy machine, launching one takes nearly as
long."""

SPREAD = 2
"""Medians that launching an operation takes at most: what takes longer computes."""

RULES = ("GPU506", "GPU207", "GPU508")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The steps with most eager operations. A traced step saves what the device waits for; on a CPU, where operations
    run as they are launched, what it takes to launch them."""
    capture, time = observed.capture, observed.time
    steps = eager_steps(capture)
    if steps is None:
        return
    operations = eager_per_step(capture)
    launching = time.seconds_of("launch")
    if not any(one.busy_share is not None for one in time.devices):
        each = time.launch_cost or EAGER
        launching = min(launching, operations * time.steps * (SPREAD * each if each <= SMALL else EAGER))
    eager_lines = {one.where for one in time.by_line if (one.name, one.detail) == ("launch", EAGER_OPERATIONS)}
    between = sum(
        one.seconds
        for one in time.by_line
        if one.name == "python" and one.detail in ("", CODE) and one.where in eager_lines
    )
    is_step = steps.name == EAGER_STEP
    finding = finding_at(observed, RULES, steps.where)
    where = place_of(finding) if finding is not None else steps.where
    text = f"Python runs {operations:,.0f} operations {'of' if is_step else 'around'} each step one at a time"
    each = (launching + between) / max(time.steps, 1)
    evidence = f"Launching them takes up to {duration(each)} of a {duration(time.seconds / time.steps)} step."
    fix = "Put the whole step into a function decorated with `@tf.function`."
    if finding is not None and finding.code == "GPU506":
        fix = f"{finding.instead[0].upper()}{finding.instead[1:]}."
    yield Candidate(
        "eager-step",
        where,
        text,
        evidence,
        fix,
        {"launch": launching, "python": between},
        finding.code if finding is not None else None,
    )
