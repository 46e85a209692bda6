"""One file as text, with what is needed to write it back as it was."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A decoded Python file.

    `data` are the bytes as found; `text` is what they mean under the file's declared encoding, without a
    byte-order mark and with the line ends untouched.
    """

    path: str
    data: bytes
    text: str
    encoding: str
