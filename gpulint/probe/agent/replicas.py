"""Records what `strategy.run` passes to the replicas."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.states import LAUNCH, TRACE, States
from gpulint.probe.agent.tally import Tally

PER_REPLICA = "PerReplica"
"""Class of values sharded across replicas (`tensorflow/python/distribute/values.py`)."""

IN_THE_CALLING_THREAD = frozenset({"_DefaultDistributionExtended", "OneDeviceExtended"})
"""Classes of the strategies whose one replica runs where `run` is called; others start threads."""

RUN = "strategy.run"
"""Detail of the time in which the training thread waits for replicas."""

MAX_LEAVES = 50
"""Limit of examined values among the arguments."""


class Replicas:
    """Wraps `run` of strategies with several replicas and counts its calls by kind of arguments.

    Inside a traced function a call is counted when it is traced; eager calls each time.
    """

    def __init__(self, places: Places, hooks: Hooks, fault: Guard, states: States, eager: Callable[[], int]) -> None:
        """`eager` returns the number of eager operations so far."""
        self._places, self._hooks, self._states, self._eager = places, hooks, states, eager
        self._note = guarded("replicas", fault, self._count)
        self._tensorflow: Any = None
        self.calls = Tally("runs")

    def watch(self, tensorflow: Any) -> None:
        """Raises AttributeError if the method does not exist."""
        self._tensorflow = tensorflow
        base = next(cls for cls in tensorflow.distribute.Strategy.__mro__ if "run" in vars(cls))
        self._hooks.replace(base, "run", self._counted(base.run))

    def _counted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        states = self._states

        @functools.wraps(run)
        def counted(strategy: Any, fn: Any, args: Any = (), kwargs: Any = None, *rest: Any, **options: Any) -> Any:
            place = self._note(strategy, fn, (args, kwargs))
            is_apart = type(strategy.extended).__name__ not in IN_THE_CALLING_THREAD
            if not (is_apart and states.is_here) or states.state in (LAUNCH, TRACE):  # part of a graph
                return run(strategy, fn, args, kwargs, *rest, **options)
            states.enter(LAUNCH, place, RUN)
            before = self._eager()
            try:
                return run(strategy, fn, args, kwargs, *rest, **options)
            finally:
                states.elsewhere += self._eager() - before
                states.leave()

        return counted

    def _count(self, strategy: Any, fn: Any, given: Any) -> Place | None:
        place = self._places.here()
        if strategy.num_replicas_in_sync < 2:
            return place
        tensorflow = self._tensorflow
        shares = len(getattr(strategy.extended, "worker_devices", ())) > 1
        divided, whole, batch = False, False, None
        for leaf in _leaves(given):
            if type(leaf).__name__ == PER_REPLICA:
                divided = True
                batch = batch or _length(leaf.values[0])
            elif tensorflow.is_tensor(leaf) and _length(leaf):
                whole = whole or shares  # the only replica of a worker gets its own part as a tensor, too
                batch = batch or _length(leaf)
        self.calls.add(
            place,
            str(getattr(fn, "__name__", type(fn).__name__)),
            int(strategy.num_replicas_in_sync),
            not tensorflow.inside_function(),
            hasattr(fn, "get_concrete_function"),
            divided,
            whole,
            batch,
        )
        return place


def split(element: Any) -> tuple[int, ...]:
    """Number of elements of a batch for each replica, () if it is not divided or has no first dimension."""
    for leaf in _leaves(element):
        if type(leaf).__name__ == PER_REPLICA:
            sizes = tuple(map(_length, leaf.values))
            return sizes if all(size is not None for size in sizes) else ()  # type: ignore[return-value]
    return ()


def _leaves(given: Any) -> Iterator[Any]:
    left, seen = [given], 0
    while left and seen < MAX_LEAVES:
        value = left.pop(0)
        if isinstance(value, (tuple, list)):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        else:
            seen += 1
            yield value


def _length(tensor: Any) -> int | None:
    """First dimension, None for scalars and if unknown."""
    shape: Any = getattr(tensor, "shape", None)
    return int(shape[0]) if getattr(shape, "rank", None) and shape[0] is not None else None
