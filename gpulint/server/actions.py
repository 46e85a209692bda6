"""What can be done about a finding: fix it, silence it, have it explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from gpulint.linting.engine import SYNTAX_ERROR
from gpulint.linting.finding import Finding
from gpulint.server.ignoring import ignore
from gpulint.server.positions import Ruler

EXPLAIN = "gpulint.explain"
"""The command that shows the page of the rule whose code is its argument."""

_SAFE, _DISPLAY = "safe", "display"


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
        if (edit := fix_edit(finding, document, ruler)) is not None:
            fix: Any = finding.fix  # type: ignore[attr-defined]
            title = fix.message if fix.applicability == _SAFE else f"{fix.message} (unsafe)"
            yield types.CodeAction(
                title=f"{title} ({finding.code})",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[as_diagnostic(finding)],
                is_preferred=fix.applicability == _SAFE,
                edit=edit,
            )
    for finding in findings:
        found = None if finding.code == SYNTAX_ERROR else ignore(document.text, ruler.lines, finding.span, finding.code)
        if found is not None:
            yield types.CodeAction(
                title=f"Ignore {finding.code} ({finding.name}) with a comment",
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[as_diagnostic(finding)],
                edit=_edit(document, [types.TextEdit(ruler.range(found[0]), found[1])]),
            )
    for code, name in dict.fromkeys((finding.code, finding.name) for finding in findings):
        title = f"Explain {code} ({name})"
        yield types.CodeAction(
            title=title, kind=types.CodeActionKind.QuickFix, command=types.Command(title, EXPLAIN, arguments=[code])
        )


def fix_edit(finding: Finding, document: Document, ruler: Ruler) -> types.WorkspaceEdit | None:
    """The edits of a finding's fix for its document; None where it has none that a program can apply."""
    fix: Any = getattr(finding, "fix", None)
    if fix is None or fix.applicability == _DISPLAY:
        return None
    return _edit(document, [types.TextEdit(ruler.range(edit.span), edit.content) for edit in fix.edits])


def _edit(document: Document, edits: Sequence[types.TextEdit]) -> types.WorkspaceEdit:
    """Edits of one document, of the version that they are for where the client knows versions."""
    if document.takes_versions:
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, list(edits))])
    return types.WorkspaceEdit(changes={document.uri: list(edits)})
