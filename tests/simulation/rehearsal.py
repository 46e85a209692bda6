"""The parent side: sends programs to stages, and returns the results of their runs on simulated GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpulint.linting import pack
from gpulint.linting.selection import Catalogue
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.checks.verify import verify
from gpulint.probe.expectations.expectation import Expectation, Run
from gpulint.probe.expectations.findings import findings_of
from gpulint.settings import LintSettings, Settings, SettingsFinder

SECONDS = 240
"""Seconds that a program may run."""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How a program ended (the negative number of a signal, or its status), its capture, and its output."""

    status: int
    capture: Capture
    output: str
    errors: str

    def expectations(self, select: Sequence[str] = ()) -> list[Expectation]:
        """The probe's expectations, with the rules `select` or the default ones."""
        settings = Settings(root=os.getcwd(), lint=LintSettings(select=tuple(select)))
        finder = SettingsFinder(fixed=settings)
        catalogue = Catalogue(pack.load([], installed=False))
        return verify(Run(self.capture, findings_of(self.capture, finder, catalogue)))


class Stage:
    """A process with TensorFlow."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def rehearse(
        self,
        program: Path,
        gpus: int,
        arguments: Sequence[str] = (),
        seconds: int = SECONDS,
        no_jit: bool = False,
        without: str = "",
    ) -> Rehearsed:
        """Run a program on simulated GPUs, in an empty directory."""
        with tempfile.TemporaryDirectory() as directory:
            files = {name: os.path.join(directory, f".{name}") for name in ("stdout", "stderr", "capture")}
            job = {
                "program": str(program),
                "args": list(arguments),
                "gpus": gpus,
                "directory": directory,
                "seconds": seconds,
                "no_jit": no_jit,
                "without": without,
                **files,
            }
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            status = int(self._process.stdout.readline())
            output, errors = (
                Path(files[name]).read_text(encoding="utf-8", errors="replace") for name in ("stdout", "stderr")
            )
            return Rehearsed(status, read(files["capture"]), output, errors)


@contextmanager
def stage(**variables: str) -> Iterator[Stage]:
    """Starts a stage, with some environment variables, and stops it again."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= variables
    environment.pop("TF_CONFIG", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.simulation.stage"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", "TensorFlow cannot be imported"
        yield Stage(process)
    finally:
        process.communicate()
