"""Writes the first record of a capture: the command, the directory, the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence

import psutil

from gpulint._version import __version__
from gpulint.probe.capture.reader import VERSION
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.capture.records import Worker
from gpulint.probe.measures.memory_limits import cpu_limit


def write_start(
    recorder: Recorder, program: Sequence[str], environment: Mapping[str, str], worker: Worker | None = None
) -> None:
    """Writes the first record. `program` is the command as users know it; `worker`, the cluster task that it is,
    gets a record of its own."""
    recorder.write(
        "start",
        version=VERSION,
        gpulint=__version__,
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
    """Bytes of the machine's memory, and the limit of the CPU allocator, null if it has none that is known."""
    machine = psutil.virtual_memory().total
    return {"host": machine, "CPU": cpu_limit(environment, machine)}


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it has been removed
