"""One probe: run the program, read what it left behind, hold it against its source."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.places import Span
from gpulint.probe import agent
from gpulint.probe.captured import Capture
from gpulint.probe.records import Where
from gpulint.settings import SettingsFinder
from gpulint.sources.notebook import SUFFIX
from gpulint.syntax.embedded import Programs


@dataclass(frozen=True, slots=True)
class Target:
    """What is run: a script or a notebook by its path, or a module by its name (`is_module`), with its arguments."""

    name: str
    is_module: bool = False
    arguments: tuple[str, ...] = ()

    @property
    def is_notebook(self) -> bool:
        return not self.is_module and self.name.endswith(SUFFIX)

    @property
    def words(self) -> list[str]:
        """The command that runs it without us, as the user knows it."""
        if self.is_notebook:
            return ["jupyter", "execute", self.name]
        return ["python", *(["-m"] if self.is_module else []), self.name, *self.arguments]


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


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile that TensorFlow shall make: where it goes, "" for none, and of how many steps after the warm-up."""

    directory: str = ""
    steps: int = 0


def command_line(
    target: Target,
    capture: str,
    steps: int,
    warmup: int,
    no_jit: bool,
    simulated: Simulated = Simulated(),
    profile: Profile = Profile(),
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
            "profile": profile.directory,
            "profile_steps": profile.steps,
        }
    )
    if target.is_notebook:
        return [sys.executable, "-u", os.path.join(os.path.dirname(__file__), "execute.py"), options, target.name]
    main = os.path.join(os.path.dirname(agent.__file__), "__main__.py")
    chosen = ["-m", target.name] if target.is_module else [target.name]
    return [sys.executable, "-u", main, options, *chosen, *target.arguments]


def findings_of(capture: Capture, finder: SettingsFinder, catalogue: Catalogue) -> Sequence[Finding]:
    """What `gpulint check` says of the program's own files that took part in the run.

    What it says of a cell that wrote one of them is told of that file, which is where the run has seen it.
    """
    files = {place.path for place in _places(capture)} | set(capture.modules)
    main = capture.process.get("main", "")
    if os.path.isfile(main):
        files.add(os.path.abspath(main))
    existing = sorted(path for path in files if os.path.isfile(path))
    checker = Checker(finder, catalogue)
    findings = checker.check(existing).findings if existing else []
    written: dict[tuple[str, int | None], tuple[str, int]] = {}
    for path in existing:
        if path.endswith(SUFFIX) and (programs := checker.programs(path)) is not None:
            written |= _written(programs, files)

    def placed(span: Span) -> Span:
        if (span.path, span.cell) not in written:
            return span
        file, above = written[span.path, span.cell]
        return Span(file, span.row + above, span.column, span.end_row + above, span.end_column)

    found = {
        (span := placed(one.span), one.code): replace(
            one, span=span, related=tuple(replace(near, span=placed(near.span)) for near in one.related)
        )
        for one in findings
    }
    return list(found.values())


def _written(programs: Programs, files: set[str]) -> dict[tuple[str, int | None], tuple[str, int]]:
    """For the cells of a notebook that wrote files which took part: the file, and how much higher its rows are."""
    notebook = programs.main.path
    found: dict[tuple[str, int | None], tuple[str, int]] = {}
    for source in programs.written:
        file = os.path.join(os.path.dirname(notebook), os.path.relpath(source.path, notebook))
        if file in files and source.cells is not None:
            found |= {(notebook, one.cell): (file, one.row - one.skipped - 1) for one in source.cells.pieces}
    return found


def _places(capture: Capture) -> list[Where]:
    found = [one.where for one in capture.executions] + [one.where for one in capture.nodes]
    found += [one.where for one in capture.calls] + [one.where for one in capture.strategies] + [capture.error_at]
    return [where for where in found if where is not None]
