"""The captures of the workers of one run, in one directory."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping

from gpulint.probe.capture.contents import Capture, Member
from gpulint.probe.capture.reader import CaptureError, read
from gpulint.probe.capture.records import Task, Worker
from gpulint.probe.cluster.identity import TF_CONFIG, file_name, identify, of_tf_config

_NAME = re.compile(r"capture-(.+)-(\d+)\.jsonl")
_JOBS = ("chief", "master", "worker", "ps", "evaluator")
"""The jobs that TensorFlow knows, in their order in the report."""


def capture_of(path: str, environment: Mapping[str, str]) -> tuple[str, Worker | None]:
    """Where a process with this environment keeps its capture, and which worker it is: in the file that is named, or
    under its own name in the directory, which is made where it is not there (`path` ends with a slash). One that
    nobody numbers has the name of its host and process: the program may know better. Raises OSError."""
    worker = identify(environment)
    if not path.endswith(("/", os.sep)) and not os.path.isdir(path):
        return os.path.abspath(path), worker
    os.makedirs(path, exist_ok=True)
    host = re.sub(r"[^A-Za-z0-9_.]", "_", socket.gethostname())
    name = file_name(worker.task) if worker is not None else f"capture-{host}-{os.getpid()}.jsonl"
    return os.path.join(os.path.abspath(path), name), worker


def read_members(directory: str) -> list[Member]:
    """The workers that left a capture in a directory, and those that these name as parts of the cluster. Raises
    CaptureError for a capture that cannot be read, or where there is none or there are two of one worker; OSError."""
    found: dict[Task, Capture | None] = {}
    files: dict[Task, str] = {}
    for name in sorted(os.listdir(directory)):
        if (match := _NAME.fullmatch(name)) is None:
            continue
        path = os.path.join(directory, name)
        capture = read(path) if os.path.getsize(path) else None  # it was killed before it began to write
        task = (_task_of(capture) if capture is not None else None) or Task(match[1], int(match[2]))
        if task in found:
            raise CaptureError(f"{path}: of {task.name}, as {files[task]} is: keep each run in a directory of its own")
        found[task], files[task] = capture, path
    if not found:
        raise CaptureError(f"{directory}: no capture-*.jsonl is there")
    named = [task for capture in found.values() for task in tasks_of(capture)]
    return in_order([Member(task, found.get(task)) for task in dict.fromkeys([*found, *named])])


def in_order(members: list[Member]) -> list[Member]:
    """By job and index."""
    jobs = {job: place for place, job in enumerate(_JOBS)}
    return sorted(members, key=lambda one: (jobs.get(one.task.job, len(jobs)), one.task))


def tasks_of(capture: Capture | None) -> tuple[Task, ...]:
    """The tasks of the cluster that a worker believes it is part of, none where nothing says it."""
    worker = _worker_of(capture) if capture is not None else None
    return worker.tasks if worker is not None else ()


def _task_of(capture: Capture) -> Task | None:
    worker = _worker_of(capture)
    return worker.task if worker is not None else None


def _worker_of(capture: Capture) -> Worker | None:
    """By what its launcher said; a program can also set a TF_CONFIG of its own, which is what TensorFlow obeys."""
    moments = [capture.environment[name] for name in ("runtime", "end") if name in capture.environment]
    own = (of_tf_config(values[TF_CONFIG]) for values in moments if TF_CONFIG in values)
    return next((worker for worker in own if worker is not None), capture.worker)
