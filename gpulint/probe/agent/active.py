"""The sessions that watch this process. Usually none, which is all that `gpulint.expect` needs to know."""

from __future__ import annotations

import functools
import os
import threading
from typing import Any, Protocol


class Statements(Protocol):
    """Records expectations stated by the program."""

    def state(self, form: str, expected: str, *value: Any) -> None:
        """An expectation of a value or, without one, of the whole run."""

    def open(self, form: str, expected: str) -> Any:
        """An expectation of a block, which begins. The result is passed to `close`."""

    def close(self, opened: Any) -> None:
        """The block has ended."""


class Watcher(Protocol):
    """The part of a session that others in its process call."""

    @property
    def inline(self) -> Statements:
        """Records expectations stated by the program."""

    def take_graph(self, graph: Any) -> None:
        """A graph was executed."""

    def forks(self) -> None:
        """This process has forked."""

    def forked(self) -> None:
        """This process is a fork of the watched one."""


SESSIONS: list[Watcher] = []
"""Sessions that watch this process, outermost first."""

HARVEST = threading.Lock()
"""Held while graphs are taken from TensorFlow, which returns each of them once, for all sessions."""


def add(session: Watcher) -> None:
    """Starts a session."""
    _watch_forks()
    SESSIONS.append(session)


def remove(session: Watcher) -> None:
    """Ends a session."""
    if session in SESSIONS:
        SESSIONS.remove(session)


@functools.cache
def _watch_forks() -> None:
    """Once per process: Python cannot unregister the hooks."""
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
