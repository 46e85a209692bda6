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

_FORBIDDEN_IN_XML = "[^\t\n\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""What XML 1.0 cannot have, control characters, and those that turn the direction of the text around them. It takes
milliseconds to compile, which only XML should."""


def encodable(text: str) -> str:
    """Text without lone surrogates, which stand for the bytes of a file name that is not UTF-8."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


_COMMANDS = re.compile(r"(##\w*)\[")
"""How commands to Azure Pipelines and TeamCity, and old ones to GitHub, begin anywhere in a line."""

_LINE_COMMANDS = re.compile(r"(?m)(?<=^):(?=:)|(?<=\s):(?=:)")
"""How commands to GitHub begin, after blanks at the start of a line."""


def printable(text: str) -> str:
    """Text of one line that a terminal or a CI system shows and does not obey."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return _COMMANDS.sub("\\1\N{REPLACEMENT CHARACTER}", shown) if "##" in shown else shown


def is_command(text: str) -> bool:
    """Whether a CI system may obey text wherever it stands in a line."""
    return _COMMANDS.search(text) is not None


def printable_row(text: str) -> str:
    """Text of one line, its tabs kept, that a terminal or a CI system shows and does not obey."""
    return "\t".join(map(printable, text.split("\t")))


def printable_rows(text: str) -> str:
    """Text of several lines, its line breaks and tabs kept, for the inside of a line of output."""
    return "".join(part if part in ("\r", "\n") else printable_row(part) for part in re.split("([\r\n])", text))


def printable_block(text: str) -> str:
    """Whole lines, their line breaks and tabs kept, that a terminal or a CI system shows and does not obey."""
    return _FIRST_COMMANDS.sub("\\1\N{REPLACEMENT CHARACTER}", printable_rows(text))


_FIRST_COMMANDS = re.compile(r"(?:(?m:^)|(?<=\r))([ \t]*):(?=:)")
"""How commands to GitHub begin: with two colons, after blanks at the start of a line."""


def first_on_line(path: str) -> str:
    """A path for the start of a line: one that a CI system would take for a command of its own is written `./path`."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith(("::", "##")) else shown


def xml_text(text: str) -> str:
    """Text without the characters that XML 1.0 cannot have, and without others that a viewer would obey."""
    return re.sub(_FORBIDDEN_IN_XML, "\N{REPLACEMENT CHARACTER}", text)


def xml_document(text: str) -> str:
    """A whole XML document that no CI system obeys when it is printed."""
    return _LINE_COMMANDS.sub("&#58;", _COMMANDS.sub(r"\1&#91;", text))


def json_text(value: Any, indent: int | None = 2) -> str:
    """A JSON document that is valid UTF-8 and that neither a terminal nor a CI system obeys."""
    text = encodable(json.dumps(value, indent=indent, ensure_ascii=False))
    text = _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _COMMANDS.sub(r"\1\\u005b", text)


def toml_string(text: str) -> str:
    """A TOML string, in its quotes, that neither a terminal nor a CI system obeys."""
    quoted = encodable(text).replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
    return '"' + _COMMANDS.sub(r"\1\\u005b", shown) + '"'


def relative_uri(path: str) -> str | None:
    """The URI of a path relative to the working directory, byte by byte; None where it is not below it."""
    relative = os.path.relpath(path)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return quote(_as_bytes(PurePath(relative).as_posix()))


def absolute_uri(path: str) -> str:
    """The `file:` URI of a path."""
    whole = PurePath(os.path.abspath(path)).as_posix()
    return f"file://{'' if whole.startswith('/') else '/'}{quote(_as_bytes(whole), safe='/:')}"


def _as_bytes(path: str) -> bytes:
    """The bytes of a file's name; of what no file is named, something like it."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return encodable(path).encode()
