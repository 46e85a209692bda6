"""A pool of processes that examine the portions of a run.

If a process dies (LibCST's parser can overflow the stack, memory can run out), only the file that it was analysing is
lost.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
"""Bytes of source below which starting processes takes longer than it saves."""

FORKS = sys.platform == "linux"
"""Whether processes can be forked, which takes next to no time."""

STARTS_SAFELY = sys.version_info >= (3, 11)
"""Whether a new Python can be kept from importing modules of the working directory, by PYTHONSAFEPATH."""

PATIENCE = 10
"""A process is killed after this many times `max-file-seconds` without a message: waiting uses no processor time."""

MAX_PAUSE = 86_400
"""Longest single wait in seconds: systems accept no more than a few weeks."""

GRACE = 10
"""Seconds that a process has to end after its pipe is closed."""


def has_threads() -> bool:
    """Whether this process has other threads: a lock that one of them holds would stay locked in a forked process."""
    try:
        return len(os.listdir("/proc/self/task")) > 1  # includes threads that Python did not start
    except OSError:
        return threading.active_count() > 1


class _CannotStart(Exception):
    """A new process ended before it did anything."""


def is_small(paths: Iterable[str]) -> bool:
    """Whether one process is faster."""
    return sum(map(bytes_of, paths)) < SMALL_RUN


Progress = Callable[[int, int], None]
"""Is told again and again how many files were analysed, and how many there are."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes that analyse the portions of a run: an `Examine` for `Checker.check`."""

    jobs: int
    finder: SettingsFinder
    catalogue: Catalogue
    rules: pack.Sources
    edits: bool = True
    forks: bool = field(default_factory=lambda: FORKS)
    """Whether to fork this process, or to start a new Python."""
    progress: Progress = lambda done, total: None

    def __call__(
        self, portions: Sequence[tuple[str, ...]], shown: Collection[str], given: Mapping[str, bytes]
    ) -> list[Examined]:
        """Results for the files of the portions, in order, then those of lost files."""
        settings = self.finder.of_directory(".")
        limits = Limits(settings.max_file_seconds, settings.max_file_memory)
        task = Task((), self.finder, self.rules, frozenset(shown), dict(given), self.edits)
        if self.forks or STARTS_SAFELY:
            try:
                return _Run(self.jobs, task, limits, portions, self.forks, self.progress).result()
            except _CannotStart:
                pass
        return examine(replace(task, paths=tuple(path for portion in portions for path in portion)))


class _Job(NamedTuple):
    """A portion, by its number, or one file of it that may have killed a process, to be tried alone."""

    portion: int
    alone: str = ""


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Connection
    job: _Job
    at: str = ""
    """The file that it is analysing."""
    has_begun: bool = False
    """Whether it has ever said anything."""
    heard: float = field(default_factory=time.monotonic)
    """Time of the last message or request."""


@dataclass(slots=True)
class _Run:
    """One run of all portions.

    When a process dies, the file that it was analysing is tried alone, and given up if that process dies, too: the
    first death can have had another cause, or can have been noticed late. Then the portion is analysed again.
    """

    jobs: int
    task: Task
    limits: Limits
    portions: Sequence[tuple[str, ...]]
    forks: bool
    progress: Progress
    workers: list[_Worker] = field(default_factory=list)
    pending: list[_Job] = field(default_factory=list)
    trials: dict[int, set[str]] = field(default_factory=dict)
    """Files of each portion that are still to be tried alone."""
    survived: set[str] = field(default_factory=set)
    done: dict[int, list[Examined]] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Files that are given up, with the reason."""

    def result(self) -> list[Examined]:
        self.pending = [_Job(portion) for portion in range(len(self.portions))][::-1]
        try:
            while self.pending or self.workers:
                while self.pending and len(self.workers) < self.jobs:
                    self.workers.append(self._started(self.pending.pop()))
                self._listen()
                self.progress(self._finished(), sum(map(len, self.portions)))
        finally:
            for worker in self.workers:
                worker.process.kill()
                worker.process.join()
        lost = [Examined(path, lost=reason) for path, reason in sorted(self.lost.items())]
        return [*(part for portion in range(len(self.portions)) for part in self.done[portion]), *lost]

    def _finished(self) -> int:
        """Number of files that were analysed."""
        begun = [(worker.at, self.portions[worker.job.portion]) for worker in self.workers if not worker.job.alone]
        here = sum(portion.index(path) for path, portion in begun if path in portion)
        return here + sum(len(self.portions[portion]) for portion in self.done)

    def _started(self, job: _Job) -> _Worker:
        """A process that does one job, then waits for another."""
        context: Any = multiprocessing.get_context("fork" if self.forks else "spawn")
        ours, theirs = context.Pipe()
        inherited = [ours, *(worker.pipe for worker in self.workers)] if self.forks else []
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
            pass  # it died: _listen will notice

    def _paths(self, job: _Job) -> tuple[str, ...]:
        if job.alone:
            return (job.alone,)
        return tuple(path for path in self.portions[job.portion] if path not in self.lost)

    def _listen(self) -> None:
        """Read messages, and kill processes that have been silent for too long."""
        patience = PATIENCE * self.limits.seconds or None
        ends = [each for worker in self.workers for each in (worker.pipe, worker.process.sentinel)]
        ready = wait(ends, min(patience, MAX_PAUSE) if patience is not None else None)
        for worker in list(self.workers):
            if worker.pipe in ready or (worker.process.sentinel in ready and worker.pipe.poll()):
                self._heard(worker)
            elif worker.process.sentinel in ready:  # another process holds a copy of its end of the pipe
                self._died(worker)
            elif patience is not None and time.monotonic() - worker.heard > patience:
                worker.process.kill()
                self._died(worker, f"there was no result within {patience} seconds")

    def _heard(self, worker: _Worker) -> None:
        try:
            said = worker.pipe.recv()
        except (EOFError, OSError):
            self._died(worker)
            return
        worker.heard, worker.has_begun = time.monotonic(), True
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
        if not (self.forks or worker.has_begun or why) and (worker.process.exitcode or 0) > 0:
            raise _CannotStart
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
        else:  # each file can be analysed alone, but not all of them together
            self.lost |= dict.fromkeys(paths, reason)
            self.done[job.portion] = []

    def _tried(self, job: _Job) -> None:
        """Note that a file was tried alone; after the last of a portion, analyse the remaining ones together."""
        self.survived.add(job.alone)
        self.trials[job.portion].discard(job.alone)
        if not self.trials[job.portion]:
            self.pending.append(_Job(job.portion))

    def _reason(self, worker: _Worker, why: str = "") -> str:
        return f"{why or how_it_died(worker.process.exitcode, self.limits)}; it was not checked"

    def _end(self, worker: _Worker) -> None:
        """Close the pipe of a worker, which ends it, and kill it if that does not."""
        self.workers.remove(worker)
        worker.pipe.close()
        worker.process.join(GRACE)
        if worker.process.exitcode is None:
            worker.process.kill()
            worker.process.join()


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the working directory out of the path of `python -c`, which would import modules from it."""
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
