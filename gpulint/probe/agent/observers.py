"""Observers of everything but operations and graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.environment import Environment
from gpulint.probe.agent.gradients import Gradients
from gpulint.probe.agent.guard import Fault
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.inputs import Inputs
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.local_input import LocalInput
from gpulint.probe.agent.models import Models
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.reads import Reads
from gpulint.probe.agent.replicas import Replicas
from gpulint.probe.agent.retraces import Retraces
from gpulint.probe.agent.steps import Again, OnStep
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.evidence import EAGER_STEPS, PEER_WAITS, READS, REPLICAS, RETRACES, WAITS


class Observers:
    """Observers that some checks need. If TensorFlow lacks what one of them wraps, those checks have no evidence.

    `on_step` is called with training steps that run eagerly; `steps` returns the number of training steps so far.
    """

    def __init__(
        self,
        writer: Writer,
        places: Places,
        hooks: Hooks,
        fault: Fault,
        on_step: OnStep,
        on_traced: Callable[[Any], None],
        steps: Callable[[], int],
    ) -> None:
        self._writer = writer
        self._environment = Environment(writer, hooks)
        self._models = Models(writer, places, hooks, fault)
        self._replicas = Replicas(places, hooks, fault)
        self._reads = Reads(places, hooks, fault, steps)
        self._retraces = Retraces(places, hooks, fault)
        self._local_input = LocalInput(places, hooks, fault)
        self._gradients = Gradients(places, hooks, fault, on_step, on_traced)
        self._inputs = Inputs(places, hooks, fault, steps)

    @property
    def calls(self) -> int:
        """Number of model method calls started."""
        return self._models.begun

    def keras_imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        self._models.imported(keras)

    def watch(self, tensorflow: Any, internals: Internals) -> None:
        """TensorFlow has just been imported. Records what cannot be observed as lost."""
        watches: tuple[tuple[str, Callable[[], None]], ...] = (
            ("environment", lambda: self._environment.watch(tensorflow)),
            (REPLICAS, lambda: self._replicas.watch(tensorflow)),
            (EAGER_STEPS, lambda: self._gradients.watch(tensorflow)),
            (READS, lambda: self._reads.watch(internals)),
            (PEER_WAITS, lambda: self._local_input.watch(internals)),
            (RETRACES, lambda: self._retraces.watch(internals)),
            (WAITS, lambda: self._inputs.watch(internals)),
        )
        for evidence, watch in watches:
            try:
                watch()
            except Exception as error:
                internals.lost.append((evidence, str(error)))

    def moment(self, name: str) -> None:
        """The runtime starts ("runtime"), or the program ends ("end")."""
        self._environment.tell(name)

    def stepped(self, place: Place | None, now: float) -> Again:
        """A training step called at `place` has ended."""
        return self._inputs.stepped(place, now)

    @property
    def waited(self) -> float:
        """Total seconds that Python has waited for input."""
        return self._inputs.waited

    def write(self) -> None:
        """Writes the counts since the last time."""
        for tally in (
            self._models.calls,
            self._models.data,
            self._replicas.calls,
            self._reads.seen,
            self._reads.steps,
            self._retraces.seen,
            self._local_input.seen,
            self._inputs.seen,
            self._inputs.splits,
        ):
            tally.write(self._writer)
