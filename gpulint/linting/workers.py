"""A pool of processes that examine the portions of a run.

A process that dies (LibCST's parser can overflow the stack, memory can run out) costs only the file that it was at.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from gpulint.linting import pack
from gpulint.linting.examined import Examined
from gpulint.linting.portions import bytes_of
from gpulint.linting.selection import Catalogue
from gpulint.linting.task import Task, examine
from gpulint.linting.worker import Limits, Order, how_it_died, work
from gpulint.settings import SettingsFinder

SMALL_RUN = 1_000_000
"""Bytes of source below which starting processes costs more than it saves."""

FORKS = sys.platform == "linux"
"""Whether a process is a copy of this one, which costs next to nothing."""

PATIENCE = 10
"""A process may be silent for as many times the seconds that a file may take: what waits takes none."""

MAX_PAUSE = 86_400
"""Longest wait in seconds at a time: systems take no more than some weeks."""

GRACE = 10
"""Seconds in which a process ends that nobody listens to any more."""


def is_small(paths: Iterable[str]) -> bool:
    """Whether files are examined faster by one process."""
    return sum(map(bytes_of, paths)) < SMALL_RUN


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes that examine a run's portions. Called as `Checker.check` wants it; `edits` as for a `Task`."""

    jobs: int
    finder: SettingsFinder
    catalogue: Catalogue
    rules: pack.Sources
    edits: bool = True

    def __call__(
        self, portions: Sequence[tuple[str, ...]], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        """What the files of the portions give, in order, and what became of those at which processes died."""
        settings = self.finder.of_directory(".")
        limits = Limits(settings.max_file_seconds, settings.max_file_memory)
        task = Task((), self.finder, self.rules, frozenset(shown), dict(given), self.edits)
        if not FORKS and sys.version_info < (3, 11):  # which knows no PYTHONSAFEPATH
            return examine(replace(task, paths=tuple(path for portion in portions for path in portion)))
        return _Run(self.jobs, task, limits, portions).result()


class _Job(NamedTuple):
    """A portion to be examined, by its number; or one file of it that a process may have died of, to be tried alone."""

    portion: int
    alone: str = ""


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Connection
    job: _Job
    at: str = ""
    """The file that it is at."""
    heard: float = field(default_factory=time.monotonic)
    """When it said something, or was asked for something."""


@dataclass(slots=True)
class _Run:
    """One run of all portions.

    When a process dies, what it was at is tried alone, and given up if that process dies, too: a signal from elsewhere
    can end it an instant later than it should, or have nothing to do with the file. Then the portion is done again.
    """

    jobs: int
    task: Task
    limits: Limits
    portions: Sequence[tuple[str, ...]]
    workers: list[_Worker] = field(default_factory=list)
    pending: list[_Job] = field(default_factory=list)
    trials: dict[int, set[str]] = field(default_factory=dict)
    """The files of a portion that have still to be tried alone."""
    survived: set[str] = field(default_factory=set)
    done: dict[int, list[Examined]] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """The files that are given up, and why."""

    def result(self) -> list[Examined]:
        self.pending = [_Job(portion) for portion in range(len(self.portions))][::-1]
        try:
            while self.pending or self.workers:
                while self.pending and len(self.workers) < self.jobs:
                    self.workers.append(self._started(self.pending.pop()))
                self._listen()
        finally:
            for worker in self.workers:
                worker.process.kill()
                worker.process.join()
        lost = [Examined(path, lost=reason) for path, reason in sorted(self.lost.items())]
        return [*(part for portion in range(len(self.portions)) for part in self.done[portion]), *lost]

    def _started(self, job: _Job) -> _Worker:
        """A process that does one job, and then waits for another."""
        context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
        ours, theirs = context.Pipe()
        inherited = [ours, *(worker.pipe for worker in self.workers)] if FORKS else []
        arguments = (self.task, self.limits, theirs, inherited)
        process = context.Process(target=work, args=arguments, daemon=True)
        with _safe_path():
            process.start()
        theirs.close()
        worker = _Worker(process, ours, job)
        self._send(worker)
        return worker

    def _send(self, worker: _Worker) -> None:
        worker.at, worker.heard = "", time.monotonic()
        try:
            worker.pipe.send(Order(self._paths(worker.job), frozenset(self.lost)))
        except OSError:
            pass  # it died: what it was at is heard next

    def _paths(self, job: _Job) -> tuple[str, ...]:
        if job.alone:
            return (job.alone,)
        return tuple(path for path in self.portions[job.portion] if path not in self.lost)

    def _listen(self) -> None:
        """Hear what there is to hear, and end what has been silent for too long."""
        patience = PATIENCE * self.limits.seconds or None
        ends = [each for worker in self.workers for each in (worker.pipe, worker.process.sentinel)]
        ready = wait(ends, min(patience, MAX_PAUSE) if patience is not None else None)
        for worker in list(self.workers):
            if worker.pipe in ready or (worker.process.sentinel in ready and worker.pipe.poll()):
                self._heard(worker)
            elif worker.process.sentinel in ready:  # somebody else has a copy of the other end of its pipe
                self._died(worker)
            elif patience is not None and time.monotonic() - worker.heard > patience:
                worker.process.kill()
                self._died(worker, f"nothing came of it in {patience} seconds")

    def _heard(self, worker: _Worker) -> None:
        try:
            said = worker.pipe.recv()
        except (EOFError, OSError):
            self._died(worker)
            return
        worker.heard = time.monotonic()
        if isinstance(said, str):
            worker.at = said
        elif worker.job.alone:
            self._end(worker)
            if worker.process.exitcode:
                self.lost[worker.job.alone] = self._reason(worker)
            self._tried(worker.job)
        else:
            self.done[worker.job.portion] = said
            if self.pending:
                worker.job = self.pending.pop()
                self._send(worker)
            else:
                self._end(worker)

    def _died(self, worker: _Worker, why: str = "") -> None:
        self._end(worker)
        job, reason = worker.job, self._reason(worker, why)
        if job.alone:
            self.lost[job.alone] = reason
            self._tried(job)
            return
        paths = self._paths(job)
        known = self.survived | self.lost.keys()
        suspects = {worker.at} if worker.at and worker.at not in known else {*paths} - known
        if suspects:
            self.trials[job.portion] = suspects
            self.pending += [_Job(job.portion, path) for path in sorted(suspects)]
        else:  # each of its files can be examined, and they cannot be together
            self.lost |= dict.fromkeys(paths, reason)
            self.done[job.portion] = []

    def _tried(self, job: _Job) -> None:
        """A file was tried alone: after the last one of a portion all that are left are done together."""
        self.survived.add(job.alone)
        self.trials[job.portion].discard(job.alone)
        if not self.trials[job.portion]:
            self.pending.append(_Job(job.portion))

    def _reason(self, worker: _Worker, why: str = "") -> str:
        return f"{why or how_it_died(worker.process.exitcode, self.limits)}; it was not checked"

    def _end(self, worker: _Worker) -> None:
        """A worker ends when nobody is at the other end of its pipe; one that does not is killed."""
        self.workers.remove(worker)
        worker.pipe.close()
        worker.process.join(GRACE)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python is started as `python -c`, which would import the standard library from the working directory."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
