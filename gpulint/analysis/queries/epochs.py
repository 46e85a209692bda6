"""Loops over epochs and episodes: in some of them an iteration is a pass over the data or a game, in others a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import mentions
from gpulint.analysis.domain.traversal import iterated_sources, leaves, length_sources
from gpulint.analysis.domain.values.base import Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import EVALUATES, Dataset
from gpulint.analysis.domain.values.tensors import Tensor
from gpulint.analysis.plan.events import (
    Event,
    GradientTaken,
    LoopEntered,
    ModelCalled,
    ModelFitted,
    TracedCalled,
    UnknownFitted,
)
from gpulint.places import Site

_EPOCHS = frozenset({"epoch", "epochs", "ep"})
_EPISODES = frozenset({"episode", "episodes"})

FEW_EPOCHS = 100
"""Number of epochs up to which the cost per epoch does not matter."""


def is_called_epoch(loop: Loop) -> bool:
    """Whether the variable's name says that iterations are passes over the data, or games. An "epoch" of a validation
    is one of its steps."""
    found = _words_of_loop(loop)
    return not found.isdisjoint(_EPOCHS | _EPISODES) and found.isdisjoint(EVALUATES)


def passes(events: Iterable[Event]) -> frozenset[Site]:
    """Loops over epochs and episodes whose iterations are more than one step, or few.

    An epoch is more if it fits or evaluates a model with a method of Keras, if it iterates over a dataset, or if it has
    an inner loop that plays a game or calls models. A game may be hidden in any call, so a loop that counts episodes
    always is one of games; a loop over recorded episodes is not.
    """
    found: set[Site] = set()
    for event in events:
        if isinstance(event, _WORK) and not (isinstance(event, ModelCalled) and event.how == "variables"):
            around = event.where.context.loops
            found.update(
                loop.site
                for depth, loop in enumerate(around)
                if is_called_epoch(loop) and _is_pass(event, loop, around[:depth], around[depth + 1 :])
            )
    return frozenset(found)


_WORK = (LoopEntered, ModelCalled, ModelFitted, TracedCalled, GradientTaken, UnknownFitted)


def goes_over_data(iterable: Value | None) -> bool:
    """Whether a loop over this value iterates over a dataset, directly or through `enumerate`, `zip` and so on."""
    return any(isinstance(one, Dataset) for one in iterated_sources(iterable))


def goes_over_gradients(loop: Loop) -> bool:
    """Whether a loop iterates over the gradients of one step and their variables."""
    return any(
        isinstance(leaf, Tensor) and leaf.gradient is not None
        for one in length_sources(loop.iterable)
        if isinstance(one, Items)
        for leaf in leaves(one)
    )


def _is_pass(event: Event, loop: Loop, outer: tuple[Loop, ...], inner: tuple[Loop, ...]) -> bool:
    """Whether an event in a loop over epochs or episodes shows that its iterations are more than one step, or few.

    A few epochs within each of many games are many.
    """
    if (_is_few(loop) and not any(map(_is_many, outer))) or _counts_games(loop):
        return True
    if any(_is_of_many(event, one) for one in inner):
        return not mentions(event.where.path - loop.start, "%")  # a validation in every n-th iteration
    return _is_long(event) and event.where.path <= loop.start and all(one.unrolled for one in inner)


def _words_of_loop(loop: Loop) -> frozenset[str]:
    return frozenset().union(*map(words, loop.names))


def _is_few(loop: Loop) -> bool:
    """Whether a loop iterates over a `range` of at most `FEW_EPOCHS` numbers."""
    return any(not one[FEW_EPOCHS:] for one in _ranges(loop))


def _is_many(loop: Loop) -> bool:
    """Whether a loop certainly has many iterations: it plays games, it is a `while`, or it counts further than
    `FEW_EPOCHS`."""
    if loop.unrolled:
        return False
    return loop.iterable is None or _counts_games(loop) or any(one[FEW_EPOCHS:] for one in _ranges(loop))


def _ranges(loop: Loop) -> Iterator[range]:
    """The ranges with known bounds that a loop iterates over."""
    for one in length_sources(loop.iterable):
        if isinstance(one, Items) and one.symbol.parts[0] == "range":
            bounds = [bound.parts[2] for bound in one.symbol.parts[1] if bound.parts[:2] == ("constant", "int")]
            if 0 < len(bounds) == len(one.symbol.parts[1]) and 0 not in bounds[2:]:
                yield range(*bounds)


def _counts_games(loop: Loop) -> bool:
    """Whether a loop counts episodes, rather than iterate over what the program recorded or generates."""
    return not _words_of_loop(loop).isdisjoint(_EPISODES) and any(
        isinstance(one, Items) or symbol_of(one).package for one in length_sources(loop.iterable)
    )


def _is_of_many(event: Event, inner: Loop) -> bool:
    """Whether an event in the inner loop of an epoch shows that the epoch is more than one step."""
    if goes_over_data(inner.iterable):
        return True
    if inner.unrolled or inner.is_traced or goes_over_gradients(inner):
        return False
    return inner.iterable is None or not isinstance(event, LoopEntered)


def _is_long(event: Event) -> bool:
    """Whether a method of Keras iterates over a data set."""
    is_fit = isinstance(event, (ModelFitted, UnknownFitted))
    return is_fit or (isinstance(event, ModelCalled) and event.how in ("evaluate", "predict"))
