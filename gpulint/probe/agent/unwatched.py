"""Ways to compute that the agent does not see, named when a program uses them: sessions of TensorFlow 1, and Keras on
another backend."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.places import Places
from gpulint.probe.capture.evidence import BACKEND, SESSIONS

TENSORFLOW = "tensorflow"


class Unwatched:
    """Calls `lose` with the evidence that is lost and the reason, once each."""

    def __init__(self, places: Places, hooks: Hooks, fault: Guard, lose: Callable[[str, str], None]) -> None:
        self._places, self._hooks, self._lose = places, hooks, lose
        self._note = guarded("sessions", fault, self._ran)
        self._is_told = False

    def watch(self, tensorflow: Any) -> None:
        """Raises AttributeError if there are no sessions."""
        session = tensorflow.compat.v1.Session
        owner = next(cls for cls in session.__mro__ if "run" in vars(cls))
        run = owner.run

        @functools.wraps(run)
        def noted(*arguments: Any, **keywords: Any) -> Any:
            if not self._is_told:
                self._note()
            return run(*arguments, **keywords)

        self._hooks.replace(owner, "run", noted)

    def _ran(self) -> None:
        place = self._places.here()
        if place is not None:
            self._is_told = True
            at = f"{os.path.basename(place[0])}:{place[1]}"
            self._lose(SESSIONS, f"{at} runs a TensorFlow 1 graph, whose operations and steps are not observed")

    def keras_imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        config = getattr(keras, "config", None)
        backend = getattr(config, "backend", None)
        name = str(backend()) if callable(backend) else TENSORFLOW
        if name != TENSORFLOW:
            self._lose(BACKEND, f"Keras computes with {name}; only TensorFlow is watched")
