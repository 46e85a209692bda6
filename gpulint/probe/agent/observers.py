"""Observers of everything but operations and graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.probe.agent.deprecations import keep_places
from gpulint.probe.agent.environment import Environment
from gpulint.probe.agent.garbage import Garbage
from gpulint.probe.agent.gradients import Gradients
from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.hidden_frames import hide_frames
from gpulint.probe.agent.holders import Holders
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.inputs import Inputs
from gpulint.probe.agent.internals import Internals
from gpulint.probe.agent.local_input import LocalInput
from gpulint.probe.agent.models import Models
from gpulint.probe.agent.passes import Passes
from gpulint.probe.agent.pipelines import Pipelines
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.reads import Reads
from gpulint.probe.agent.replicas import Replicas
from gpulint.probe.agent.saves import OF_KERAS, OF_TENSORFLOW, Saves
from gpulint.probe.agent.states import States
from gpulint.probe.agent.steps import OnStep
from gpulint.probe.agent.writer import Writer
from gpulint.probe.capture.evidence import EAGER_STEPS, PEER_WAITS, READS, REPLICAS, WAITS


class Observers:
    """Observers that some checks need. If TensorFlow lacks what one of them wraps, those checks have no evidence.

    `on_step` is called with training steps that run eagerly; `steps` and `eager` return the number of training
    steps and of eager operations so far.
    """

    def __init__(
        self,
        writer: Writer,
        places: Places,
        hooks: Hooks,
        fault: Guard,
        states: States,
        on_step: OnStep,
        on_traced: Callable[[Any], None],
        steps: Callable[[], int],
        eager: Callable[[], int],
        holders: Holders,
        passes: Passes,
    ) -> None:
        self._writer = writer
        self._environment = Environment(writer, hooks)
        self._models = Models(writer, places, hooks, fault, holders, states)
        self._replicas = Replicas(places, hooks, fault, states, eager)
        self._reads = Reads(places, hooks, fault, states, steps)
        self._local_input = LocalInput(places, hooks, fault, states)
        self._hooks = hooks
        self._saves = Saves(places, hooks, states)
        self._gradients = Gradients(places, hooks, fault, on_step, on_traced, passes)
        self._pipelines = Pipelines(writer, places, hooks, fault)
        self._inputs = Inputs(places, hooks, fault, states, self._pipelines, holders, passes)
        self._garbage = Garbage(states, self._inputs)
        self._models.on_ended = guarded("waits for input", fault, self._inputs.settle)
        self.function_began, self.function_ended = self._inputs.function_began, self._inputs.function_ended
        self.function_traced = self._inputs.traced

    @property
    def calls(self) -> int:
        """Number of model method calls started."""
        return self._models.begun

    def keras_imported(self, keras: Any) -> None:
        """Keras has just been imported."""
        self._models.imported(keras)
        self._saves.watch(keras, OF_KERAS)

    def watch(self, tensorflow: Any, internals: Internals) -> None:
        """TensorFlow has just been imported. Records what cannot be observed as lost."""
        watches: tuple[tuple[str, Callable[[], None]], ...] = (
            ("environment", lambda: self._environment.watch(tensorflow)),
            (REPLICAS, lambda: self._replicas.watch(tensorflow)),
            (EAGER_STEPS, lambda: self._gradients.watch(tensorflow, internals)),
            (READS, lambda: self._reads.watch(internals)),
            (PEER_WAITS, lambda: self._local_input.watch(internals)),
            (WAITS, lambda: self._inputs.watch(internals)),
            ("garbage collection", self._garbage.watch),
            ("pipelines", lambda: self._pipelines.watch(tensorflow.data.Dataset, internals)),
            (WAITS, lambda: self._inputs.generators.watch(tensorflow.data.Dataset)),
            ("models", lambda: self._models.watch(internals)),
            ("saves", lambda: self._saves.watch(tensorflow, OF_TENSORFLOW)),
            ("places of warnings", lambda: keep_places(internals, self._hooks)),
            ("stacks of errors", lambda: hide_frames(internals, self._hooks)),
        )
        for evidence, watch in watches:
            try:
                watch()
            except Exception as error:
                internals.lost.append((evidence, str(error)))

    def moment(self, name: str) -> None:
        """The runtime starts ("runtime"), or the program ends ("end")."""
        self._environment.tell(name)

    def close(self) -> None:
        """The watching is over."""
        self._garbage.forget()
        self._inputs.close()

    def write(self) -> None:
        """Writes the counts since the last time."""
        for tally in (
            self._models.calls,
            self._models.data,
            self._models.splits,
            self._replicas.calls,
            self._reads.seen,
            self._reads.steps,
            self._local_input.seen,
            self._inputs.generators.seen,
            self._inputs.stages,
            self._inputs.splits,
        ):
            tally.write(self._writer)
