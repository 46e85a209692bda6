"""Bytes to `ir.Module`, never taking the process down."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpulint.sources.source import Source
from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.syntax.lower import Lowered


class CannotParse(Exception):
    """The file is no Python that gpulint can read. Positions start at 1; columns are code points."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def parse(source: Source) -> ir.Module:
    """Parse and lower one file. Raises CannotParse."""
    return lowered(source).module


def lowered(source: Source) -> Lowered:
    """Parse and lower one file and keep the syntax that each number was given for. Raises CannotParse."""
    import libcst

    from gpulint.syntax.lower import lower

    with _without_garbage_collection():
        try:
            tree = libcst.parse_module(source.text)
        except libcst.ParserSyntaxError as error:
            raise CannotParse(str(error.message), error.raw_line, error.raw_column + 1) from None
        return lower(tree, source.path)


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
