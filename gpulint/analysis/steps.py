"""Which loops of a program are step loops: those that train, one step a round."""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.contexts import Loop, Where
from gpulint.analysis.events import Event, GradientsApplied, LoopEntered, ModelCalled, ModelFitted, StateUpdated
from gpulint.analysis.names import words
from gpulint.analysis.nesting import counted_in, gone_over
from gpulint.analysis.paths import Literal, compatible, mentions, words_of
from gpulint.analysis.plan import Plan
from gpulint.analysis.values import Dataset, Items, Tensor, Value, known
from gpulint.places import Site

_EPOCHS = frozenset({"epoch", "epochs", "ep", "episode", "episodes"})
"""Words in the name of a loop's variable that say a round is a pass over the data."""


def is_update(event: Event) -> bool:
    """Whether an event changes the weights of a model from Python's side: one training step."""
    return (
        isinstance(event, GradientsApplied)
        or (isinstance(event, ModelCalled) and event.how == "train_on_batch")
        or (isinstance(event, StateUpdated) and event.is_move)
    )


def training_loops(plan: Plan) -> frozenset[Site]:
    """The loops inside which a training step is taken, at any depth."""
    return frozenset(
        loop.site for event in plan.events if is_update(event) for loop in event.where.context.loops
    ) | _batch_methods(plan)


def step_loops(plan: Plan) -> frozenset[Site]:
    """The loops that take one training step a round: the innermost ones around a step, and those that go over a
    dataset. A loop over epochs is none, though its body may be one step."""
    found = set(_batch_methods(plan))
    chunked: set[Site] = set()
    for event in plan.events:
        if is_update(event):
            loops = event.where.context.loops
            inner = next((loop for loop in reversed(loops) if not loop.unrolled), None)
            if inner is not None and not is_over_epochs(inner):
                found.add(inner.site)
            found.update(loop.site for loop in loops if goes_over_data(loop.iterable))
            if any(_is_of_steps(loop) for loop in loops):
                chunked.update(loop.site for loop in loops if not loop.is_traced)
    return frozenset(found - chunked)


def _is_of_steps(loop: Loop) -> bool:
    """Whether a loop inside a `tf.function` takes many steps, so that a call of it is no single one."""
    several = isinstance(loop.iterable, (Tensor, Dataset)) or (
        isinstance(loop.iterable, Items) and loop.iterable.kind == "range"
    )
    return loop.is_traced and several and not loop.unrolled


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
    return any(isinstance(one, Dataset) for one in gone_over(iterable))


FEW = 10
"""Rounds in all that are too few for what each of them costs to matter."""


def rounds(loop: Loop) -> int | None:
    """How many rounds a loop has, at most; None where that is not known."""
    return min((count for one in counted_in(loop.iterable) if (count := _length(one)) is not None), default=None)


def _length(iterable: Value) -> int | None:
    if isinstance(iterable, Items):
        return len(iterable.items) if iterable.items is not None else None
    if not isinstance(iterable, Dataset):
        return None
    length: int | None = None
    for step in iterable.steps:
        size = known(step.arguments.get({"take": "count", "batch": "batch_size"}.get(step.name, ""), 0))
        if step.name == "take" and isinstance(size, int) and size >= 0:
            length = size if length is None else min(length, size)
        elif step.name == "batch" and length is not None and isinstance(size, int) and size > 0:
            length = -(-length // size)
        elif step.name in ("repeat", "unbatch", "flat_map", "interleave", "concatenate"):
            length = None
    return length


def are_few(loops: Iterable[Loop], limit: int = FEW) -> bool:
    """Whether loops inside each other have but a few rounds in all."""
    total = 1
    for loop in loops:
        count = rounds(loop)
        if count is None:
            return False
        total *= max(count, 1)
    return total <= limit


def in_every_turn(event: Event, loop: Loop, others: Iterable[Event]) -> bool:
    """Whether what happens at a place happens in each round of a loop that was gone through, not only in the first."""
    turns = {
        one.turn
        for other in others
        if other.site == event.site
        for one in other.where.context.loops
        if one.site == loop.site
    }
    return loop.turns < 2 or len(turns) > 1


def updates(plan: Plan) -> list[Event]:
    """The training steps of a program."""
    return [event for event in plan.events if is_update(event)]


def every_step(where: Where, loops: frozenset[Site], steps: Iterable[Event]) -> Loop | None:
    """The innermost of these loops around a place, if the place is reached in every training step and there are
    many: in every round, or under no other condition than the step itself (a batch that is skipped)."""
    for loop in reversed(where.context.loops):
        if loop.site in loops:
            often = is_unguarded(where, loop) or _is_guarded_as(where, loop, steps)
            return loop if often and not are_few(where.context.loops) else None
    return None


def _is_guarded_as(where: Where, loop: Loop, steps: Iterable[Event]) -> bool:
    return not is_rare(where, loop) and any(
        where.path - loop.start <= event.where.path - around.start
        for event in steps
        for around in event.where.context.loops
        if around.site == loop.site
    )


def is_unguarded(where: Where, loop: Loop) -> bool:
    """Whether nothing inside a loop decides that the place is reached, but that no exception came before."""
    return len(where.context.flags) <= loop.flags and all(
        literal.condition.operator == "completes" or _is_about_worker(literal) for literal in where.path - loop.start
    )


def _is_about_worker(literal: Literal) -> bool:
    """Whether a condition is about which worker this is: it is the same in every round."""
    return any(words(name) & _RANKS for name in words_of(frozenset({literal}))) and not mentions(
        frozenset({literal}), "%"
    )


_RANKS = frozenset({"rank", "chief", "leader", "is_master", "is_main"})


def is_rare(where: Where, loop: Loop) -> bool:
    """Whether a condition inside the loop lets only some rounds through (every n-th, or one), or only some releases."""
    inside = where.path - loop.start
    return (
        len(where.context.flags) > loop.flags
        or mentions(inside, "%")
        or mentions(where.path, "tensorflow.__version__")
        or any(one.condition.operator == "==" and one.holds for one in inside)
    )


def has_compiled_way(where: Where, plan: Plan) -> bool:
    """Whether the program trains compiled on a path that excludes this one: it is a mode for debugging."""
    return any(
        not compatible(event.where.path, where.path)
        for event in plan.events
        if isinstance(event, ModelFitted) or (is_update(event) and event.where.context.traced is not None)
    )
