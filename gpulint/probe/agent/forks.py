"""Records that the program forked, and where it did so with TensorFlow's runtime up; forks are not watched."""

from __future__ import annotations

import os
import sys
from types import FrameType

from gpulint.probe.agent.tally import Tally
from gpulint.probe.capture.recorder import Recorder

OTHERS = "other processes"
"""Evidence that is lost if the program has several processes."""

_REASON = "the program forks, and only its first process is watched"


NEAREST = 6
"""Frames around a fork that may replace it by another program."""

_EXECUTE = frozenset(
    {"execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "_fork_exec", "fork_exec"}
)
"""What they call."""


class Forks:
    """Distinguishes the watched process from its forks."""

    def __init__(self, capture: str) -> None:
        self._capture = capture
        self.after_start = Tally("forks")
        """Forks after the runtime was initialised, by line."""
        self._process = os.getpid()
        self._told = False

    @property
    def is_fork(self) -> bool:
        """Whether this process is a fork of the watched one."""
        return os.getpid() != self._process

    @property
    def becomes_another(self) -> bool:
        """Whether what forked also replaces the fork by another program, as `!ls` of a notebook does."""
        frame: FrameType | None = sys._getframe(1)
        for _ in range(NEAREST):
            if frame is None:
                break
            if not _EXECUTE.isdisjoint(frame.f_code.co_names):
                return True
            frame = frame.f_back
        return False

    def tell(self) -> None:
        """Records once per process that there are forks. Opens the file again, as the watched process's recorder may
        be locked, or closed in a fork."""
        if not self._told:
            self._told = True
            recorder = Recorder(self._capture)
            recorder.write("lost", evidence=OTHERS, reason=_REASON)
            recorder.close()
