"""Violations and advice as GitHub workflow commands."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gpulint.output.github import annotation
from gpulint.probe.advice.words import with_gain
from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Status
from gpulint.probe.report import RunReport, row_in_file

_LEVELS = {Status.FAIL: "error", Status.WARN: "warning"}


def render(report: RunReport, color: bool = False) -> str:
    """A notice with the headline, then a command for each piece of advice and each violation."""
    return "".join(f"{line}\n" for line in _commands(report))


def _commands(report: RunReport) -> Iterator[str]:
    yield annotation("notice", "gpulint probe", "", "", report.headline)
    for rank, one in enumerate(report.advice, 1):
        title = f"gpulint ({one.code or one.cause})"
        text = f"{rank}. {with_gain(one, rank == 1)}\n{one.evidence}\nhelp: {one.fix}"
        yield _at("warning", title, one.where, text)
    for check in report.expectations:
        if check.status in _LEVELS:
            text = f"{check.subject}\nexpected: {check.expected}\nobserved: {check.observed}"
            text += f"\nhelp: {check.fix}" if check.fix else ""
            yield _at(_LEVELS[check.status], f"gpulint ({check.code or check.id})", check.where, text)


def _at(level: str, title: str, where: Where | None, text: str) -> str:
    if where is None:
        return annotation(level, title, "", "", text)
    path = os.path.relpath(where.path)
    return annotation(level, title, where.path if path.startswith("..") else path, f"line={row_in_file(where)}", text)
