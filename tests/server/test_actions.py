"""Fixes as edits of the editor."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from gpulint.linting.finding import Finding, Severity
from gpulint.places import Span
from gpulint.rewriting.fix import Applicability, Edit, Fix
from gpulint.server.actions import Editing, all_fixed, fix_edit, is_asked
from gpulint.server.buffers import Buffer, Document, Snapshot
from gpulint.server.folders import Folders
from gpulint.server.options import Options
from gpulint.server.session import SnapshotResult
from gpulint.server.views import View
from gpulint.settings import SettingsFinder

TEXT = "x = '\U0001f600', old\n"


def editing(text: str) -> Editing:
    """The actions of one open document."""
    buffer = Buffer("file:///a.py", "a.py", (Document("file:///a.py", 7, text),))
    folders = Folders(SettingsFinder(), False, (), Options())
    return Editing(View(SnapshotResult(Snapshot(1, {"a.py": buffer})), folders, PositionCodec()), True)


def fixable(applicability: Applicability | None) -> Finding:
    span = Span("a.py", 1, 10, 1, 13)
    fix = Fix(applicability, "Rename it", (Edit(span, "new"),)) if applicability is not None else None
    return Finding("GPU901", "removed-api", Severity.ERROR, span, "it is gone", fix=fix)


def edits_of(edit: types.WorkspaceEdit) -> list[object]:
    (change,) = edit.document_changes or ()
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == ("file:///a.py", 7)
    return list(change.edits)


@pytest.mark.parametrize("applicability", [Applicability.SAFE, Applicability.UNSAFE])
def test_the_edits_of_a_fix_are_in_units_of_the_client_and_for_one_version(applicability: Applicability) -> None:
    offered = fix_edit(fixable(applicability), editing(TEXT))
    assert offered is not None
    place = types.Range(types.Position(0, 10), types.Position(0, 13))
    assert edits_of(offered[1]) == [types.TextEdit(place, "new")]


@pytest.mark.parametrize("applicability", [Applicability.DISPLAY, None])
def test_what_is_only_shown_or_not_there_is_no_edit(applicability: Applicability | None) -> None:
    assert fix_edit(fixable(applicability), editing(TEXT)) is None


def test_where_all_is_fixed_only_the_rows_that_differ_are_edited() -> None:
    before, after = "a\n\x0cb = 1\nc\nd", "a\n\x0cb = 2\nc\nd\n"
    assert edits_of(all_fixed("a.py", {None: after}, editing(before))) == [
        types.TextEdit(types.Range(types.Position(1, 0), types.Position(2, 0)), "\x0cb = 2\n"),
        types.TextEdit(types.Range(types.Position(3, 0), types.Position(3, 1)), "d\n"),
    ]


@pytest.mark.parametrize(
    ("only", "asked"),
    [
        (None, True),
        (["source"], True),
        (["source.fixAll"], True),
        (["source.fixAll.gpulint"], True),
        ([""], True),
        (["quickfix"], False),
        (["source.fixAll.ruff"], False),
        (["source.fix"], False),
        ([], True),
    ],
)
def test_a_kind_of_actions_is_asked_for_by_itself_or_what_is_above_it(only: list[str] | None, asked: bool) -> None:
    assert is_asked("source.fixAll.gpulint", only) is asked
