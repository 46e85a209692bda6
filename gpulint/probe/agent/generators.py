"""Python generators that feed datasets: how long they take for their elements."""

from __future__ import annotations

import functools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.tally import Tally

RECENT = 1_000
"""Number of elements whose times are remembered."""


class Generators:
    """Wraps the generators passed to `Dataset.from_generator`, which Keras also uses for a `PyDataset`."""

    def __init__(self, places: Places, hooks: Hooks) -> None:
        self._places, self._hooks = places, hooks
        self.seen = Tally("generators")
        self._recent: deque[tuple[float, float]] = deque(maxlen=RECENT)

    def watch(self, dataset: Any) -> None:
        """`dataset` is `tf.data.Dataset`. Raises AttributeError if it lacks the method."""
        make = dataset.from_generator

        @functools.wraps(make)
        def made(generator: Any, *arguments: Any, **keywords: Any) -> Any:
            if callable(generator):
                generator = self._timed(generator, self._places.of_function(generator) or self._places.here(2))
            return make(generator, *arguments, **keywords)

        self._hooks.replace(dataset, "from_generator", staticmethod(made))

    def _timed(self, generator: Callable[..., Iterable[Any]], place: Place | None) -> Callable[..., Iterator[Any]]:
        @functools.wraps(generator)
        def timed(*arguments: Any) -> Iterator[Any]:
            return _Timed(iter(generator(*arguments)), functools.partial(self._made, place))

        return timed

    def _made(self, place: Place | None, began: float, ended: float) -> None:
        self._recent.append((began, ended))
        self.seen.add(place, numbers=(1, ended - began))

    def between(self, began: float, ended: float) -> float:
        """Seconds between two moments during which an element was produced."""
        return sum(max(0.0, min(last, ended) - max(first, began)) for first, last in list(self._recent))


class _Timed:
    """An iterator whose elements are timed."""

    def __init__(self, elements: Iterator[Any], made: Callable[[float, float], None]) -> None:
        self._elements, self._made = elements, made

    def __iter__(self) -> _Timed:
        return self

    def __next__(self) -> Any:
        began = time.perf_counter()
        element = next(self._elements)
        self._made(began, time.perf_counter())
        return element
