"""What can be done about a finding: fix it, silence it, have it explained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lsprotocol import types

from gpulint.linting.engine import SYNTAX_ERROR
from gpulint.linting.finding import Finding
from gpulint.places import Span
from gpulint.server.ignoring import ignore
from gpulint.server.positions import Ruler

EXPLAIN = "gpulint.explain"
"""The command that shows the page of the rule whose code is its argument."""

_SAFE, _DISPLAY = "safe", "display"

Related = Callable[[Finding], types.Diagnostic]


def actions(
    findings: Sequence[Finding],
    text: str,
    document: types.OptionalVersionedTextDocumentIdentifier,
    ruler: Ruler,
    as_diagnostic: Related,
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
        found = None if finding.code == SYNTAX_ERROR else ignore(text, ruler.lines, finding.span, finding.code)
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
            title=title, kind=types.CodeActionKind.QuickFix, command=types.Command(title, EXPLAIN, [code])
        )


def fix_edit(
    finding: Finding, document: types.OptionalVersionedTextDocumentIdentifier, ruler: Ruler
) -> types.WorkspaceEdit | None:
    """The edits of a finding's fix for its document; None where it has none that a program can apply."""
    fix: Any = getattr(finding, "fix", None)
    if fix is None or fix.applicability == _DISPLAY:
        return None
    return _edit(document, [types.TextEdit(ruler.range(edit.span), edit.content) for edit in fix.edits])


def _edit(
    document: types.OptionalVersionedTextDocumentIdentifier, edits: Sequence[types.TextEdit]
) -> types.WorkspaceEdit:
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])
