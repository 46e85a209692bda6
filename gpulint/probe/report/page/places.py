"""Annotations for each row of the program's files."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.report import RunReport, located
from gpulint.sources.notebook import SUFFIX

_File: TypeAlias = "tuple[str, int | None]"
"""A file, or a notebook and a cell."""


@dataclass(slots=True)
class RowNotes:
    """Annotations of one row: its placements, as in the JSON report, and the expectations it implies."""

    placements: list[Mapping[str, Any]] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)

    @property
    def devices(self) -> Counter[str]:
        """Number of operations and nodes of this row by device, without bookkeeping."""
        seen = Counter[str]()
        for one in self.placements:
            if one["assigned"] and not is_bookkeeping(one["op"]):
                seen[one["assigned"]] += one["count"]
        return seen


class Places:
    """Annotated rows of all files, and their anchors."""

    def __init__(
        self, report: RunReport, placements: Iterable[Mapping[str, Any]], lines: Iterable[Where | None] = ()
    ) -> None:
        """`lines` are further rows that other sections refer to."""
        self.files: dict[_File, dict[int, RowNotes]] = {}
        """File → row → annotations: the main file first, then files with most annotations."""
        found: defaultdict[_File, defaultdict[int, RowNotes]] = defaultdict(lambda: defaultdict(RowNotes))
        for one in placements:
            if one["filename"] is not None:
                found[one["filename"], one.get("cell")][one["row"]].placements.append(one)
        for expectation in report.expectations:
            if expectation.where is not None:
                path, row, cell = expectation.where
                found[path, cell][row].expectations.append(expectation)
        for where in lines:
            if where is not None:
                found[where.path, where.cell].setdefault(where.row, RowNotes())
        main = main_file(report)
        is_there = main in report.capture.sources or os.path.isfile(main)
        if main and is_there and not main.endswith(SUFFIX):
            found.setdefault((main, None), defaultdict(RowNotes))
        weights = Counter[str]()
        for (path, _), rows in found.items():
            weights[path] += _weight(rows.values())
        for path, cell in sorted(found, key=lambda file: (file[0] != main, -weights[file[0]], file[0], file[1] or 0)):
            self.files[path, cell] = dict(found[path, cell])
        self._directory = str(report.capture.start.get("directory", ""))
        self._numbers = {file: number for number, file in enumerate(self.files)}

    def located(self, where: Where) -> str:
        """A location as users know it: relative to the program's working directory."""
        return located(where, self._directory)

    def anchor(self, where: Where) -> str:
        """Id of a row's element."""
        return f"file{self._numbers[where.path, where.cell]}-row{where.row}"


def main_file(report: RunReport) -> str:
    """Absolute path of the script that was run, "" if there is none."""
    main = str(report.capture.process.get("main", ""))
    if not main.endswith(".py") and os.sep not in main:
        return ""  # started as a module, by its name
    return os.path.normpath(os.path.join(report.capture.start.get("directory", ""), main))


def broken(expectations: Sequence[Expectation]) -> list[Expectation]:
    """The violated expectations, in order."""
    return [one for one in expectations if one.status is not Status.PASS]


def _weight(rows: Iterable[RowNotes]) -> int:
    return sum(1000 * len(broken(notes.expectations)) + len(notes.placements) for notes in rows)
