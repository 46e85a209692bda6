"""Lowering of LibCST's tree of a file to `ir.Module`."""

from __future__ import annotations

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.lower_statements import block
from gpulint.syntax.lowering import Lowered, Lowering, docstring


def lower(tree: cst.Module, path: str) -> Lowered:
    """Lower one parsed file; the same text gives the same numbers.

    Raises literals.BadLiteral for an integer of more digits than Python converts.
    """
    low = Lowering()
    body = block(low, tree.body)
    return Lowered(ir.Module(path, body, docstring(body), frozenset(low.words)), low.nodes)
