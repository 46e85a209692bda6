"""Fixes as edits of the editor."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.places import Span
from gpulint.server.actions import Document, fix_edit
from gpulint.server.positions import Ruler

TEXT = "x = '\U0001f600', old\n"


def fixable(applicability: str | None) -> Any:
    edits = (SimpleNamespace(span=Span("a.py", 1, 10, 1, 13), content="new"),)
    fix = SimpleNamespace(applicability=applicability, message="Rename it", edits=edits)
    return SimpleNamespace(fix=fix if applicability is not None else None)


@pytest.mark.parametrize("applicability", ["safe", "unsafe"])
def test_the_edits_of_a_fix_are_in_units_of_the_client_and_for_one_version(applicability: str) -> None:
    edit = fix_edit(fixable(applicability), Document("file:///a.py", 7, TEXT, True), Ruler(TEXT, PositionCodec()))
    assert edit is not None
    (change,) = edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == ("file:///a.py", 7)
    assert list(change.edits) == [types.TextEdit(types.Range(types.Position(0, 10), types.Position(0, 13)), "new")]


@pytest.mark.parametrize("applicability", ["display", None])
def test_what_is_only_shown_or_not_there_is_no_edit(applicability: str | None) -> None:
    document = Document("file:///a.py", 7, TEXT, True)
    assert fix_edit(fixable(applicability), document, Ruler(TEXT, PositionCodec())) is None
