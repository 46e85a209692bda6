"""Which lines Python runs, from samples: in the training thread, and in other threads while that waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from types import FrameType

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.stacks import current_frames
from gpulint.probe.agent.states import INPUT, LAUNCH, PYTHON, STATES, States
from gpulint.probe.agent.tally import Tally
from gpulint.probe.agent.threads import OWN
from gpulint.probe.agent.writer import Writer

EVERY = 0.02
"""Seconds between two samples, each of which takes some 50 µs."""

MOST = 20_000
"""Samples kept until the next step."""

TRAINING, OUTSIDE, LOOKED = "training", "outside", "looked"
"""Threads of samples: the training thread, another one, and none, which counts how often the others were sampled."""


class Samples:
    """Samples the stacks of all threads from a separate thread, once training has begun.

    Rows of [file, row, state of the training thread, its kind of work, thread, samples, steps with one]: the line of a
    thread outside is one of the program's that runs in a pipeline, in the workers of a `PyDataset` or the like.
    """

    def __init__(self, places: Places, states: States, fault: Guard) -> None:
        self._places, self._states = places, states
        self._seen = Tally("samples")
        self._fresh: deque[tuple[float, float, Place | None, tuple[str, str, str]]] = deque(maxlen=MOST)
        """Samples since the last step: those after the last one are not part of the training."""
        self._steps: dict[tuple[Place | None, tuple[str, str, str]], float] = {}
        """The end of the step before the last sample of a line."""
        self._stopped = threading.Event()
        self._look = guarded("samples", fault, self._sample)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Training begins."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=OWN, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Takes no more samples."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(EVERY):
            self._look()

    def _sample(self) -> None:
        (state, detail), training = self._states.now, self._states.thread
        if state == PYTHON:
            if (frame := current_frames().get(training)) is not None:
                self._add(self._places.of_frame(frame), state, detail, TRAINING)
                if _is_waiting(frame):
                    self._add_others(state, detail, training)
        elif state in (INPUT, LAUNCH):
            self._add(None, state, detail, LOOKED)
            self._add_others(state, detail, training)

    def _add_others(self, state: int, detail: str, training: int) -> None:
        """The lines of the program that other threads run."""
        aside = {training, threading.get_ident()}
        # A variable with this thread's own frame would be a cycle that keeps what all threads work on.
        for frame in [one for thread, one in current_frames().items() if thread not in aside]:
            if not _is_waiting(frame) and (place := self._places.of_frame(frame)) is not None:
                self._add(place, state, detail, OUTSIDE)

    def _add(self, place: Place | None, state: int, detail: str, thread: str) -> None:
        self._fresh.append((time.perf_counter(), self._states.last, place, (STATES[state], detail, thread)))

    def write(self, writer: Writer) -> None:
        """Writes the samples up to the last step, since the last time."""
        last = self._states.last
        while self._fresh and self._fresh[0][0] <= last:
            _, step, place, key = self._fresh.popleft()
            is_another = self._steps.get((place, key)) != step
            self._steps[place, key] = step
            self._seen.add(place, *key, numbers=(1, is_another))
        self._seen.write(writer)


def _is_waiting(frame: FrameType) -> bool:
    """Whether a thread waits in Python's own code, for another thread or a queue."""
    return frame.f_code.co_filename == threading.__file__ or "queue.py" in frame.f_code.co_filename
