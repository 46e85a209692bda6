"""Who watches this process at the moment. Nearly always nobody: this is all that `gpulint.expect` looks at then."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, Protocol


class Statements(Protocol):
    """Takes what the program itself expects."""

    def state(self, form: str, expected: str, *value: Any) -> None:
        """Something is expected of a value or, without one, of the whole run."""

    def open(self, form: str, expected: str) -> Any:
        """Something is expected of a block, which begins. The result goes to `close`."""

    def close(self, opened: Any) -> None:
        """A block has ended."""


class Watcher(Protocol):
    """The part of a session that others in its process call."""

    @property
    def inline(self) -> Statements:
        """Takes what the program itself expects."""

    def take_graph(self, graph: Any) -> None:
        """A graph was run."""

    def forks(self) -> None:
        """This process has made a fork of itself."""

    def forked(self) -> None:
        """This process is a fork of the one that is watched."""


SESSIONS: list[Watcher] = []
"""The sessions that watch this process, the outermost first."""

HARVEST = threading.Lock()
"""Held while graphs are taken from TensorFlow, which gives each of them once, for all sessions."""


def add(session: Watcher) -> None:
    """A session begins."""
    _watch_forks()
    SESSIONS.append(session)


def remove(session: Watcher) -> None:
    """A session ends."""
    if session in SESSIONS:
        SESSIONS.remove(session)


@functools.cache
def _watch_forks() -> None:
    """Once in a process: Python cannot take it back."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_parent=_forks, after_in_child=_forked)


def _forks() -> None:
    for session in list(SESSIONS):
        session.forks()


def _forked() -> None:
    sessions = list(SESSIONS)
    SESSIONS.clear()
    for session in sessions:
        session.forked()
