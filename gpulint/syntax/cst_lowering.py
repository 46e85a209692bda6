"""Shared by all modules that lower LibCST's trees: the dispatch for expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.lowering import Lowering

Origin: TypeAlias = "cst.CSTNode | tuple[cst.CSTNode, cst.CSTNode]"
Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Expr]


def _unknown(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return ir.Name(low.number(node), "")


class _Expressions(dict[type[cst.CSTNode], Lowerer]):
    """Expressions of a newer LibCST that this table lacks become a name that nothing binds."""

    def __missing__(self, kind: type[cst.CSTNode]) -> Lowerer:
        return _unknown


EXPRESSIONS = _Expressions()
"""Lowering of each kind of expression; `lower_expressions` fills it in."""


def expression(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return EXPRESSIONS[type(node)](low, node)


def optional(low: Lowering, node: cst.BaseExpression | None) -> ir.Expr | None:
    return None if node is None else EXPRESSIONS[type(node)](low, node)
