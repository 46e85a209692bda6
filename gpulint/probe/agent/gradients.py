"""Gradients taken eagerly: training steps outside any traced function."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.steps import OnStep

EAGER_STEP = "GradientTape.gradient"
"""The function name in records of such steps."""


class Gradients:
    """Wraps `GradientTape.gradient`: reports calls outside traced functions as steps, and the graph of calls inside
    one (`on_traced`)."""

    def __init__(
        self,
        places: Places,
        hooks: Hooks,
        fault: Guard,
        on_step: OnStep,
        on_traced: Callable[[Any], None],
        passes: Passes,
    ) -> None:
        self._places, self._hooks, self._on_step = places, hooks, on_step
        self._traced = guarded("training steps", fault, on_traced)
        self._note = guarded("eager steps", fault, self._step)
        self._guard = fault
        self._last: dict[Place | None, tuple[float, float]] = {}
        self._passes = passes
        self._requested: Callable[[], str] = str

    def watch(self, tensorflow: Any, internals: Internals) -> None:
        """Raises AttributeError if the method does not exist."""
        gradient = tensorflow.GradientTape.gradient
        self._requested = lambda: internals.requested_device

        @functools.wraps(gradient)
        def taken(*arguments: Any, **keywords: Any) -> Any:
            found = gradient(*arguments, **keywords)
            # Replicas run in numbered threads of their own: the first counts for all.
            if tensorflow.inside_function():
                self._traced(tensorflow.compat.v1.get_default_graph())
            elif not getattr(threading.current_thread(), "replica_id", 0):
                self._note()
            return found

        self._hooks.replace(tensorflow.GradientTape, "gradient", taken)

    def _step(self) -> None:
        place, now, own = self._places.here(), time.perf_counter(), self._guard.own()
        if not self._passes.begins_step(EAGER_STEP, place, place, self._requested()):
            return
        before, own_before = self._last.get(place, (now, own))
        self._last[place] = now, own
        self._on_step(EAGER_STEP, place, now, max(0.0, now - before - (own - own_before)))
