"""An editor for tests: pygls' own client, connected to the standard input and output of `gpulint server`."""

from __future__ import annotations

import ast
import asyncio
import logging
import socket
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, NamedTuple

from lsprotocol import types
from pygls.io_ import run_async
from pygls.lsp.client import LanguageClient

from gpulint.server.positions import Ruler
from tests import warm

PATIENCE = 120
"""Seconds after which a missing answer is a failure."""


class _Client(LanguageClient):
    """A client that can be connected to a server over a socket."""

    async def connect(self, connection: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=connection)
        self.protocol.set_writer(writer)
        talk = run_async(self._stop_event, reader, self.protocol, logging.getLogger(__name__), self.report_server_error)
        self._async_tasks.append(asyncio.create_task(talk))


class Editor:
    """A client with open documents and the server's messages."""

    def __init__(self) -> None:
        self.client = _Client("editor", "1")
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.registered: list[str] = []
        self.shown: list[str] = []
        self.logged: list[str] = []
        self.questions: list[types.ShowMessageRequestParams] = []
        self.answers: asyncio.Queue[str] = asyncio.Queue()
        self.refreshes = 0
        self.configuration: Any = None
        self._cells = 0
        self.capabilities: types.ServerCapabilities | None = None
        self._news = asyncio.Event()
        self._listen()

    def _listen(self) -> None:
        client = self.client

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self._news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        async def question(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
            self.questions.append(params)
            self._news.set()
            return types.MessageActionItem(await self.answers.get())

        @client.feature(types.WINDOW_LOG_MESSAGE)
        def log(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)
            self._news.set()

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += [one.method for one in params.registrations]

        @client.feature(types.WORKSPACE_CONFIGURATION)
        def configured(params: types.ConfigurationParams) -> list[Any]:
            return [self.configuration for _ in params.items]

        @client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(params: None) -> None:
            self.refreshes += 1
            self._news.set()

        @client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.append(params.uri)
            return types.ShowDocumentResult(True)

    # ------------------------------------------------------------------------ documents

    def open(self, path: Path | str, text: str | None = None) -> str:
        """Open a file, perhaps with a text that differs from the disk; return its URI."""
        uri = path.as_uri() if isinstance(path, Path) else path
        self.texts[uri] = path.read_text("utf-8") if text is None and isinstance(path, Path) else text or ""
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, "python", 1, self.texts[uri])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, text: str) -> int:
        """Change a document's text; return its new version."""
        self.texts[uri] = text
        self.versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return self.versions[uri]

    def save(self, uri: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    # ------------------------------------------------------------------------ notebooks

    def open_notebook(self, uri: str, *cells: str) -> list[str]:
        """Open a notebook with cells of these texts; return their URIs. A text that begins with `md:` is a Markdown
        cell."""
        made = [self._cell(uri, text) for text in cells]
        self.client.notebook_document_did_open(
            types.DidOpenNotebookDocumentParams(
                types.NotebookDocument(uri, "jupyter-notebook", 1, [cell for cell, _ in made]),
                [item for _, item in made],
            )
        )
        return [item.uri for _, item in made]

    def _cell(self, notebook: str, text: str) -> tuple[types.NotebookCell, types.TextDocumentItem]:
        self._cells += 1
        uri = f"{notebook.replace('file:', 'vscode-notebook-cell:')}#W{self._cells}sZmlsZQ%3D%3D"
        is_code = not text.startswith("md:")
        self.texts[uri], self.versions[uri] = text.removeprefix("md:"), 1
        kind = types.NotebookCellKind.Code if is_code else types.NotebookCellKind.Markup
        item = types.TextDocumentItem(uri, "python" if is_code else "markdown", 1, self.texts[uri])
        return types.NotebookCell(kind, uri), item

    def type_in_cell(self, notebook: str, uri: str, old: str, new: str) -> int:
        """Replace some words of a cell by an incremental change; return the cell's new version."""
        change = types.TextDocumentContentChangePartial(
            types.Range(self.place(uri, old), self.place(uri, old, len(old))), new
        )
        self.texts[uri] = self.texts[uri].replace(old, new, 1)
        self.versions[uri] += 1
        identifier = types.VersionedTextDocumentIdentifier(version=self.versions[uri], uri=uri)
        content = types.NotebookDocumentCellContentChanges(identifier, [change])
        self._change_notebook(notebook, types.NotebookDocumentCellChanges(text_content=[content]))
        return self.versions[uri]

    def insert_cell(self, notebook: str, index: int, text: str) -> str:
        """Insert a cell at an index; return its URI."""
        cell, item = self._cell(notebook, text)
        change = types.NotebookCellArrayChange(index, 0, [cell])
        structure = types.NotebookDocumentCellChangeStructure(change, did_open=[item])
        self._change_notebook(notebook, types.NotebookDocumentCellChanges(structure=structure))
        return item.uri

    def remove_cell(self, notebook: str, index: int, uri: str) -> None:
        change = types.NotebookCellArrayChange(index, 1)
        structure = types.NotebookDocumentCellChangeStructure(change, did_close=[types.TextDocumentIdentifier(uri)])
        self._change_notebook(notebook, types.NotebookDocumentCellChanges(structure=structure))

    def run_cell(self, notebook: str, uri: str) -> None:
        """Notify the server that a cell was run."""
        cell = types.NotebookCell(types.NotebookCellKind.Code, uri, execution_summary=types.ExecutionSummary(1, True))
        self._change_notebook(notebook, types.NotebookDocumentCellChanges(data=[cell]))

    def _change_notebook(self, notebook: str, cells: types.NotebookDocumentCellChanges) -> None:
        self.versions[notebook] = self.versions.get(notebook, 1) + 1
        identifier = types.VersionedNotebookDocumentIdentifier(self.versions[notebook], notebook)
        event = types.NotebookDocumentChangeEvent(cells=cells)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(identifier, event))

    def close_notebook(self, notebook: str, cells: list[str]) -> None:
        self.client.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(notebook), [types.TextDocumentIdentifier(one) for one in cells]
            )
        )

    # ---------------------------------------------------------------------------- edits

    def applied(self, edit: types.WorkspaceEdit) -> dict[str, str]:
        """The texts of the documents that an edit changes, after the edit."""
        changes = dict(edit.changes or {})
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            assert change.text_document.version == self.versions[change.text_document.uri]
            changes[change.text_document.uri] = list(change.edits)  # type: ignore[arg-type]
        texts = {}
        for uri, edits in changes.items():
            text = self.texts[uri]
            ruler = Ruler(text, self.codec)
            starts = [0]
            for line in ruler.lines[:-1]:
                end = starts[-1] + len(line)
                starts.append(end + (2 if text[end : end + 2] == "\r\n" else 1))
            for one in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character))[::-1]:
                (row, column), (end_row, end_column) = ruler.place(one.range.start), ruler.place(one.range.end)
                start, end = starts[row - 1] + column - 1, starts[end_row - 1] + end_column - 1
                text = text[:start] + one.new_text + text[end:]
            texts[uri] = text
        return texts

    @property
    def codec(self) -> Any:
        from pygls.workspace import PositionCodec

        assert self.capabilities is not None
        return PositionCodec(self.capabilities.position_encoding)

    # -------------------------------------------------------------------------- waiting

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds after a message from the server."""
        while not holds():
            self._news.clear()
            await self._news.wait()

    async def diagnostics(self, uri: str, version: int | None = None) -> list[types.Diagnostic]:
        """The diagnostics that the server publishes for a version of a document, by default the current one."""
        wanted = self.versions[uri] if version is None else version
        await self.until(lambda: uri in self.published and self.published[uri].version == wanted)
        return list(self.published[uri].diagnostics)

    async def until_codes(self, uri: str, *codes: str) -> list[types.Diagnostic]:
        """Wait until the codes of a document's diagnostics are these."""
        await self.until(
            lambda: uri in self.published and [one.code for one in self.published[uri].diagnostics] == list(codes)
        )
        return list(self.published[uri].diagnostics)

    # -------------------------------------------------------------------------- requests

    def place(self, uri: str, words: str, within: int = 0) -> types.Position:
        """The position `within` characters after the first occurrence of some words in a document."""
        text = self.texts[uri]
        at = text.index(words) + within
        row = text.count("\n", 0, at) + 1
        return Ruler(text, self.codec).position(row, at - text.rfind("\n", 0, at))

    async def hover(self, uri: str, words: str, within: int = 0) -> str | None:
        """The text shown at some words."""
        found = await self.client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), self.place(uri, words, within))
        )
        return found.contents.value if found is not None else None  # type: ignore[union-attr]

    async def actions(self, uri: str, words: str, only: list[str] | None = None) -> list[types.CodeAction]:
        """The actions offered at some words, of all kinds or only of some."""
        start, end = self.place(uri, words), self.place(uri, words, len(words))
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri), types.Range(start, end), types.CodeActionContext([], only)
            )
        )
        return [one if isinstance(one, types.CodeAction) else _with_command(one) for one in found or ()]

    async def hints(self, uri: str) -> list[tuple[int, str]]:
        """(line, text) of all hints of a document; lines from 1."""
        whole = types.Range(types.Position(0, 0), types.Position(self.texts[uri].count("\n") + 1, 0))
        found = await self.client.text_document_inlay_hint_async(
            types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
        )
        return [(one.position.line + 1, str(one.label).strip()) for one in found or ()]


def _with_command(misread: types.Command) -> types.CodeAction:
    """An action with a command, which lsprotocol's converter takes for a command with a dict for its name."""
    command = ast.literal_eval(misread.command)
    named = types.Command(command["title"], command["command"], arguments=command["arguments"])
    return types.CodeAction(misread.title, command=named)


def capabilities(**changes: Any) -> types.ClientCapabilities:
    """The capabilities of an ordinary editor."""
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(**changes.pop("text_document", {})),
        workspace=types.WorkspaceClientCapabilities(**changes.pop("workspace", {})),
        **changes,
    )


class _Server(NamedTuple):
    """A running `gpulint server`."""

    wait: Callable[[], Coroutine[Any, Any, int]]
    """Wait for its end; its status."""
    kill: Callable[[], None]


async def _started(client: _Client, arguments: tuple[str, ...], is_fresh: bool) -> _Server:
    """Start a server for a client: a fork of a process that has imported it, or a new process."""
    command = [sys.executable, "-m", "gpulint", "server", *arguments]
    python = warm.gpulint()
    if is_fresh or isinstance(python, warm.Fresh):
        await client.start_io(*command)
        process = client._server
        assert process is not None
        return _Server(process.wait, process.kill)
    ours, theirs = socket.socketpair()
    with theirs:
        running = python.start(warm.Program(command, Path.cwd()), [theirs.fileno(), theirs.fileno(), 2])
    await client.connect(ours)
    return _Server(lambda: asyncio.to_thread(running.wait), running.kill)


def edit(
    test: Callable[[Editor], Coroutine[Any, Any, None]],
    *folders: Path,
    options: Any = None,
    client: types.ClientCapabilities | None = None,
    arguments: tuple[str, ...] = (),
    is_fresh: bool = False,
) -> None:
    """Run a test with an editor that has some folders open, and shut the server down as the protocol requires. With
    `is_fresh` the server is a new process, as where it matters what it imports."""

    async def session(editor: Editor) -> None:
        result = await editor.client.initialize_async(
            types.InitializeParams(
                capabilities=client or capabilities(),
                initialization_options=options,
                workspace_folders=[types.WorkspaceFolder(one.as_uri(), one.name) for one in folders],
            )
        )
        editor.capabilities = result.capabilities
        editor.client.initialized(types.InitializedParams())
        await asyncio.wait_for(test(editor), PATIENCE)
        await editor.client.shutdown_async(None)
        editor.client.exit(None)

    async def run() -> None:
        editor = Editor()
        server = await _started(editor.client, arguments, is_fresh)
        ended, talk = asyncio.create_task(server.wait()), asyncio.create_task(session(editor))
        try:
            await asyncio.wait({ended, talk}, timeout=2 * PATIENCE, return_when=asyncio.FIRST_COMPLETED)
            assert talk.done(), "the server ended or did not answer"
            await talk
            assert await asyncio.wait_for(asyncio.shield(ended), PATIENCE) == 0
        finally:
            talk.cancel()
            if not ended.done():
                server.kill()
                await ended
            await editor.client.stop()

    asyncio.run(run())
