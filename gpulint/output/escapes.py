"""Escaping text from files for the readers of the output.

File names and source can contain anything: line breaks, terminal escapes, commands of a CI system, bytes that are no
text.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from gpulint.sources.containment import relative_to

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that JSON allows unescaped, but that terminals, editors or JavaScript interpret."""

_FORBIDDEN_IN_XML = "[^\t\n\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""Characters that XML 1.0 forbids, control characters, and those that change the direction of text. Compiled on first
use: it takes milliseconds, which only XML needs."""


def encodable(text: str) -> str:
    """Text without lone surrogates, which represent bytes of a file name that is not UTF-8."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


_COMMANDS = re.compile(r"(##\w*)\[")
"""Start of commands to Azure Pipelines and TeamCity, and of old ones to GitHub, anywhere in a line."""

_LINE_COMMANDS = re.compile(r"(?m)(?<=^):(?=:)|(?<=\s):(?=:)")
"""Start of commands to GitHub, after blanks at the start of a line."""


def printable(text: str) -> str:
    """One line of text that terminals and CI systems display and do not interpret."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return _COMMANDS.sub("\\1\N{REPLACEMENT CHARACTER}", shown) if "##" in shown else shown


def is_command(text: str) -> bool:
    """Whether a CI system interprets text anywhere in a line."""
    return _COMMANDS.search(text) is not None


def printable_row(text: str) -> str:
    """As `printable`, keeping tabs."""
    return "\t".join(map(printable, text.split("\t")))


def printable_rows(text: str) -> str:
    """As `printable`, keeping tabs and line breaks, for text inside a line of output."""
    return "".join(part if part in ("\r", "\n") else printable_row(part) for part in re.split("([\r\n])", text))


def printable_block(text: str) -> str:
    """As `printable`, keeping tabs and line breaks, for whole lines."""
    return _FIRST_COMMANDS.sub("\\1\N{REPLACEMENT CHARACTER}", printable_rows(text))


_FIRST_COMMANDS = re.compile(r"(?:(?m:^)|(?<=\r))([ \t]*):(?=:)")
"""Two colons, after blanks at the start of a line, begin a command to GitHub."""


def first_on_line(path: str) -> str:
    """A path for the start of a line: `./path` if a CI system would read it as a command."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith(("::", "##")) else shown


def xml_text(text: str) -> str:
    """Text without characters that XML 1.0 forbids or that viewers interpret."""
    return re.sub(_FORBIDDEN_IN_XML, "\N{REPLACEMENT CHARACTER}", text)


def xml_document(text: str) -> str:
    """An XML document that CI systems do not interpret when it is printed."""
    return _LINE_COMMANDS.sub("&#58;", _COMMANDS.sub(r"\1&#91;", text))


def json_dumps(value: Any, indent: int | None = None, ensure_ascii: bool = False) -> str:
    """A JSON document in which infinite numbers and NaN, which JSON does not have, are null."""
    try:
        return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), indent=indent, ensure_ascii=ensure_ascii, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def json_text(value: Any, indent: int | None = 2) -> str:
    """A JSON document in valid UTF-8 that terminals and CI systems do not interpret, with null for the numbers
    that JSON does not have."""
    text = encodable(json_dumps(value, indent=indent))
    text = _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return _COMMANDS.sub(r"\1\\u005b", text)


def toml_string(text: str) -> str:
    """A TOML string, quoted, that terminals and CI systems do not interpret."""
    quoted = encodable(text).replace("\\", "\\\\").replace('"', '\\"')
    shown = "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
    return '"' + _COMMANDS.sub(r"\1\\u005b", shown) + '"'


def relative_uri(path: str) -> str | None:
    """The URI of a path relative to the working directory, byte by byte; None if it is not below it."""
    relative = relative_to(path)
    if os.path.isabs(relative) or relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return quote(_as_bytes(PurePath(relative).as_posix()))


def absolute_uri(path: str) -> str:
    """The `file:` URI of a path."""
    whole = PurePath(os.path.abspath(path)).as_posix()
    return f"file://{'' if whole.startswith('/') else '/'}{quote(_as_bytes(whole), safe='/:')}"


def _as_bytes(path: str) -> bytes:
    """The bytes of a file name; for text that cannot be one, an approximation."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return encodable(path).encode()
