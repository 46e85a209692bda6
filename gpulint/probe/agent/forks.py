"""Forks of the program, which are not watched: the capture says so."""

from __future__ import annotations

import os

from gpulint.probe.capture.recorder import Recorder

OTHERS = "other processes"
"""Evidence that is lost where the program is more than one process."""

_REASON = "the program forks, and only its first process is watched"


class Forks:
    """Tells the process that is watched from forks of it."""

    def __init__(self, capture: str) -> None:
        self._capture = capture
        self._process = os.getpid()
        self._told = False

    @property
    def is_fork(self) -> bool:
        """Whether this process is a fork of the one that is watched."""
        return os.getpid() != self._process

    def tell(self) -> None:
        """Write, once in a process, that there are forks. Through a file of its own: that of the process that is
        watched may be in use, or be closed in a fork."""
        if not self._told:
            self._told = True
            recorder = Recorder(self._capture)
            recorder.write("lost", evidence=OTHERS, reason=_REASON)
            recorder.close()
