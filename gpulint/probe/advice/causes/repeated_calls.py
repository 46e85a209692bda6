"""Models are called for one sample or batch at a time, during training or outside it.

Each call of `predict`, `evaluate` or `fit` builds a dataset, an iterator and callbacks, which one call would do once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.probe.advice.advice import Candidate, Observed, Outside
from gpulint.probe.advice.matching import sentence
from gpulint.probe.agent.models import STAGES
from gpulint.probe.agent.reads import READ
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.time_words import duration
from gpulint.probe.measures.training_time import LAUNCH, PYTHON
from gpulint.probe.verdicts.evidence import is_in
from gpulint.probe.verdicts.steps import ROUNDS

RULE = "GPU503"


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that the rule reports, if the run called the model there again and again. One call remains, and what
    all of them compute."""
    capture = observed.capture
    for finding in observed.findings:
        if finding.code != RULE:
            continue
        for call, (count, seconds) in capture.model_calls.items():
            if count < ROUNDS or not is_in(call.where, finding.span):
                continue
            computing = min(_computing(capture, call.where), seconds)
            saved = (seconds - computing) * (count - 1) / count
            share = _share_in_training(observed, call.where)
            what = f"{count:,} `{call.method}` calls"
            computed = f", of which computing took {duration(computing)}" if computing else ""
            yield Candidate(
                "repeated-calls",
                call.where,
                f"`{call.method}` is called {count:,} times, {duration(seconds / count)} each",
                f"The calls took {duration(seconds)}{computed}.",
                sentence(finding.instead),
                _by_part(observed, call.where, saved * share),
                finding.code,
                outside=Outside(what, seconds * (1 - share), saved * (1 - share)) if share < 1 else None,
            )


def _computing(capture: Capture, where: Where | None) -> float:
    """Seconds that a line spent in functions and in waiting for their results."""
    return sum(
        work.seconds
        for one in capture.segments
        for work in one.work
        if work.where == where and (work.state == LAUNCH or (work.state, work.detail) == (PYTHON, READ))
    )


def _share_in_training(observed: Observed, where: Where | None) -> float:
    """The share of a line's calls that were made between the first training step and the last."""
    capture = observed.capture
    called = {number for number, one in capture.stages.items() if one.where == where and one.name in STAGES.values()}
    if not called:
        return 1.0 if any(one.where == where for one in observed.time.by_line) else 0.0
    last = max((one.ended for one in capture.segments if one.steps), default=0.0)
    return len(called & {one.stage for one in capture.segments if one.began < last}) / len(called)


def _by_part(observed: Observed, where: Where | None, seconds: float) -> Mapping[str, float]:
    """Seconds within the training time by part: those of the line, and Python for the rest, which has no line."""
    cures: dict[str, float] = {}
    left = seconds
    for one in observed.time.by_line:
        if one.where == where and one.name not in (LAUNCH, PYTHON) and left > 0:
            taken = min(one.seconds, left)
            cures[one.name] = cures.get(one.name, 0.0) + taken
            left -= taken
    if left > 0:
        cures[PYTHON] = left
    return cures
