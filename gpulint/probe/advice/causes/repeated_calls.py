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
from gpulint.probe.capture.records import ModelCall, Where
from gpulint.probe.measures.time_words import duration
from gpulint.probe.measures.training_time import LAUNCH, PYTHON
from gpulint.probe.verdicts.evidence import is_in
from gpulint.probe.verdicts.steps import ROUNDS

RULE = "GPU503"

_FIX = "Call `model.predict_on_batch(x)` or `model(x, training=False)`, which open no pipeline, or predict less often."


SINGLE = 1.5
"""Functions that a call runs, on average, up to which it is one for a single batch."""


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each line that the rule reports, and each line within training that predicts single batches, if the run called
    the model there again and again. One call remains, and what all of them compute."""
    capture = observed.capture
    found = [one for one in observed.findings if one.code == RULE]
    for call, (count, seconds) in capture.model_calls.items():
        finding = next((one for one in found if is_in(call.where, one.span)), None)
        if count >= ROUNDS and (finding is not None or _predicts_a_batch(observed, call, count)):
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
                sentence(finding.instead) if finding is not None else _FIX,
                _by_part(observed, call.where, saved * share),
                finding.code if finding is not None else None,
                outside=Outside(what, seconds * (1 - share), saved * (1 - share)) if share < 1 else None,
            )


def _predicts_a_batch(observed: Observed, call: ModelCall, count: int) -> bool:
    """Whether the calls on a line within training, as in a callback, predict one batch each."""
    if call.method != "predict" or not _share_in_training(observed, call.where):
        return False
    works = (work for one in observed.capture.segments for work in one.work)
    return sum(one.times for one in works if (one.where, one.state) == (call.where, LAUNCH)) <= SINGLE * count


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
