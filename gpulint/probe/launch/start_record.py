"""How a capture begins: what is run, where, and what there is."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence

import psutil

import gpulint
from gpulint.probe.capture.reader import VERSION
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.capture.records import Worker
from gpulint.probe.measures.memory_limits import cpu_limit


def write_start(
    recorder: Recorder, program: Sequence[str], environment: Mapping[str, str], worker: Worker | None = None
) -> None:
    """Writes the first record. `program` is the command as the user knows it; `worker`, the task of a cluster that it
    is, has a record of its own."""
    recorder.write(
        "start",
        version=VERSION,
        gpulint=gpulint.__version__,
        command=list(program),
        directory=_directory(),
        python=platform.python_version(),
        platform=platform.platform(),
        memory=_memory(environment),
    )
    if worker is not None:
        tasks = [[task.job, task.index] for task in worker.tasks]
        recorder.write("worker", job=worker.job, index=worker.index, launcher=worker.launcher, tasks=tasks)


def _memory(environment: Mapping[str, str]) -> dict[str, int | None]:
    """Bytes: the machine's, and what the allocator of the CPU may take of it, null where it has none that tells."""
    machine = psutil.virtual_memory().total
    return {"host": machine, "CPU": cpu_limit(environment, machine)}


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it has been removed
