"""GPU403."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.plugin import Draft, Edit, Plan, Refused, Report, Rule, Severity, Site, confidence, events, unsafe, values
from gpulint.plugin.fixes import calls, statements
from gpulint.plugin.queries import known, pipelines
from gpulint.plugin.words import PREPARING_WORDS


class CacheAfterShuffle(Rule):
    """Cache that freezes randomness

    ## What it does
    Finds `cache()` after `shuffle`, after a random map, or after `repeat`, in a training pipeline (also in one that a
    function returns).

    ## Why is this bad
    The cache is filled in the first epoch and read in all others. Measured, the order is then the same in every epoch,
    and so is the augmentation, even if a shuffle follows. After `repeat()` the cache holds every repetition: 200 MB for
    8 elements of 1 MB taken 200 times (`benchmarks/experiments/cache_after_shuffle.py`).

    ## Example
    ```python
    import tensorflow as tf

    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1))))
    dataset = examples.shuffle(4096).cache().batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dataset, epochs=10)
    ```

    ## Use instead
    ```python
    import tensorflow as tf

    examples = tf.data.Dataset.from_tensor_slices((tf.zeros((4096, 4)), tf.zeros((4096, 1))))
    dataset = examples.cache().shuffle(4096).batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    model.fit(dataset, epochs=10)
    ```

    ## What is not reported
    A shuffle with `reshuffle_each_iteration=False` (a split), another shuffle after the cache, a cached sample
    (`take`), a map that is random only with some settings where the program's are unknown, caches that only evaluation
    or a single epoch reads.

    ## Fix
    Unsafe: moves `cache()` before the step whose result it froze. Epochs then differ, and the cache holds other
    elements.

    ## At run time
    The order of the elements in two epochs.
    """

    code = "GPU403"
    name = "cache-after-shuffle"
    severity = Severity.WARNING
    is_performance = True
    any_of_names = frozenset({".cache("})
    all_of_name_sets = (PREPARING_WORDS,)
    why = "the cache is filled in the first epoch: every later epoch gets its elements in the same order"
    instead = "call `cache` before `shuffle`"

    def on_end(self, plan: Plan) -> Iterator[Report]:
        once = {event.site for event in self.all(events.ModelFitted) if _is_one_epoch(event)}
        for event in pipelines.made_for_training(plan):
            if event.site in once:
                continue
            for chain in pipelines.chains(event.dataset):
                for index, step in enumerate(chain):
                    if (
                        step.name == "cache"
                        and (found := _frozen(chain[:index], chain[index + 1 :], event)) is not None
                    ):
                        cause, message, label, why = found
                        yield Report(
                            step.site,
                            message,
                            why=why,
                            instead=_INSTEAD.get(message, ""),
                            confidence=confidence(event.where),
                            happens_at=event.site,
                            related=((cause.site, label), pipelines.reader(event)),
                            fix=unsafe(
                                "Move `cache` up: the steps after it then run in every epoch",
                                _first,
                                step.site,
                                cause.site,
                            ),
                        )


def _is_one_epoch(event: events.ModelFitted) -> bool:
    """Whether a call of `fit` trains one epoch and is called once."""
    epochs = known(event.arguments.get("epochs", 3))
    return not event.where.context.loops and not event.arguments.open and epochs == 1


def _frozen(
    before: tuple[values.Step, ...], after: tuple[values.Step, ...], event: events.DatasetConsumed
) -> tuple[values.Step, str, str, str] | None:
    """Step before a cache whose result it should not keep, with message, label and reason."""
    for index, step in enumerate(before):
        if pipelines.effect_of(step, event, "random") is not None and not _is_sample(before[index + 1 :]):
            return step, _VALUES, "the random values are drawn here", _AUGMENTED
    for index, step in enumerate(before):
        limited = _is_sample(before[index + 1 :])
        if step.name == "repeat" and known(step.arguments.get("count", 0)) not in (0, 1) and not limited:
            return step, _REPEATS, "the data is repeated here", _GROWS
        later = {one.name for one in (*before[index + 1 :], *after)}
        if step.name == "shuffle" and not later & {"shuffle", "take", "skip", "shard"}:
            if known(step.arguments.get("reshuffle_each_iteration", 2)) is not False:
                batched = any(one.name in pipelines.BATCHES for one in before[index + 1 :])
                return step, _ORDER, "the data is shuffled here", _SAME_BATCHES if batched else ""
    return None


_GROWS = "memory grows with each repetition, and after an endless `repeat` the cache is never complete and never read"

_AUGMENTED = "the cache is filled in the first epoch: every later epoch gets the same random values"

_SAME_BATCHES = "the cache is filled in the first epoch: every later epoch gets the same batches in the same order"

_ORDER = "`cache` freezes the order of the first epoch"

_VALUES, _REPEATS = (
    "`cache` freezes the random values of the first epoch",
    "`cache` stores every repetition of the data",
)

_INSTEAD = {_VALUES: "call `cache` before the random transformation", _REPEATS: "call `cache` before `repeat`"}


def _is_sample(steps: tuple[values.Step, ...]) -> bool:
    """Whether steps leave only the first elements."""
    return any(step.name == "take" for step in steps)


def _first(draft: Draft, cache: Site, cause: Site) -> list[Edit]:
    """Move the cache before the step: in their method chain, or as statements `data = data.cache()`."""
    try:
        return calls.moved_in_chain(draft, cache, cause, before=True)
    except Refused:
        return statements.exchanged(draft, cache, cause)
