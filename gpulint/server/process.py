"""The analysis process as the server sees it: it is started on demand, and can be killed."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from gpulint.linting.worker import Limits, how_it_died
from gpulint.server.analyst import Analyst
from gpulint.server.folders import Folders
from gpulint.server.messages import SIZE, At, Call, Raised, Returned, Stop, Superseded, packed, unpacked

logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE = 8.0
"""Seconds in which a call that is not wanted any more has to end; then the process is killed. It ends before the next
file, and most files take less than a second."""

RETRY = 0.1
"""Seconds after which a cancellation that was lost is repeated."""

LONGEST = 10
"""A process is killed after this many times `max-file-seconds` without a message."""

LARGEST = 300_000_000
"""Bytes of memory of a process that is replaced while nobody waits: Python keeps much of what was needed once."""

CALLS = 200
"""Number of calls that a process answers at least before it is replaced."""

_START = "import sys; sys.path[:] = {path!r}; from gpulint.server.child import main; main()"
"""With `-c` the working directory comes first on the path: a project must not shadow the standard library."""


class Died(Exception):
    """The process died while it analysed a file, "" if none. The message says why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path
        self.reason = reason


@dataclass(eq=False)
class _Job:
    call: Call
    is_urgent: bool
    future: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    at: At | None = None
    is_stopped: bool = False


class AnalysisProcess:
    """Calls methods of an `Analyst` in another process, one after another. Its methods run on the event loop."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._is_informed = False
        """Whether the process has the folders."""
        self._jobs: asyncio.Queue[_Job] = asyncio.Queue()
        self._job: _Job | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._answered = 0
        """Calls that the process has answered."""
        self._resident = 0
        self._worker = asyncio.get_running_loop().create_task(self._work())

    def configure(self, folders: Folders) -> None:
        """Analyse with other settings from the next call on."""
        self._folders = folders
        self._is_informed = False

    async def call(self, method: Callable[Concatenate[Analyst, P], T], *arguments: P.args, **none: P.kwargs) -> T:
        """The result of a method, which waits for earlier calls. If the caller is cancelled, so is the call.

        Raises what the method raises, Superseded if an urgent call came first, and Died.
        """
        result: T = await self._called(_Job(Call(method, arguments), is_urgent=False))
        return result

    async def urgent(self, method: Callable[Concatenate[Analyst, P], T], *arguments: P.args, **none: P.kwargs) -> T:
        """As `call`, and ends the present call if that is not urgent."""
        if self._job is not None and not self._job.is_urgent:
            self._stop(self._job)
        result: T = await self._called(_Job(Call(method, arguments), is_urgent=True))
        return result

    async def close(self) -> None:
        """End the process."""
        while not self._worker.done():
            self._worker.cancel()  # before Python 3.12 `wait_for` loses a cancellation that comes with its result
            await asyncio.wait([self._worker], timeout=RETRY)
        await self._kill()

    async def _called(self, job: _Job) -> Any:
        self._jobs.put_nowait(job)
        return await job.future

    def _stop(self, job: _Job) -> None:
        """End a call, and kill the process if it does not end."""
        if job.is_stopped or job is not self._job:
            return
        job.is_stopped = True
        self._send(Stop())

        def lose_patience() -> None:
            if job is self._job and self._process is not None and self._process.returncode is None:
                self._process.kill()

        asyncio.get_running_loop().call_later(PATIENCE, lose_patience)

    async def _work(self) -> None:
        await self._start()
        while True:
            job = await self._jobs.get()
            if job.future.done():  # cancelled
                continue
            self._job = job
            job.future.add_done_callback(lambda _, job=job: self._stop(job))  # type: ignore[misc]
            try:
                value = await self._result(job)
            except Exception as error:
                if not job.future.done():
                    job.future.set_exception(error)
            else:
                if not job.future.done():
                    job.future.set_result(value)
            finally:
                self._job = None
            if self._resident > LARGEST and self._answered >= CALLS and self._jobs.empty():
                await self._kill()
                await self._start()

    async def _result(self, job: _Job) -> Any:
        process = await self._start()
        if not self._is_informed:
            self._send(self._folders)
            self._is_informed = True
        self._send(job.call)
        while True:
            try:
                message = await asyncio.wait_for(self._received(process), self._longest(job))
            except (asyncio.IncompleteReadError, ConnectionError, TimeoutError, asyncio.TimeoutError) as error:
                raise await self._death(job, error) from None
            if isinstance(message, At):
                job.at = message
            elif isinstance(message, Returned):
                self._answered += 1
                self._resident = message.resident
                return message.value
            elif isinstance(message, Raised):
                if message.trace:
                    logger.debug("%s", message.trace)
                raise message.error

    @staticmethod
    def _longest(job: _Job) -> float | None:
        return LONGEST * job.at.limits.seconds or None if job.at is not None else None

    async def _death(self, job: _Job, error: Exception) -> Exception:
        """Exception for a call whose process has died or is silent."""
        status = await self._end(error)
        if job.is_stopped:
            return Superseded()
        limits = job.at.limits if job.at is not None else Limits(0, 0)
        if isinstance(error, TimeoutError | asyncio.TimeoutError):
            reason = f"there was no result within {LONGEST * limits.seconds} seconds"
        else:
            reason = how_it_died(status, limits)
        return Died(job.at.path if job.at is not None else "", f"{reason}; it was not checked")

    async def _start(self) -> asyncio.subprocess.Process:
        if self._process is None:
            command = _START.format(path=[path for path in sys.path if path and os.path.isabs(path)])
            pipe = subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(sys.executable, "-c", command, stdin=pipe, stdout=pipe)
            self._is_informed = False
            self._answered = self._resident = 0
        return self._process

    async def _end(self, error: Exception) -> int | None:
        """End the process after an error of its pipe; its exit status.

        A process that closed its pipe is about to end. Killing it would lose its status: `Popen.kill` first reads it,
        and asyncio, which finds none left, reports 255.
        """
        if self._process is not None and not isinstance(error, TimeoutError | asyncio.TimeoutError):
            with suppress(TimeoutError, asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), PATIENCE)
        return await self._kill()

    async def _kill(self) -> int | None:
        """End the process; its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        return await process.wait()

    def _send(self, message: object) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(ConnectionError):  # it died, which is noticed when nothing comes
                self._process.stdin.write(packed(message))

    @staticmethod
    async def _received(process: asyncio.subprocess.Process) -> Any:
        assert process.stdout is not None
        (size,) = SIZE.unpack(await process.stdout.readexactly(SIZE.size))
        return unpacked(await process.stdout.readexactly(size))
