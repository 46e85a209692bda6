"""From a traced step to an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpulint.estimate.answers import Batches, Change, changes, is_unrolled
from gpulint.estimate.cards import Card
from gpulint.estimate.graph import Operation, StepGraph
from gpulint.estimate.memory.figures import Figures, Groups, devices, figures, place_of
from gpulint.estimate.result import Estimate, Fits, Holder, Memory, Moment, Timing
from gpulint.estimate.time.bounds import LAUNCH
from gpulint.estimate.time.statements import method
from gpulint.estimate.tracing import Traced
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.sizes import in_words
from gpulint.probe.measures.time_words import percent

METHOD = (
    "Memory: the step's operations in the order of TensorFlow's executor, after its graph optimizer, on its allocator. "
    "The steady peak decides what fits; the first step, which tunes convolutions, makes do with less under a limit. "
    "A margin of 3 % of what the step adds is in it, since the layout of the allocator's memory is not known. "
    "Against 27 runs of 7 models on an H200 the steady peak was 2.5 % off in the median, from −1.4 % to +31 %; "
    "in 4 that XLA compiles it was 2 to 3 % too high."
)

TOO_LOW = 0.02
"""Share of the steady peak that is left for its error; of those that were measured it was 0.014 too low at worst."""

MOST_NAMED = 3
"""Maximum number of operations of unknown size that are named."""

_REMEDIES = {
    "mixed precision": 'mixed precision (`keras.mixed_precision.set_global_policy("mixed_float16")`)',
    "recompute": "recomputing activations (`tf.recompute_grad`)",
    "accumulate": "half the batch with accumulated gradients (`gradient_accumulation_steps=2` of the optimizer)",
    "XLA": "compiling the step (`jit_compile=True`)",
}


def estimated(traced: Traced, cards: Sequence[Card], gpus: Sequence[int], launch: float = LAUNCH) -> Estimate:
    """The step on each card, and on several of them. `launch`: seconds for an operation on the host."""
    step, doubled = traced.step, traced.doubled
    unrolled = doubled is not None and is_unrolled(step, doubled)
    doubled = None if unrolled else doubled
    found = figures(step)
    played = {step.batch: found.steady} if step.batch is not None and len(devices(step)) == 1 else {}
    batches = Batches(step, doubled, found.order, played)
    saving = [] if found.steady.unknown else changes(step, batches, found)
    remedies = tuple(_sentence(one, found) for one in saving)
    holders, by_group = _holders(step, found)
    curve = [Moment(size, one.type, one.filename, one.row, one.cell) for one, size in found.steady.curve]
    timing = Timing(step, doubled)
    chosen = []
    for card in cards:
        memory = Memory(
            limit=card.limit,
            steady_peak=None if found.steady.unknown else found.steady.peak,
            least_peak=None if found.steady.unknown else found.least,
            first_step_peak=None if found.first.unknown else found.first.peak,
            process=None if found.steady.unknown else found.process,
            fits=_fits(found, card.limit),
            largest_batch=batches.largest(card.limit),
            by_group=by_group,
            holders=holders,
            curve=curve,
            changes=remedies,
        )
        chosen.append(timing.on(card, gpus, launch, memory))
    tight = tuple(card.name for card in cards if _is_tight(found, card.limit))
    methods = METHOD, method(launch)
    unsized = () if step.unknown else tuple(_unsized(step, found.steady.unknown))[:MOST_NAMED]
    return Estimate(
        step=step,
        steps=timing.steps,
        cards=chosen,
        is_eager=traced.is_eager,
        launch=launch,
        method=methods,
        others=traced.others,
        loop=traced.loop,
        tight=tight,
        is_unrolled=unrolled,
        is_iterated=timing.is_iterated,
        unsized=unsized,
    )


def _unsized(step: StepGraph, unknown: Sequence[Operation]) -> Iterator[tuple[str, Where]]:
    """The operations, also on the host, with which the size of those of unknown size becomes unknown: type and line,
    each line once."""
    wanted, seen = {id(one) for one in unknown}, set()
    for function in (step.body, *step.functions.values()):
        operations = function.operations
        pending = [index for index, one in enumerate(operations) if id(one) in wanted]
        found = set(pending)
        while pending:
            one = operations[pending.pop(0)]
            given = {source for source, output in one.inputs if operations[source].outputs[output].bytes is None}
            pending += sorted(given - found)
            found |= given
            place = Where(one.filename, one.row, one.cell)
            if not given and one.type != "_Arg" and one.filename and place not in seen:
                seen.add(place)
                yield one.type, place


def _fits(found: Figures, limit: int) -> Fits:
    """Whether the step fits. Of a step that XLA compiles that is certain only where it would without fusing; where
    sizes are unknown, the peak is a lower bound; and near the limit, the allocator and the error of the estimate
    decide."""
    if found.least > limit:
        return "no"
    is_unknown = found.steady.unknown or found.most > limit or _is_tight(found, limit)
    return "unknown" if is_unknown else "yes"


def _is_tight(found: Figures, limit: int) -> bool:
    """Whether the limit is between the least peak and what the highest may be, as that may be too low."""
    return found.least <= limit < found.steady.peak / (1 - TOO_LOW)


def _holders(step: StepGraph, found: Figures) -> tuple[list[Holder], Counter[str]]:
    """Holders of memory at the peak, by line, layer and group, largest first; and the sums by group."""
    groups = Groups(step)
    held: Counter[tuple[str, int, int | None, str, str]] = Counter()
    by_group: Counter[str] = Counter()
    for one in found.steady.held:
        group = groups.of(one)
        held[(*place_of(one.owner), group)] += one.size
        by_group[group] += one.size
    if found.steady.margin:
        by_group["margin"] = found.steady.margin
    holders = [
        Holder(name, row, group, size, layer, cell) for (name, row, cell, layer, group), size in held.most_common()
    ]
    return holders, by_group


def _sentence(change: Change, found: Figures) -> str:
    share = percent(change.bytes / found.steady.peak) if found.steady.peak else ""
    return f"{_REMEDIES[change.remedy]} saves {in_words(change.bytes)} ({share}): {change.assumption}"
