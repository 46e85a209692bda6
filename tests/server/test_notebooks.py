"""Notebooks in the editor, by the protocol's notebook messages, with a real client."""

from __future__ import annotations

import json
from pathlib import Path

from lsprotocol import types

from tests.notebooks import notebook
from tests.server.editor import Editor, capabilities, edit
from tests.server.programs import MIRRORED, TRAIN, written

SETUP = "%load_ext autoreload\n!pip install tensorflow\nimport tensorflow as tf\n"
STRATEGY = 'strategy = tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])\n'
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
COMPILE = 'with strategy.scope():\n    model.compile(optimizer="adam", loss="mse")\n'
FIT = "%time model.fit(tf.data.Dataset.range(64).batch(32 * 2).prefetch(2))\n"

CLIENT = capabilities(
    notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
    workspace={"workspace_edit": types.WorkspaceEditClientCapabilities(document_changes=True)},
)


def codes(found: list[types.Diagnostic]) -> list[object]:
    return [one.code for one in found]


def test_the_cells_of_an_unsaved_notebook_are_one_program_and_each_has_its_findings(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()

    async def test(editor: Editor) -> None:
        setup, text, strategy, model, compiled = editor.open_notebook(
            uri, SETUP, "md:# Training\n", STRATEGY, MODEL, COMPILE
        )
        (found,) = await editor.diagnostics(model)
        assert found.code == "GPU201" and found.range == types.Range(types.Position(0, 8), types.Position(0, 55))
        for cell in (setup, text, strategy, compiled):
            assert await editor.diagnostics(cell) == []
        pointed = {one.location.uri for one in found.related_information or ()}
        assert pointed == {strategy, compiled}

        version = editor.type_in_cell(uri, strategy, 'tf.distribute.MirroredStrategy(["GPU:0", "GPU:1"])', "None")
        assert await editor.diagnostics(strategy, version) == []
        await editor.until_codes(model)

    edit(test, tmp_path, client=CLIENT)


def test_cells_come_go_and_are_run(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()

    async def test(editor: Editor) -> None:
        setup, model, compiled = editor.open_notebook(uri, SETUP, MODEL, COMPILE)
        assert await editor.diagnostics(model) == []
        strategy = editor.insert_cell(uri, 1, STRATEGY)
        await editor.until_codes(model, "GPU201")
        editor.run_cell(uri, strategy)
        pinned = editor.insert_cell(uri, 4, 'with tf.device("/gpu:0"):\n    x = tf.ones((2, 2))\n')
        await editor.until_codes(pinned, "GPU101")
        editor.remove_cell(uri, 4, pinned)
        await editor.until_codes(pinned)
        editor.close_notebook(uri, [setup, strategy, model, compiled])
        await editor.until_codes(model)

    edit(test, tmp_path, client=CLIENT)


def test_a_cell_that_is_not_python_is_reported_there_and_the_others_go_on(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        cells = editor.open_notebook("untitled:Untitled-1.ipynb", SETUP, "x = (\n", STRATEGY, MODEL, COMPILE)
        assert codes(await editor.diagnostics(cells[1])) == ["GPU001"]
        assert codes(await editor.diagnostics(cells[3])) == ["GPU201"]

    edit(test, tmp_path, client=CLIENT)


def test_hovers_and_hints_are_those_of_the_cell(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()
    scoped = f"with strategy.scope():\n    {MODEL}    model.compile(optimizer='adam', loss='mse')\n"

    async def test(editor: Editor) -> None:
        setup, _, model, fit = editor.open_notebook(uri, SETUP, STRATEGY, scoped, FIT)
        said = await editor.hover(model, "Dense")
        assert said is not None and "every replica of MirroredStrategy (2), created at cell 2, line 1" in said
        assert await editor.hints(model) == [(2, "on every replica of MirroredStrategy (2)")]
        assert await editor.hints(fit) == [(1, "32 per replica")]
        assert await editor.hints(setup) == []
        assert "global batch 64" in (await editor.hover(fit, ".batch", 2) or "")

    edit(test, tmp_path, client=CLIENT)


def test_a_file_that_a_cell_writes_has_hints_too(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()
    net = '%%writefile net.py\nimport tensorflow as tf\nwith tf.device("/gpu:1"):\n    x = tf.ones((2, 2))\n'

    async def test(editor: Editor) -> None:
        _, cell = editor.open_notebook(uri, SETUP, net)
        (found,) = await editor.diagnostics(cell)
        assert (found.code, found.range.start.line) == ("GPU101", 2)
        assert await editor.hints(cell) == [(3, "on /GPU:1")]

    edit(test, tmp_path, client=CLIENT)


def test_a_fix_changes_the_cells_that_it_is_about(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()

    async def test(editor: Editor) -> None:
        _, _, model, _ = editor.open_notebook(uri, SETUP, STRATEGY, MODEL, COMPILE)
        await editor.diagnostics(model)
        fixing, ignoring, explaining = await editor.actions(model, "Sequential")
        assert fixing.title.endswith("(unsafe) (GPU201)") and fixing.edit is not None
        assert editor.applied(fixing.edit) == {model: f"with strategy.scope():\n    {MODEL}"}
        assert ignoring.edit is not None
        after = editor.applied(ignoring.edit)
        assert after == {model: MODEL.replace("\n", "  # gpulint: ignore[GPU201]\n")}
        assert explaining.command is not None

    edit(test, tmp_path, client=CLIENT)


def test_a_comment_that_ignores_can_be_written_among_magics(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()
    timed = "%%time\n%matplotlib inline\nwith tf.device('/gpu:0'):\n    x = tf.ones(2)\n!nvidia-smi\n"

    async def test(editor: Editor) -> None:
        _, cell = editor.open_notebook(uri, SETUP, timed)
        await editor.diagnostics(cell)
        ignoring = next(one for one in await editor.actions(cell, "tf.device") if one.title.startswith("Ignore"))
        assert ignoring.edit is not None
        after = editor.applied(ignoring.edit)[cell]
        assert after == timed.replace("'):\n", "'):  # gpulint: ignore[GPU101]\n")

    edit(test, tmp_path, client=CLIENT)


def test_all_safe_fixes_of_a_notebook_are_one_action(tmp_path: Path) -> None:
    uri = (tmp_path / "train.ipynb").as_uri()
    environment = 'import os\nos.environ["TF_GPU_THREAD_COUNT"] = 2\n'
    pinned = 'with tf.device("/gpu:0"):\n    x = tf.ones((2, 2))\n'

    async def test(editor: Editor) -> None:
        first, setup, second = editor.open_notebook(uri, environment, SETUP, pinned)
        assert codes(await editor.diagnostics(first)) == ["GPU304"]
        assert codes(await editor.diagnostics(second)) == ["GPU101"]
        for kind in ("notebook.source.fixAll", "source.fixAll.gpulint"):
            (action,) = await editor.actions(setup, "import", only=[kind])
            assert action.edit is not None and (action.kind or "").startswith(kind)
            assert editor.applied(action.edit) == {first: environment.replace("= 2", '= "2"')}

    edit(test, tmp_path, client=CLIENT)


def test_a_notebook_imports_what_is_open_beside_it(tmp_path: Path) -> None:
    written(tmp_path, {"helper.py": "def make_strategy():\n    return None\n"})
    uri = (tmp_path / "train.ipynb").as_uri()

    async def test(editor: Editor) -> None:
        (cell,) = editor.open_notebook(uri, TRAIN)
        assert await editor.diagnostics(cell) == []
        editor.open(tmp_path / "helper.py", MIRRORED)
        await editor.until_codes(cell, "GPU201")

    edit(test, tmp_path, client=CLIENT)


def test_what_a_helper_comes_to_is_decided_by_a_notebook_on_disk_that_imports_it(tmp_path: Path) -> None:
    helper = "import tensorflow as tf\n\n\ndef pinned():\n    with tf.device('/gpu:0'):\n        return tf.ones(2)\n"
    written(tmp_path, {"helper.py": helper, "train.ipynb": notebook(SETUP, "from helper import pinned\npinned()\n")})

    async def test(editor: Editor) -> None:
        helper = editor.open(tmp_path / "helper.py")
        assert codes(await editor.diagnostics(helper)) == ["GPU101"]

    edit(test, tmp_path, client=CLIENT)


def test_a_notebook_that_is_not_open_has_its_findings_at_the_rows_of_its_file(tmp_path: Path) -> None:
    written(tmp_path, {"train.ipynb": notebook(SETUP + STRATEGY, MODEL + COMPILE)})
    uri = (tmp_path / "train.ipynb").as_uri()
    rows = (tmp_path / "train.ipynb").read_text("utf-8").split("\n")

    async def test(editor: Editor) -> None:
        (found,) = await editor.until_codes(uri, "GPU201")
        assert "model = tf.keras.Sequential" in rows[found.range.start.line]
        document = json.loads("\n".join(rows))
        cells = editor.open_notebook(uri, *("".join(one["source"]) for one in document["cells"]))
        await editor.until_codes(cells[1], "GPU201")
        await editor.until_codes(uri)

    edit(test, tmp_path, client=CLIENT, options={"diagnosticMode": "workspace"})


def test_a_client_that_asks_for_diagnostics_is_answered_cell_by_cell(tmp_path: Path) -> None:
    asking = capabilities(
        notebook_document=CLIENT.notebook_document,
        text_document={"diagnostic": types.DiagnosticClientCapabilities()},
        workspace={"diagnostics": types.DiagnosticWorkspaceClientCapabilities(refresh_support=True)},
    )

    async def test(editor: Editor) -> None:
        cells = editor.open_notebook((tmp_path / "a.ipynb").as_uri(), SETUP + STRATEGY, MODEL, COMPILE)
        answered = []
        for cell in cells:
            report = await editor.client.text_document_diagnostic_async(
                types.DocumentDiagnosticParams(types.TextDocumentIdentifier(cell))
            )
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            answered.append(codes(list(report.items)))
        assert answered == [[], ["GPU201"], []]

    edit(test, tmp_path, client=asking)


def test_a_notebook_that_comes_as_one_python_document_is_a_program(tmp_path: Path) -> None:
    """JupyterLab's language server extension sends notebooks this way, under the notebook's own name."""

    async def test(editor: Editor) -> None:
        uri = editor.open((tmp_path / "a.ipynb").as_uri(), SETUP + STRATEGY + MODEL + COMPILE)
        assert codes(await editor.diagnostics(uri)) == ["GPU201"]
        assert await editor.hover(uri, "Sequential") is not None

    edit(test, tmp_path)


def test_cells_in_another_language_are_left_alone(tmp_path: Path) -> None:
    async def test(editor: Editor) -> None:
        cells = editor.open_notebook(
            (tmp_path / "a.ipynb").as_uri(), "%%bash\nnvidia-smi\n", "md:import tensorflow (\n"
        )
        for cell in cells:
            assert await editor.diagnostics(cell) == []

    edit(test, tmp_path, client=CLIENT)
