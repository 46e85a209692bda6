"""Reports of a run, one module for each format, with `render(report, color)`."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import import_module

from gpulint.linting.finding import Finding
from gpulint.probe.advice.advice import Advice
from gpulint.probe.advice.advise import advise
from gpulint.probe.advice.headline import headline
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation
from gpulint.probe.measures.holders import Held, held
from gpulint.probe.measures.out_of_memory import with_needed
from gpulint.probe.measures.time_spent import TimeSpent, time_spent
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import read_notebook
from gpulint.sources.reading import read_file

FORMATS = ("text", "json", "sarif", "junit", "github")
"""Format names; each is a module of this package."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run, its expectations in the order of `verify`, the probe's exit status, the time of its steps (None without
    any), what to change first, and who held each device's memory at its peak."""

    capture: Capture
    expectations: Sequence[Expectation]
    status: int
    time: TimeSpent | None = None
    advice: Sequence[Advice] = ()
    held: Sequence[Held] = ()

    @classmethod
    def of(
        cls,
        capture: Capture,
        expectations: Sequence[Expectation],
        status: int,
        findings: Sequence[Finding] = (),
        ignored: Collection[str] = (),
    ) -> RunReport:
        """The report of a run, with the findings of `gpulint check` in its files. `ignored`: causes to advise nothing
        about."""
        time, holders = time_spent(capture), held(capture)
        advice = advise(capture, findings, time, holders, ignored)
        return cls(capture, expectations, status, time, advice, with_needed(capture, holders))

    @property
    def headline(self) -> str:
        """The run in one sentence."""
        return headline(self.capture, self.time, self.advice)


def render(form: str, report: RunReport, color: bool, **look: int) -> str:
    """The report in a format. `look`: `width` and `verbose` of the text. Raises KeyError for an unknown format."""
    if form not in FORMATS:
        raise KeyError(form)
    text: str = import_module(f"{__name__}.{form}").render(report, color, **(look if form == "text" else {}))
    return text


def located(where: Where | None, directory: str = "") -> str:
    """A location with its path relative to a directory, by default the working directory; "" for None."""
    if where is None:
        return ""
    relative = os.path.relpath(where.path, directory or None)
    cell = f":cell {where.cell + 1}" if where.cell is not None else ""
    return f"{where.path if relative.startswith('..') else relative}{cell}:{where.row}"


def row_in_file(where: Where) -> int:
    """The row in the file, for tools that know no cells; 1 if the notebook is missing."""
    if where.cell is None:
        return where.row
    try:
        return read_notebook(where.path, read_file(where.path)).place(where.cell, where.row)[0]
    except (OSError, Undecodable, IndexError):
        return 1
