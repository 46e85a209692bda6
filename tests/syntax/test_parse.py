"""For any file, parsing quickly returns a module or raises one clear error, and leaves the process unchanged."""

from __future__ import annotations

import ast
import contextlib
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from gpulint.syntax.depth import MAX_DEPTH, depth
from gpulint.syntax.parse import TOO_DEEP, CannotParse, parse, with_tree
from tests.syntax.texts import source


def _error(text: str) -> CannotParse:
    with pytest.raises(CannotParse) as caught:
        parse(source(text))
    return caught.value


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("x = 1\nprint 'é', y\n", 2),
        ("x = 1\nexec 'a' in b\n", 2),
        ("  x = 1\n", 1),
        ("if a:\nb\n", 2),
        ("x = 'é' y = 2\n", 1),
        ("f(1\n", 1),
        ("\n\nx = '''abc\n", 3),
        ("a\r\nb c\r\n", 2),
        ("a\rb\r\nc d", 3),
        ("\n$", 2),
    ],
)
def test_a_syntax_error_has_one_line_and_the_place_that_python_gives_it(text: str, row: int) -> None:
    error = _error(text)
    with pytest.raises(SyntaxError) as caught:
        ast.parse(text)
    assert (error.row, error.column) == (row, caught.value.offset)
    assert error.message == caught.value.msg
    assert "\n" not in error.message


@pytest.mark.parametrize(("text", "row", "column"), [("a\n\0b", 2, 1), ("x = 1\0", 1, 6), ("a\r\0", 2, 1)])
def test_a_nul_character_has_its_place(text: str, row: int, column: int) -> None:
    error = _error(text)
    assert (error.row, error.column) == (row, column)
    assert "NUL" in error.message


def test_columns_of_syntax_errors_are_code_points() -> None:
    text = "éé = 'üü' $ 1\n"
    with pytest.raises(SyntaxError) as caught:
        ast.parse(text)
    assert _error(text).column == caught.value.offset == 11


def test_python_2_is_reported_in_pythons_own_words() -> None:
    assert "print" in _error("print 'a'\n").message


NESTED = "(" * 60 + ")" * 60 + "\n"
"""Nesting so deep that only LibCST can read the file."""


def test_syntax_that_only_libcst_refuses_is_said_to_be_libcsts() -> None:
    error = _error(f"{NESTED}(b): int\n")
    assert error.message.startswith("LibCST cannot read this syntax: expected one of")
    assert (error.row, error.column) == (2, 5)


def test_syntax_that_libcst_reads_and_then_does_not_believe_is_one_clear_error() -> None:
    text = f"{NESTED}for i in.5, 1: pass\n"
    ast.parse(text)
    assert "LibCST cannot read this syntax: Must have at least one space" in _error(text).message


@pytest.mark.parametrize("text", ["a = 1\n(b): int\n", "for i in.5, 1: pass\n"])
def test_what_python_reads_is_read_though_libcst_refuses_it(text: str) -> None:
    assert parse(source(text)).body
    with pytest.raises(CannotParse):
        with_tree(source(text), lambda tree: tree)


def test_syntax_that_is_too_new_for_this_python_is_parsed() -> None:
    with pytest.raises(SyntaxError):
        ast.parse("lazy import a") if sys.version_info < (3, 15) else ast.parse("a b")
    assert parse(source("t'{a}'")).body


def test_lone_surrogates_are_one_clear_error() -> None:
    assert _error("x = '\ud800'").message


def test_more_digits_than_python_converts_are_one_clear_error() -> None:
    if hasattr(sys, "set_int_max_str_digits"):
        assert "digits" in _error("x = " + "9" * 5000).message


# ------------------------------------------------------------------------------ deep files

Make = Callable[[int], str]

DEEP: dict[str, Make] = {
    "a sum": lambda n: "x = " + " + ".join(["a"] * n),
    "a sum of calls": lambda n: "x = " + " + ".join(["f(a)"] * n),
    "a boolean": lambda n: "x = " + " or ".join(["a"] * n),
    "elifs": lambda n: "if a:\n  b\n" + "elif c:\n  d\n" * n,
    "attributes": lambda n: "x = a" + ".b" * n,
    "subscripts": lambda n: "x = a" + "[0]" * n,
    "minuses": lambda n: "x = " + "-" * n + "a",
    "nots": lambda n: "x = " + "not " * n + "a",
    "conditionals": lambda n: "x = " + "a if b else " * n + "c",
    "conditionals over lines": lambda n: "x = (" + "a if b else\n" * n + "c)",
    "lambdas": lambda n: "x = " + "lambda: " * n + "a",
    "powers": lambda n: "x = " + "**".join(["a"] * n),
    "strings": lambda n: "x = (" + "'a'\n" * n + ")",
}
BRACKETED: dict[str, Make] = {
    "parentheses": lambda n: "x = " + "(" * n + "a" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "a" + "]" * n,
    "dicts": lambda n: "x = " + "{1: " * n + "a" + "}" * n,
    "calls": lambda n: "x = " + "f(a, b=" * n + "c" + ")" * n,
    "indices": lambda n: "x = " + "a[" * n + "b" + "]" * n,
    "a format string": lambda n: "x = f'{" + "(" * n + "a" + ")" * n + "}'",
    "open parentheses": lambda n: "x = " + "(" * n,
}


@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_five_hundred_in_a_row_are_parsed(make: Make) -> None:
    module = parse(source(make(500)))
    assert depth(module) <= MAX_DEPTH


def test_three_hundred_chained_calls_are_parsed() -> None:
    assert parse(source("x = a" + ".b(c)" * 300)).body


@pytest.mark.parametrize("make", list(BRACKETED.values())[:-1], ids=list(BRACKETED)[:-1])
def test_a_hundred_and_fifty_brackets_are_parsed(make: Make) -> None:
    assert parse(source(make(150))).body


@pytest.mark.parametrize("count", [3_000, 100_000])
@pytest.mark.parametrize("make", (DEEP | BRACKETED).values(), ids=DEEP | BRACKETED)
def test_what_would_crash_or_stall_the_parser_is_refused_at_once(make: Make, count: int) -> None:
    text = make(count)
    start = time.process_time()
    assert _error(text).message == TOO_DEEP
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    "text",
    [
        "match x:\n    case " + "[" * 30 + "a" + "]" * 30 + ": pass\n",
        "match x:\n    case " + "A(b=" * 30 + "a" + ")" * 30 + ": pass\n",
        "match x:\n    case " + "{1: " * 30 + "a" + "}" * 30 + ": pass\n",
        "del " + "(" * 30 + "1 2" + ")" * 30 + "\n",
        "x = " + "(  # )\n" * 3_000 + "a" + ")" * 3_000,
        "x = " + "(')' + " * 3_000 + "a" + ")" * 3_000,
        "x = f'''" + "{(\n" * 1 + "(\n" * 3_000 + "a" + ")" * 3_001 + "}'''",
        ("x = " + " + ".join(["a"] * 900) + "\n") * 20,
        ("x = " + "a[" * 150 + "b" + "]" * 150 + "\n") * 200,
    ],
    ids=["list", "class", "mapping", "del", "comments", "strings", "f-string", "sums", "indices"],
)
def test_hidden_and_repeated_depth_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    assert _error(text).message == TOO_DEEP
    assert time.process_time() - start < 3


def test_long_flat_literals_are_parsed() -> None:
    table = "x = [" + "(-1.5, {'a': b.c + 1}),\n" * 3_000 + "]\n"
    assert parse(source(table + "f(" + "a=b,\n" * 3_000 + ")")).body


def test_many_short_statements_are_not_taken_for_a_chain() -> None:
    assert parse(source("a.b(c).d(e)\n" * 2_000)).body


def test_deep_files_leave_the_interpreters_limits_alone() -> None:
    before = sys.getrecursionlimit(), threading.stack_size(), threading.active_count()
    parse(source(DEEP["nots"](500)))
    _error(DEEP["nots"](1_200))
    assert (sys.getrecursionlimit(), threading.stack_size(), threading.active_count()) == before


# ------------------------------------------------------------------------------ the process around


def test_the_garbage_collector_is_left_as_it_was() -> None:
    for text in ("a", "a b", "x = " + "not " * 500 + "a"):
        for enabled in (True, False):
            (gc.enable if enabled else gc.disable)()
            with contextlib.suppress(CannotParse):
                parse(source(text))
            still = gc.isenabled()
            gc.enable()
            assert still is enabled


def test_libcst_is_imported_by_the_first_file_only() -> None:
    code = (
        "import sys, gpulint.syntax.parse, gpulint.syntax.enclosing, gpulint.linting.engine, gpulint.linting.pack\n"
        "gpulint.linting.pack.load(installed=False)\n"
        "print('libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
