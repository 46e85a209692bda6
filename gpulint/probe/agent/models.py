"""Keras, once the program has imported it: its version, and calls of its models."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Fault, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.tally import Tally
from gpulint.probe.agent.writer import Writer

METHODS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
"""Methods of `keras.Model` that are counted and timed."""

NAMES = ("keras", "tf_keras")
"""Keras packages; the second is Keras 2 beside TensorFlow from 2.16 on."""


class Models:
    """Counts calls of models by method and line, with their seconds."""

    def __init__(self, writer: Writer, places: Places, hooks: Hooks, fault: Fault) -> None:
        self._writer, self._places, self._hooks = writer, places, hooks
        self._note = guarded("models", fault, self._count)
        self.calls = Tally("models")
        self.begun = 0
        """Calls started so far, of all methods."""

    def imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        self._writer.write("keras", name=keras.__name__, version=str(getattr(keras, "__version__", "")))
        for name in METHODS:
            if (method := getattr(keras.Model, name, None)) is not None:
                self._hooks.replace(keras.Model, name, self._counted(name, method))

    def _counted(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def counted(*arguments: Any, **keywords: Any) -> Any:
            self.begun += 1
            began = time.perf_counter()
            try:
                return method(*arguments, **keywords)
            finally:
                self._note(name, time.perf_counter() - began)

        return counted

    def _count(self, name: str, seconds: float) -> None:
        self.calls.add(self._places.here(), name, numbers=(1, seconds))
