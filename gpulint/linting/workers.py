"""Examining portions of a run elsewhere: by a pure function for any engine, and by processes of our own.

A process that dies (LibCST's parser can overflow the stack, memory can run out) costs only the file that it was at.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
import traceback
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from gpulint.linting import pack
from gpulint.linting.engine import Checker, unreadable
from gpulint.linting.examined import Examined
from gpulint.linting.portions import bytes_of
from gpulint.linting.selection import Catalogue
from gpulint.places import Span
from gpulint.settings import SettingsFinder

SMALL_RUN = 1_000_000
"""Bytes of source below which starting processes costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Task:
    """A portion of a run with all that it takes to examine it. Can be pickled."""

    paths: tuple[str, ...]
    finder: SettingsFinder
    rule_paths: tuple[str, ...]
    installed: bool
    shown: frozenset[str]
    """Absolute paths of all files that are checked."""

    def catalogue(self) -> Catalogue:
        """The rules. Raises PackError."""
        return Catalogue(pack.load(self.rule_paths, self.installed))


def examine(task: Task) -> list[Examined]:
    """What the files of a portion give. Depends on the task and on the files alone. Raises SettingsError, PackError."""
    return Checker(task.finder, task.catalogue()).examine(task.paths, task.shown, {})


def is_small(paths: Iterable[str]) -> bool:
    """Whether files are examined faster by one process."""
    return sum(map(bytes_of, paths)) < SMALL_RUN


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes that examine a run's portions. Called as `Checker.check` wants it."""

    jobs: int
    finder: SettingsFinder
    catalogue: Catalogue
    rule_paths: tuple[str, ...] = ()
    installed: bool = True

    def __call__(self, portions: Sequence[tuple[str, ...]], shown: Collection[str]) -> list[Examined]:
        task = Task((), self.finder, self.rule_paths, self.installed, frozenset(shown))
        return _Run(self.jobs, task, self.catalogue, portions).result()


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Connection
    portion: int
    at: str | None = None
    """The file that it is at."""
    avoids: frozenset[str] = frozenset()
    """Files that it was told to leave alone."""


@dataclass(slots=True)
class _Run:
    """One run of all portions."""

    jobs: int
    task: Task
    catalogue: Catalogue
    portions: Sequence[tuple[str, ...]]
    workers: list[_Worker] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    """Files at which a worker died, and of what."""

    def result(self) -> list[Examined]:
        """What each file gave."""
        import libcst  # noqa: F401  (imported once here, and not once in each process)

        pending = list(range(len(self.portions)))[::-1]
        done: dict[int, list[Examined]] = {}
        try:
            while pending or self.workers:
                while pending and len(self.workers) < self.jobs:
                    self.workers.append(self._started(pending.pop()))
                for pipe in wait([worker.pipe for worker in self.workers]):
                    worker = next(one for one in self.workers if one.pipe is pipe)
                    self._heard(worker, done, pending)
        finally:
            for worker in self.workers:
                worker.process.terminate()
        lost = [
            Examined(path, unreadable=[unreadable(self.catalogue, Span(path, 1, 1, 1, 2), reason)])
            for path, reason in sorted(self.lost.items())
        ]
        return [*(part for portion in range(len(self.portions)) for part in done[portion]), *lost]

    def _started(self, portion: int) -> _Worker:
        """A process that examines one portion, and then waits for another."""
        forks = sys.platform == "linux"
        context: Any = multiprocessing.get_context("fork" if forks else "spawn")
        ours, theirs = context.Pipe()
        inherited = [ours, *(worker.pipe for worker in self.workers)] if forks else []
        process = context.Process(target=_work, args=(self.task, theirs, inherited), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours, portion)
        self._send(worker)
        return worker

    def _send(self, worker: _Worker) -> None:
        worker.at, worker.avoids = None, frozenset(self.lost)
        paths = tuple(path for path in self.portions[worker.portion] if path not in self.lost)
        try:
            worker.pipe.send((paths, worker.avoids))
        except OSError:
            pass  # it died: what it was at is heard next

    def _heard(self, worker: _Worker, done: dict[int, list[Examined]], pending: list[int]) -> None:
        try:
            said = worker.pipe.recv()
        except (EOFError, OSError):
            self._died(worker, done, pending)
            return
        if isinstance(said, str):
            worker.at = said
            return
        done[worker.portion] = said
        if pending:
            worker.portion = pending.pop()
            self._send(worker)
        else:
            self._end(worker)

    def _died(self, worker: _Worker, done: dict[int, list[Examined]], pending: list[int]) -> None:
        worker.process.join()
        reason = f"the process that analysed it died {_of_what(worker.process.exitcode)}; it was not checked"
        if worker.at is None or worker.at in worker.avoids:
            first = self.portions[worker.portion][0]
            error = f"{first} and what follows it: internal error: {reason}"
            done[worker.portion] = [Examined(first, errors=[(error, "")])]
        else:
            self.lost[worker.at] = reason
            pending.append(worker.portion)
        self._end(worker)

    def _end(self, worker: _Worker) -> None:
        """A worker ends when nobody is at the other end of its pipe."""
        self.workers.remove(worker)
        worker.pipe.close()
        worker.process.join()


def _of_what(status: int) -> str:
    if status >= 0:
        return f"with status {status}"
    try:
        return f"of {signal.Signals(-status).name}"
    except ValueError:
        return f"of signal {-status}"


def _work(task: Task, pipe: Connection, inherited: Sequence[Connection]) -> None:
    """The life of a worker: it examines portions until nobody asks for more.

    `inherited` are the parent's ends of pipes, copies of which a forked process has.
    """
    for other in inherited:
        other.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends the workers
    checker: Checker | None = None
    while True:
        try:
            paths, lost = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            checker = checker or Checker(task.finder, task.catalogue())
            examined = checker.examine(paths, task.shown - lost, {}, pipe.send)
            pipe.send(examined)
        except Exception as error:  # the edge of a worker: its fault is said by the parent
            first = paths[0] if paths else ""
            message = f"{first} and what follows it: internal error: {type(error).__name__}: {error}"
            pipe.send([Examined(first, errors=[(message, traceback.format_exc())])])
