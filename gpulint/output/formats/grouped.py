"""Findings under the name of their file."""

from __future__ import annotations

from itertools import groupby

from gpulint.linting.finding import Finding
from gpulint.linting.result import CheckResult
from gpulint.output.escapes import first_on_line, printable
from gpulint.output.severity import head
from gpulint.output.summary import footer
from gpulint.output.view import View, position


def render(result: CheckResult, view: View) -> str:
    """A block for each file, its places in one column, then the footer."""
    blocks = [
        _block(path, list(findings), view) for path, findings in groupby(result.findings, key=lambda one: one.span.path)
    ]
    return "\n".join([*blocks, footer(result, view)])


def _block(path: str, findings: list[Finding], view: View) -> str:
    places = [position(one.span) for one in findings]
    width = max(map(len, places))
    lines = [
        f"  {place:<{width}}  {head(one, view)[0]} {printable(one.message)}"
        for place, one in zip(places, findings, strict=True)
    ]
    return "\n".join([f"{view.style.paint(first_on_line(path), '1')}:", *lines]) + "\n"
