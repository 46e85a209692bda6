"""LibCST's tree of one file to `ir.Module`."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.cst_lowering import Origin
from gpulint.syntax.lower_statements import block
from gpulint.syntax.lowering import Lowering, docstring


class Lowered(NamedTuple):
    module: ir.Module
    origins: list[Origin]
    """For each node number the LibCST node it was made of, or the first and last of several."""


def lower(tree: cst.Module, path: str) -> Lowered:
    """Lower one parsed file; the same text gives the same numbers.

    Raises literals.BadLiteral for an integer of more digits than Python converts.
    """
    low = Lowering()
    body = block(low, tree.body)
    return Lowered(ir.Module(path, body, docstring(body), frozenset(low.words)), low.nodes)
