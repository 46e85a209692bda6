"""From a traced step to an estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gpulint.estimate.cards import Card
from gpulint.estimate.graph import Operation, StepGraph, Variable
from gpulint.estimate.memory.liveness import Held, Run, play
from gpulint.estimate.result import Estimate, Fits, Holder, Memory, Moment, on_card
from gpulint.estimate.time.bounds import LAUNCH, steps_of
from gpulint.estimate.time.statements import method
from gpulint.estimate.tracing import Traced

METHOD = (
    "Memory: the step's operations in the order of TensorFlow's executor, after its graph optimizer, each buffer from "
    "its first to its last use. The steady peak decides what fits; the first step's peak and the process are unknown."
)


def estimated(traced: Traced, cards: Sequence[Card], gpus: Sequence[int], launch: float = LAUNCH) -> Estimate:
    """The step on each card, and on several of them. `launch`: seconds for an operation on the host."""
    step, doubled = traced.step, traced.doubled
    run, larger = play(step), play(doubled) if doubled is not None else None
    chosen = [on_card(step, doubled, card, gpus, launch, _memory(card, step, run, doubled, larger)) for card in cards]
    return Estimate(step, steps_of(step), chosen, traced.is_eager, launch, (METHOD, method(launch)))


def _memory(card: Card, step: StepGraph, run: Run, doubled: StepGraph | None, larger: Run | None) -> Memory:
    """The memory of one replica on a card."""
    peak = None if run.unknown else run.peak
    fits: Fits = "unknown" if peak is None else "yes" if peak <= card.limit else "no"
    holders: Counter[tuple[str, int, str, str]] = Counter()
    for one in run.held:
        owner = one.owner
        place = (owner.filename, owner.row) if owner is not None else ("", 0)
        holders[(*place, _group(one), owner.layer if owner is not None else "")] += one.size
    by_group: Counter[str] = Counter()
    for (_, _, group, _), size in holders.items():
        by_group[group] += size
    return Memory(
        limit=card.limit,
        steady_peak=peak,
        first_step_peak=None,
        process=None,
        fits=fits,
        largest_batch=_largest(card, step, run, doubled, larger),
        by_group=by_group,
        holders=[Holder(name, row, group, size, layer) for (name, row, group, layer), size in holders.most_common()],
        curve=[Moment(size, one.type, one.filename, one.row) for one, size in run.curve],
    )


def _largest(card: Card, step: StepGraph, run: Run, doubled: StepGraph | None, larger: Run | None) -> int | None:
    """The batch at which the peak, a straight line over the batch, reaches the limit; None if that line is unknown, 0
    if no example fits."""
    if doubled is None or larger is None or run.unknown or larger.unknown or not step.batch or not doubled.batch:
        return None
    slope = (larger.peak - run.peak) / (doubled.batch - step.batch)
    return max(0, int(step.batch + (card.limit - run.peak) / slope)) if slope > 0 else None


def _group(one: Held) -> str:
    """The holder's group, as the probe names it."""
    owner = one.owner
    if isinstance(owner, Variable):
        return owner.group
    if isinstance(owner, Operation):
        return "workspace" if one.is_own else "gradients" if owner.is_gradient else "activations"
    return "input"
