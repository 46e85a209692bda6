"""Keras traces its step for each model that is created or compiled, as in a loop over folds or settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Candidate, Observed
from gpulint.probe.advice.causes.retracing import OF_PIPELINES
from gpulint.probe.advice.matching import finding_at, place_of
from gpulint.probe.agent.models import TRAINING
from gpulint.probe.capture.records import ModelCall, Where
from gpulint.probe.measures.time_spent import Tracing
from gpulint.probe.measures.time_words import duration
from gpulint.probe.verdicts.steps import ROUNDS

RULE = "GPU305"


def candidates(observed: Observed) -> Iterator[Candidate]:
    """Each loop whose calls of models trace again every time. The first iteration has to."""
    loops: dict[Finding | Where | None, list[tuple[ModelCall, list[Tracing]]]] = defaultdict(list)
    for call in observed.capture.model_calls:
        if traced := new_traces(observed, call.where):
            loops[finding_at(observed, (RULE,), call.where) or call.where].append((call, traced))
    for loop, calls in loops.items():
        traces = [one for _, traced in calls for one in traced]
        first, _ = max(calls, key=lambda one: (_seconds(observed, one[1]), one[0].method == TRAINING))
        times = _calls_at(observed, first.where)
        saved = _seconds(observed, traces) * (times - 1) / times
        yield Candidate(
            "new-models",
            place_of(loop) if isinstance(loop, Finding) else first.where,
            f"each of the {times:,} calls of `{first.method}` traces its model",
            f"Tracing after the first call took {duration(saved)}: a model was created or compiled before each call.",
            "If the models are alike, create and compile one before the loop, and call `set_weights` in it.",
            {"trace": saved},
            loop.code if isinstance(loop, Finding) else None,
        )


def new_traces(observed: Observed, where: Where | None) -> list[Tracing]:
    """The functions that every call of a model on a line traces as if for the first time; none unless a loop makes the
    calls."""
    calls = _calls_at(observed, where)
    if calls < ROUNDS:
        return []
    return [
        one
        for one in observed.time.tracings
        if one.where == where and one.kind == "trace" and one.count - one.again >= calls and not _is_of_pipeline(one)
    ]


def _calls_at(observed: Observed, where: Where | None) -> int:
    """Calls on a line, without the evaluations that its `fit` makes."""
    calls = {one.method: count for one, (count, _) in observed.capture.model_calls.items() if one.where == where}
    return calls.get(TRAINING) or sum(calls.values())


def _is_of_pipeline(one: Tracing) -> bool:
    return one.function.startswith(OF_PIPELINES)


def _seconds(observed: Observed, traces: list[Tracing]) -> float:
    """Seconds of traces within the training time."""
    traced = {(one.where, one.function) for one in traces}
    return sum(
        one.seconds for one in observed.time.by_line if one.name == "trace" and (one.where, one.detail) in traced
    )
