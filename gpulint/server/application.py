"""The language server: answers to the protocol's requests."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from gpulint._version import __version__
from gpulint.linting.finding import Finding
from gpulint.linting.selection import Catalogue
from gpulint.output.escapes import printable
from gpulint.output.rule_page import page
from gpulint.rewriting.fix import is_wanted
from gpulint.server import actions, hover
from gpulint.server.analyst import Scope
from gpulint.server.buffers import Place, Snapshot, file_of, path_of
from gpulint.server.carrying import Rows
from gpulint.server.extents import overlaps
from gpulint.server.folders import Folders
from gpulint.server.opened import NOTEBOOKS, buffers
from gpulint.server.options import WORKSPACE, BadOption, Options, read_options
from gpulint.server.positions import Ruler
from gpulint.server.predictions import Answer
from gpulint.server.session import Predicted, Session, SnapshotResult
from gpulint.server.views import Published, Told, View
from gpulint.settings import SettingsError, SettingsFinder
from gpulint.settings.trust import CannotTrust, Withheld, remember

logger = logging.getLogger(__name__)

TRUST, NOT_NOW = "Trust this folder", "Not now"
"""Answers to the question whether a folder's own rules are loaded."""


class Server(LanguageServer):
    """The language server.

    `finder` has the settings of the command line; `installed` says whether installed rule packs are used.
    """

    def __init__(self, finder: SettingsFinder, installed: bool = True) -> None:
        super().__init__("gpulint", __version__, notebook_document_sync=NOTEBOOKS)
        self._finder = finder
        self._installed = installed
        self._options = Options()
        self._folders = Folders(finder, installed, (), self._options)
        self._session: Session | None = None
        self._view: View | None = None
        self._published = Published()
        self._problems: tuple[str, ...] = ()
        self._faults: tuple[tuple[str, str], ...] = ()
        self._notes: set[str] = set()
        self._asked: set[str] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self.pulls = False
        """Whether the client pulls diagnostics: then none are published."""
        self._pages: tempfile.TemporaryDirectory[str] | None = None
        self._stopping: asyncio.Task[None] | None = None

    # --------------------------------------------------------------------------- its state

    @property
    def session(self) -> Session:
        assert self._session is not None, "the protocol begins with `initialize`"
        return self._session

    def start(self, params: types.InitializeParams) -> None:
        """Start a session with the client's options."""
        self._configure(params.initialization_options)
        refreshes = get_capability(params.capabilities, "workspace.diagnostics.refresh_support", False)
        self.pulls = params.capabilities.text_document is not None and bool(
            params.capabilities.text_document.diagnostic and refreshes
        )
        self._folders = self._read_folders()
        self._session = Session(self._folders, self.snapshot, self.publish, self._refresh_hints)

    def configure(self, given: object) -> None:
        """Apply the editor's options, and read all settings again."""
        self._configure(given)
        self.reread()

    def reread(self) -> None:
        """Read all settings again: files or folders changed."""
        self._folders = self._read_folders()
        self.session.configure(self._folders)
        self.saved()
        self._refresh_hints()

    def changed(self) -> None:
        """Check again: the user typed."""
        self.session.changed(Scope.OPEN, self._delay, typed=True)

    def saved(self) -> None:
        """Check again: a document was opened or saved."""
        self.session.changed(self._widest)

    def files_changed(self, came_or_went: bool) -> None:
        """Check again: files that are not open changed on disk."""
        if came_or_went:
            self.session.list_again()
        self.session.changed(self._widest, self._delay)

    @property
    def _widest(self) -> Scope:
        return Scope.WORKSPACE if self._options.diagnostic_mode == WORKSPACE else Scope.IMPORTERS

    @property
    def _delay(self) -> float:
        """Seconds to wait for the next change."""
        return self._options.debounce / 1000

    def _refresh_hints(self) -> None:
        """Ask the client to request hints again: they depend on more than their document."""
        if self._can_refresh_hints:
            self.workspace_inlay_hint_refresh(None)

    @property
    def _can_refresh_hints(self) -> bool:
        return bool(get_capability(self.client_capabilities, "workspace.inlay_hint.refresh_support", False))

    async def stop(self) -> None:
        """End the session, once."""
        self._stopping = self._stopping or asyncio.get_running_loop().create_task(self._stop())
        await self._stopping

    async def _stop(self) -> None:
        if self._session is not None:
            await self._session.close()
        for question in self._questions:
            question.cancel()
        if self._pages is not None:
            self._pages.cleanup()

    def _configure(self, given: object) -> None:
        try:
            self._options = read_options(given, self._options)
        except BadOption as error:
            self._say(str(error))

    def _read_folders(self) -> Folders:
        workspace = self.workspace
        uris = list(workspace.folders) or ([workspace.root_uri] if workspace.root_uri else [])
        roots = [path for uri in uris if (path := file_of(uri))]
        return Folders(self._finder, self._installed, roots, self._options)

    def _say(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        self.window_show_message(types.ShowMessageParams(kind, f"gpulint: {_plain(message)}"))

    def snapshot(self, number: int) -> Snapshot:
        """The open Python files and notebooks as they are now."""
        return Snapshot(number, {one.path: one for one in buffers(self.workspace, self._directory)})

    def path(self, uri: str) -> str:
        """The path of a document."""
        return path_of(uri, self._directory)

    @property
    def _directory(self) -> str:
        """Directory assumed for unsaved documents."""
        return next(iter(self._folders.roots), tempfile.gettempdir())

    # --------------------------------------------------------------------------- reports

    def _view_of(self, report: SnapshotResult) -> View:
        if self._view is None or self._view.report is not report:
            self._view = View(report, self._folders, self.workspace.position_codec)
        return self._view

    async def view(self, uri: str) -> View:
        """The result once it has the present text of a document."""
        return self._view_of(await self.session.checked(self._present_path(uri)))

    def publish(self, report: SnapshotResult) -> None:
        """Send the changes of a result to the client."""
        view = self._view_of(report)
        for problem in report.problems:
            if problem not in self._problems:
                self._say(problem)
        self._problems = report.problems
        for message, trace in report.faults:
            if (message, trace) not in self._faults:
                logger.error("%s\n%s", message, trace)
        self._faults = report.faults
        news = self._published.news(list(view.told()), lambda uri: self._is_gone(uri, report), self.pulls)
        if not self.pulls:
            for one in news:
                self._tell(one)
        elif news:
            self.workspace_diagnostic_refresh(None)
        self._look_into_folders(report)

    def _look_into_folders(self, report: SnapshotResult) -> None:
        """Log which settings of the folders are ignored, and ask for trust if one has rules that are not loaded."""
        for path in (*report.findings, *report.snapshot.buffers):
            with suppress(SettingsError):  # the report says it
                self._folders.at(self._folders.root_of(path))
        for folder in self._folders.known:
            for note in folder.finder.notes:
                if note not in self._notes:
                    self._notes.add(note)
                    said = types.LogMessageParams(types.MessageType.Warning, f"gpulint: {_plain(note)}")
                    self.window_log_message(said)
            withheld = folder.withheld
            if withheld is not None and (subject := withheld.remedy or withheld.folder) not in self._asked:
                self._asked.add(subject)
                question = asyncio.get_running_loop().create_task(self._ask(withheld))
                self._questions.add(question)
                question.add_done_callback(self._questions.discard)

    async def _ask(self, withheld: Withheld) -> None:
        """Ask whether to trust a configuration's folder; report if that does not suffice or is impossible."""
        answer: types.MessageActionItem | None = None
        can_ask = get_capability(self.client_capabilities, "window.show_message", None) is not None
        if withheld.remedy and can_ask:
            actions = [types.MessageActionItem(TRUST), types.MessageActionItem(NOT_NOW)]
            params = types.ShowMessageRequestParams(types.MessageType.Warning, _question(withheld), actions)
            try:
                answer = await self.window_show_message_request_async(params)
            except JsonRpcException:
                can_ask = False
        if not (withheld.remedy and can_ask):
            self._say(str(withheld), types.MessageType.Warning)
        elif answer is not None and answer.title == TRUST:
            try:
                remember(withheld.remedy)
            except CannotTrust as error:
                self._say(f"{error}; {withheld.remedy} is trusted in this session only")
            self._finder = self._finder.trusting(withheld.remedy)
            self.reread()

    def _is_gone(self, uri: str, report: SnapshotResult) -> bool:
        """Whether a document has no diagnostics of its own any more: it was deleted, or its cells have them."""
        if unquote(uri) in report.snapshot.places:
            return False  # it is going to be checked
        path = self.path(uri)
        return path in report.snapshot.buffers or not os.path.exists(path)

    def _tell(self, one: Told) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(one.uri, one.diagnostics, one.version))

    def closed(self, *uris: str, are_cells: bool = False) -> None:
        """Documents were closed: clear their diagnostics unless the whole workspace is checked, and check again."""
        if are_cells or self._options.diagnostic_mode != WORKSPACE:
            for uri in uris:
                self.clear(uri)
        self.session.changed(Scope.OPEN)

    def clear(self, uri: str) -> None:
        """Show no diagnostics of a document."""
        if not self.pulls:
            self._published.forget(uri)
            self._tell(Told(uri, None, []))

    # --------------------------------------------------------------------------- answers

    async def pulled(self, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        """`textDocument/diagnostic`."""
        uri = params.text_document.uri
        view = await self.view(uri)
        diagnostics = view.diagnostics(*self._place(view.snapshot, uri))
        new = self._published.keep(uri, None, diagnostics)
        if params.previous_result_id == new:
            return types.RelatedUnchangedDocumentDiagnosticReport(new)
        return types.RelatedFullDocumentDiagnosticReport(diagnostics, result_id=new)

    async def pulled_all(self, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """`workspace/diagnostic`: the findings of all files."""
        view = self._view_of(await self.session.settled())
        before = {one.uri: one.value for one in params.previous_result_ids}
        items: list[types.WorkspaceDocumentDiagnosticReport] = []
        for uri, version, diagnostics in view.told():
            new = self._published.keep(uri, version, diagnostics)
            if before.get(uri) == new:
                items.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, new, version))
            else:
                items.append(types.WorkspaceFullDocumentDiagnosticReport(uri, diagnostics, version, result_id=new))
        return types.WorkspaceDiagnosticReport(items)

    async def hovered(self, params: types.HoverParams) -> types.Hover | None:
        """`textDocument/hover`, from the last results: it does not wait for a check, except for a file's first."""
        uri = params.text_document.uri
        path = self._present_path(uri)
        view = self._view
        if view is None or path not in view.report.findings:
            view = await self.view(uri)
        predicted = await self._predictions(path) if self._options.hover_devices else None
        present = self.session.present
        ruler = Ruler(present.text(*self._place(present, uri)), self.workspace.position_codec)
        row, column = ruler.place(params.position)
        _, cell = self._place(view.snapshot, uri)
        found: list[Finding] = []
        rows = self._rows(view.snapshot, uri)
        if (then := rows.back(row)) is not None:
            here = [one for one in view.findings(path, cell) if overlaps(one.span, (then, column), (then, column))]
            found = [replace(one, span=span) for one in here if (span := rows.forth(one.span)) is not None]
        answer: Answer | None = None
        if predicted is not None and predicted.predictions is not None:
            rows = self._rows(predicted.snapshot, uri)
            _, cell = self._place(predicted.snapshot, uri)
            if (then := rows.back(row)) is not None and (told := predicted.predictions.at(cell, then, column)):
                span = rows.forth(told.span)
                answer = replace(told, span=span) if span is not None else None
        return hover.hover(found, answer, self._catalogue(path), ruler)

    async def acted(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """`textDocument/codeAction`."""
        view = await self.view(params.text_document.uri)
        path, cell = self._place(view.snapshot, params.text_document.uri)
        if path not in view.snapshot.buffers:
            return []
        offered: list[types.CodeAction] = []
        only = params.context.only
        if actions.is_asked(types.CodeActionKind.QuickFix, only):
            ruler = view.ruler(path, cell)
            first, last = ruler.place(params.range.start), ruler.place(params.range.end)
            found = [one for one in view.findings(path, cell) if overlaps(one.span, first, last)]
            offered += actions.actions(found, self._editing(view))
        kinds = (actions.FIX_ALL,) if cell is None else (actions.FIX_ALL, actions.NOTEBOOK_FIX_ALL)
        kind = next((one for one in kinds if actions.is_asked(one, only)), None)
        if kind is not None and any(is_wanted(one.fix, unsafe=False) for one in view.findings(path)):
            action = types.CodeAction(actions.FIX_ALL_TITLE, kind, data={"uri": params.text_document.uri})
            resolved = get_capability(self.client_capabilities, "text_document.code_action.resolve_support", None)
            if resolved is not None and "edit" in resolved.properties:
                offered.append(action)
            elif only:  # not computed each time the cursor moves
                offered.append(await self.resolved(action))
        return offered

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """`codeAction/resolve`: the action that fixes everything, with its edit."""
        uri = action.data.get("uri", "") if isinstance(action.data, Mapping) else ""
        view = await self.view(uri)
        path, _ = self._place(view.snapshot, uri)
        texts: Mapping[int | None, str] = {}
        if path in view.snapshot.buffers:
            with suppress(SettingsError):  # the report says it
                texts = await self.session.fixed(path)
        action.edit = actions.all_fixed(path, texts, self._editing(view))
        return action

    def _editing(self, view: View) -> actions.Editing:
        takes_versions = get_capability(self.client_capabilities, "workspace.workspace_edit.document_changes", False)
        return actions.Editing(view, bool(takes_versions))

    def _place(self, snapshot: Snapshot, uri: str) -> Place:
        """The file or cell of a URI in a state of the editor."""
        return snapshot.places.get(unquote(uri)) or Place(self.path(uri), None)

    def _present_path(self, uri: str) -> str:
        return self._place(self.session.present, uri).path

    def _rows(self, before: Snapshot, uri: str) -> Rows:
        """The rows of a document then and now."""
        present = self.session.present
        return Rows(before.text(*self._place(before, uri)), present.text(*self._place(present, uri)))

    async def hinted(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """`textDocument/inlayHint`."""
        options = self._options
        kinds = {"device": options.hint_devices, "batch": options.hint_batches}
        if not any(kinds.values()):
            return []
        uri = params.text_document.uri
        predicted = await self._predictions(self._present_path(uri), latest=not self._can_refresh_hints)
        if predicted is None or predicted.predictions is None:
            return []
        _, cell = self._place(predicted.snapshot, uri)
        present = self.session.present
        ruler = Ruler(present.text(*self._place(present, uri)), self.workspace.position_codec)
        first, last = ruler.place(params.range.start), ruler.place(params.range.end)
        rows = self._rows(predicted.snapshot, uri)
        hints = [one for one in predicted.predictions.hints(cell) if kinds[one.kind]]
        moved = [replace(one, span=span) for one in hints if (span := rows.forth(one.span)) is not None]
        return [hover.inlay(one, ruler) for one in moved if overlaps(one.span, first, last)]

    def _catalogue(self, path: str) -> Catalogue:
        """The rules for a file, none if its settings cannot be read, which is reported elsewhere."""
        try:
            return self._folders.at(self._folders.root_of(path)).catalogue
        except SettingsError:
            return Catalogue(())

    async def _predictions(self, path: str, latest: bool = False) -> Predicted | None:
        """The predictions for a file, those of its present text with `latest`."""
        try:
            return await (self.session.latest_predictions(path) if latest else self.session.predictions(path))
        except SettingsError:  # the report says it
            return None

    async def explained(self, code: str) -> None:
        """Show the page of a rule."""
        catalogues = (self._catalogue(path) for path in (*self.session.present.buffers, ""))
        rule = next((found for one in catalogues if (found := one.rule(code)) is not None), None)
        if rule is None:
            self._say(f"there is no rule `{code}`")
        elif get_capability(self.client_capabilities, "window.show_document.support", False):
            self._pages = self._pages or tempfile.TemporaryDirectory(prefix="gpulint-")
            file = Path(self._pages.name, f"{rule.code}.md")
            file.write_text(page(rule), encoding="utf-8")
            await self.window_show_document_async(types.ShowDocumentParams(file.as_uri(), take_focus=True))
        else:
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, page(rule)))


def _question(withheld: Withheld) -> str:
    named = ", ".join(path[:80] for path in withheld.paths[:3]) + (", …" if len(withheld.paths) > 3 else "")
    source = os.path.basename(withheld.source)
    return _plain(f"{source} in {withheld.remedy} names rules of its own in {named}. Loading them runs their code.")


def _plain(text: str) -> str:
    """Message text without control characters and links, which some editors run as commands."""
    return printable(text).replace("](", "] (")
