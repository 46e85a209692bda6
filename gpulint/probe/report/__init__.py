"""Reports of a probe: one module for each form, with `render(report, color)`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation
from gpulint.sources.decoding import Undecodable
from gpulint.sources.notebook import read_notebook

FORMATS = ("text", "json", "sarif", "junit")
"""Names of the forms; each is the module of that name in this package."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a report tells: the run, the expectations in the order of `verify`, and the probe's exit status."""

    capture: Capture
    expectations: Sequence[Expectation]
    status: int


def render(form: str, report: Report, color: bool) -> str:
    """The report in a form. Raises KeyError for one that does not exist."""
    if form not in FORMATS:
        raise KeyError(form)
    text: str = import_module(f"{__name__}.{form}").render(report, color)
    return text


def located(where: Where | None, directory: str = "") -> str:
    """A place with its path relative to a directory, the working directory where none is named; "" for none."""
    if where is None:
        return ""
    relative = os.path.relpath(where.path, directory or None)
    cell = f":cell {where.cell + 1}" if where.cell is not None else ""
    return f"{where.path if relative.startswith('..') else relative}{cell}:{where.row}"


def row_in_file(where: Where) -> int:
    """The row of the file at which a place stands, for tools that know no cells; 1 where the notebook is gone."""
    if where.cell is None:
        return where.row
    try:
        with open(where.path, "rb") as file:
            return read_notebook(where.path, file.read()).place(where.cell, where.row)[0]
    except (OSError, Undecodable, IndexError):
        return 1
