"""Bytes to `ir.Module`, never taking the process down."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from gpulint.sources.source import Source
from gpulint.syntax import ir

if TYPE_CHECKING:
    import libcst

T = TypeVar("T")


class CannotParse(Exception):
    """The file is no Python that gpulint can read. Positions start at 1; columns are code points."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def parse(source: Source) -> ir.Module:
    """Parse and lower one file. Raises CannotParse."""
    from gpulint.syntax.lower import lower

    return with_tree(source, lambda tree: lower(tree, source.path).module)


def with_tree(source: Source, use: Callable[[libcst.Module], T]) -> T:
    """What `use` makes of the file's LibCST tree, which does not outlive the call. Raises CannotParse.

    The tree is that of `unix_text(source)`. `use` may go as deep as the tree goes.
    """
    import libcst

    with _without_garbage_collection():
        try:
            tree = libcst.parse_module(unix_text(source))
        except libcst.ParserSyntaxError as error:
            raise CannotParse(str(error.message), error.raw_line, error.raw_column + 1) from None
        return use(tree)


def unix_text(source: Source) -> str:
    """The text as Python's tokenizer sees it: every line ends in a line feed. Rows and columns are the same."""
    text = source.text
    return _LINE_END.sub("\n", text) if "\r" in text else text


_LINE_END = re.compile(r"\r\n?")


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
