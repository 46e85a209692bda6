"""Source text of the program's files as they were when they ran, as far as known."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace

from gpulint.probe.capture.contents import Capture
from gpulint.sources.decoding import Undecodable, decode
from gpulint.sources.notebook import SUFFIX, read_notebook
from gpulint.sources.reading import read_file

MAX_BYTES = 50_000_000
"""Largest file whose rows are shown."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The rows of a file, None if unavailable. `note` says how they may differ from what ran, "" if they do not."""

    path: str
    rows: tuple[str, ...] | None
    note: str


def source_file(path: str, capture: Capture, cell: int | None = None) -> SourceFile:
    """The rows that ran, of a file or a notebook's cell: from the capture, else from the file, with a note if it has
    changed."""
    file = _whole(path, capture)
    if cell is None or file.rows is None:
        return file
    try:
        text = read_notebook(path, "\n".join(file.rows).encode()).cells[cell].text
    except (Undecodable, IndexError):
        return SourceFile(path, None, "The notebook has no such cell.")
    return replace(file, rows=_rows(text))


def _whole(path: str, capture: Capture) -> SourceFile:
    data, modified = _present(path)
    kept = capture.sources.get(path)
    began = float(capture.process.get("t", 0))
    is_same = kept is not None and data is not None and hashlib.sha256(data).hexdigest() == kept.digest
    if kept is not None and kept.text is not None:
        note = "" if is_same else "These rows ran; the file has changed since."
        if data is None:
            note = "These rows ran; the file no longer exists."
        if began and kept.modified > began:
            note = "The file was changed after the program had begun: these rows may be newer than those that ran."
        return SourceFile(path, _rows(kept.text), note)
    if data is None:
        return SourceFile(path, None, "The file does not exist, and the capture does not contain its text.")
    rows = _decoded(path, data)
    if rows is None:
        return SourceFile(path, None, "Python cannot read the file as text.")
    if is_same:
        return SourceFile(path, rows, "")
    if not path.endswith((".py", SUFFIX)):
        # A capture from elsewhere can name any file of this machine, and reports are passed on.
        return SourceFile(path, None, "The capture does not hold its text, and its name is not that of a program.")
    if kept is not None:
        return SourceFile(path, rows, "The file has changed since the run: these rows may not be those that ran.")
    when = "last changed after the run began" if modified > began else "last changed before the run"
    if not began:
        when = "which may have changed since the run"
    return SourceFile(path, rows, f"The capture does not contain the text that ran. This is the current file, {when}.")


def _present(path: str) -> tuple[bytes | None, float]:
    """Content and modification time of the file now, (None, 0) if unreadable."""
    try:
        return read_file(path, MAX_BYTES), os.stat(path).st_mtime
    except OSError:
        return None, 0.0


def _decoded(path: str, data: bytes) -> tuple[str, ...] | None:
    try:
        return _rows(decode(path, data).text)
    except Undecodable:
        return None


def _rows(text: str) -> tuple[str, ...]:
    """Rows as Python counts them."""
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n"))
