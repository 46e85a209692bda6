"""Predictions of the Plan for each place of a file: devices, scopes, batches."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from gpulint.analysis import Plan, Project, analyse
from gpulint.analysis.domain.context import Strategy, callers
from gpulint.analysis.domain.values.base import Value
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Function, Traced
from gpulint.analysis.plan import events
from gpulint.analysis.queries.moments import possible
from gpulint.analysis.queries.plan_notes import MAY, UNKNOWN, Note, described, notes, pipeline, shown, strategy_name
from gpulint.places import Site, Span
from gpulint.server.batches import per_replica, replicated
from gpulint.server.devices import Devices
from gpulint.server.extents import contains
from gpulint.server.locating import Located, locate
from gpulint.sources.source import Source

MAX_TOLD = 5
"""Maximum number of statements about one place, which may be reached in many ways."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A short text to show after a span. `kind` is "device" or "batch"."""

    span: Span
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Facts about a value or call, with its extent."""

    span: Span
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Predictions:
    """The predictions for one program, as data that can be sent to another process.

    `places` are the extents of its nodes, innermost first, each with the index of its answer, or -1.
    """

    places: tuple[tuple[Span, int], ...]
    answers: tuple[Answer, ...]
    hints: tuple[Hint, ...]

    def at(self, row: int, column: int, cell: int | None = None) -> Answer | None:
        """Answer about the value or call at a place; None if nothing is known."""
        for span, answer in self.places:
            if span.row <= row <= span.end_row and span.cell == cell and contains(span, (row, column)):
                return self.answers[answer] if answer >= 0 else None
        return None

    def shown(self, convert: Callable[[Span], Span]) -> Predictions:
        """The predictions with each span converted."""
        return Predictions(
            tuple((convert(span), answer) for span, answer in self.places),
            tuple(replace(one, span=convert(one.span)) for one in self.answers),
            tuple(replace(one, span=convert(one.span)) for one in self.hints),
        )


def predict(source: Source, project: Project, target: str) -> Predictions:
    """Analyse a file and collect the predictions for its own places. Raises CannotParse."""
    plan = analyse(source, project, target)
    syntax = project.syntax_of(plan.path)
    assert syntax is not None, "it was analysed"
    located = locate(source, syntax)

    def place(site: Site) -> str:
        """A place in words."""
        span = located.spans.get(site.node) if site.path == plan.path else None
        if span is None:
            return f"`{os.path.basename(site.path)}`"
        shown = source.cells.in_cell(span) if source.cells is not None else span
        return f"line {shown.row}" if shown.cell is None else f"cell {shown.cell + 1}, line {shown.row}"

    told: dict[int, dict[str, None]] = defaultdict(dict)
    said = chain(_noted(plan, place), _steps(plan), _batches(plan), _run_by_replicas(plan), Devices(plan, place).told())
    for site, text in chain(said, _noted(plan, place, of_runtime=True)):
        if site.path == plan.path:
            told[site.node][text] = None
    for number, made in _made_by_calls(plan, place).items():
        if number not in told:
            told[number] = made
    hints = (*_batch_hints(plan, located), *_device_hints(plan, located))
    plan.release()
    return Predictions(*_answers(located, told), hints)


def _answers(
    located: Located, told: Mapping[int, Mapping[str, None]]
) -> tuple[tuple[tuple[Span, int], ...], tuple[Answer, ...]]:
    """The places and answers of `Predictions`."""
    places: list[tuple[Span, int]] = []
    answers: dict[int, int] = {}
    for number in located.innermost_first():
        meant = next((one for one in located.meant_by(number) if told.get(one)), None)
        index = answers.setdefault(meant, len(answers)) if meant is not None else -1
        places.append((located.spans[number], index))
    return tuple(places), tuple(Answer(located.spans[one], tuple(told[one])[:MAX_TOLD]) for one in answers)


# ------------------------------------------------------------------------------------ words


def _noted(plan: Plan, place: Callable[[Site], str], of_runtime: bool = False) -> Iterator[tuple[Site, str]]:
    """The notes of `gpulint plan`, without those that depend on unknown callers: either those about the state of the
    runtime, or all others."""
    for note in notes(plan):
        is_told = note.kind != "dataset" and (note.kind == "runtime") == of_runtime
        if is_told and (note.certainty != UNKNOWN or note.scopes):
            yield note.site, _worded(note, place)


def _worded(note: Note, place: Callable[[Site], str]) -> str:
    text = note.text.format(*map(place, note.mentions)) if note.mentions else note.text
    if note.scopes:
        text += f" (in {' › '.join(note.scopes)})"
    return f"{text}, when {note.because}" if note.certainty == MAY else text


def _datasets(plan: Plan) -> Iterator[Dataset]:
    """The input pipelines of a program."""
    for event in plan.events:
        value: Value | None = None
        if isinstance(event, events.DatasetBatched | events.DatasetConsumed | events.DatasetDistributed):
            value = event.dataset
        elif isinstance(event, events.ModelFitted):
            value = event.data
        for dataset in possible(value, event.where):
            if isinstance(dataset, Dataset):
                yield dataset


def _steps(plan: Plan) -> Iterator[tuple[Site, str]]:
    """Input pipelines up to each step: all run on the host."""
    for dataset in _datasets(plan):
        for count in range(len(dataset.steps) + 1):
            site = dataset.steps[count - 1].site if count else dataset.site
            yield site, f"tf.data, on the host CPU: {pipeline(dataset.but(steps=dataset.steps[:count]))}"


def _run_by_replicas(plan: Plan) -> Iterator[tuple[Site, str]]:
    """Functions that every replica runs."""
    for event in plan.events:
        if isinstance(event, events.StrategyRun):
            function = event.function.function if isinstance(event.function, Traced) else event.function
            if isinstance(function, Function):
                yield function.definition_site, f"replica function: {replicated(event.strategy)} runs it"


_RETURNED = (events.ModelBuilt, events.OptimizerBuilt, events.StrategyBuilt, events.DatasetBatched)


def _made_by_calls(plan: Plan, place: Callable[[Site], str]) -> dict[int, dict[str, None]]:
    """Calls of the program's own functions → what they create, and where."""
    found: dict[int, dict[str, None]] = defaultdict(dict)
    for event in plan.events:
        if not isinstance(event, _RETURNED) or (said := described(event)) is None:
            continue
        _, text, *mentioned = said
        if event.where.caller.known or event.where.context.strategy is not None:
            for caller in callers(event.where.caller):
                if caller.site is not None and caller.site.path == plan.path:
                    whole = text.format(*map(place, mentioned)) if mentioned else text
                    found[caller.site.node][f"{whole} ({place(event.site)})"] = None
    return found


# ----------------------------------------------------------------------------------- batches


def _shares(plan: Plan) -> Iterator[tuple[Site, Value, Strategy]]:
    """(place, size, strategy) of each global batch that a strategy splits."""
    for event in plan.events:
        if isinstance(event, events.ModelFitted):
            strategy = event.model.where.context.strategy
            given = event.arguments.sites.get("batch_size")
            if strategy is not None and given is not None:
                for size in possible(event.batch_size, event.where):
                    yield given, size, strategy
        elif isinstance(event, events.DatasetDistributed) and event.how == "experimental_distribute_dataset":
            strategy = event.strategy
        else:
            continue
        data = event.data if isinstance(event, events.ModelFitted) else event.dataset
        for dataset in possible(data, event.where):
            if strategy is not None and isinstance(dataset, Dataset) and dataset.batch is not None:
                yield dataset.batch.site, dataset.batch.size, strategy


def _batches(plan: Plan) -> Iterator[tuple[Site, str]]:
    for site, size, strategy in _shares(plan):
        if (share := per_replica(size, strategy)) is not None:
            yield site, f"global batch {shown(size)}, split by {strategy_name(strategy)}: {share} for each replica"


def _batch_hints(plan: Plan, located: Located) -> Iterator[Hint]:
    """The share of each replica, if it is the same on every path to the place."""
    shares: dict[int, set[str | None]] = defaultdict(set)
    for site, size, strategy in _shares(plan):
        if site.path == plan.path:
            shares[site.node].add(per_replica(size, strategy))
    for number, texts in shares.items():
        (text, *others) = texts
        if text is not None and not others and number in located.spans:
            yield Hint(located.spans[number], "batch", text if "/" in text else f"{text} per replica")


# ----------------------------------------------------------------------------------- devices

_MADE = (events.ModelBuilt, events.VariableBuilt, events.OptimizerBuilt, events.MetricBuilt)

MAX_HINTED = 4
"""Maximum number of devices that a hint names."""


def _device_hints(plan: Plan, located: Located) -> Iterator[Hint]:
    """The devices of `with tf.device(…)`, and of objects created in a scope."""
    found: dict[int, dict[str | None, None]] = defaultdict(dict)
    for event in plan.events:
        if event.site.path != plan.path:
            continue
        if isinstance(event, events.DeviceEntered):
            found[event.site.node][str(event.scope.device) if event.scope.device is not None else None] = None
        elif isinstance(event, _MADE):
            context = event.where.context
            if context.strategy is not None and context.strategy.is_multi_replica:
                found[event.site.node][replicated(context.strategy)] = None
            elif context.strategy is None and not context.maybe_scoped and context.device is not None:
                device = context.device.device
                found[event.site.node][str(device) if device is not None else None] = None
    for number, texts in found.items():
        names = [text for text in texts if text is not None]
        if names and len(names) == len(texts) <= MAX_HINTED and number in located.spans:
            between = " or " if any(name.startswith("every replica") for name in names) else ", "
            yield Hint(located.spans[number], "device", "on " + between.join(names))
