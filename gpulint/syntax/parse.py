"""(owner: syntax) bytes to ir.Module, never taking the process down."""
from __future__ import annotations
from gpulint.sources.source import Source
from gpulint.syntax import ir


class CannotParse(Exception):
    """The file is no Python that gpulint can read. Positions start at 1; columns are code points."""

    def __init__(self, message: str, row: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.row = row
        self.column = column


def parse(source: Source) -> ir.Module:
    """Parse and lower one file. Raises CannotParse."""
    raise NotImplementedError
