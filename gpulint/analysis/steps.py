"""Which loops of a program are step loops: those that train, one step a round."""

from __future__ import annotations

from gpulint.analysis.contexts import Loop, Where
from gpulint.analysis.events import Event, GradientsApplied, LoopEntered, ModelCalled
from gpulint.analysis.names import words
from gpulint.analysis.plan import Plan
from gpulint.analysis.values import Dataset, Items, Join, Value, known
from gpulint.places import Site

_EPOCHS = frozenset({"epoch", "epochs", "ep"})
"""Words in the name of a loop's variable that say a round is a pass over the data."""


def is_update(event: Event) -> bool:
    """Whether an event changes the weights of a model from Python's side: one training step."""
    return isinstance(event, GradientsApplied) or (isinstance(event, ModelCalled) and event.how == "train_on_batch")


def training_loops(plan: Plan) -> frozenset[Site]:
    """The loops inside which a training step is taken, at any depth."""
    return frozenset(
        loop.site for event in plan.events if is_update(event) for loop in event.where.context.loops
    ) | _batch_methods(plan)


def step_loops(plan: Plan) -> frozenset[Site]:
    """The loops that take one training step a round: the innermost ones around a step, and those that go over a
    dataset. A loop over epochs is none, though its body may be one step."""
    found = set(_batch_methods(plan))
    for event in plan.events:
        if is_update(event):
            loops = event.where.context.loops
            inner = next((loop for loop in reversed(loops) if not loop.unrolled), None)
            if inner is not None and not is_over_epochs(inner) and not is_short(inner):
                found.add(inner.site)
            found.update(loop.site for loop in loops if goes_over_data(loop.iterable) and not is_short(loop))
    return frozenset(found)


def _batch_methods(plan: Plan) -> frozenset[Site]:
    """Methods that Keras calls for every batch."""
    return frozenset(
        event.loop.site for event in plan.events if isinstance(event, LoopEntered) and event.loop.is_batches
    )


def is_over_epochs(loop: Loop) -> bool:
    """Whether a loop says that its rounds are epochs."""
    return any(words(name) & _EPOCHS for name in loop.names)


def goes_over_data(iterable: Value | None) -> bool:
    """Whether a loop over this value goes over a dataset, directly or through `enumerate`, `zip` …"""
    if isinstance(iterable, Join):
        return any(goes_over_data(option) for _, option in iterable.alternatives)
    if isinstance(iterable, Items):
        return any(goes_over_data(part) for part in iterable.over)
    return isinstance(iterable, Dataset)


FEW = 16
"""Rounds of a loop over `dataset.take(n)` that are too few to matter."""


def is_short(loop: Loop) -> bool:
    """Whether a loop goes over a few elements of a dataset: `dataset.take(3)`."""
    return _is_short(loop.iterable)


def _is_short(iterable: Value | None) -> bool:
    if isinstance(iterable, Items):
        return any(_is_short(part) for part in iterable.over)
    counts = (
        [known(step.arguments.get("count", 0)) for step in iterable.steps if step.name == "take"]
        if isinstance(iterable, Dataset)
        else []
    )
    return any(isinstance(count, int) and 0 <= count <= FEW for count in counts)


def every_round(where: Where, loops: frozenset[Site]) -> Loop | None:
    """The innermost of these loops around a place, if the place is reached in every round of it."""
    for loop in reversed(where.context.loops):
        if loop.site in loops:
            return loop if is_unguarded(where, loop) else None
    return None


def is_unguarded(where: Where, loop: Loop) -> bool:
    """Whether nothing inside a loop decides that the place is reached, but that no exception came before."""
    return all(literal.condition.operator == "completes" for literal in where.path - loop.start)
