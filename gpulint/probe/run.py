"""One probe: run the program, read what it left behind, hold it against its source."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.probe import agent
from gpulint.probe.capture import Capture, Where
from gpulint.settings import SettingsFinder


@dataclass(frozen=True, slots=True)
class Target:
    """What is run: a script by its path, or a module by its name (`is_module`), with its arguments."""

    name: str
    is_module: bool = False
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Simulated:
    """GPUs that are simulated: how many, and the bytes of memory of each, 0 where nothing is said of it."""

    gpus: int = 0
    memory: int = 0

    def environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """The environment in which the program runs. TensorFlow's allocator for the CPU becomes the one that GPUs
        have, with the memory of all simulated GPUs as its limit (read when the runtime initialises; 2.16 and 2.21)."""
        if not self.gpus or not self.memory:
            return dict(own)
        limit = max(1, self.gpus * self.memory >> 20)
        return {**own, "TF_CPU_ALLOCATOR_USE_BFC": "true", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit)}


def command_line(
    target: Target, capture: str, steps: int, warmup: int, no_jit: bool, simulated: Simulated = Simulated()
) -> list[str]:
    """The command line that runs a program under the agent, unbuffered, so that its log is not torn."""
    options = json.dumps(
        {
            "capture": capture,
            "steps": steps,
            "warmup": warmup,
            "no_jit": no_jit,
            "simulate_gpus": simulated.gpus,
            "simulate_memory": simulated.memory,
        }
    )
    main = os.path.join(os.path.dirname(agent.__file__), "__main__.py")
    chosen = ["-m", target.name] if target.is_module else [target.name]
    return [sys.executable, "-u", main, options, *chosen, *target.arguments]


def findings_of(capture: Capture, finder: SettingsFinder, catalogue: Catalogue) -> Sequence[Finding]:
    """What `gpulint check` says of the program's own files that took part in the run."""
    files = {place.path for place in _places(capture)} | set(capture.modules)
    main = capture.process.get("main", "")
    if os.path.isfile(main):
        files.add(os.path.abspath(main))
    existing = sorted(path for path in files if os.path.isfile(path))
    return Checker(finder, catalogue).check(existing).findings if existing else []


def _places(capture: Capture) -> list[Where]:
    found = [one.where for one in capture.executions] + [one.where for one in capture.nodes]
    found += [one.where for one in capture.calls] + [one.where for one in capture.strategies] + [capture.error_at]
    return [where for where in found if where is not None]
