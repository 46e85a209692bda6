"""Python runs the step one operation at a time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.matching import finding_at, place_of, sentence
from gpulint.probe.agent.eager_costs import EAGER
from gpulint.probe.agent.gradients import EAGER_STEP
from gpulint.probe.agent.replicas import RUN
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.eager_operations import READ, eager_per_step, eager_steps
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.measures.time_spent import CODE
from gpulint.probe.measures.time_words import duration

EAGER_OPERATIONS = "eager operations"
"""Detail of the time that lines spend in eager operations."""

TRACED = 2e-6
"""Seconds that an operation of a traced step takes at least (58 to 210 small ones took 2 to 4 µs each)."""

MANY = 100
"""Operations of a line in the whole run from which it may be an eager loop."""

SLOWEST = 3e-3
"""Seconds of Python for an operation, at most, on a busy machine: a layer of Keras runs a few."""

OF_MODELS = ("GPU509",)

RULES = ("GPU506", "GPU207", "GPU508")


def candidates(observed: Observed) -> Iterator[Candidate]:
    """The steps with most eager operations. A traced step saves what the device waits for; on a CPU, where operations
    run as they are launched, all that is not known to be computing."""
    capture, time = observed.capture, observed.time
    steps = eager_steps(capture)
    if steps is None or not time.steps:
        yield from _beside_steps(observed)
        return
    operations = eager_per_step(capture)
    eager = [one for one in time.by_line if one.name == "launch" and one.detail in (EAGER_OPERATIONS, RUN)]
    is_step = steps.name == EAGER_STEP
    if time.by_line and not eager and not is_step:
        return  # they are part of a save
    launching = whole = min(time.seconds_of("launch"), sum(one.seconds for one in eager) or float("inf"))
    if not any(one.busy_share is not None for one in time.devices):
        ran = operations * time.steps
        launching = min(launching, max(launching - ran * _computing(observed), ran * EAGER))
    eager_lines = {one.where for one in eager}
    between = sum(
        one.seconds
        for one in time.by_line
        if one.name == "python" and one.detail in ("", CODE) and one.where in eager_lines
    )
    finding = finding_at(observed, RULES, steps.where)
    where = place_of(finding) if finding is not None else steps.where if is_step else _slowest(observed, eager_lines)
    text = f"Python runs {operations:,.0f} operations {'of' if is_step else 'around'} each step one at a time"
    launching = max(min(launching, whole + between - operations * time.steps * TRACED), 0.0)
    each = (launching + between) / max(time.steps, 1)
    evidence = f"Launching them takes up to {duration(each)} of a {duration(time.seconds / time.steps)} step."
    fix = "Put the whole step into a function decorated with `@tf.function`."
    if not is_step:
        fix = "Put them into a function decorated with `@tf.function`, best into that of the step."
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


def _beside_steps(observed: Observed) -> Iterator[Candidate]:
    """Operations that Python runs one at a time although the training step is traced, such as the model's in a loop
    that evaluates it."""
    lines = eager_lines(observed)
    operations, seconds = sum(ran for ran, _ in lines.values()), sum(spent for _, spent in lines.values())
    if not lines or not observed.time.steps:
        return
    near = [finding for one in lines if (finding := finding_at(observed, OF_MODELS, one, (0,))) is not None]
    where = place_of(near[0]) if near else max(lines, key=lambda one: lines[one][1])
    fix = "Put them into a function decorated with `@tf.function`."
    yield Candidate(
        "eager-step",
        where,
        f"Python runs {operations:,} operations beside the training step one at a time",
        f"They take {duration(seconds)} of {duration(observed.time.seconds)} of training.",
        sentence(near[0].instead) if near else fix,
        {"python": max(seconds - operations * TRACED, 0.0)},
        near[0].code if near else None,
    )


def eager_lines(observed: Observed) -> dict[Where, tuple[int, float]]:
    """Lines of which running operations one at a time takes the time of Python, if no step does so: the operations, and
    the seconds."""
    if eager_steps(observed.capture) is not None:
        return {}
    ran: Counter[Where | None] = Counter()
    for one, count in observed.capture.executions.items():
        if one.op != READ and not is_bookkeeping(one.op):
            ran[one.where] += count
    fits = {one.where for one in observed.capture.data}
    return {
        one.where: (ran[one.where], one.seconds)
        for one in observed.time.by_line
        if (one.name, one.detail) == ("python", CODE)
        and one.where is not None
        and one.where not in fits
        and ran[one.where] >= MANY
        and one.seconds <= ran[one.where] * SLOWEST
    }


def _computing(observed: Observed) -> float:
    """Seconds that an eager operation computes at least."""
    cost = observed.capture.eager_cost
    if cost is not None and cost.computing is not None:
        return cost.computing
    each = cost.mean if cost is not None else observed.time.launch_cost or 0.0
    return max(each - EAGER, 0.0)


def _slowest(observed: Observed, lines: Collection[Where | None]) -> Where | None:
    """The line of those that run eager operations whose operations and Python take longest."""
    seconds: dict[Where | None, float] = defaultdict(float)
    for one in observed.time.by_line:
        is_eager = one.name == "python" or (one.name == "launch" and one.detail in (EAGER_OPERATIONS, RUN))
        if one.where in lines and is_eager:
            seconds[one.where] += one.seconds
    return max(seconds, key=lambda where: seconds[where], default=None)
