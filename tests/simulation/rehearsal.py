"""The parent side: runs programs on simulated GPUs, and returns the results."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
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
from tests import warm
from tests.programs import FIXTURES

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
        """The probe's expectations, with the rules `select` or the default ones. The project is the program's folder:
        in this repository, an `import gpulint` would lead the analysis through all of gpulint."""
        root = os.path.dirname(self.capture.process["main"])
        settings = Settings(root=root, lint=LintSettings(select=tuple(select)))
        finder = SettingsFinder(fixed=settings)
        catalogue = Catalogue(pack.load([], installed=False))
        return verify(Run(self.capture, findings_of(self.capture, finder, catalogue)))


class Stage:
    """Runs programs in forks of a process that has imported TensorFlow."""

    def __init__(self, python: warm.Runner) -> None:
        self._python = python

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
            job = {
                "program": str(program),
                "args": list(arguments),
                "gpus": gpus,
                "directory": directory,
                "seconds": seconds,
                "no_jit": no_jit,
                "without": without,
                "capture": os.path.join(directory, ".capture"),
            }
            command = [sys.executable, "-m", "tests.simulation.stage", json.dumps(job)]
            done = self._python.run(command, cwd=FIXTURES.parent)
            return Rehearsed(done.returncode, read(job["capture"]), done.stdout, done.stderr)
