"""The parent side of the runtime claims: runs programs on the stage, and reports claims that do not hold."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import warm
from tests.claims.claim import Claim
from tests.programs import Program

STAGE = Path(__file__).with_name("stage.py")
SECONDS = 60
"""Seconds that a program may run."""
PATIENCE = 12
"""Seconds that a program may run whose claim is that it hangs."""

VARIABLES = {"TF_ENABLE_ONEDNN_OPTS": "0"}
"""oneDNN compiles kernels for each shape, a fifth of a small program's time."""


@dataclass(frozen=True, slots=True)
class Performance:
    """How a program ended, its output, and where it computed."""

    status: int
    stdout: str
    stderr: str
    raised: tuple[str, str] | None = None
    row: int = 0
    busy: tuple[str, ...] = ()
    crossings: tuple[tuple[str, int], ...] = ()


class Stage:
    """Runs programs in forks of a process that has imported TensorFlow."""

    def __init__(self) -> None:
        self._python = warm.with_tensorflow(**VARIABLES)

    def perform(self, program: Path, claim: Claim) -> Performance:
        """Run a program."""
        performance = self._perform(program, claim)
        if performance.status == -signal.SIGSEGV:
            # TensorFlow's own threads crash at exit in about one of a hundred processes.
            performance = self._perform(program, claim)
        return performance

    def _perform(self, program: Path, claim: Claim) -> Performance:
        with tempfile.TemporaryDirectory() as directory:
            job: dict[str, Any] = {
                "program": str(program),
                "args": claim.args.split(),
                "directory": directory,
                "gpus": claim.gpus,
                "devices": claim.devices,
                "observe": claim.busy is not None or claim.copies,
                "seconds": PATIENCE if claim.hangs else SECONDS,
                "report": os.path.join(directory, "report"),
            }
            command = [sys.executable, str(STAGE), json.dumps(job)]
            done = self._python.run(command, cwd=Path(directory), env={**warm.QUIET, **VARIABLES})
            if done.returncode != 0:
                return Performance(done.returncode, done.stdout, done.stderr)
            report = json.loads(Path(job["report"]).read_text(encoding="utf-8"))
        return Performance(
            done.returncode,
            done.stdout,
            done.stderr,
            tuple(report["raised"]) if report["raised"] else None,
            report["row"],
            tuple(report["busy"]),
            tuple((path, row) for path, row in report["crossings"]),
        )


def _ending(claim: Claim, performance: Performance, expected_rows: set[int]) -> Iterator[str]:
    raised = performance.raised
    if claim.ok and raised:
        yield f"should end well, raised {raised[0]}: {raised[1]} (row {performance.row})"
    if claim.raises and not raised:
        yield f"should raise {claim.raises}, ended well"
    if claim.raises and raised:
        if raised[0] != claim.raises:
            yield f"should raise {claim.raises}, raised {raised[0]}: {raised[1]} (row {performance.row})"
        if claim.text not in raised[1]:
            yield f"the error's message should hold {claim.text!r}: {raised[1]}"
        if claim.here and performance.row not in expected_rows:
            yield f"the error came from row {performance.row}, expected on {sorted(expected_rows)}"


def broken_promises(program: Program, module: str, claim: Claim, performance: Performance) -> list[str]:
    """The parts of a claim that a run contradicts, as sentences; empty if the claim holds."""
    if claim.hangs:
        return [] if performance.status == -signal.SIGALRM else ["the program should hang, it ended"]
    if performance.status != 0:
        return [f"the program's process ended with status {performance.status}"]
    rows = {each.row for each in program.expectations if each.module == module}
    broken = list(_ending(claim, performance, rows))
    if claim.prints not in performance.stdout:
        broken.append(f"standard output should hold {claim.prints!r}")
    if claim.logs not in performance.stderr:
        broken.append(f"standard error should hold {claim.logs!r}")
    if claim.busy is not None and len(performance.busy) != claim.busy:
        broken.append(f"{claim.busy} devices should compute, these did: {list(performance.busy)}")
    if claim.copies:
        expected = {(each.module, each.row) for each in program.expectations if each.code == "GPU102"}
        found = {(Path(path).relative_to(program.root).as_posix(), row) for path, row in performance.crossings}
        if not expected or not expected <= found:
            broken.append(f"copies between devices on {sorted(found)}, GPU102 expected on {sorted(expected)}")
    return broken
