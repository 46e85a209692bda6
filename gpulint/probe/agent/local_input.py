"""Times how long a distributed iterator takes to get this process's part of a batch.

With several workers, the rest of `next()` is waiting: before an element is handed out, all workers agree that they have
one (`DistributedIteratorBase.get_next`, 2.16 and 2.21).
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.states import INPUT, States
from gpulint.probe.agent.tally import Tally


class LocalInput:
    """Counts the parts and their seconds by the line that reads the iterator."""

    def __init__(self, places: Places, hooks: Hooks, fault: Guard, states: States) -> None:
        self._places, self._hooks, self._states = places, hooks, states
        self._note = guarded("waits for other workers", fault, self._count)
        self.seen = Tally("local input")

    def watch(self, internals: Internals) -> None:
        if (iterator := internals.local_iterator) is not None:
            for name in ("get_next_as_optional_list", "get_next_as_list"):
                self._hooks.replace(iterator, name, self._timed(getattr(iterator, name)))

    def _timed(self, get: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(get)
        def timed(*arguments: Any, **keywords: Any) -> Any:
            began = time.perf_counter()
            try:
                return get(*arguments, **keywords)
            finally:
                self._note(time.perf_counter() - began)

        return timed

    def _count(self, seconds: float) -> None:
        self.seen.add(self._states.place_in(INPUT) or self._places.here(), numbers=(1, seconds))
