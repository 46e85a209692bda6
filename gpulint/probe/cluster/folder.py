"""The captures of one run's workers, in one directory."""

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
"""TensorFlow's job names, in report order."""


def capture_of(path: str, environment: Mapping[str, str]) -> tuple[str, Worker | None]:
    """Path of the capture of a process with this environment, and its worker. `path` is the file itself, or ends
    with a slash and names a directory, created if missing, where each worker has a file of its own. Without a worker
    number the file is named after host and pid: the program may set its own TF_CONFIG. Raises OSError."""
    worker = identify(environment)
    if not path.endswith(("/", os.sep)) and not os.path.isdir(path):
        return os.path.abspath(path), worker
    os.makedirs(path, exist_ok=True)
    host = re.sub(r"[^A-Za-z0-9_.]", "_", socket.gethostname())
    name = file_name(worker.task) if worker is not None else f"capture-{host}-{os.getpid()}.jsonl"
    return os.path.join(os.path.abspath(path), name), worker


def read_members(directory: str) -> list[Member]:
    """The workers with a capture in a directory, and those that these list as members of the cluster. Raises
    CaptureError for an unreadable capture, an empty directory, or two captures of one worker; OSError."""
    found: dict[Task, Capture | None] = {}
    files: dict[Task, str] = {}
    for name in sorted(os.listdir(directory)):
        if (match := _NAME.fullmatch(name)) is None:
            continue
        path = os.path.join(directory, name)
        capture = read(path) if os.path.getsize(path) else None  # killed before it wrote anything
        task = (_task_of(capture) if capture is not None else None) or Task(match[1], int(match[2]))
        if task in found:
            raise CaptureError(
                f"{path} and {files[task]} are both of {task.name}: use a separate directory for each run"
            )
        found[task], files[task] = capture, path
    if not found:
        raise CaptureError(f"{directory}: contains no capture-*.jsonl")
    named = [task for capture in found.values() for task in tasks_of(capture)]
    return in_order([Member(task, found.get(task)) for task in dict.fromkeys([*found, *named])])


def in_order(members: list[Member]) -> list[Member]:
    """Members sorted by job and index."""
    jobs = {job: place for place, job in enumerate(_JOBS)}
    return sorted(members, key=lambda one: (jobs.get(one.task.job, len(jobs)), one.task))


def tasks_of(capture: Capture | None) -> tuple[Task, ...]:
    """The cluster's tasks according to one worker; empty if unknown."""
    worker = _worker_of(capture) if capture is not None else None
    return worker.tasks if worker is not None else ()


def _task_of(capture: Capture) -> Task | None:
    worker = _worker_of(capture)
    return worker.task if worker is not None else None


def _worker_of(capture: Capture) -> Worker | None:
    """Worker of a capture, from TF_CONFIG, which TensorFlow obeys and a program may set itself, else from the
    launcher."""
    moments = [capture.environment[name] for name in ("runtime", "end") if name in capture.environment]
    own = (of_tf_config(values[TF_CONFIG]) for values in moments if TF_CONFIG in values)
    return next((worker for worker in own if worker is not None), capture.worker)
