"""Answers of the server, with a real client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests import warm
from tests.server.editor import Editor, capabilities, edit
from tests.server.programs import FREE, MIRRORED, PINNED, TRAIN, written

FIT = """\
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer="adam", loss="mse")
model.fit(tf.data.Dataset.range(64).batch(32).prefetch(2))
"""


@pytest.mark.parametrize("versions", [True, False])
def test_a_finding_can_be_ignored_with_a_comment_and_explained(tmp_path: Path, versions: bool) -> None:
    written(tmp_path, {"a.py": PINNED})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        fixing, ignoring, explaining = await editor.actions(uri, "tf.device")
        assert fixing.edit is not None and "tf.device" not in editor.applied(fixing.edit)[uri]
        assert ignoring.edit is not None and ignoring.kind == types.CodeActionKind.QuickFix
        assert [one.code for one in ignoring.diagnostics or ()] == ["GPU101"]
        editor.type(uri, editor.applied(ignoring.edit)[uri])
        assert await editor.diagnostics(uri) == []
        assert await editor.actions(uri, "tf.device") == []
        assert explaining.command is not None
        await editor.client.workspace_execute_command_async(
            types.ExecuteCommandParams(explaining.command.command, explaining.command.arguments)
        )
        (page,) = editor.shown
        assert Path(urlsplit(page).path).read_text("utf-8").startswith("# hardcoded-device (GPU101)")

    client = capabilities(
        workspace={"workspace_edit": types.WorkspaceEditClientCapabilities(document_changes=versions)},
        window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(True)),
    )
    edit(test, tmp_path, client=client)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_ignoring_a_finding_extends_the_comment_at_the_end_of_its_statement(tmp_path: Path, end: str) -> None:
    start = 'import tensorflow as tf\n\nname = "\U0001f600"\nwith tf.device("/gpu:0"), \\\n    open("\U0001f600"):'
    text = f"{start}  # gpulint: ignore[GPU102] why\n    tf.ones(2)\n".replace("\n", end)

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py", text)
        _fixing, ignoring, _explaining = await editor.actions(uri, "tf.device")
        assert ignoring.edit is not None
        after = editor.applied(ignoring.edit)[uri]
        assert after == text.replace("GPU102]", "GPU102, GPU101]")
        editor.type(uri, after)
        assert await editor.diagnostics(uri) == []

    edit(test, tmp_path)


def test_there_is_no_comment_for_what_is_no_python(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py", "import tensorflow as tf\nx = (\n")
        (found,) = await editor.diagnostics(uri)
        assert found.code == "GPU001"
        assert [one.title for one in await editor.actions(uri, "x = (")] == ["Explain GPU001 (syntax-error)"]

    edit(test, tmp_path)


def test_hovering_shows_the_predicted_device_and_on_a_finding_the_page_of_its_rule(tmp_path: Path) -> None:
    written(tmp_path, {"train.py": TRAIN, "helper.py": FREE})

    async def test(editor: Editor) -> None:
        train = editor.open(tmp_path / "train.py")
        editor.open(tmp_path / "helper.py", MIRRORED)
        text = await editor.hover(train, "Sequential")
        assert text is not None and "* Sequential: outside every scope: on one device" in text
        assert "# model-outside-scope (GPU201)" in text and "## Use instead" in text
        assert "MirroredStrategy on every visible GPU" in (await editor.hover(train, "strategy.scope") or "")
        assert await editor.hover(train, "import") is None
        pinned = editor.open(tmp_path / "b.py", PINNED)
        assert "runs on `/GPU:0`" in (await editor.hover(pinned, "tf.ones", 3) or "")

    edit(test, tmp_path)


def test_hints_show_devices_and_batches_until_they_are_switched_off(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": FIT})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        model, batch = (5, "on every replica of MirroredStrategy (2)"), (7, "16 per replica")
        assert sorted(await editor.hints(uri)) == [model, batch]
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"gpulint": {"inlayHints": {"device": False}}})
        )
        assert await editor.hints(uri) == [batch]
        editor.configuration = {"inlayHints": False}
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("gpulint.explain", ["GPU101"]))
        assert await editor.hints(uri) == []

    edit(test, tmp_path, client=capabilities(workspace={"configuration": True}))


def test_settings_of_the_editor_go_on_top_of_those_of_the_project(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": PINNED})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        assert await editor.diagnostics(uri) == []
        editor.client.workspace_did_change_configuration(
            types.DidChangeConfigurationParams({"gpulint": {"settings": {}}})
        )
        await editor.until_codes(uri, "GPU101")
        editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"gpulint": {"wrong": 1}}))
        await editor.until(lambda: any("gpulint.wrong: there is no such option" in one for one in editor.messages))

    edit(test, tmp_path, options={"settings": {"lint": {"ignore": ["GPU101"]}}})


def test_a_request_that_fails_is_answered_with_an_error_and_the_server_stays(tmp_path: Path) -> None:
    written(tmp_path, {"a.py": PINNED})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        with pytest.raises(JsonRpcException):
            await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("gpulint.explain", [1, 2]))
        with pytest.raises(JsonRpcException):
            await editor.client.workspace_execute_command_async(types.ExecuteCommandParams("gpulint.nothing", []))
        assert [one.code for one in await editor.diagnostics(uri)] == ["GPU101"]
        assert await editor.hover((tmp_path / "a.py").as_uri(), "tf.ones") is not None

    edit(test, tmp_path)


def test_a_rule_that_fails_or_prints_takes_nothing_else_away(tmp_path: Path) -> None:
    rule = """
from gpulint.plugin import Rule, Severity


class Broken(Rule):
    \"\"\"Always broken.\"\"\"

    code, name, severity = "XYZ001", "broken", Severity.ERROR
    why = instead = "x"

    def on_end(self, plan):
        print("a rule that prints")
        if "BROKEN" in plan.referenced:
            raise RuntimeError("broken")
        return ()
"""
    written(tmp_path, {"rules/broken.py": rule, "a.py": PINNED, "gpulint.toml": 'rule-paths = ["rules"]\n'})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py")
        assert [one.code for one in await editor.diagnostics(uri)] == ["GPU101"]
        editor.type(uri, PINNED + "BROKEN = 1\n")
        assert await editor.diagnostics(uri) == []
        editor.type(uri, PINNED)
        assert [one.code for one in await editor.diagnostics(uri)] == ["GPU101"]

    edit(test, tmp_path, arguments=("--trust",))


def test_the_server_watches_settings_where_the_client_can(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open("untitled:a.py", FREE)
        assert await editor.diagnostics(uri) == []
        assert editor.registered == [
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        ]

    client = capabilities(
        workspace={
            "did_change_watched_files": types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            "did_change_configuration": types.DidChangeConfigurationClientCapabilities(dynamic_registration=True),
        }
    )
    edit(test, tmp_path, client=client)


def test_without_its_extra_the_server_says_in_one_line_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from gpulint.cli.main import main; main(['server'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "gpulint: the language server needs pygls: pip install pygls\n"


@pytest.mark.parametrize("address", ["x", "host:", "0", "1:99999"])
def test_an_invalid_port_is_reported(address: str, tmp_path: Path) -> None:
    done = warm.gpulint().run([sys.executable, "-m", "gpulint", "server", "--tcp", address], cwd=tmp_path)
    assert done.returncode == 2 and "is not a port" in done.stderr


SAFE_AND_UNSAFE = (
    "import os\n\nos.environ['TF_GPU_THREAD_COUNT'] = 2\nname = '\U0001f600\x0c'\n"
    "os.environ['TF_DUMP_GRAPH_PREFIX'] = 1\n"
    "import tensorflow as tf\n\nwith tf.device('/gpu:0'):\n    x = tf.ones((2, 2))\n"
)
RESOLVING = types.CodeActionClientCapabilities(resolve_support=types.ClientCodeActionResolveOptions(["edit"]))


@pytest.mark.parametrize("resolves", [True, False])
def test_all_safe_fixes_of_a_document_are_one_action(tmp_path: Path, resolves: bool) -> None:
    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "a.py", SAFE_AND_UNSAFE)
        assert sorted(str(one.code) for one in await editor.diagnostics(uri)) == ["GPU101", "GPU304", "GPU304"]
        (action,) = await editor.actions(uri, "import os", only=["source.fixAll"])
        assert (action.kind, action.edit is None) == ("source.fixAll.gpulint", resolves)
        if resolves:
            action = await editor.client.code_action_resolve_async(action)
        assert action.edit is not None
        after = editor.applied(action.edit)[uri]
        assert after == SAFE_AND_UNSAFE.replace("= 2", "= '2'").replace("= 1", "= '1'")
        editor.type(uri, after)
        assert await editor.actions(uri, "import os", only=["source.fixAll"]) == []
        assert await editor.actions(uri, "tf.device", only=["source.organizeImports"]) == []
        (fixing, *_others) = await editor.actions(uri, "tf.device", only=["quickfix"])
        assert "(unsafe)" in fixing.title and not fixing.is_preferred

    edit(test, tmp_path, client=capabilities(text_document={"code_action": RESOLVING} if resolves else {}))


def test_where_the_cursor_is_all_is_only_offered_to_be_worked_out_when_it_is_chosen(tmp_path: Path) -> None:
    async def kinds(editor: Editor) -> list[object]:
        uri = editor.open(tmp_path / "a.py", SAFE_AND_UNSAFE)
        return [one.kind for one in await editor.actions(uri, "name")]

    async def resolving(editor: Editor) -> None:
        assert await kinds(editor) == ["source.fixAll.gpulint"]

    async def other(editor: Editor) -> None:
        assert await kinds(editor) == []

    edit(resolving, tmp_path, client=capabilities(text_document={"code_action": RESOLVING}))
    edit(other, tmp_path)


def test_what_the_file_that_imports_a_helper_needs_is_fixed_in_the_helper(tmp_path: Path) -> None:
    helper = "import tensorflow as tf\n\n\ndef pinned():\n    with tf.device('gpu0'):\n        return tf.ones(2)\n"
    written(tmp_path, {"train.py": "from helper import pinned\n\npinned()\n", "helper.py": helper})

    async def test(editor: Editor) -> None:
        uri = editor.open(tmp_path / "helper.py")
        assert [one.code for one in await editor.diagnostics(uri)][:1] == ["GPU103"]
        (action,) = await editor.actions(uri, "import", only=["source.fixAll.gpulint"])
        assert action.edit is not None
        assert editor.applied(action.edit) == {uri: helper.replace("'gpu0'", "'/GPU:0'")}

    edit(test, tmp_path)
