"""The stages of the datasets that the program reads, with the lines that added them."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.writer import Writer

_AFFIXES = re.compile(r"^_|Dataset|Memory|Impl|V\d+$")

MOST = 200
"""Pipelines recorded, and stages of each: a program may build datasets in a loop."""


class Pipelines:
    """Remembers where each dataset was created; when it is read, records it with the datasets that it is built from."""

    def __init__(self, writer: Writer, places: Places, hooks: Hooks, fault: Guard) -> None:
        self._writer, self._places, self._hooks = writer, places, hooks
        self._made: weakref.WeakKeyDictionary[Any, Place | None] = weakref.WeakKeyDictionary()
        self._written: set[tuple[Any, ...]] = set()
        self._note = guarded("pipelines", fault, self._remember)
        self._write = guarded("pipelines", fault, self._read)

    def watch(self, dataset: Any, internals: Internals) -> None:
        """`dataset` is `tf.data.Dataset`."""
        self._hooks.replace(dataset, "__init__", self._noted(dataset.__init__))
        for iterable in internals.iterables:
            self._hooks.replace(iterable, "__iter__", self._seen(iterable.__iter__))

    def _noted(self, construct: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(construct)
        def noted(dataset: Any, *arguments: Any, **keywords: Any) -> None:
            construct(dataset, *arguments, **keywords)
            self._note(dataset)

        return noted

    def _remember(self, dataset: Any) -> None:
        self._made[dataset] = self._places.here(2)

    def _seen(self, iterate: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(iterate)
        def seen(dataset: Any) -> Any:
            self._write(dataset)
            return iterate(dataset)

        return seen

    def place_of(self, dataset: Any, stage: str) -> Place | None:
        """The line that added a stage, by the stage's name in tf.data's model: "Shuffle", "ParallelMapV2"; None if it
        is not the program's, as of options."""
        left, wanted = [Internals.undistributed(dataset)], bare(stage)
        for _ in range(MOST):
            if not left:
                break
            one = left.pop(0)
            if bare(type(one).__name__) == wanted:
                return self._made.get(one)
            left += Internals.inputs_of(one)
        return None

    def _read(self, dataset: Any) -> None:
        """Read the stages of a dataset, from the last to the first."""
        where = self._places.here(2)
        stages: list[tuple[str, Place | None]] = []
        left = [Internals.undistributed(dataset)]
        while left and len(stages) < MOST:
            one = left.pop(0)
            stages.append((type(one).__name__.lstrip("_"), self._made.get(one)))
            left += Internals.inputs_of(one)
        key = (where, *stages)
        if key not in self._written and len(self._written) < MOST:
            self._written.add(key)
            self._writer.write("pipeline", where=where, stages=stages)


def bare(name: str) -> str:
    """Common part of the names of a dataset's class and of its stage: "Cache" of `CacheDataset` and
    "MemoryCacheImpl"."""
    return _AFFIXES.sub("", name)
