"""Spans agree with CPython's positions and underline what a reader expects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given, settings

from gpulint.places import Span
from gpulint.syntax import ir
from gpulint.syntax.parse import CannotParse, parse
from gpulint.syntax.spans import spans
from tests.syntax.programs import programs
from tests.syntax.texts import LIBRARY, library_source, nodes, source

_COMPARED: dict[str, type[ast.expr]] = {
    "Name": ast.Name,
    "Attribute": ast.Attribute,
    "Call": ast.Call,
    "Subscript": ast.Subscript,
    "Binary": ast.BinOp,
    "Compare": ast.Compare,
    "Starred": ast.Starred,
    "Lambda": ast.Lambda,
    "Await": ast.Await,
}

_NOT_KEPT = {
    ("Raise", "cause"),
    ("MatchClass", "cls"),
    ("MatchClass", "kwd_patterns"),
    ("MatchClass", "patterns"),
    ("MatchMapping", "keys"),
    ("MatchMapping", "patterns"),
    ("MatchOr", "patterns"),
    ("MatchSequence", "patterns"),
    ("TypeAlias", "name"),
    ("TypeAlias", "value"),
}


def _ours(text: str) -> set[tuple[str, int, int, int, int]]:
    found = [node for node in nodes(parse(source(text))) if type(node).__name__ in _COMPARED]
    places = spans(source(text), [node.number for node in found])
    return {(type(node).__name__, *places[node.number][1:5]) for node in found}


def _theirs(text: str) -> set[tuple[str, int, int, int, int]]:
    rows = text.split("\n")

    def column(row: int, octets: int) -> int:
        return len(rows[row - 1].encode()[:octets].decode()) + 1

    def start(n: ast.expr) -> tuple[int, int]:
        """Where a node begins; a method call whose name is on a later row begins at its name."""
        name = n.func if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) else None
        if name is not None and name.end_lineno and name.end_col_offset and name.end_lineno > n.lineno:
            return name.end_lineno, column(name.end_lineno, name.end_col_offset) - len(name.attr)
        return n.lineno, column(n.lineno, n.col_offset)

    return {
        (name, *start(n), n.end_lineno, column(n.end_lineno, n.end_col_offset))
        for n in _lowered_nodes(ast.parse(text))
        for name, kind in _COMPARED.items()
        if isinstance(n, kind) and n.end_lineno and n.end_col_offset
    }


def _lowered_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes, except those that `ir` does not keep: E of `raise … from E`, type parameters and aliases, parts of
    patterns, and the star of an argument, which is an `Argument` there."""
    for name, value in ast.iter_fields(node):
        if name == "type_params" or (type(node).__name__, name) in _NOT_KEPT:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Starred) and isinstance(node, ast.Call):
                child = child.value
            if isinstance(child, ast.AST):
                yield child
                yield from _lowered_nodes(child)


@pytest.mark.parametrize("module", LIBRARY, ids=lambda module: module.__name__)
def test_spans_in_library_modules_are_those_of_cpython(module: ModuleType) -> None:
    text = library_source(module).text
    assert _ours(text) == _theirs(text)


@settings(max_examples=40)
@given(programs())
def test_spans_in_generated_programs_are_those_of_cpython(text: str) -> None:
    if "f'" not in text:  # CPython up to 3.11 has wrong positions inside f-strings
        assert _ours(text) == _theirs(text)


def _underlined(text: str) -> list[str]:
    """The text that the span of each node covers, in order of the nodes' numbers."""
    places = spans(source(text), range(10_000))
    rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [_cut(rows, span) for _, span in sorted(places.items())]


def _cut(rows: list[str], span: Span) -> str:
    if span.row == span.end_row:
        return rows[span.row - 1][span.column - 1 : span.end_column - 1]
    middle = rows[span.row : span.end_row - 1]
    return "\n".join([rows[span.row - 1][span.column - 1 :], *middle, rows[span.end_row - 1][: span.end_column - 1]])


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("@d\ndef f(a,\n      b): pass", "def f(a,"),
        ("async def f( a ) -> b : pass", "async def f( a ) -> b :"),
        ("@d  # why\nclass A( B ):\n  pass", "class A( B ):"),
        ("@tf.function(jit_compile=True)\ndef f(): pass", "tf.function(jit_compile=True)"),
        ("if ( a ):  # why\n  pass", "if ( a ):"),
        ("if a: pass\nelif b : pass", "elif b :"),
        ("for a in b:\n  pass\nelse:\n  pass", "for a in b:"),
        ("while a: pass", "while a:"),
        ("with a as b, c: pass", "with a as b, c:"),
        ("with (a as b,\n      c):\n  pass", "with (a as b,"),
        ("async def f():\n  async with a: pass", "async with a:"),
        ("try:\n  a\nexcept E as e:\n  b", "except E as e:"),
        ("try:\n  a\nexcept E as e:\n  b", "try:"),
        ("match a:  # why\n  case 1 if b:\n    pass", "match a:"),
        ("match a:  # why\n  case 1 if b:\n    pass", "case 1 if b:"),
        ("f( a , b = 1 ,)", "b = 1"),
        ("f(* a , ** b )", "* a"),
        ("def f( a : int = 1 , * , b): pass", "a : int = 1"),
        ("def f(*, b): pass", "b"),
        ("x = [ a for b in c if d for e in g ]", "for b in c if d"),
        ("x = [ a for b in c if d for e in g ]", "for e in g"),
        ("x[ a : b ,  c ]", "a : b ,  c"),
        ("x[ a : b ,  c ]", "a : b"),
        ("x[ 1: ]", "1:"),
        ("x = (a.b(1)\n  .c( 2 )  # why\n  .d)", "c( 2 )"),
        ("x = (a.b(1)\n  .c( 2 )  # why\n  .d)", "a.b(1)"),
        ("x = a.b(\n  1\n)", "a.b(\n  1\n)"),
        ("x = ((  a + b  ))", "a + b"),
        ("x = ('a'\n  'b')", "'a'\n  'b'"),
        ("x = y  # why", "x = y"),
        ("a; b = 1; c", "b = 1"),
        ("return_ = {**a, 'k': v}", "{**a, 'k': v}"),
        ("x = f'a{b}c'", "b"),
    ],
)
def test_a_span_covers_the_syntax_and_no_blanks(text: str, underlined: str) -> None:
    assert underlined in _underlined(text)


CALL_ON_ROW_FOUR = "import a\n\nif a:\n\tx = f(é, 'ü', tf.add(1))\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_rows_and_columns_do_not_depend_on_line_ends(line_end: str) -> None:
    text = source(CALL_ON_ROW_FOUR.replace("\n", line_end))
    (call,) = [n for n in nodes(parse(text)) if isinstance(n, ir.Call) and isinstance(n.function, ir.Attribute)]
    assert spans(text, [call.number])[call.number] == Span("program.py", 4, 16, 4, 25)


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("\fx = f(1)\n", 1, 6),
        ("a\n\f\nclass A:\n\f  y = f(1)\n", 4, 8),
        ("if a:\n  b\n\f  f(1)\n", 3, 4),
        ("\\\n  f(1)\n", 2, 3),
        ("'''a\fb\n'''; f(1)", 2, 6),
        ("a = 1\n  # note\n\\\n\nf(1)\n", 5, 1),
        ("if a:\n\tb\n\tf(1)", 3, 2),
        ("if a: f(1)", 1, 7),
        ("# -*- coding: utf-8 -*-\n\n\n# é\nf(1)  # end", 5, 1),
    ],
)
def test_form_feeds_tabs_and_continued_lines_keep_their_places(text: str, row: int, column: int) -> None:
    (call,) = [node for node in nodes(parse(source(text))) if isinstance(node, ir.Call)]
    span = spans(source(text), [call.number])[call.number]
    assert (span.row, span.column, span.end_row, span.end_column) == (row, column, row, column + 4)


def test_only_the_numbers_of_the_file_have_spans() -> None:
    assert set(spans(source("a"), [0, 1, 2, 99, -1])) == {0, 1}
    assert spans(source("a"), []) == {}


def test_no_spans_in_a_file_that_does_not_parse() -> None:
    with pytest.raises(CannotParse):
        spans(source("a b"), [0])


@pytest.mark.parametrize("count", [150, 500])
@pytest.mark.parametrize("link", ["a + ", "not ", "lambda: ", "a if b else ", "'a' "])
def test_deep_files_have_spans(link: str, count: int) -> None:
    text = f"x = {link * count}'b'"
    found = list(nodes(parse(source(text))))
    places = spans(source(text), [node.number for node in found])
    assert len(places) == len(found)
    assert places[found[0].number] == Span("program.py", 1, 1, 1, len(text) + 1)
