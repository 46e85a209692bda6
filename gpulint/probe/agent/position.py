"""Where the main thread is: the only record of where a program was when it was killed."""

from __future__ import annotations

import threading

from gpulint.probe.agent.places import Place, Places
from gpulint.probe.agent.stacks import current_frames
from gpulint.probe.agent.writer import Writer


class Position:
    """Writes the main thread's frames in the program, when they have changed since the last time."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._thread = threading.main_thread().ident
        self._written: list[tuple[Place, str]] = []

    def write(self, writer: Writer) -> None:
        if self._thread is None:
            return
        frames = self._places.frames_from(current_frames().get(self._thread))
        if frames and frames != self._written:
            self._written = frames
            writer.write("position", frames=frames)
