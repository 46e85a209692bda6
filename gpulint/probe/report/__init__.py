"""Reports of a probe: one module for each form, with `render(report, color)`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from gpulint.probe.capture import Capture, Where
from gpulint.probe.expectation import Expectation

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
    return f"{where.path if relative.startswith('..') else relative}:{where.row}"
