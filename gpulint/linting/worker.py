"""A worker process: it analyses portions of a run until its pipe is closed."""

from __future__ import annotations

import gc
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from gpulint.analysis.domain import path_conditions
from gpulint.analysis.project.parsed import Parsed
from gpulint.linting.deep_stack import COLLECTOR, STACK_BYTES
from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.task import Task
from gpulint.syntax.parse import DEEP_STACK

if sys.platform != "win32":
    import resource


KEPT_BYTES = 3_000_000
"""Bytes of files, about 80,000 lines, after which a process forgets all syntax trees. Findings do not depend on it."""


class Order(NamedTuple):
    """A request to a worker: the files to analyse, and those that must not be read."""

    paths: tuple[str, ...]
    lost: frozenset[str]


class Limits(NamedTuple):
    """Limits for one file: `seconds` of processor time, and megabytes of `memory` of the process; 0 for no limit.

    The system kills a process that exceeds the time, even during a native call. Windows has no such limits, macOS none
    for memory.
    """

    seconds: int
    memory: int

    def impose(self) -> None:
        """Limit the memory that this process may allocate, its stacks excepted."""
        if self.memory and sys.platform == "linux":
            with open("/proc/self/statm", encoding="ascii") as file:
                present = int(file.read().split()[0]) * resource.getpagesize()
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            wanted = present + STACK_BYTES + DEEP_STACK + self.memory * 1_000_000
            resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))

    def start_clock(self) -> None:
        """Restart the time limit."""
        if self.seconds and sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, self.seconds)

    def is_reached_with(self, status: int | None) -> bool:
        """Whether a process with this exit status exceeded the time limit."""
        return sys.platform != "win32" and status == -signal.SIGPROF


def how_it_died(status: int | None, limits: Limits) -> str:
    """Why a process ended, for a message."""
    if limits.is_reached_with(status):
        return f"it takes more than `max-file-seconds` ({limits.seconds}) of processor time"
    return f"the process that analysed it died {_exit_reason(status or 0)}"


def _exit_reason(status: int) -> str:
    """Reason of an exit, to follow "died": `with status 1`, `of SIGKILL`."""
    if status >= 0:
        return f"with status {status}"
    try:
        return f"of {signal.Signals(-status).name}"
    except ValueError:
        return f"of signal {-status}"


def work(task: Task, limits: Limits, pipe: Connection, inherited: Sequence[Connection]) -> None:
    """Analyse portions until the pipe is closed.

    `inherited` are copies of the parent's pipe ends, which a forked process must close.
    """
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it, too, and ends the workers
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    limits.impose()
    gc.callbacks.append(_set_aside)
    gc.set_threshold(*COLLECTOR)  # never reset: that would collect everything once more
    _serve(task, limits, pipe)


def _set_aside(phase: str, info: Mapping[str, int]) -> None:
    """Exempt what survived a full collection (mostly syntax trees) from all later ones."""
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()


def _serve(task: Task, limits: Limits, pipe: Connection) -> None:
    def begun(path: str) -> None:
        limits.start_clock()
        pipe.send(path)

    checker: Checker | None = None
    parsed = Parsed()
    while True:
        try:
            order: Order = pipe.recv()
        except (EOFError, OSError):
            return
        limits.start_clock()
        try:
            if checker is not None and checker.files.bytes_read > KEPT_BYTES:
                checker = None
                path_conditions.forget()
                gc.unfreeze()
                gc.collect()
            checker = checker or Checker(task.finder, task.catalogue(), parsed, task.edits)
            checker.give_up(order.lost)
            examined = checker.examine(order.paths, task.shown, task.given, begun, begun)
        except Exception as error:  # the parent reports the fault
            first = order.paths[0] if order.paths else ""
            message = f"{first} and what follows it: internal error: {type(error).__name__}: {error}"
            examined = [Examined("", errors=[(message, traceback.format_exc())])]
        pipe.send(examined)
