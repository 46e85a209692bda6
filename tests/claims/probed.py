"""Fixture programs under `gpulint probe`, with the devices that their claims ask for."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import warm
from tests.claims.claim import Claim, parse_claim
from tests.programs import Expectation, Program

STAGED = Path(__file__).with_name("staged.py")
SECONDS = 240
"""Seconds that a program may run under the probe."""

BROKEN = ("fail", "warn")


@dataclass(frozen=True, slots=True)
class Probed:
    """The probe's result for one run of a program."""

    status: int
    """The probe's exit status."""
    output: str
    """Standard error."""
    report: dict[str, Any] = field(default_factory=dict)
    """The report, {} if there is none."""

    def found(self, root: Path) -> Iterator[tuple[Expectation, dict[str, Any]]]:
        """The report's expectations that have a place below a directory, each with its place and code."""
        for one in self.report.get("expectations", []):
            origin = one["origin"]
            if origin is not None and Path(origin["filename"]).is_relative_to(root):
                module = Path(origin["filename"]).relative_to(root).as_posix()
                yield Expectation(module, origin["row"], one["code"] or ""), one

    def confirmed(self, root: Path) -> set[Expectation]:
        """Findings of `gpulint check` that the run confirmed."""
        return {place for place, one in self.found(root) if one["observed"].startswith("confirmed")}

    def refuted(self, root: Path) -> set[Expectation]:
        """Findings that the run refuted."""
        return {place for place, one in self.found(root) if one["observed"].startswith("refuted")}

    def broken(self) -> list[dict[str, Any]]:
        """Expectations that the run broke."""
        return [one for one in self.report.get("expectations", []) if one["status"] in BROKEN]


def runs_of(program: Program) -> list[tuple[str, Claim]]:
    """Module and claim of each `# run:` line of a program; without such lines, its main modules on two logical CPUs in
    place of GPUs."""
    claims = [(line.module, parse_claim(line.text)) for line in program.claims]
    if claims:
        return claims
    named = [module for module, text in program.modules if "__main__" in text]
    mains = [program.modules[0][0]] if len(program.modules) == 1 else named
    return [(module, Claim(devices=2, ok=True)) for module in mains]


def probe(program: Program, module: str, claim: Claim, *options: str) -> Probed:
    """Run a module of a program as its claim says, again if TensorFlow's own threads crash at exit (about once in a
    hundred processes)."""
    probed = _probe(program, module, claim, *options)
    ended = probed.report.get("run", {}).get("signal")
    return _probe(program, module, claim, *options) if ended == signal.SIGSEGV else probed


def _probe(program: Program, module: str, claim: Claim, *options: str) -> Probed:
    environment = {**warm.QUIET, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "report.json")
        given = [str(claim.gpus), str(claim.devices), str(program.root / module), *claim.args.split()]
        command = [sys.executable, "-m", "gpulint", "probe", "--isolated", "--timeout", str(SECONDS)]
        if program.select:
            command += ["--config", f'lint.select = ["{program.select}"]']
        command += [*options, "--output-format", "json", "-o", out, str(STAGED), *given]
        done = warm.python().run(command, cwd=Path(directory), env=environment)
        text = Path(out).read_text(encoding="utf-8") if os.path.exists(out) else "{}"
    return Probed(done.returncode, done.stderr, json.loads(text))
