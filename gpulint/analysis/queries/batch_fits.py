"""Calls of `fit` that are one training step of a loop: each gets one sample or batch."""

from __future__ import annotations

from gpulint.analysis.domain.context import Loop, Object
from gpulint.analysis.domain.host_arrays import rows_of
from gpulint.analysis.domain.random_draws import is_drawn, is_drawn_in, is_reordered
from gpulint.analysis.domain.symbolic_patterns import is_next_batch, is_single, is_small_part
from gpulint.analysis.domain.traversal import leaves, leaves_on
from gpulint.analysis.domain.values.base import Unknown, Value, known, symbol_of
from gpulint.analysis.plan.events import ModelCalled, ModelFitted
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.moments import possible
from gpulint.analysis.queries.training_loops import are_few, in_every_iteration, is_rare, iteration_count
from gpulint.places import Site


def batch_fits(plan: Plan) -> list[tuple[ModelFitted, Loop]]:
    """Calls of `fit` with one sample or batch, for one epoch, in each iteration of a loop around which the model is.

    Each comes with the loop.
    """
    made = [event for event in plan.events if isinstance(event, ModelFitted) and event.where.context.loops]
    found: list[tuple[ModelFitted, Loop]] = []
    for event in made:
        loop, epochs = loop_of_call(event), event.arguments.get("epochs", 3)
        if event.arguments.open or (epochs is not None and known(epochs) != 1) or is_made_in(event.model, loop):
            continue
        if (
            are_few(event.where.context.loops)
            or is_rare(event.where, loop)
            or not in_every_iteration(event, loop, made)
        ):
            continue
        if any(
            is_one_sample(value)
            or is_small_part(value)
            or is_next_batch(value, loop)
            or _is_sampled(value)
            or is_drawn_in(value, loop)
            or _is_of_batch_size(value, event)
            for value in fitted_data(event)
        ):
            found.append((event, loop))
    return found


def fitted_data(event: ModelFitted) -> list[Value]:
    """Values that a call of `fit` gets as data, one by one."""
    return list(leaves_on(event.where.path, event.data))


def is_one_sample(value: Value) -> bool:
    """Whether a value is one sample: a batch of one, or a record of a collection drawn at random."""
    return is_single(value) or is_drawn(value)


def is_made_in(made: Object, loop: Loop) -> bool:
    """Whether each iteration of a loop creates such a model or optimizer of its own."""
    return any(around.site == loop.site for around in made.where.context.loops)


def loop_of_call(event: ModelCalled | ModelFitted, steps: frozenset[Site] = frozenset()) -> Loop:
    """Innermost loop with several iterations around a call, one in `steps` if there is one. A loop over models counts
    only if there is no other: each is called once."""
    around = event.where.context.loops
    several = [one for one in reversed(around) if iteration_count(one) != 1] or [around[-1]]
    of_calls = [one for one in several if not is_over_models(event, one)] or several
    return next((one for one in of_calls if one.site in steps), of_calls[0])


def is_over_models(event: ModelCalled | ModelFitted, loop: Loop) -> bool:
    """Whether a loop iterates over models, and the one of this event is among them."""
    return any(one is event.model for value in possible(loop.iterable, event.where) for one in leaves(value))


def _is_sampled(value: Value) -> bool:
    """Whether a value is part of what `random.sample` or the `sample` method of a memory returned: not of all elements
    in another order."""
    return type(value) is Unknown and not value.symbol.words.isdisjoint(_SAMPLES) and not is_reordered(value.symbol)


def _is_of_batch_size(value: Value, event: ModelFitted) -> bool:
    """Whether a value is an array that has as many rows as the batch that `fit` is asked to make of it."""
    size = event.batch_size
    return type(value) is Unknown and size is not None and rows_of(value.symbol) == symbol_of(size)


_SAMPLES = frozenset({"random.sample", "sample", "sample_batch", "sample_buffer", "sample_memory"})
