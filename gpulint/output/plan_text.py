"""The text output of `gpulint plan`: relevant source lines, each with the notes about it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gpulint.analysis.plan.plan import WHY_STOPPED, Plan
from gpulint.analysis.queries.plan_notes import MAY, MUST, UNKNOWN, Note, notes
from gpulint.output.escapes import first_on_line, printable, printable_row
from gpulint.places import Site, Span
from gpulint.sources.containment import relative_to
from gpulint.sources.source import ReadSource, Source


class PlacedNote(NamedTuple):
    """A note at its span, with row numbers for the sites that it mentions."""

    note: Note
    span: Span
    text: str
    via: tuple[tuple[str, Span], ...]


class Stop(NamedTuple):
    """A bound that the analysis reached, the reason, and its place if the file can be read."""

    bound: str
    why: str
    path: str
    span: Span | None


def stops(plan: Plan, source: Source, read: ReadSource) -> list[Stop]:
    """The bounds that a plan reached, in order of rows; those of the whole program are at its first row. `read` gives
    the other files of the project."""
    from gpulint.syntax.spans import spans

    reached: list[Stop] = []
    for path in sorted({site.path for _, site in plan.bounds}):
        at = [(bound, site.node) for bound, site in plan.bounds if site.path == path]
        file = source if path == plan.path else read(path)
        found = spans(file, {node for _, node in at if node}) if file is not None else {}
        first = Span(path, 1, 1, 1, 2)
        for bound, node in at:
            span = _in_cell(file, found.get(node, first)) if file is not None else None
            reached.append(Stop(bound, WHY_STOPPED[bound], path, span))
    return sorted(reached, key=lambda one: (one.path, one.span or Span(one.path, 1, 1, 1, 2), one.bound))


def placed_notes(plan: Plan, source: Source) -> list[PlacedNote]:
    """The notes on a plan's own file, in order of rows; spans in a notebook refer to its cells."""
    from gpulint.syntax.spans import spans

    all_notes = notes(plan)
    sites = {site for note in all_notes for site in (note.site, *note.mentions, *(at for _, at in note.via))}
    found = spans(source, {site.node for site in sites if site.path == plan.path})
    own = {node: _in_cell(source, span) for node, span in found.items()}

    def named(site: Site) -> str:
        return _line(own[site.node]) if site.path == plan.path else os.path.basename(site.path)

    placed = [
        PlacedNote(
            note,
            own[note.site.node],
            note.text.format(*(named(site) for site in note.mentions)) if note.mentions else note.text,
            tuple((function, own[at.node]) for function, at in note.via if at.path == plan.path),
        )
        for note in all_notes
        if note.site.path == plan.path
    ]
    return sorted(placed, key=lambda one: (one.span.cell or 0, one.span.row))


def _in_cell(source: Source, span: Span) -> Span:
    return source.cells.in_cell(span)._replace(path=source.path) if source.cells is not None else span


def _line(span: Span) -> str:
    return f"line {span.row}" if span.cell is None else f"cell {span.cell + 1} line {span.row}"


def render(plan: Plan, source: Source, read: ReadSource, color: bool = False, shown: set[Stop] | None = None) -> str:
    """The text output of `gpulint plan`. The stops that were `shown` for an earlier file are left out, and those of
    this one are added to them."""
    placed = placed_notes(plan, source)
    lines: dict[int | None, Sequence[str]] = {None: source.text.splitlines()}
    if source.cells is not None:
        lines |= {piece.cell: piece.lines for piece in source.cells.pieces}
    words = max([_SHORTEST, *(len(_WORDS[one.note.certainty]) for one in placed)])
    width = len(str(max((one.span.row for one in placed), default=1)))
    out = [_paint(first_on_line(source.path), "1", color), ""]
    if plan.graph_mode:
        out += ["TensorFlow 1 graph-mode code: most rules do not apply to it.", ""]
    last, cell = 0, None
    for one in placed:
        if one.span.cell != cell and one.span.cell is not None:
            last, cell = 0, one.span.cell
            out.append(f"{'':>{width}} {_paint(f'cell {cell + 1}', '1', color)}")
        if one.span.row != last:
            if last and one.span.row > last + 1:
                out.append(f"{'':>{width}} {_paint('┊', '2', color)}")
            last = one.span.row
            text = lines[cell][last - 1] if last <= len(lines[cell]) else ""
            out.append(f"{_paint(f'{last:>{width}}', '2', color)} {_paint('│', '2', color)} {printable_row(text)}")
        out += _note_lines(one, width, words, color)
    if not placed:
        out.append("Nothing here builds, places, distributes or configures anything that gpulint knows.")
    stopped = [one for one in stops(plan, source, read) if shown is None or one not in shown]
    if shown is not None:
        shown.update(stopped)
    out += _closing(plan, stopped, color)
    return "\n".join(out) + "\n"


_WORDS = {MUST: "must", MAY: "may", UNKNOWN: "if called"}
"""The certainties as words: the only reason for `UNKNOWN` is a caller that is not known."""
_SHORTEST = 7
"""Minimum width of the column of certainties."""
_COLORS = {MUST: "32", MAY: "33", UNKNOWN: "35"}


def _note_lines(one: PlacedNote, width: int, words: int, color: bool) -> list[str]:
    note = one.note
    margin = f"{'':>{width}} {_paint('│', '2', color)}   "
    head = (
        f"{margin}{_paint(f'{_WORDS[note.certainty]:<{words}}', _COLORS[note.certainty], color)} {printable(one.text)}"
    )
    if note.because:
        head += f", {'when' if note.certainty == MAY else 'but'} {printable(note.because)}"
    details = []
    if note.scopes:
        details.append(printable("in " + " › ".join(note.scopes)))
    if len(one.via) > 1:
        details.append(printable("through " + ", ".join(f"{function}() at {_line(at)}" for function, at in one.via)))
    return [head, *(f"{margin}{'':{words}} {_paint(detail, '2', color)}" for detail in details)]


def _closing(plan: Plan, stopped: Sequence[Stop], color: bool) -> list[str]:
    out: list[str] = []
    if stopped:
        out += ["", _paint("Where the analysis stopped:", "35", color)]
    lines: dict[str, None] = {}
    for one in stopped:
        where = [printable(relative_to(one.path))] if one.path != plan.path else []
        where += [_line(one.span)] if one.span is not None else []
        lines[f"  {' '.join(where)}: {one.why} ({one.bound})"] = None
    out += lines
    if not plan.is_complete:
        out.append("The program is too large to be analysed to its end: more may happen than is listed here.")
    return out


def _paint(text: str, code: str, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
