"""Code actions for findings: fix, silence, explain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lsprotocol import types

from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import ABOUT_COMMENTS, SYNTAX_ERROR
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Fix, is_wanted
from gpulint.rewriting.text import rows_of
from gpulint.server.views import View
from gpulint.sources.ignoring import CannotIgnore, with_ignores
from gpulint.sources.magics import code_of
from gpulint.sources.row_diff import differences

EXPLAIN = "gpulint.explain"
"""The command that shows the page of a rule; its argument is the code."""


FIX_ALL = "source.fixAll.gpulint"
NOTEBOOK_FIX_ALL = f"notebook.{FIX_ALL}"
"""Kinds of actions that fix everything safely; some editors use another name for notebooks."""

FIX_ALL_TITLE = "Fix all that gpulint can fix safely"

KINDS = (types.CodeActionKind.QuickFix.value, FIX_ALL, NOTEBOOK_FIX_ALL)


def is_asked(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client asks for a kind of action: `source.fixAll` includes all kinds below it."""
    return not only or any(one == "" or kind == one or kind.startswith(f"{one}.") for one in only)


@dataclass(frozen=True, slots=True)
class Editing:
    """How to send edits: `view` has the state that they are for; `takes_versions`: the client checks versions."""

    view: View
    takes_versions: bool

    def edit(self, changes: Iterable[tuple[Span, str]]) -> types.WorkspaceEdit:
        """Replacements of spans in open files."""
        by_place: dict[tuple[str, int | None], list[types.TextEdit]] = {}
        for span, content in changes:
            edits = by_place.setdefault((span.path, span.cell), [])
            edits.append(types.TextEdit(self.view.ruler(span.path, span.cell).range(span), content))
        buffers = self.view.snapshot.buffers
        documents = {buffers[path].document(cell): edits for (path, cell), edits in by_place.items()}
        if not self.takes_versions:
            return types.WorkspaceEdit(changes={one.uri: edits for one, edits in documents.items()})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(one.uri, one.version), edits)
                for one, edits in documents.items()
            ]
        )


def actions(findings: Sequence[Finding], editing: Editing) -> Iterator[types.CodeAction]:
    """The actions for some findings of one document, fixes first."""
    view = editing.view
    for finding in findings:
        if (offered := fix_edit(finding, editing)) is not None:
            fix, edit = offered
            is_safe = fix.applicability is Applicability.SAFE
            title = fix.message if is_safe else f"{fix.message} (unsafe)"
            yield types.CodeAction(
                title=f"{title} ({finding.code})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[view.diagnostic(finding)],
                is_preferred=is_safe,
                edit=edit,
            )
    for finding in findings:
        text = view.snapshot.text(finding.span.path, finding.span.cell)
        if (comment := _ignoring(finding, text)) is not None:
            yield types.CodeAction(
                title=f"Ignore {finding.code} ({finding.name}) with a comment",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[view.diagnostic(finding)],
                edit=editing.edit([comment]),
            )
    for code, name in dict.fromkeys((finding.code, finding.name) for finding in findings):
        title = f"Explain {code} ({name})"
        yield types.CodeAction(
            title=title, kind=types.CodeActionKind.QuickFix, command=types.Command(title, EXPLAIN, arguments=[code])
        )


def fix_edit(finding: Finding, editing: Editing) -> tuple[Fix, types.WorkspaceEdit] | None:
    """A finding's fix with its edits, None if it has none that can be applied automatically."""
    fix = finding.fix
    if fix is None or not is_wanted(fix, unsafe=True):
        return None
    return fix, editing.edit((edit.span, edit.content) for edit in fix.edits)


def all_fixed(path: str, texts: Mapping[int | None, str], editing: Editing) -> types.WorkspaceEdit:
    """The edits that change a file, or its cells, to new texts, limited to the rows that differ."""
    snapshot = editing.view.snapshot
    return editing.edit(
        change
        for cell, after in texts.items()
        for change in _changed_rows(path, cell, snapshot.text(path, cell), after)
    )


def _changed_rows(path: str, cell: int | None, before: str, after: str) -> Iterator[tuple[Span, str]]:
    old, new = rows_of(before), rows_of(after)
    for one in differences(old, new):
        yield Span(path, one.first + 1, 1, one.last + 1, 1, cell), "".join(new[one.start : one.end])


def _ignoring(finding: Finding, text: str) -> tuple[Span, str] | None:
    """The edit that adds a suppression comment for a finding, None if that is impossible."""
    span = finding.span
    if finding.code == SYNTAX_ERROR or finding.code in ABOUT_COMMENTS:
        return None
    code = code_of(text) if span.cell is not None else None
    skipped = code.skipped if code is not None else 0
    program = text if code is None else "\n".join(code.lines)
    try:
        after = with_ignores(program, [(span.row - skipped, finding.code)])
    except CannotIgnore:
        return None
    start = _common(program, after)
    end = len(program) - _common(program[start:][::-1], after[start:][::-1])
    first, last = _at(program, start), _at(program, end)
    rows = [row.rstrip("\r\n") for row in rows_of(text)]
    if code is not None and list(code.lines[first[0] - 1 : last[0]]) != rows[skipped:][first[0] - 1 : last[0]]:
        return None  # the row is a magic
    place = Span(span.path, first[0] + skipped, first[1], last[0] + skipped, last[1], span.cell)
    return place, after[start : len(after) - (len(program) - end)]


def _common(first: str, second: str) -> int:
    """Number of equal characters at the start of two texts."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(first), len(second)))


def _at(text: str, offset: int) -> tuple[int, int]:
    """The row and column, from 1, of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
