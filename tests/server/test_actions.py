"""Fixes as edits of the editor."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.server.actions import Document, fix_edit
from gpulint.server.positions import Ruler

TEXT = "x = '\U0001f600', old\n"


def fixable(applicability: Applicability | None) -> Finding:
    span = Span("a.py", 1, 10, 1, 13)
    fix = Fix(applicability, "Rename it", (Edit(span, "new"),)) if applicability is not None else None
    return Finding("GPU901", "removed-api", Severity.ERROR, span, "it is gone", fix=fix)


@pytest.mark.parametrize("applicability", [Applicability.SAFE, Applicability.UNSAFE])
def test_the_edits_of_a_fix_are_in_units_of_the_client_and_for_one_version(applicability: Applicability) -> None:
    document = Document("file:///a.py", 7, TEXT, True)
    offered = fix_edit(fixable(applicability), document, Ruler(TEXT, PositionCodec()))
    assert offered is not None
    _, edit = offered
    (change,) = edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == ("file:///a.py", 7)
    assert list(change.edits) == [types.TextEdit(types.Range(types.Position(0, 10), types.Position(0, 13)), "new")]


@pytest.mark.parametrize("applicability", [Applicability.DISPLAY, None])
def test_what_is_only_shown_or_not_there_is_no_edit(applicability: Applicability | None) -> None:
    document = Document("file:///a.py", 7, TEXT, True)
    assert fix_edit(fixable(applicability), document, Ruler(TEXT, PositionCodec())) is None
