"""What the Plan says of each place of a file: on which device it will run, in which scopes, in which batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpulint.analysis import Plan, Project, analyse, events
from gpulint.analysis.contexts import callers
from gpulint.analysis.notes import MAY, UNKNOWN, Note, notes, pipeline, shown, strategy_name
from gpulint.analysis.questions import possible
from gpulint.analysis.values import Dataset, Function, Strategy, Traced, Value
from gpulint.places import Site, Span
from gpulint.server.batches import per_replica, replicated
from gpulint.server.devices import Devices
from gpulint.server.locating import Located, locate
from gpulint.sources.source import Source

MAX_TOLD = 5
"""Things that are said of one place: it may be reached in many ways."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A few words to show behind a span. `kind` is "device" or "batch"."""

    span: Span
    kind: str
    text: str


class Predictions:
    """What is predicted of the places of one file."""

    def __init__(self, located: Located, told: dict[int, dict[str, None]], hints: Sequence[Hint]) -> None:
        self._located = located
        self._told = told
        self.hints = hints

    def at(self, row: int, column: int) -> tuple[Span, list[str]] | None:
        """What is known of the value or call at a place, with its extent; None where that is nothing."""
        for number in self._located.meant_at(row, column):
            if told := self._told.get(number):
                return self._located.spans[number], list(told)[:MAX_TOLD]
        return None


def predict(source: Source, project: Project, target: str) -> Predictions:
    """Run a file abstractly and keep what it says of its own places. Raises CannotParse."""
    plan = analyse(source, project, target)
    syntax = project.syntax_of(plan.path)
    assert syntax is not None, "it was analysed"
    located = locate(source, syntax)
    devices = Devices(plan, lambda site: _place(site, plan.path, located))
    told: dict[int, dict[str, None]] = defaultdict(dict)
    for site, text in (
        *_noted(plan, located),
        *_steps(plan),
        *_batches(plan),
        *_run_by_replicas(plan),
        *devices.told(),
    ):
        if site.path == plan.path:
            told[site.node][text] = None
    for number, made in _made_by_calls(plan, located).items():
        if number not in told:
            told[number] = made
    plan.release()
    return Predictions(located, dict(told), [*_batch_hints(plan, located), *_device_hints(plan, located, devices)])


def _place(site: Site, path: str, located: Located) -> str:
    """A place in words."""
    span = located.spans.get(site.node) if site.path == path else None
    return f"line {span.row}" if span is not None else f"`{site.path.replace(chr(92), '/').rpartition('/')[2]}`"


# ------------------------------------------------------------------------------------ words


def _noted(plan: Plan, located: Located) -> Iterator[tuple[Site, str]]:
    """The notes of `gpulint plan`, but for those that depend on callers that are not known."""
    for note in sorted(notes(plan), key=lambda note: note.kind == "runtime"):
        if note.kind != "dataset" and (note.certainty != UNKNOWN or note.scopes):
            yield note.site, _worded(note, plan, located)


def _worded(note: Note, plan: Plan, located: Located) -> str:
    text = (
        note.text.format(*(_place(site, plan.path, located) for site in note.mentions)) if note.mentions else note.text
    )
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
    """Input pipelines up to each of their steps: all run on the host."""
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
                site = Site(function.module.path, function.definition.number)
                yield site, f"replica function: {replicated(event.strategy)} runs it"


def _made_by_calls(plan: Plan, located: Located) -> dict[int, dict[str, None]]:
    """For calls of the program's own functions, what they make."""
    found: dict[int, dict[str, None]] = defaultdict(dict)
    made = (events.ModelBuilt, events.OptimizerBuilt, events.StrategyBuilt, events.DatasetBatched)
    of_kind = {id(event.where): event for event in plan.events if isinstance(event, made)}
    by_site: dict[tuple[Site, str], set[Site]] = defaultdict(set)
    for event in of_kind.values():
        for caller in callers(event.where.caller):
            if caller.site is not None and caller.site.path == plan.path:
                by_site[event.site, type(event).__name__].add(caller.site)
    if not by_site:
        return found
    kinds = {
        "model": "ModelBuilt",
        "optimizer": "OptimizerBuilt",
        "strategy": "StrategyBuilt",
        "dataset": "DatasetBatched",
    }
    for note in notes(plan):
        if note.certainty == UNKNOWN and not note.scopes:
            continue
        via = {site for _, site in note.via}
        for site in by_site.get((note.site, kinds.get(note.kind, "")), ()):
            if site in via:
                found[site.node][f"{_worded(note, plan, located)} ({_place(note.site, plan.path, located)})"] = None
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
    """The share of each replica, where it is the same however the place is reached."""
    shares: dict[int, set[str | None]] = defaultdict(set)
    for site, size, strategy in _shares(plan):
        if site.path == plan.path:
            shares[site.node].add(per_replica(size, strategy))
    for number, texts in shares.items():
        (text, *others) = texts
        if text is not None and not others and number in located.spans:
            yield Hint(located.spans[number], "batch", f"{text} per replica")


# ----------------------------------------------------------------------------------- devices

_MADE = (events.ModelBuilt, events.VariableBuilt, events.OptimizerBuilt, events.MetricBuilt)

MAX_HINTED = 4
"""Devices that a hint names."""


def _device_hints(plan: Plan, located: Located, devices: Devices) -> Iterator[Hint]:
    """The devices of `with tf.device(…)`, and of what is made under a scope."""
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
            yield Hint(located.spans[number], "device", "on " + ", ".join(names))
