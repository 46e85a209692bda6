"""What can be done about a finding: fix it, silence it, have it explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol import types

from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import ABOUT_COMMENTS, SYNTAX_ERROR
from gpulint.rewriting.fix import Applicability, Fix, is_wanted
from gpulint.server.positions import Ruler
from gpulint.sources.ignoring import CannotIgnore, with_ignores

EXPLAIN = "gpulint.explain"
"""The command that shows the page of the rule whose code is its argument."""


@dataclass(frozen=True, slots=True)
class Document:
    """What an action changes. `takes_versions`: the client checks which version of it an edit is for."""

    uri: str
    version: int | None
    text: str
    takes_versions: bool


def actions(
    findings: Sequence[Finding],
    document: Document,
    ruler: Ruler,
    as_diagnostic: Callable[[Finding], types.Diagnostic],
) -> Iterator[types.CodeAction]:
    """The actions for some findings of one document, fixes first."""
    for finding in findings:
        if (offered := fix_edit(finding, document, ruler)) is not None:
            fix, edit = offered
            is_safe = fix.applicability is Applicability.SAFE
            title = fix.message if is_safe else f"{fix.message} (unsafe)"
            yield types.CodeAction(
                title=f"{title} ({finding.code})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[as_diagnostic(finding)],
                is_preferred=is_safe,
                edit=edit,
            )
    for finding in findings:
        if (comment := _ignoring(finding, document.text, ruler)) is not None:
            yield types.CodeAction(
                title=f"Ignore {finding.code} ({finding.name}) with a comment",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[as_diagnostic(finding)],
                edit=_edit(document, [comment]),
            )
    for code, name in dict.fromkeys((finding.code, finding.name) for finding in findings):
        title = f"Explain {code} ({name})"
        yield types.CodeAction(
            title=title, kind=types.CodeActionKind.QuickFix, command=types.Command(title, EXPLAIN, arguments=[code])
        )


def fix_edit(finding: Finding, document: Document, ruler: Ruler) -> tuple[Fix, types.WorkspaceEdit] | None:
    """A finding's fix with its edits of the document; None where it has none that a program can apply."""
    fix = finding.fix
    if fix is None or not is_wanted(fix, unsafe=True):
        return None
    return fix, _edit(document, [types.TextEdit(ruler.range(edit.span), edit.content) for edit in fix.edits])


def _ignoring(finding: Finding, text: str, ruler: Ruler) -> types.TextEdit | None:
    """The edit that writes a comment which silences a finding; None where there is no such comment."""
    if finding.code == SYNTAX_ERROR or finding.code in ABOUT_COMMENTS:
        return None
    try:
        after = with_ignores(text, [(finding.span.row, finding.code)])
    except CannotIgnore:
        return None
    start = _common(text, after)
    kept = _common(text[start:][::-1], after[start:][::-1])
    end = len(text) - kept
    return types.TextEdit(types.Range(_at(text, start, ruler), _at(text, end, ruler)), after[start : len(after) - kept])


def _common(first: str, second: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(first), len(second)))


def _at(text: str, offset: int, ruler: Ruler) -> types.Position:
    return ruler.position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _edit(document: Document, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
    """Edits of one document, of the version that they are for where the client knows versions."""
    if document.takes_versions:
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, list(edits))])
    return types.WorkspaceEdit(changes={document.uri: list(edits)})
