"""Handlers of the protocol's requests and notifications."""

from __future__ import annotations

import os

from lsprotocol import types
from pygls.capabilities import get_capability

from gpulint.server.actions import EXPLAIN, KINDS
from gpulint.server.application import Server
from gpulint.server.opened import take_over
from gpulint.settings import FILE_NAMES, SettingsFinder

SECTION = "gpulint"
"""Section of an editor's settings for gpulint."""


def server(finder: SettingsFinder, installed: bool = True) -> Server:
    """A server with all handlers; `gpulint.server.serving` runs it.

    `finder` has the settings of the command line; `installed` says whether installed rule packs are used.
    """
    made = Server(finder, installed)
    _lifetime(made)
    _documents(made)
    _notebooks(made)
    _workspace(made)
    _requests(made)
    return made


def _lifetime(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.start(params)
        if server.pulls:
            options = types.DiagnosticOptions(True, True, identifier=SECTION)

            @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
            async def pulled(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
                return await server.pulled(params)

            @server.feature(types.WORKSPACE_DIAGNOSTIC)
            async def pulled_all(params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
                return await server.pulled_all(params)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        server.saved()
        registrations = []
        if _can_register(server, "workspace.did_change_watched_files"):
            patterns = [*(f"**/{name}" for name in FILE_NAMES), "**/*.py", "**/*.ipynb"]
            watched = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(one) for one in patterns])
            registrations.append(_registration(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, watched))
        if _can_register(server, "workspace.did_change_configuration"):
            changes = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
            registrations.append(_registration(types.WORKSPACE_DID_CHANGE_CONFIGURATION, changes))
        if registrations:
            await server.client_register_capability_async(types.RegistrationParams(registrations))

    @server.feature(types.SHUTDOWN)
    async def shutdown(params: None) -> None:
        await server.stop()


def _can_register(server: Server, capability: str) -> bool:
    return bool(get_capability(server.client_capabilities, f"{capability}.dynamic_registration", False))


def _registration(method: str, options: object) -> types.Registration:
    return types.Registration(f"gpulint:{method}", method, options)


def _documents(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        take_over(server.workspace)
        server.saved()

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.changed()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        if os.path.basename(server.path(params.text_document.uri)) in FILE_NAMES:
            server.reread()
        else:
            server.saved()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.closed(params.text_document.uri)


def _notebooks(server: Server) -> None:
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        take_over(server.workspace)
        server.saved()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        take_over(server.workspace)
        cells = params.change.cells
        if cells is None or not (cells.structure or cells.text_content):
            return  # the cell was run, or its outputs were cleared
        for one in (cells.structure and cells.structure.did_close) or ():
            server.clear(one.uri)
        server.changed()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveNotebookDocumentParams) -> None:
        server.saved()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        server.closed(*(one.uri for one in params.cell_text_documents), are_cells=True)


def _workspace(server: Server) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        if not given and get_capability(server.client_capabilities, "workspace.configuration", False):
            items = [types.ConfigurationItem(section=SECTION)]
            (given,) = await server.workspace_configuration_async(types.ConfigurationParams(items)) or [None]
        server.configure(given)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        names = {os.path.basename(server.path(event.uri)) for event in params.changes}
        if names.intersection(FILE_NAMES):
            server.reread()
        else:
            server.files_changed(any(one.type != types.FileChangeType.Changed for one in params.changes))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.reread()


def _requests(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        return await server.hovered(params)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> list[types.InlayHint]:
        return await server.hinted(params)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(KINDS, resolve_provider=True))
    async def acted(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.acted(params)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        return await server.resolved(action)

    @server.command(EXPLAIN)
    async def explained(code: str) -> None:
        await server.explained(code)
