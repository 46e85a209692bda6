"""Values of literals.

`ast.literal_eval` takes 5 µs per string, and prints a SyntaxWarning for every unknown escape (`"\\d"`) of the analysed
program.
"""

from __future__ import annotations

import re
import sys
import unicodedata

_PREFIX = re.compile(r"[A-Za-z]*")
_ESCAPE = re.compile(
    r"""\\(?:
        (?P<newline>\n)
      | (?P<octal>[0-7]{1,3})
      | x(?P<x>[0-9A-Fa-f]{2}) | u(?P<u>[0-9A-Fa-f]{4}) | U(?P<U>[0-9A-Fa-f]{8})
      | N\{(?P<name>[A-Za-z0-9\ -]+)\}
      | (?P<simple>[\\'"abfnrtv])
    )""",
    re.VERBOSE,
)
_SIMPLE = dict(zip("\\'\"abfnrtv", "\\'\"\a\b\f\n\r\t\v", strict=True))


class BadLiteral(ValueError):
    """A literal whose value Python refuses to compute."""


def number(text: str) -> int | float | complex:
    """The value of a numeric literal. Raises BadLiteral for more digits than Python converts."""
    if text[-1] in "jJ":
        return complex(text)
    if text[:2] in ("0x", "0X", "0b", "0B", "0o", "0O"):
        return int(text, 0)
    if "." in text or "e" in text or "E" in text:
        return float(text)
    try:
        return int(text)
    except ValueError as error:
        raise BadLiteral(str(error)) from None


def string(text: str) -> str | bytes:
    """The value of one string literal with its prefix and quotes.

    Text that Python would reject (an unknown character name, a bytes literal that is not ASCII) is kept as written.
    """
    prefix = ""
    if text[0] not in "'\"":
        match = _PREFIX.match(text)
        assert match is not None
        prefix = match[0].lower()
        text = text[len(prefix) :]
    body = text[3:-3] if text[:3] in ('"""', "'''") and len(text) >= 6 else text[1:-1]
    if "b" in prefix:
        if "\\" in body and "r" not in prefix:
            body = _ESCAPE.sub(_byte_escape, body)
        return body.encode("latin-1", "backslashreplace")
    return unescape(body) if "\\" in body and "r" not in prefix else body


def unescape(body: str) -> str:
    """`body` with the escapes of an ordinary string literal resolved; unknown escapes are kept."""
    return _ESCAPE.sub(_text_escape, body)


def _text_escape(match: re.Match[str]) -> str:
    kind = match.lastgroup
    value = match[kind] if kind else ""
    if kind == "simple":
        return _SIMPLE[value]
    if kind == "newline":
        return ""
    if kind == "octal":
        return chr(int(value, 8))
    if kind == "name":
        try:
            return unicodedata.lookup(value)
        except KeyError:
            return match[0]
    code = int(value, 16)
    return chr(code) if code <= sys.maxunicode else match[0]


def _byte_escape(match: re.Match[str]) -> str:
    kind = match.lastgroup
    if kind in ("u", "U", "name"):
        return match[0]
    if kind == "octal":
        return chr(int(match["octal"], 8) & 0xFF)
    return _text_escape(match)
