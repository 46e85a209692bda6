"""Finished `tf.data` pipelines that training reads, and the optimizations that TensorFlow applies to them
automatically."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.analysis.domain.context import callers
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import is_complete
from gpulint.analysis.domain.traversal import datasets_in, iterated_sources, leaves
from gpulint.analysis.domain.values.base import Constant, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import EVALUATES, Dataset, Step
from gpulint.analysis.domain.values.effects import Effect
from gpulint.analysis.plan.events import DatasetConsumed, GradientTaken, LibraryCalled, ModelCalled, ModelFitted
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.element_bytes import element_bytes
from gpulint.analysis.queries.training_loops import are_few, is_rare, is_reached_with, training_loops, updates
from gpulint.places import Site

INJECTS_PREFETCH = (2, 11)
"""First release that automatically ends a pipeline with a prefetch (`benchmarks/experiments/prefetch.py`)."""

PARALLEL_MAPS = (2, 5)
"""First release that automatically parallelizes maps of stateless functions."""

_EXPERIMENTAL = "experimental_optimization."
_ALL = (_EXPERIMENTAL + "apply_default_optimizations", "autotune.enabled")

NEUTRAL = frozenset({"with_options", "repeat", "take", "skip", "ignore_errors"})
"""Transformations that preserve the effect of a prefetch before them."""

MAX_TOY = 64
"""Maximum number of elements of a dataset spelled out in the source that counts as a toy."""


def read_by_training(plan: Plan) -> Iterator[DatasetConsumed]:
    """Places where training reads its data: `fit`, a training loop over a dataset, `next` in a training loop."""
    consumed = [event for event in plan.events if isinstance(event, DatasetConsumed)]
    if not consumed:
        return
    loops = training_loops(plan)
    for event in consumed:
        around = [loop.site for loop in event.where.context.loops]
        if (
            event.how == "fit"
            or (event.how == "loop" and event.loop in loops)
            or (event.how == "next" and not loops.isdisjoint(around) and not _serves_other_use(event, plan, loops))
        ) and not is_toy(event.dataset):
            yield event


def flows(plan: Plan) -> list[LibraryCalled]:
    """Calls of `flow`, `flow_from_directory` and `flow_from_dataframe` of an `ImageDataGenerator`, by the program or by
    a module while it is imported."""
    return [
        event
        for event in (*plan.events, *plan.calls_of_imports.values())
        if isinstance(event, LibraryCalled) and event.name.rpartition(".flow")[0].endswith(".ImageDataGenerator")
    ]


def flow_of(data: Value, made: Iterable[LibraryCalled]) -> LibraryCalled | None:
    """The call in `made` that created the batches. With a `zip`, the first of several."""
    by_site = {event.site: event for event in made}
    for one in iterated_sources(data):
        last = symbol_of(one).parts[-1]
        if isinstance(last, Site) and last in by_site:
            return by_site[last]
    return None


def made_for_training(plan: Plan) -> Iterator[DatasetConsumed]:
    """Places where training reads its data, and functions that return pipelines which only training can use (with
    random order or random augmentation) to unknown callers."""
    yield from read_by_training(plan)
    for event in plan.events:
        if (
            isinstance(event, DatasetConsumed)
            and event.how == "elsewhere"
            and EVALUATES.isdisjoint(words(event.where.caller.function))
            and not is_toy(event.dataset)
            and any(_is_random(step) for chain in chains(event.dataset) for step in chain)
        ):
            yield event


def _is_random(step: Step) -> bool:
    return step.name == "shuffle" or any(effect.kind == "random" for effect in step.effects)


def reader(event: DatasetConsumed) -> tuple[Site, str]:
    """The site where a pipeline is read, with its description."""
    return event.site, _READERS.get(event.how, "a loop reads the pipeline here")


_READERS = {"elsewhere": "other code gets the pipeline here", "fit": "training reads the pipeline here"}


def _serves_other_use(event: DatasetConsumed, plan: Plan, loops: frozenset[Site]) -> bool:
    """Whether a pipeline is read for something other than training steps.

    This is so if a training loop reads it in some iterations only (samples to display), or if a loop without training
    steps reads it, in a function whose name says that it evaluates or for a model whose gradients are not computed
    there.
    """
    around = event.where.context.loops[-1]
    innermost = around.site
    if innermost in loops:
        return is_rare(event.where, around) and not is_reached_with(event.where, around, updates(plan))
    if any(not EVALUATES.isdisjoint(words(caller.function)) for caller in callers(event.where.caller)):
        return True
    inside = [one for one in plan.events if any(loop.site == innermost for loop in one.where.context.loops)]
    return any(isinstance(one, ModelCalled) for one in inside) and not any(
        isinstance(one, GradientTaken) for one in inside
    )


def is_toy(dataset: Dataset) -> bool:
    """Whether a dataset consists of a few elements spelled out in the source, and no transformation makes many of
    one."""
    names = [step.name for step in dataset.steps]
    is_split = "unbatch" in names and "batch" not in names[: names.index("unbatch")]
    if is_split or not _MULTIPLIES.isdisjoint(names):
        return False
    given = dataset.arguments.positional[:1]
    first = given[0] if given else None
    if dataset.source.endswith(".range"):
        return isinstance(first, Constant) and isinstance(first.value, int) and first.value <= MAX_TOY
    items = first.items if isinstance(first, Items) and first.kind == "list" else None
    return items is not None and len(items) <= MAX_TOY and all(_is_number(item) for item in items)


def yields_few(dataset: Dataset) -> bool:
    """Whether the Python generator that is the source yields a handful of elements."""
    around = dataset.work.around_yields() if dataset.work is not None else ()
    return bool(around) and all(are_few(loops, MAX_TOY // len(around)) for loops in around)


_MULTIPLIES = frozenset({"flat_map", "interleave"})
"""Transformations that turn each element into a dataset."""


def _is_number(value: Value) -> bool:
    """Whether a value is a number spelled out in the source, or a row of such numbers. File names are not."""
    return all(isinstance(one, Constant) and not isinstance(one.value, str) for one in leaves(value))


def is_distributed(event: DatasetConsumed, plan: Plan) -> bool:
    """Whether a strategy prefetches the dataset for its replicas."""
    if event.dataset.distributed is not None:
        return True
    strategies = [
        one.model.where.context.strategy
        for one in plan.events
        if isinstance(one, ModelFitted) and one.site == event.site
    ]
    return any(strategy is not None and strategy.is_multi_replica for strategy in strategies)


def injects_prefetch(dataset: Dataset, plan: Plan) -> bool:
    """Whether TensorFlow automatically ends the pipeline with a prefetch."""
    return plan.release_of_target >= INJECTS_PREFETCH and not _is_off(dataset, "inject_prefetch")


def parallelizes_maps(dataset: Dataset, plan: Plan) -> bool:
    """Whether TensorFlow automatically parallelizes maps of stateless functions."""
    return plan.release_of_target >= PARALLEL_MAPS and not _is_off(dataset, "map_parallelization")


def fuses_map_and_batch(dataset: Dataset) -> bool:
    """Whether `map` followed by `batch` is fused into one asynchronous transformation."""
    return known(dict(dataset.options).get(_ALL[0])) is not False


def _is_off(dataset: Dataset, optimization: str) -> bool:
    options = dict(dataset.options)
    return any(known(options.get(name)) is False for name in (*_ALL, _EXPERIMENTAL + optimization))


def is_parallel(step: Step) -> bool:
    """Whether a transformation has, or may have, `num_parallel_calls`. An explicit 1 counts."""
    position = {"map": 1, "interleave": 3}.get(step.name)
    given = step.arguments.get("num_parallel_calls", position)
    if given is None:
        return step.arguments.open
    return known(given) is not None


def effect_of(step: Step, event: DatasetConsumed, *kinds: str) -> Effect | None:
    """A stateful op, of the given kinds, in the function that a transformation maps.

    None if the function has such an op only in some configurations, and it is unknown whether the program uses one of
    them where it reads the pipeline.
    """
    found = [
        effect._replace(path=effect.path - event.where.path)
        for effect in step.effects
        if not kinds or effect.kind in kinds
    ]
    return min(found, key=lambda one: len(one.path)) if is_complete([one.path for one in found]) else None


def chains(dataset: Dataset) -> Iterator[tuple[Step, ...]]:
    """Transformations of a dataset and of each of its inputs."""
    for one in datasets_in(dataset):
        yield one.steps


def goes_over_batches(steps: tuple[Step, ...], step: Step) -> bool:
    """Whether the elements that a transformation receives are batches."""
    before = [one.name for one in steps[: steps.index(step)]]
    last = max((index for index, name in enumerate(before) if name in BATCHES), default=-1)
    return last >= 0 and "unbatch" not in before[last:]


BATCHES = frozenset({"batch", "padded_batch", "ragged_batch", "bucket_by_sequence_length"})
"""Transformations that create batches."""


def after_cache(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Transformations behind the last `cache`: those that run in every epoch."""
    cached = max((index for index, step in enumerate(steps) if step.name == "cache"), default=-1)
    return steps[cached + 1 :]


def _only_batches(dataset: Dataset) -> bool:
    """Whether a dataset only batches lines of files, small examples in memory, or the elements of
    `tensorflow_datasets`, which prefetches by itself."""
    is_cheap = dataset.source.startswith("tensorflow_datasets.") or dataset.source.endswith(".TextLineDataset")
    if dataset.source.endswith((".from_tensors", ".from_tensor_slices")):
        is_cheap = (element_bytes(dataset) or 0) <= SMALL
    return is_cheap and not any(step.name in _WORKS for step in dataset.steps)


SMALL = 2**17
"""Bytes of an example up to which a batch of examples in memory takes little time to copy."""

_WORKS = frozenset({"apply", "filter", "flat_map", "interleave", "map", "scan"})
"""Transformations that compute something for each element."""


def _ends_in_memory(last: Step) -> bool:
    """Whether the last transformation keeps complete batches in memory."""
    return last.name == "cache" and not last.arguments.all()


def synchronous_end(event: DatasetConsumed, plan: Plan) -> Site | None:
    """The last transformation of a pipeline whose output is not prefetched; None if it is, or may be. Elements that
    were prefetched before a `cache` come out of it finished."""
    dataset = event.dataset
    if injects_prefetch(dataset, plan) or is_distributed(event, plan):
        return None
    steps = [step for step in dataset.steps if step.name not in NEUTRAL]
    kept = next((step for step in reversed(steps) if step.name != "cache"), None)
    if kept is None or kept.name in ("prefetch", "apply") or is_parallel(kept) or _ends_in_memory(steps[-1]):
        return None
    if all(map(_only_batches, datasets_in(dataset))):
        return None
    fused = len(steps) > 1 and (steps[-2].name, steps[-1].name) == ("map", "batch")
    return None if fused and fuses_map_and_batch(dataset) else steps[-1].site
