"""Spans in a file that Python can parse and LibCST cannot, which is true of a few constructs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from typing import Any

from gpulint.places import Span


def rough_spans(text: str, path: str, nodes: Sequence[Any], numbers: Collection[int]) -> dict[int, Span]:
    """The extent of each numbered node; for compound statements the first row. `nodes` are CPython's, by number."""
    lines = text.split("\n")

    def column(row: int, offset: int) -> int:
        return len(lines[row - 1].encode()[:offset].decode()) + 1

    found = {}
    for number in numbers:
        if not 0 <= number < len(nodes):
            continue
        first, last = _ends(nodes[number])
        row, start = first.lineno, column(first.lineno, first.col_offset)
        end_row, end = last.end_lineno, column(last.end_lineno, last.end_col_offset)
        if end_row > row and isinstance(last, _HOLDERS) and hasattr(last, "body"):
            end_row, end = row, len(lines[row - 1].rstrip()) + 1
        found[number] = Span(path, row, start, end_row, end)
    return found


_HOLDERS = (ast.stmt, ast.ExceptHandler)


def _ends(node: Any) -> tuple[Any, Any]:
    """Nodes that give a node its place: comprehension clauses and match cases have none in CPython's tree."""
    if isinstance(node, ast.comprehension):
        return node.target, (node.ifs or [node.iter])[-1]
    if isinstance(node, ast.match_case):
        return node.pattern, node.pattern
    return node, node
