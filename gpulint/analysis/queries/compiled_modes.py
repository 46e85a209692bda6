"""Whether a program that trains eagerly has a compiled mode, too."""

from __future__ import annotations

from collections.abc import Collection

from gpulint.analysis.domain.context import Where
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import Path, compatible, words_of
from gpulint.analysis.domain.values.objects import Model
from gpulint.analysis.plan.events import GradientsApplied, ModelCalled, ModelFitted, UnknownFitted
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.training_loops import is_update


def has_compiled_way(where: Where, plan: Plan) -> bool:
    """Whether the program also trains compiled, on a path that excludes this one, so that the present path is a
    debugging mode.

    Not if it trains compiled in the same loop on a compatible path, nor by a call that the present path reaches, too.
    Training with other optimizers, other than by `fit`, is training of something else, and so is `fit` of a model that
    is created on the other path only and is none of those that the loop calls, and `fit` in a job that evaluates a
    model before it trains any: it adapts or measures what another run trained. Steps in replicas are compiled because
    `strategy.run` asks for it: the path for one device beside them is a debugging mode only if it says so.
    """
    here = {loop.site for loop in where.context.loops}
    optimizers = {
        event.optimizer.site
        for event in plan.events
        if isinstance(event, GradientsApplied)
        and here.intersection(loop.site for loop in event.where.context.loops)
        and compatible(event.where.path, where.path)
    }
    models = [
        event.model
        for event in plan.events
        if isinstance(event, ModelCalled)
        and here.intersection(loop.site for loop in event.where.context.loops)
        and compatible(event.where.path, where.path)
    ]
    adapting = _fits_of_evaluated(where, plan)
    compiled = [
        event
        for event in plan.events
        if (isinstance(event, UnknownFitted) and id(event) not in adapting)
        or (
            isinstance(event, ModelFitted) and not _is_another(event.model, models, where) and id(event) not in adapting
        )
        or (
            is_update(event)
            and event.where.context.traced is not None
            and not _is_for_replicas_alone(event.where, where)
            and not (isinstance(event, GradientsApplied) and optimizers and event.optimizer.site not in optimizers)
        )
    ]
    reached = [event for event in compiled if compatible(event.where.path, where.path)]
    return not {event.site for event in compiled} <= {event.site for event in reached} and not any(
        here.intersection(loop.site for loop in event.where.context.loops) for event in reached
    )


def _fits_of_evaluated(where: Where, plan: Plan) -> set[int]:
    """Calls of `fit`, by id, before which `evaluate` is called on a path that excludes the present one."""
    evaluated: dict[Path, None] = {}
    found: set[int] = set()
    for event in plan.events:
        if isinstance(event, ModelCalled) and event.how == "evaluate" and not compatible(event.where.path, where.path):
            evaluated[event.where.path] = None
        elif evaluated and isinstance(event, (ModelFitted, UnknownFitted)):
            if any(compatible(path, event.where.path) for path in evaluated):
                found.add(id(event))
    return found


def _is_another(fitted: Model, models: Collection[Model], where: Where) -> bool:
    """Whether a model is created only on paths that exclude this one, and neither where nor of a class as one of
    `models` is."""
    return (
        bool(models)
        and not compatible(fitted.where.path, where.path)
        and all(one.site != fitted.site and (one.cls is None or one.cls is not fitted.cls) for one in models)
    )


def _is_for_replicas_alone(compiled: Where, eager: Where) -> bool:
    """Whether a compiled step runs in replicas, and its alternative on one device is not chosen by a setting whose name
    speaks of debugging."""
    if compiled.context.replica is None or eager.context.strategy is not None:
        return False
    settings = {literal.condition.subject for literal in compiled.path}
    choice = frozenset(literal for literal in eager.path if literal.condition.subject in settings)
    return not any(words(name) & _DEBUGGING for name in words_of(choice))


_DEBUGGING = frozenset({"debug", "debugging", "eager", "eagerly"})
"""Words in the names of settings that choose a debugging mode."""
