"""A local cluster: N processes of one program, each a worker of MultiWorkerMirroredStrategy on loopback."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from gpulint.probe.capture.contents import Member
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.records import Task, Worker
from gpulint.probe.cluster.identity import TF_CONFIG, WORKER, file_name
from gpulint.probe.cluster.prefixed import Prefixed
from gpulint.probe.launch import program as launch
from gpulint.probe.launch.channel import are_one, standard_error, standard_output
from gpulint.probe.launch.hang_watch import HangWatch
from gpulint.probe.launch.peers import Ends, StopReason
from gpulint.probe.launch.signals import Relay

REUSE = "TF_GRPC_REUSE_PORT"
"""Lets TensorFlow's servers bind a port that another process of the same user has bound (2.16 and 2.21)."""

_LOOK = 0.25
"""Seconds between two looks at the workers."""

_GRACE = 5.0
"""Seconds for the workers to end after a request to stop."""


class Result(NamedTuple):
    """The workers' captures, and the probe's own failures."""

    members: list[Member]
    faults: list[str]


class Job(NamedTuple):
    """The program that every worker runs: the command for a capture path, the command as users know it, the
    environment."""

    command: Callable[[str], Sequence[str]]
    program: Sequence[str]
    environment: Mapping[str, str]


def run(
    count: int,
    job: Job,
    directory: str,
    *,
    gpus: int = 0,
    timeout: float | None = None,
    hang_after: float | None = None,
) -> Result:
    """Runs the program as `count` workers until all have ended; each writes its capture to the directory. If one fails
    the others are stopped, as they would wait for it. Raises OSError if one cannot be started.

    They hang if none shows activity for `hang_after` seconds. `gpus` is the machine's number, which the workers share.
    Worker 0 gets our standard input, the others none.
    """
    tasks = tuple(Task(WORKER, index) for index in range(count))
    with ExitStack() as stack:
        ports = stack.enter_context(reserved_ports(count))
        group = _Group(count, hang_after)
        members, lines = stack.enter_context(_members(tasks, group))
        relay = stack.enter_context(Relay(group.send, lambda: None))
        for member in members:
            environment = {
                **job.environment,
                TF_CONFIG: tf_config(ports, member.index),
                REUSE: "true",
                **visible_gpus(member.index, count, gpus, job.environment),
            }
            path = os.path.join(directory, file_name(member.task))
            member.start(job, path, environment, Worker(WORKER, member.index, "local", tasks), timeout)
        relay.started()
        wanted_at = None
        while any(member.is_running for member in members):
            time.sleep(_LOOK)
            if relay.requests and wanted_at is None:
                wanted_at = time.monotonic()
            if wanted_at is not None and time.monotonic() - wanted_at >= _GRACE:
                group.require("interrupt")
        lines.finish()
    errors = [member.error for member in members if member.error is not None]
    if errors:
        raise errors[0]
    faults = [f"{one.task.name}: {fault}" for one in members if one.ended for fault in one.ended.faults]
    return Result([Member(task, read(os.path.join(directory, file_name(task)))) for task in tasks], faults)


def startup_warnings(count: int, gpus: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Warnings before the start, one per line."""
    if TF_CONFIG in environment:
        yield "TF_CONFIG of the environment is ignored: each worker gets its own"
    if 0 < gpus < count:
        yield f"{gpus} GPU{'s' * (gpus > 1)} cannot be divided among {count} workers: all workers run on the CPU"


def tf_config(ports: Sequence[int], index: int) -> str:
    """TF_CONFIG of the worker with this index, for workers on these ports."""
    hosts = [f"127.0.0.1:{port}" for port in ports]
    return json.dumps({"cluster": {WORKER: hosts}, "task": {"type": WORKER, "index": index}})


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """A context manager that reserves ports on loopback.

    The ports are bound here, and the workers bind them as well (`REUSE`): a port that is merely free may be taken in
    the seconds until TensorFlow binds it.
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            one.bind(("127.0.0.1", 0))
        yield [int(one.getsockname()[1]) for one in sockets]


def visible_gpus(index: int, count: int, gpus: int, environment: Mapping[str, str]) -> dict[str, str]:
    """CUDA_VISIBLE_DEVICES for a worker's share of the GPUs, which two processes cannot share; no GPUs if there are
    fewer than workers."""
    if not gpus:
        return {}
    given = [one.strip() for one in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    names = given or [str(number) for number in range(gpus)]
    each = min(gpus, len(names)) // count
    own = names[index * each : (index + 1) * each]
    return {"CUDA_VISIBLE_DEVICES": ",".join(own) or "-1"}


class _Group:
    """State shared by the workers: whether they must end, and whether they hang."""

    def __init__(self, count: int, hang_after: float | None) -> None:
        self._lock = threading.Lock()
        self._demand: StopReason | None = None
        self._running: set[int] = set(range(count))
        self._idle: set[int] = set()
        self._watches = [HangWatch(hang_after, time.monotonic()) for _ in range(count)]
        self._senders: dict[int, Callable[[int], None]] = {}

    def started(self, index: int, send: Callable[[int], None]) -> None:
        self._senders[index] = send

    def send(self, number: int) -> None:
        """Sends a signal to every worker."""
        for send in list(self._senders.values()):
            send(number)

    def ended(self, index: int, *, well: bool) -> None:
        """A worker has ended; unless it ended well, the others must end."""
        with self._lock:
            self._running.discard(index)
        if not well:
            self.require("peer")

    def require(self, reason: StopReason) -> None:
        """All must end. The first reason counts."""
        with self._lock:
            self._demand = self._demand or reason

    def stop_reason(self) -> StopReason | None:
        return self._demand

    def hang(self, index: int, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool) -> bool:
        """Whether no running worker is active: a worker may wait for another as long as that one works."""
        idle = self._watches[index].look(now, seen, spent, blocked=blocked)
        with self._lock:
            (self._idle.add if idle else self._idle.discard)(index)
            if self._running <= self._idle:
                self._demand = self._demand or "hang"
            return self._demand == "hang"


class _Launched:
    """One worker, in a thread."""

    def __init__(self, task: Task, group: _Group, ends: Ends) -> None:
        self.task, self.index = task, task.index
        self.ends = ends
        self.ended: launch.Ended | None = None
        self.error: OSError | None = None
        """Why it could not be started."""
        self._group = group
        self._thread = threading.Thread(name=f"gpulint {task.name}", target=lambda: None)

    def started(self, send: Callable[[int], None]) -> None:
        self._group.started(self.index, send)

    def stop_reason(self) -> StopReason | None:
        return self._group.stop_reason()

    def hang(self, now: float, seen: tuple[int, ...], spent: float, *, blocked: bool) -> bool:
        return self._group.hang(self.index, now, seen, spent, blocked=blocked)

    def start(self, job: Job, path: str, environment: Mapping[str, str], worker: Worker, timeout: float | None) -> None:
        def run() -> None:
            try:
                self.ended = launch.run(
                    job.command(path),
                    capture_path=path,
                    program=job.program,
                    environment=environment,
                    timeout=timeout,
                    worker=worker,
                    peers=self,
                )
            except OSError as error:
                self.error = error
            finally:
                self._group.ended(self.index, well=self.ended is not None and self.ended.status == 0)

        self._thread = threading.Thread(name=f"gpulint {self.task.name}", target=run, daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()


@contextmanager
def _members(tasks: Sequence[Task], group: _Group) -> Iterator[tuple[list[_Launched], Prefixed]]:
    """The workers with their output pipes, whose lines get a prefix. If our two streams go to the same place, each
    worker has one pipe for both, which keeps their order.

    The write ends stay open on purpose: a process left behind by a worker may still write, and the descriptor must not
    be reused for another file.
    """
    output, errors = standard_output(), standard_error()
    is_one = are_one(output, errors)
    pipes: dict[int, tuple[bytes, int | None]] = {}
    members: list[_Launched] = []
    nothing = os.open(os.devnull, os.O_RDONLY)
    for task in tasks:
        prefix = f"[{task.name}] ".encode()
        read, write = os.pipe()
        pipes[read] = prefix, output
        writes = [write, write]
        if not is_one:
            read, writes[1] = os.pipe()
            pipes[read] = prefix, errors
        ends = Ends(None if task.index == 0 else nothing, *writes)
        members.append(_Launched(task, group, ends))
    try:
        yield members, Prefixed(pipes)
    finally:
        os.close(nothing)
