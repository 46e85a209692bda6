"""Places in source files.

A `Site` names a syntax node and costs nothing; a `Span` has rows and columns. Computing spans is expensive with LibCST,
so only reported sites get one.
"""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """A syntax node of one file, by its number in lowering order."""

    path: str
    """Path of the file, as it was given or found."""
    node: int
    """`gpulint.syntax.ir.Node.number` of the node."""


class Span(NamedTuple):
    """A half-open range of text. Rows and columns start at 1; columns are code points.

    In a notebook `cell` is the index among all its cells, from 0, and rows count inside the cell.
    """

    path: str
    row: int
    column: int
    end_row: int
    end_column: int
    cell: int | None = None
