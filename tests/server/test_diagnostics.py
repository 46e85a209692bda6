"""Findings in the editor, with a real client."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lsprotocol import types

from tests.server.editor import Editor, capabilities, edit
from tests.server.programs import DEFAULT, FREE, MIRRORED, PINNED, TRAIN, written


def codes(diagnostics: list[types.Diagnostic]) -> list[object]:
    return [one.code for one in diagnostics]


def test_an_unsaved_text_is_checked_as_it_is_typed(tmp_path: Path) -> None:
    path = written(tmp_path, {"a.py": FREE}) / "a.py"

    async def test(editor: Editor) -> None:
        uri = editor.open(path)
        assert await editor.diagnostics(uri) == []
        editor.type(uri, PINNED)
        assert codes(await editor.diagnostics(uri)) == ["GPU101"]
        editor.type(uri, PINNED.replace("):", "):  # gpulint: ignore[GPU101] it is the only one"))
        assert await editor.diagnostics(uri) == []
        editor.type(uri, PINNED[:-3])
        assert codes(await editor.diagnostics(uri)) == ["GPU001"]
        editor.type(uri, "")
        assert await editor.diagnostics(uri) == []
        assert path.read_text("utf-8") == FREE

    edit(test, tmp_path)


@pytest.mark.parametrize("name", ["%00", "\ud800"])
def test_a_name_that_no_file_can_have_keeps_no_other_document_from_its_findings(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, {"a.py": PINNED}) / "a.py"

    async def test(editor: Editor) -> None:
        odd = editor.open(f"file:///{name}.py", PINNED)
        assert codes(await editor.diagnostics(editor.open(path))) == ["GPU101"]
        assert codes(await editor.diagnostics(odd)) == ["GPU101"]

    edit(test, tmp_path)


def test_of_several_changes_at_once_the_last_one_counts(tmp_path: Path) -> None:
    path = written(tmp_path, {"a.py": FREE}) / "a.py"

    async def test(editor: Editor) -> None:
        uri = editor.open(path)
        for count in range(20):
            editor.type(uri, FREE if count % 2 else PINNED)
        last = editor.type(uri, PINNED + "\n# the end\n")
        assert codes(await editor.diagnostics(uri, last)) == ["GPU101"]

    edit(test, tmp_path, options={"debounce": 50})


def test_a_change_in_a_helpers_buffer_changes_what_is_reported_of_its_importer(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": TRAIN, "helper.py": DEFAULT})

    async def test(editor: Editor) -> None:
        train, helper = editor.open(tmp_path / "train.py"), editor.open(tmp_path / "helper.py")
        await editor.until_codes(train)
        editor.type(helper, MIRRORED)
        (found,) = await editor.until_codes(train, "GPU201")
        related = {Path(urlsplit(one.location.uri).path).name for one in found.related_information or ()}
        assert related == {"train.py", "helper.py"}
        made = next(one for one in found.related_information or () if one.location.uri == helper)
        assert made.location.range.start == types.Position(4, 11)
        editor.close(helper)
        await editor.until_codes(train)

    edit(test, tmp_path)


def test_what_a_helper_comes_to_is_decided_by_the_file_that_imports_it(tmp_path: Path) -> None:
    helper = (
        "import tensorflow as tf\n\n\ndef build():\n    return tf.keras.Sequential([tf.keras.layers.Dense(1)])\n\n\n"
        "def pinned():\n    with tf.device('/gpu:0'):\n        return tf.ones(2)\n"
    )
    importer = "import tensorflow as tf\nfrom helper import pinned\n\npinned()\n"
    written(tmp_path, {"package/train.py": importer, "package/helper.py": helper, "package/b.py": FREE})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "package" / "helper.py")
        (found,) = await editor.diagnostics(uri)
        assert found.code == "GPU101"

    edit(test, tmp_path)


def test_a_diagnostic_says_what_the_command_line_says(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": PINNED})

    async def test(editor: Editor) -> None:
        (found,) = await editor.diagnostics(editor.open(tmp_path / "a.py"))
        assert found.source == "gpulint" and found.code == "GPU101"
        assert found.severity is types.DiagnosticSeverity.Warning
        assert found.message.startswith("operations are pinned to `/gpu:0`\nall of this work runs")
        assert found.range == types.Range(types.Position(2, 5), types.Position(2, 24))
        assert found.code_description is not None
        assert found.code_description.href.startswith("file:///")
        assert found.code_description.href.endswith("/rules/placement/hardcoded_device.py")

    edit(test, tmp_path)


def test_a_comment_that_silences_nothing_is_faded(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": FREE + "y = 1  # gpulint: ignore[GPU101]\n"})

    async def test(editor: Editor) -> None:
        (found,) = await editor.diagnostics(editor.open(tmp_path / "a.py"))
        assert found.code == "GPU002" and list(found.tags or ()) == [types.DiagnosticTag.Unnecessary]

    edit(test, tmp_path, options={"settings": {"lint": {"extend-select": ["GPU002"]}}})


@pytest.mark.parametrize(("offered", "chosen", "units"), [(None, "utf-16", 2), (["utf-8"], "utf-8", 4)])
def test_astral_characters_do_not_shift_a_finding(
    tmp_path: Path, offered: list[str] | None, chosen: str, units: int
) -> None:
    text = "import tensorflow as tf\n\f\nwith open('\U0001f600'), tf.device('/gpu:0'):\n    tf.ones(2)\n"
    written(tmp_path, {"a.py": text})
    encodings = [types.PositionEncodingKind(one) for one in offered] if offered else None

    async def test(editor: Editor) -> None:
        assert editor.capabilities is not None and editor.capabilities.position_encoding == chosen
        (found,) = await editor.diagnostics(editor.open(tmp_path / "a.py"))
        assert found.range.start == types.Position(2, len("with open(''), ") + units)

    general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
    edit(test, tmp_path, client=capabilities(general=general))


def test_a_declared_encoding_and_line_ends_do_not_shift_a_finding(tmp_path: Path) -> None:
    text = "# coding: latin-1\r\nimport tensorflow as tf\r\nwith open('äöü'), tf.device('/gpu:0'):\r\n    pass\r\n"

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py", text)
        (found,) = await editor.diagnostics(uri)
        assert found.range.start == types.Position(2, text.splitlines()[2].index("tf.device"))

    edit(test, tmp_path)


def test_settings_of_the_project_count_and_so_do_their_changes(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": PINNED, "gpulint.toml": '[lint]\nignore = ["GPU101"]\n'})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        assert await editor.diagnostics(uri) == []
        (tmp_path / "gpulint.toml").write_text('[lint.severity]\nGPU101 = "error"\n')
        changed = types.FileEvent((tmp_path / "gpulint.toml").as_uri(), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        (found,) = await editor.until_codes(uri, "GPU101")
        assert found.severity is types.DiagnosticSeverity.Error
        (tmp_path / "gpulint.toml").write_text('[lint]\nselect = ["GPU99x"]\n')
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await editor.until_codes(uri)
        await editor.until(lambda: any("there is no rule `GPU99x`" in message for message in editor.messages))

    edit(test, tmp_path)


def test_a_helper_that_changes_on_disk_is_read_again(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": TRAIN, "helper.py": DEFAULT})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "train.py")
        assert await editor.diagnostics(uri) == []
        (tmp_path / "helper.py").write_text(MIRRORED)
        changed = types.FileEvent((tmp_path / "helper.py").as_uri(), types.FileChangeType.Changed)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        await editor.until_codes(uri, "GPU201")

    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    edit(test, tmp_path, client=capabilities(workspace={"did_change_watched_files": watching}))


def test_each_workspace_folder_has_its_own_settings_and_a_file_outside_the_defaults(tmp_path: Path) -> None:
    written(tmp_path, {"one/a.py": PINNED, "one/gpulint.toml": '[lint]\nignore = ["GPU101"]\n', "two/a.py": PINNED})
    written(tmp_path, {"elsewhere/a.py": PINNED})

    async def test(editor: Editor) -> None:
        found = {}
        for name in ("one", "two", "elsewhere"):
            found[name] = codes(await editor.diagnostics(editor.open(tmp_path / name / "a.py")))
        assert found == {"one": [], "two": ["GPU101"], "elsewhere": ["GPU101"]}
        event = types.WorkspaceFoldersChangeEvent(
            added=[types.WorkspaceFolder((tmp_path / "elsewhere").as_uri(), "elsewhere")], removed=[]
        )
        (tmp_path / "elsewhere" / "gpulint.toml").write_text('[lint]\nignore = ["GPU1"]\n')
        editor.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await editor.until_codes((tmp_path / "elsewhere" / "a.py").as_uri())

    edit(test, tmp_path / "one", tmp_path / "two")


def test_what_the_settings_exclude_and_what_is_no_python_is_left_alone(tmp_path: Path) -> None:
    written(tmp_path, {"venv/lib/a.py": PINNED, "b.py": PINNED, "notes.txt": PINNED})

    async def test(editor: Editor) -> None:
        excluded = editor.open(tmp_path / "venv" / "lib" / "a.py")
        assert await editor.diagnostics(excluded) == []
        item = types.TextDocumentItem((tmp_path / "notes.txt").as_uri(), "plaintext", 1, PINNED)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        assert codes(await editor.diagnostics(editor.open(tmp_path / "b.py"))) == ["GPU101"]
        assert item.uri not in editor.published

    edit(test, tmp_path)


def test_a_document_that_is_on_no_disk_is_checked(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open("untitled:Untitled-1", PINNED)
        assert codes(await editor.diagnostics(uri)) == ["GPU101"]
        editor.close(uri)
        await editor.until(lambda: not editor.published[uri].diagnostics)

    edit(test, tmp_path)


def test_the_whole_workspace_is_checked_where_that_is_wanted(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": PINNED, "package/b.py": PINNED, "c.py": FREE})
    b = (tmp_path / "package" / "b.py").as_uri()

    async def test(editor: Editor) -> None:
        await editor.until_codes(b, "GPU101")
        uri = editor.open(tmp_path / "c.py")
        assert await editor.diagnostics(uri) == []
        (tmp_path / "package" / "b.py").unlink()
        gone = types.FileEvent(b, types.FileChangeType.Deleted)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([gone]))
        await editor.until_codes(b)

    edit(test, tmp_path, options={"diagnosticMode": "workspace"})


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every name is text")
def test_a_file_whose_name_is_no_text_keeps_no_other_file_from_its_findings(tmp_path: Path) -> None:
    odd = written(tmp_path, {"a.py": PINNED}) / os.fsdecode(b"\xff.py")
    odd.write_text(PINNED)

    async def test(editor: Editor) -> None:
        await editor.until_codes((tmp_path / "a.py").as_uri(), "GPU101")
        await editor.until_codes(odd.as_uri(), "GPU101")

    edit(test, tmp_path, options={"diagnosticMode": "workspace"})


def test_a_client_that_pulls_diagnostics_gets_them_and_is_asked_to_refresh(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": TRAIN, "helper.py": DEFAULT})
    asking = capabilities(
        text_document={"diagnostic": types.DiagnosticClientCapabilities()},
        workspace={"diagnostics": types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)},
    )

    async def test(editor: Editor) -> None:
        train, helper = editor.open(tmp_path / "train.py"), editor.open(tmp_path / "helper.py")

        async def ask(uri: str, before: str | None = None) -> object:
            return await editor.client.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=before)
            )

        first = await ask(train)
        assert isinstance(first, types.RelatedFullDocumentDiagnosticReport) and list(first.items) == []
        assert isinstance(await ask(train, first.result_id), types.RelatedUnchangedDocumentDiagnosticReport)
        await ask(helper)
        asked = editor.refreshes
        editor.type(helper, MIRRORED)
        await editor.until(lambda: editor.refreshes > asked)
        second = await ask(train, first.result_id)
        assert isinstance(second, types.RelatedFullDocumentDiagnosticReport)
        assert codes(list(second.items)) == ["GPU201"]
        whole = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams([]))
        assert {one.uri for one in whole.items} == {train, helper}
        assert editor.published == {}

    edit(test, tmp_path, client=asking)


def test_results_of_importers_are_cached_in_the_workspace_and_nowhere_else(tmp_path: Path) -> None:
    written(tmp_path, {"project/train.py": TRAIN, "project/helper.py": MIRRORED, "elsewhere/a.py": PINNED})

    async def test(editor: Editor) -> None:
        await editor.diagnostics(editor.open(tmp_path / "elsewhere" / "a.py"))
        await editor.diagnostics(editor.open(tmp_path / "project" / "helper.py"))
        while not (tmp_path / "project" / ".gpulint_cache").is_dir():
            await asyncio.sleep(0.1)
        assert not (tmp_path / "elsewhere" / ".gpulint_cache").exists()

    edit(test, tmp_path / "project")
