"""The nesting depth of a file, measured on its text before anything recursive reads it.

LibCST's native parser crashes the process on a few thousand nested brackets or operators, takes quadratic time for long
chains (1.6 s for a sum of 3,000 names, 9 s for 3,000 chained subscripts) and exponential time for nested patterns. The
measures here take less than 1 µs per line; they are rough for sizes that only hostile files reach.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpulint.syntax.formatted import code_of, is_simple

MAX_BRACKETS = 200
"""Maximum number of nested brackets, the same as in CPython's tokenizer."""
MAX_CHAIN = 2_500
"""Maximum length of a chain: operators, dots, strings and twice the bracketed groups in one operand and in the brackets
around it."""
MAX_EFFORT = 15_000_000
"""Maximum sum of squared lengths of long chains, strings excluded: about two seconds of parsing."""
MAX_ELIFS = 20_000
"""Maximum number in a file: LibCST nests each in the one before."""
MAX_PATTERN_BRACKETS = 8
"""Maximum number of nested brackets after `case` or `del`: each triples LibCST's time."""

_PLAIN_BRACKETS = 40
_PLAIN_CHAIN = 200
_PLAIN_ELIFS = 200
_LONG = 100


class Shape(NamedTuple):
    """Nesting measures of a file."""

    brackets: int
    chain: int
    effort: int
    elifs: int
    pattern_brackets: int

    @property
    def hopeless(self) -> bool:
        """Whether parsing would crash the process, or take more than about two seconds."""
        return (
            self.brackets > MAX_BRACKETS
            or self.chain > MAX_CHAIN
            or self.effort > MAX_EFFORT
            or self.elifs > MAX_ELIFS
            or self.pattern_brackets > MAX_PATTERN_BRACKETS
        )

    @property
    def plain(self) -> bool:
        """An ordinary stack and recursion limit are enough."""
        return self.brackets <= _PLAIN_BRACKETS and self.chain <= _PLAIN_CHAIN and self.elifs <= _PLAIN_ELIFS


_STRING_OR_COMMENT = re.compile(
    rb"""(\#[^\n]*
    | \"\"\"(?<!\\\"\"\")[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
    | '''(?<!\\''')[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''
    | "(?<!\\")[^"\\\n]*(?:\\.[^"\\\n]*)*"
    | '(?<!\\')[^'\\\n]*(?:\\.[^'\\\n]*)*')""",
    re.VERBOSE | re.DOTALL,
)
"""An escaped quote starts no string: searching for its end could take quadratic time."""
_FORMATTED = re.compile(rb"(?:^|[^A-Za-z0-9_])(?:[fFtT][rR]?|[rR][fFtT])$")
_OPERATOR_WORD = re.compile(rb"\b(?:and|or|not|if|else|lambda|await|in|is|for)\b")
_PATTERN_PIECE = re.compile(rb"(?:^|[:;])[ \t\f]*(?:case|del)\b|[()\[\]{}]|\n", re.MULTILINE)
_GROUP = re.compile(rb"\(([^()]*)\)")

_OPERATORS = b".:=+-*/%&|^<>~@!"
_MARKS = bytes.maketrans(b"[{]};" + _OPERATORS, b"(())," + b"." * len(_OPERATORS))
_MEANINGLESS = bytes(set(range(256)) - set(b'()[]{}\n,;"' + _OPERATORS))


def measure(text: str) -> Shape:
    """The shape of a text with line feeds as line ends, which need not be valid Python."""
    code = _code(text.encode("utf-8", "surrogatepass")).replace(b"\\\n", b"")
    marks = _OPERATOR_WORD.sub(b".", code).translate(_MARKS, _MEANINGLESS)
    brackets = chain = effort = 0
    while brackets <= MAX_BRACKETS:
        # Each pass replaces the innermost groups by two marks, removing one level of nesting.
        around = _GROUP.split(marks)
        if len(around) == 1:
            break
        brackets += 1
        longest, squares = _chains([group.replace(b"\n", b"") for group in around[1::2] if len(group) > 1])
        chain += longest
        effort += squares + (len(around) * 20 * brackets if brackets > _PLAIN_BRACKETS else 0)
        marks = b"..".join(around[::2])
    longest, squares = _chains(marks.split(b"\n"))
    return Shape(
        brackets + marks.count(b"("),
        chain + longest,
        effort + squares,
        code.count(b"elif"),
        _pattern_brackets(code) if brackets > MAX_PATTERN_BRACKETS else 0,
    )


def _code(data: bytes) -> bytes:
    """The text without its strings and comments, with the expressions in long f-strings."""
    pieces = _STRING_OR_COMMENT.split(data)
    if any(b"'" in code or b'"' in code for code in pieces[::2]):
        return code_of(data)
    for code, string in zip(pieces[::2], pieces[1::2], strict=False):
        if _FORMATTED.search(code[-3:]) and not is_simple(string):
            return code_of(data)
    return b'"'.join(pieces[::2] + _format_expressions(pieces))


def _chains(operands: list[bytes]) -> tuple[int, int]:
    """(length of the longest chain between commas, squared lengths of the long ones without strings)."""
    longest = max(map(len, operands), default=0)
    if longest <= _LONG:
        return longest, 0
    parts = [part for each in operands if len(each) > _LONG for part in each.split(b",")]
    long = [part for part in parts if len(part) > _LONG]
    return max(map(len, parts)), sum([(len(part) - part.count(b'"')) ** 2 for part in long])


def _format_expressions(pieces: list[bytes]) -> list[bytes]:
    """The expressions in long f-strings, one per line; short ones cannot nest deeply.

    Doubled braces count as nested.
    """
    found = []
    for index in range(1, len(pieces), 2):
        text = pieces[index]
        if len(text) <= _LONG or not _FORMATTED.search(pieces[index - 1][-3:]):
            continue
        depth = start = 0
        for match in re.finditer(rb"[{}]", text):
            if match[0] == b"{":
                start = start if depth else match.start()
                depth += 1
            elif depth:
                depth -= 1
                if not depth:
                    found.append(b"\n" + text[start : match.end()])
        if depth:
            found.append(b"\n" + text[start:])
    return found


def _pattern_brackets(code: bytes) -> int:
    """Maximum bracket depth after a `case` or `del`, up to the end of its logical line."""
    deepest = depth = 0
    around: int | None = None  # depth of the outermost open statement
    for piece in _PATTERN_PIECE.finditer(code):
        if piece[0] in b"([{":
            depth += 1
            if around is not None:
                deepest = max(deepest, depth - around)
        elif piece[0] in b")]}":
            depth -= 1
        elif piece[0] != b"\n":
            around = min(around, depth) if around is not None else depth
        elif around is not None and depth <= around:
            around = None
    return deepest
