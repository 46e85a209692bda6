"""Decoding of Python files."""

from __future__ import annotations

import codecs
import io
import re
import tokenize

from gpulint.sources.source import Source


class Undecodable(Exception):
    """The bytes are not text in the declared encoding of the file. `row` and `column` start at 1."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def decode(path: str, data: bytes) -> Source:
    """Decode a Python file by its byte-order mark and PEP 263 cookie. Raises Undecodable."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Undecodable(_cookie_message(error), *_first_bad(data)) from None
    except (LookupError, UnicodeError):  # from Python 3.14 on, for codecs that are not for text
        raise _no_text_encoding(data) from None
    if codecs.lookup(encoding).name in _QUADRATIC:
        raise _no_text_encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte 0x{data[error.start]:02x} is not valid {encoding}; declare the encoding in the first line"
        raise Undecodable(message, row, column) from None
    except (LookupError, UnicodeError):  # base64, undefined
        raise _no_text_encoding(data) from None
    if (position := text.find("\0")) >= 0:
        row = text.count("\n", 0, position) + 1
        raise Undecodable("the file has NUL bytes", row, position - (text.rfind("\n", 0, position) + 1) + 1)
    return Source(path, data, text, encoding)


_QUADRATIC = frozenset({"idna", "punycode"})
"""Encodings for the names of hosts: decoding a file takes quadratic time."""

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII | re.MULTILINE)


def _no_text_encoding(data: bytes) -> Undecodable:
    """Error for a file whose cookie names a codec that is not for text."""
    cookie = _COOKIE.search(data)
    if cookie is None:
        return Undecodable("the declared encoding is not for text")
    row, start = data.count(b"\n", 0, cookie.start(1)) + 1, data.rfind(b"\n", 0, cookie.start(1)) + 1
    return Undecodable(
        f"{cookie[1].decode()} is not a text encoding; declare another one here", row, cookie.start(1) - start + 1
    )


def _cookie_message(error: SyntaxError) -> str:
    if "unknown encoding" in str(error):
        return str(error)
    return "the file is not valid UTF-8; declare its encoding in the first line"


def _first_bad(data: bytes) -> tuple[int, int]:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        return row, error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
    return 1, 1
