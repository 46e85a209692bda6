"""One object: the findings as in `json`, those that comments suppress, and what the findings leave out."""

from __future__ import annotations

from collections import Counter

from gpulint.linting.result import CheckResult
from gpulint.output.escapes import encodable, json_text
from gpulint.output.record import record
from gpulint.output.view import View

CARRIES_EDITS = True

VERSION = 1
"""Rises when a key changes its meaning or disappears."""


def render(result: CheckResult, view: View) -> str:
    """`suppressed_by` of a suppressed finding says what kind of comment suppresses it, and the text of that."""
    stopped = Counter((site.path, limit) for limit, site in result.stopped)
    return (
        json_text(
            {
                "version": VERSION,
                "files": result.files,
                "files_with_tensorflow": result.using,
                "targets": [
                    {"release": target.release, "origin": encodable(target.origin) or None, "files": files}
                    for target, files in sorted(result.targets.items())
                ],
                "findings": [{**record(one), "suppressed_by": None} for one in result.findings],
                "suppressed": [
                    {**record(one.finding), "suppressed_by": {"kind": one.by.value, "reason": encodable(one.reason)}}
                    for one in result.suppressed
                ],
                "withheld": result.withheld,
                "not_followed": [
                    {"filename": encodable(path), "limit": limit, "functions": functions}
                    for (path, limit), functions in sorted(stopped.items())
                ],
                "faults": [encodable(message) for message, _ in result.errors],
            }
        )
        + "\n"
    )
