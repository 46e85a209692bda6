"""The answer to `check --why-not CODE FILE:ROW`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gpulint.checking import Checking
from gpulint.cli import options
from gpulint.cli.gates import Gates
from gpulint.cli.options import UserError
from gpulint.linting.engine import Checker
from gpulint.linting.nearest import MAX_IMPORTERS
from gpulint.linting.selection import Selections
from gpulint.linting.why_not import Asked, why_not
from gpulint.output.escapes import first_on_line, printable_block
from gpulint.sources.language import is_markdown
from gpulint.syntax.parse import CannotParse


class _Place(NamedTuple):
    """A row of a file, or of a cell of a notebook, counted from 0."""

    path: str
    row: int
    cell: int | None = None


def _place(text: str) -> _Place | None:
    """The place that `FILE:ROW` or `FILE:cell N:ROW` names, or either with a column as findings have it; None for
    anything else."""
    path, _, row = text.rpartition(":")
    before, _, number = path.rpartition(":")
    if number.isdecimal() and row.isdecimal():
        path, row = before, number
    if not row.isdecimal():
        return None
    notebook, _, cell = path.rpartition(":cell ")
    if notebook.endswith(".ipynb") and cell.isdecimal():
        return _Place(notebook, int(row), int(cell) - 1)
    return _Place(path, int(row)) if path and not path.endswith(".ipynb") else None


def answer(check: Checking, question: tuple[str, str], files: Sequence[str], gates: Gates, is_chosen: bool) -> str:
    """Why a rule does not report a row: `question` is its code or name, and `FILE:ROW` or `FILE:cell N:ROW`. Only the
    importers of the file are checked with it, unless the files were chosen. Raises UserError."""
    code, text = question
    rule = check.catalogue.rule(code)
    if rule is None:
        raise UserError(f"--why-not: there is no rule `{code}`")
    place = _place(text)
    if place is None or (os.path.exists(place.path) and not os.path.isfile(place.path)):
        raise UserError(f"--why-not: `{text}` is neither FILE:ROW of a file nor FILE:cell N:ROW of a notebook")
    path = place.path
    if not os.path.exists(path):
        raise UserError(f"--why-not: {path}: no such file")
    checker = Checker(check.finder, check.catalogue, edits=False)
    known = {os.path.abspath(one): one for one in files}
    path = known.setdefault(os.path.abspath(path), path)
    if not is_chosen:
        near = checker.importers(os.path.abspath(path), known)
        known = {one: known[one] for one in (os.path.abspath(path), *near)}
        if len(near) == MAX_IMPORTERS:
            options.say(f"checked with {MAX_IMPORTERS} of the files that import it; name a folder to check all")
    result = checker.check([*known.values()], check.given)
    selection = Selections(check.finder, check.catalogue).of(path)
    try:
        lines = why_not(Asked(rule, path, place.row, place.cell), checker, selection, result, gates.known(result))
    except CannotParse as error:
        lines = [f"the file does not parse: {error}"]
        if is_markdown(path):
            lines.append("`--extension md` checks the Python blocks of Markdown files")
    return "\n".join(f"{first_on_line(text)}: {printable_block(line)}" for line in lines)
