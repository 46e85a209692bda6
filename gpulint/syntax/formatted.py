"""The code of a text without its strings and comments, where f-strings contain strings with their own quotes.

Since Python 3.12, `f'{x['a']}'` is one string. Only a scanner with a stack finds its end; this one reads a text as
LibCST's tokenizer does, also if it is not valid Python.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    rb"""\#[^\n]*
    | (?:(?<![A-Za-z0-9_\x80-\xff])[A-Za-z]{1,2})?(?:'''|\"\"\"|'|\")
    | [()\[\]{}:]""",
    re.VERBOSE,
)
_QUOTE = re.compile(rb"'''|\"\"\"|'|\"")
_REST = {
    b"'": re.compile(rb"[^'\\\n]*(?:\\.[^'\\\n]*)*'", re.DOTALL),
    b'"': re.compile(rb'[^"\\\n]*(?:\\.[^"\\\n]*)*"', re.DOTALL),
    b"'''": re.compile(rb"[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''", re.DOTALL),
    b'"""': re.compile(rb'[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""', re.DOTALL),
}
"""The rest of a string after its opening quote."""
_MARK = re.compile(rb"[\\'\"{}\n]")

_FIELD = rb"""\{(?!\{)[^{}'"#\\]*(?:(?:'[^'"{}#\\\n]*'|"[^'"{}#\\\n]*"|\{[^{}'"#\\]*\})[^{}'"#\\]*)*\}"""
_SIMPLE = re.compile(rb"[^{}\\]*(?:(?:\\[^{}N]|\{\{|\}\}|" + _FIELD + rb")[^{}\\]*)*", re.DOTALL)


def is_simple(string: bytes) -> bool:
    """Whether an f-string, which begins with its quote, certainly ends at the next quote of its kind."""
    width = 3 if string[:3] in (b"'''", b'"""') else 1
    return _SIMPLE.fullmatch(string, width, len(string) - width) is not None


class _Open:
    """An f-string of which the end has not been found."""

    __slots__ = ("brackets", "is_raw", "quote", "specifications")

    def __init__(self, quote: bytes, is_raw: bool) -> None:
        self.quote = quote
        self.is_raw = is_raw
        self.brackets = 0
        """Number of open brackets, including those of its fields."""
        self.specifications = 0
        """Number of open format specifications."""

    @property
    def is_in_field(self) -> bool:
        return self.brackets > self.specifications


def code_of(text: bytes) -> bytes:
    """The code of a text, with `"` in place of each string and the fields of f-strings in their braces. Ends where the
    text cannot be read any further."""
    found: list[bytes] = []
    strings: list[_Open] = []
    position = 0
    while True:
        top = strings[-1] if strings else None
        if top is not None and not top.is_in_field:
            position = _after_text(text, position, top)
            if position < 0:
                break
            if text.startswith(top.quote, position):
                strings.pop()
                position += len(top.quote)
                continue
        token = _TOKEN.search(text, position)
        if token is None:
            found.append(text[position:])
            break
        found.append(text[position : token.start()])
        position = token.end()
        piece = token[0]
        if piece in _BRACKETS:
            found.append(piece)
            if top is not None:
                _count(top, piece)
        elif piece[:1] != b"#":
            found.append(b'"')
            quote = _QUOTE.findall(piece)[0]
            prefix = piece[: -len(quote)].lower()
            if b"f" in prefix or b"t" in prefix:
                strings.append(_Open(quote, b"r" in prefix))
            elif rest := _REST[quote].match(text, position):
                position = rest.end()
            else:
                break
    return b"".join(found)


_BRACKETS = frozenset([b"(", b"[", b"{", b")", b"]", b"}", b":"])


def _count(string: _Open, piece: bytes) -> None:
    """Count a bracket, or the colon before a format specification."""
    if piece in (b"(", b"[", b"{"):
        string.brackets += 1
    elif piece != b":":
        if not string.is_in_field and string.specifications:
            string.specifications -= 1
        string.brackets -= 1
    elif string.brackets - string.specifications == 1:
        string.specifications += 1


def _after_text(text: bytes, position: int, string: _Open) -> int:
    """The position of the brace or quote that ends the literal text of an f-string at `position`; -1 if there is
    none."""
    is_specification = string.specifications > 0
    is_named = False
    while mark := _MARK.search(text, position):
        one, position = mark[0], mark.end()
        after = text[position : position + 1]
        if one == b"\n":
            if len(string.quote) == 1:
                return -1
        elif one == b"\\":
            position += after in (b'"', b"'", b"\\") if string.is_raw else after not in (b"{", b"}")
            if after == b"N" and not string.is_raw and not is_specification and text.startswith(b"{", position):
                is_named = True
                position += 1
        elif one in (b"'", b'"'):
            if text.startswith(string.quote, mark.start()):
                return mark.start()
        elif one == b"}" and is_named:
            is_named = False
        elif is_specification or after != one:
            return mark.start() if one == b"{" or is_specification else -1
        else:
            position += 1
    return -1
