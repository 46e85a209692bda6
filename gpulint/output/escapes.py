"""Text that comes from files, made harmless for what reads the output.

File names and source may hold anything: line breaks, terminal escapes, commands of a CI system, bytes that are no text.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that JSON may hold as they are, and that terminals, editors or JavaScript act upon."""

_FORBIDDEN_IN_XML = re.compile("[^\t\n\r\u0020-\u007e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def encodable(text: str) -> str:
    """Text without lone surrogates, which stand for the bytes of a file name that is not UTF-8."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def printable(text: str) -> str:
    """Text without control characters, which a terminal or a log would obey."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def first_on_line(path: str) -> str:
    """A path for the start of a line: one that a CI system would take for a command of its own is written `./path`."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith(("::", "##")) else shown


def xml_text(text: str) -> str:
    """Text without the characters that XML 1.0 cannot have, and without other control characters."""
    return _FORBIDDEN_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def json_text(value: Any, indent: int | None = 2) -> str:
    """A JSON document that is valid UTF-8 and that no terminal obeys."""
    text = encodable(json.dumps(value, indent=indent, ensure_ascii=False))
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def relative_uri(path: str) -> str | None:
    """The URI of a path relative to the working directory, byte by byte; None where it is not below it."""
    relative = os.path.relpath(path)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    uri = quote(os.fsencode(PurePath(relative).as_posix()))
    return uri


def absolute_uri(path: str) -> str:
    """The `file:` URI of a path."""
    return PurePath(os.path.abspath(path)).as_uri()
