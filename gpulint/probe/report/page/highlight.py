"""Syntax highlighting of Python source, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from gpulint.probe.report.page.markup import Child, tag

LONGEST = 500_000
"""Characters of a file to highlight; longer ones are shown plain."""

_CLASSES = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "d"),
    (Name.Class, "d"),
    (Name.Decorator, "d"),
)


def highlighted(rows: Sequence[str]) -> list[list[Child]]:
    """Texts and spans of each row. Characters that are invisible or change the text direction are shown by name
    (`U+202E`), so that no row imitates another."""
    text = "\n".join(rows)
    if len(text) > LONGEST:
        return [list(_visible(row)) for row in rows]
    done: list[list[Child]] = [[]]
    lexer = PythonLexer(stripnl=False, ensurenl=False)
    for kind, value in lexer.get_tokens(text):
        name = _class_of(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                done.append([])
            if part:
                children = list(_visible(part))
                done[-1].append(tag("span", *children, class_=name) if name else children)
    return done


def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind[: len(parent)] == parent), "")


def _visible(text: str) -> Iterator[str | Element]:
    if text.isprintable():
        yield text
        return
    for is_seen, group in groupby(text, lambda char: char.isprintable() or char == "\t"):
        if is_seen:
            yield "".join(group)
        else:
            yield from (tag("span", f"U+{ord(char):04X}", class_="hidden-character") for char in group)
