"""The files that a client has open, on top of pygls."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument, Workspace

from gpulint.server.buffers import PYTHON_SUFFIXES, Buffer, Document, path_of
from gpulint.server.positions import Ruler
from gpulint.sources.notebook import SUFFIX

NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("*")], save=True)
"""Selects the cells of all notebooks, Markdown cells included, as they count in cell numbers."""


class Text(TextDocument):
    """A document of pygls that applies incremental changes at the right place.

    pygls' own treats form feeds as line ends, and mishandles a column behind the end of a line.
    """

    def __init__(self, document: TextDocument, codec: PositionCodec) -> None:
        super().__init__(document.uri, document.source, document.version, document.language_id)
        self._codec = codec

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Apply a change of the client."""
        text = change.text
        if isinstance(change, types.TextDocumentContentChangePartial):
            ruler = Ruler(self.source, self._codec)
            start, end = ruler.offset(change.range.start), ruler.offset(change.range.end)
            text = f"{self.source[:start]}{text}{self.source[end:]}"
        super().apply_change(types.TextDocumentContentChangeWholeDocument(text))


def take_over(workspace: Workspace) -> None:
    """Register documents that pygls opened."""
    documents = workspace.text_documents
    for uri, one in documents.items():
        if not isinstance(one, Text):
            documents[uri] = Text(one, workspace.position_codec)


def buffers(workspace: Workspace, directory: str) -> Iterator[Buffer]:
    """The open notebooks and Python files; unsaved ones are placed in `directory`."""
    cells = {unquote(cell.document) for one in workspace.notebook_documents.values() for cell in one.cells}
    for notebook in workspace.notebook_documents.values():
        documents = tuple(_cell(workspace, cell) for cell in notebook.cells)
        if any(one.is_code for one in documents):
            path = path_of(notebook.uri, directory, (SUFFIX,))
            yield Buffer(notebook.uri, path, documents, is_notebook=True)
    for uri, document in workspace.text_documents.items():
        is_python = document.language_id == "python" or uri.endswith(PYTHON_SUFFIXES)
        if is_python and uri not in cells:
            path = path_of(document.uri, directory)
            text = Document(document.uri, document.version, document.source)
            yield Buffer(document.uri, path, (text,), is_notebook=path.endswith(SUFFIX))


def _cell(workspace: Workspace, cell: types.NotebookCell) -> Document:
    document = workspace.text_documents.get(unquote(cell.document))
    if document is None:
        return Document(cell.document, None, "", False)
    is_code = cell.kind == types.NotebookCellKind.Code and document.language_id == "python"
    return Document(cell.document, document.version, document.source, is_code)
