"""Snapshots of the editor's texts, which can differ from the disk."""

from __future__ import annotations

import io
import json
import os
import re
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pygls.uris import from_fs_path, to_fs_path

from gpulint.settings import Settings
from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.notebook import SUFFIX

PYTHON_SUFFIXES = (".py", ".pyi")


class Document(NamedTuple):
    """A text in the editor: a file, or a cell of a notebook. `is_code` says whether it is Python."""

    uri: str
    version: int | None
    text: str
    is_code: bool = True


@dataclass(frozen=True)
class Buffer:
    """An open file. `path` is absolute; `documents` is its text, or the cells of a notebook in order."""

    uri: str
    path: str
    documents: tuple[Document, ...]
    is_notebook: bool = False

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file if it were saved: in the declared encoding, so that reading gives the same text."""
        if self.is_notebook:
            return _notebook(self.documents)
        text = self.documents[0].text
        data = text.encode("utf-8", "replace")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return data if encoding.startswith("utf-8") else text.encode(encoding, "replace")
        except (SyntaxError, LookupError, UnicodeError):
            return data

    def document(self, cell: int | None) -> Document:
        """The document of the file or of a cell. Findings about a notebook as a whole belong to its first cell."""
        return self.documents[cell or 0]


def _notebook(cells: Sequence[Document]) -> bytes:
    """A notebook of format 4 with these cells."""
    kinds = {True: "code", False: "markdown"}
    found = [{"cell_type": kinds[one.is_code], "metadata": {}, "source": one.text} for one in cells]
    document = {"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


class Place(NamedTuple):
    """The file or cell of a URI."""

    path: str
    cell: int | None


@dataclass(frozen=True)
class Snapshot:
    """The open files by path, and the number of this state; other files are as on disk."""

    number: int
    buffers: Mapping[str, Buffer]

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Open documents by unescaped URI."""
        return {
            unquote(document.uri): Place(buffer.path, cell if buffer.is_notebook else None)
            for buffer in self.buffers.values()
            for cell, document in enumerate(buffer.documents)
        }

    @property
    def contents(self) -> dict[str, bytes]:
        """The content of the open files."""
        return {path: buffer.data for path, buffer in self.buffers.items()}

    def data(self, path: str) -> bytes:
        """The content of a file. Raises OSError."""
        if (buffer := self.buffers.get(path)) is not None:
            return buffer.data
        return Settings().read(path)

    def text(self, path: str, cell: int | None = None) -> str:
        """The text to which positions in a file or cell refer, "" if it cannot be read."""
        if (buffer := self.buffers.get(path)) is not None:
            return buffer.document(cell).text
        try:
            data = self.data(path)
            return data.decode("utf-8") if path.endswith(SUFFIX) else decode(path, data).text
        except (OSError, Undecodable, UnicodeError):
            return ""

    def uri(self, path: str, cell: int | None = None) -> str:
        """The URI of a file, or of an open notebook's cell."""
        if (buffer := self.buffers.get(path)) is not None:
            return buffer.document(cell).uri
        try:
            return from_fs_path(path) or path
        except UnicodeEncodeError:  # the name is not UTF-8, which pygls does not escape
            return Path(path).as_uri()


def file_of(uri: str) -> str | None:
    """The path of a `file:` URI, None for any other and for one that is invalid."""
    try:
        return to_fs_path(uri) if urlsplit(uri).scheme in ("file", "") else None
    except ValueError:  # `//[`, which is not an address
        return None


def path_of(uri: str, directory: str, suffixes: tuple[str, ...] = PYTHON_SUFFIXES) -> str:
    """The path of a document. An unsaved one (`untitled:`) gets a path in `directory` with one of the suffixes.

    A notebook's path always has its suffix, which determines the language of a file.
    """
    path = file_of(uri)
    if path is None:
        path = os.path.basename(unquote(re.split("[?#]", uri.partition(":")[2])[0])) or f"untitled{suffixes[0]}"
        path = path if path.endswith(suffixes) else f"{path}{suffixes[0]}"
    elif suffixes == (SUFFIX,) and not path.endswith(SUFFIX):
        path += SUFFIX
    path = path.replace("\0", "\N{SYMBOL FOR NULL}")  # no file has such a name, but a document may
    path = path.encode("utf-8", "replace").decode()  # a URI may have half a surrogate pair
    return with_usual_drive(os.path.abspath(os.path.join(directory, path)))


def with_usual_drive(path: str, splitdrive: Callable[[str], tuple[str, str]] = os.path.splitdrive) -> str:
    """A path with the letter of its drive as Windows writes it. Editors write `c:`, and paths are compared as text."""
    drive, rest = splitdrive(path)
    return drive.upper() + rest if len(drive) == len("C:") else path
