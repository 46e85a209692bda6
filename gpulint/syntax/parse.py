"""Parsing text to `ir.Module`, without risk of crashing the process."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gpulint.sources.source import Source
from gpulint.syntax import ast_expressions, ast_statements, ir
from gpulint.syntax.depth import MAX_DEPTH, depth
from gpulint.syntax.literals import BadLiteral
from gpulint.syntax.lowering import Lowered
from gpulint.syntax.python_tree import is_python, python_tree
from gpulint.syntax.screen import MAX_BRACKETS, MAX_PATTERN_BRACKETS, Shape, measure
from gpulint.syntax.stack import on_stack

if TYPE_CHECKING:
    import libcst

T = TypeVar("T")

DEEP_STACK = 256 * 1024 * 1024
"""Stack size of a thread that parses a deep file. Only pages that are touched take memory."""
DEEP_RECURSION = 20 * MAX_DEPTH
TOO_DEEP = (
    f"too deeply nested to analyse: more than {MAX_BRACKETS} brackets ({MAX_PATTERN_BRACKETS} after `case` or `del`) "
    f"or {MAX_DEPTH} operators, calls or elifs inside one another"
)


class CannotParse(Exception):
    """gpulint cannot parse a file. Positions start at 1; columns are code points."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def parse(source: Source) -> ir.Module:
    """Parse and lower one file. Raises CannotParse.

    No node of the result is more than `depth.MAX_DEPTH` nodes deep.
    """
    text, shape = _screened(source)
    if shape.plain and (quick := by_python(text, source.path)) is not None:
        return quick.module

    def use(tree: libcst.Module) -> ir.Module:
        from gpulint.syntax.lower import lower

        return lower(tree, source.path).module

    module = _with_tree(text, shape, use)
    if not shape.plain and depth(module) > MAX_DEPTH:
        raise CannotParse(TOO_DEEP)
    return module


def by_python(text: str, path: str) -> Lowered | None:
    """The text lowered from Python's own tree, None if that requires LibCST."""
    with _without_garbage_collection():
        tree = python_tree(text)
        try:
            return ast_statements.lower(tree, path) if tree is not None else None
        except (RecursionError, MemoryError, ast_expressions.NotThisWay):
            return None


def with_tree(source: Source, use: Callable[[libcst.Module], T]) -> T:
    """The result of `use` for the file's LibCST tree, which should not outlive the call. Raises CannotParse.

    The tree is that of `unix_text(source)`. `use` may recurse a few times per level of the tree.
    """
    text, shape = _screened(source)
    return _with_tree(text, shape, use)


def syntax_error(source: Source) -> CannotParse | None:
    """Why neither the running Python nor LibCST can parse a file, None if one can. Much faster than `parse`."""
    if is_python(source.text):
        return None
    try:  # LibCST supports newer syntax and has other limits
        with_tree(source, lambda tree: None)
    except CannotParse as error:
        return error
    return None


def unix_text(source: Source) -> str:
    """The text with line feeds as line ends, as in Python's tokenizer. Rows and columns are unchanged."""
    text = source.text
    return _LINE_END.sub("\n", text) if "\r" in text else text


_LINE_END = re.compile(r"\r\n?")


def _screened(source: Source) -> tuple[str, Shape]:
    text = unix_text(source)
    nul = text.find("\0")
    if nul >= 0:
        row = text.count("\n", 0, nul) + 1
        raise CannotParse("the file contains a NUL character", row, nul - text.rfind("\n", 0, nul))
    shape = measure(text)
    if shape.hopeless:
        raise CannotParse(TOO_DEEP)
    return text, shape


def _with_tree(text: str, shape: Shape, use: Callable[[libcst.Module], T]) -> T:
    import libcst

    def work() -> T:
        with _without_garbage_collection():
            return use(libcst.parse_module(text))

    try:
        return work() if shape.plain else on_stack(work, DEEP_STACK, DEEP_RECURSION)  # the native parser recurses
    except libcst.ParserSyntaxError as error:
        raise _explained(text, str(error.message), error.raw_line, error.raw_column + 1) from None
    except RecursionError:
        raise CannotParse(TOO_DEEP) from None
    except (UnicodeEncodeError, BadLiteral, libcst.CSTValidationError) as error:
        raise _explained(text, str(error), 1, 1) from None


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector, which would take half of the parser's time for a growing tree."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# LibCST reports the start of the token after the wrong one, counted from 0. Counted from 1, that is the end of the
# wrong one.
_NATIVE_POSITION = re.compile(r"error at (\d+):(\d+): ")


def _explained(text: str, message: str, row: int, column: int) -> CannotParse:
    """Python's error if it finds one: LibCST's often has no position and no reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return CannotParse(_one_line(error.msg), error.lineno or row, max(error.offset or column, 1))
        except (RecursionError, MemoryError, ValueError):
            pass
    position = _NATIVE_POSITION.search(message)
    if position is not None:
        row, column = int(position[1]), max(int(position[2]), 1)
        message = message[position.end() :]
    return CannotParse(f"LibCST cannot read this syntax: {_one_line(message)}", row, column)


def _one_line(message: str) -> str:
    return " ".join(message.split())
