"""What the editor holds: texts that may not be on disk, as they are at one moment."""

from __future__ import annotations

import io
import os
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote, urlsplit

from pygls.uris import from_fs_path, to_fs_path

from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.source import Source


@dataclass(frozen=True)
class Buffer:
    """An open document. `path` is absolute."""

    uri: str
    path: str
    version: int | None
    text: str

    @cached_property
    def data(self) -> bytes:
        """The text as it would be written: in the encoding that it declares, so that it is read back as it is."""
        data = self.text.encode("utf-8", "replace")
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            return data if encoding.startswith("utf-8") else self.text.encode(encoding, "replace")
        except (SyntaxError, LookupError, UnicodeError):
            return data


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The open documents by path, and which of the editor's states that is; any other file is as on disk."""

    number: int
    buffers: Mapping[str, Buffer]

    def data(self, path: str) -> bytes:
        """The content of a file. Raises OSError."""
        if (buffer := self.buffers.get(path)) is not None:
            return buffer.data
        with open(path, "rb") as file:
            return file.read()

    def source(self, path: str) -> Source | None:
        """A file as text; None where it cannot be read."""
        try:
            return decode(path, self.data(path))
        except (OSError, Undecodable):
            return None

    def text(self, path: str) -> str:
        """The text that positions in a file are about, "" where it cannot be read."""
        if (buffer := self.buffers.get(path)) is not None:
            return buffer.text
        source = self.source(path)
        return source.text if source is not None else ""

    def uri(self, path: str) -> str:
        """The editor's name of a file."""
        buffer = self.buffers.get(path)
        return buffer.uri if buffer is not None else from_fs_path(path) or path


def path_of(uri: str, directory: str) -> str:
    """The path of a document; one that is on no disk (`untitled:`) has a path in `directory`."""
    path = to_fs_path(uri) if urlsplit(uri).scheme in ("file", "") else None
    if path is None:
        path = os.path.basename(unquote(urlsplit(uri).path)) or "untitled.py"
        path = path if path.endswith((".py", ".pyi")) else f"{path}.py"
    return os.path.abspath(os.path.join(directory, path))
