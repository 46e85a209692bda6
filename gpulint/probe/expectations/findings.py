"""Findings of `gpulint check` in the program's files that took part in a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from gpulint.linting.engine import Checker
from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.settings import SettingsFinder
from gpulint.sources.notebook import SUFFIX
from gpulint.syntax.embedded import Programs


def findings_of(capture: Capture, finder: SettingsFinder, catalogue: Catalogue) -> Sequence[Finding]:
    """Findings in the program's own files that took part in the run.

    A finding in a notebook cell that wrote such a file is moved to that file, where the run observed it.
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
        if path.endswith(SUFFIX) and (programs := checker.loaded(path)) is not None:
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
    """Cells of a notebook that wrote files of the run → the file, and the offset of its rows."""
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
