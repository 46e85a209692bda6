"""Text to `ir.Module`, never taking the process down."""

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
from gpulint.syntax.screen import MAX_BRACKETS, Shape, measure
from gpulint.syntax.stack import on_stack

if TYPE_CHECKING:
    import libcst

T = TypeVar("T")

DEEP_STACK = 256 * 1024 * 1024
"""Bytes of address space for a thread that parses a deep file; only what it touches is ever used."""
DEEP_RECURSION = 20 * MAX_DEPTH
TOO_DEEP = (
    f"too deeply nested to analyse: more than {MAX_BRACKETS} brackets or {MAX_DEPTH} operators, "
    "calls or elifs inside one another"
)


class CannotParse(Exception):
    """The file is no Python that gpulint can read. Positions start at 1; columns are code points."""

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
    """What Python's own parser makes of a text; None where it is left to LibCST."""
    with _without_garbage_collection():
        tree = python_tree(text)
        try:
            return ast_statements.lower(tree, path) if tree is not None else None
        except (RecursionError, MemoryError, ast_expressions.NotThisWay):
            return None


def with_tree(source: Source, use: Callable[[libcst.Module], T]) -> T:
    """What `use` makes of the file's LibCST tree, which should not outlive the call. Raises CannotParse.

    The tree is that of `unix_text(source)`. `use` may recurse a few times for each level of the tree.
    """
    text, shape = _screened(source)
    return _with_tree(text, shape, use)


def syntax_error(source: Source) -> CannotParse | None:
    """Why neither the running Python nor LibCST can read a file, None if one of them can. A fraction of `parse`."""
    if is_python(source.text):
        return None
    try:  # LibCST knows newer syntax and has other bounds
        with_tree(source, lambda tree: None)
    except CannotParse as error:
        return error
    return None


def unix_text(source: Source) -> str:
    """The text as Python's tokenizer sees it: lines end in a line feed. Rows and columns are the same."""
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
    """The collector would walk the growing tree again and again: half of the time a parse takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


# LibCST tells where the token after the wrong one starts, counting from 0: from 1, it touches the wrong one.
_NATIVE_POSITION = re.compile(r"error at (\d+):(\d+): ")


def _explained(text: str, message: str, row: int, column: int) -> CannotParse:
    """The error as Python tells it, if Python finds one, too; LibCST often has no position and no reason."""
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
