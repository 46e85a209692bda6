"""What is told of each row of the program's files."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gpulint.probe.capture.records import Where
from gpulint.probe.expectations.expectation import Expectation, Status
from gpulint.probe.measures.reasons import is_bookkeeping
from gpulint.probe.report import Report, located
from gpulint.sources.notebook import SUFFIX

_File: TypeAlias = "tuple[str, int | None]"
"""A file, or a notebook and a cell of it."""


@dataclass(slots=True)
class Told:
    """Of one row: its placements, as the JSON report has them, and the expectations that it implies."""

    placements: list[Mapping[str, Any]] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)

    @property
    def devices(self) -> Counter[str]:
        """How many operations and nodes of this row are on each device; bookkeeping does not count."""
        seen = Counter[str]()
        for one in self.placements:
            if one["assigned"] and not is_bookkeeping(one["op"]):
                seen[one["assigned"]] += one["count"]
        return seen


class Places:
    """The rows of all files, with what is told of them, and the anchors that lead to them."""

    def __init__(self, report: Report, placements: Iterable[Mapping[str, Any]]) -> None:
        self.files: dict[_File, dict[int, Told]] = {}
        """File → row → what is told of it: first the program's main file, then those with the most to tell."""
        found: defaultdict[_File, defaultdict[int, Told]] = defaultdict(lambda: defaultdict(Told))
        for one in placements:
            if one["filename"] is not None:
                found[one["filename"], one.get("cell")][one["row"]].placements.append(one)
        for expectation in report.expectations:
            if expectation.where is not None:
                path, row, cell = expectation.where
                found[path, cell][row].expectations.append(expectation)
        main = main_file(report)
        is_there = main in report.capture.sources or os.path.isfile(main)
        if main and is_there and not main.endswith(SUFFIX):
            found.setdefault((main, None), defaultdict(Told))
        weights = Counter[str]()
        for (path, _), rows in found.items():
            weights[path] += _weight(rows.values())
        for path, cell in sorted(found, key=lambda file: (file[0] != main, -weights[file[0]], file[0], file[1] or 0)):
            self.files[path, cell] = dict(found[path, cell])
        self._directory = str(report.capture.start.get("directory", ""))
        self._numbers = {file: number for number, file in enumerate(self.files)}

    def located(self, where: Where) -> str:
        """A place as the user knows it: relative to the directory in which the program ran."""
        return located(where, self._directory)

    def anchor(self, where: Where) -> str:
        """The id of a row's element."""
        return f"file{self._numbers[where.path, where.cell]}-row{where.row}"


def main_file(report: Report) -> str:
    """The absolute path of the script that was run, "" where there was none."""
    main = str(report.capture.process.get("main", ""))
    if not main.endswith(".py") and os.sep not in main:
        return ""  # a module by its name
    return os.path.normpath(os.path.join(report.capture.start.get("directory", ""), main))


def broken(expectations: Sequence[Expectation]) -> list[Expectation]:
    """Those that do not hold, in their order."""
    return [one for one in expectations if one.status is not Status.PASS]


def _weight(rows: Iterable[Told]) -> int:
    return sum(1000 * len(broken(told.expectations)) + len(told.placements) for told in rows)
