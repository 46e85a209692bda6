"""What all of lowering shares: the numbers given so far, the scope at hand and the way into expressions."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir


class Lowering:
    """What is known while one file is lowered.

    `nodes[n]` is the LibCST node (or the first and last of several) that the `ir` node with number n was made
    of. `bound`, `declared` and `yields` describe the innermost function, lambda, class or module.
    """

    __slots__ = ("bound", "declared", "nodes", "words", "yields")

    def __init__(self) -> None:
        self.nodes: list[Origin] = []
        self.words: dict[str, str] = {}
        self.bound: set[str] = set()
        self.declared: set[str] = set()
        self.yields = False

    def number(self, node: Origin) -> int:
        nodes = self.nodes
        nodes.append(node)
        return len(nodes) - 1

    def word(self, text: str) -> str:
        """The identifier that `text` spells: one object for each, NFKC-normalised as Python does."""
        known = self.words.get(text)
        if known is None:
            known = text if text.isascii() else unicodedata.normalize("NFKC", text)
            self.words[text] = self.words[known] = known
        return known


Origin: TypeAlias = "cst.CSTNode | tuple[cst.CSTNode, cst.CSTNode]"
Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Expr]


def _unknown(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return ir.Name(low.number(node), "")


class _Expressions(dict[type[cst.CSTNode], Lowerer]):
    """Syntax that a newer LibCST knows and this table does not is a name that nothing binds."""

    def __missing__(self, kind: type[cst.CSTNode]) -> Lowerer:
        return _unknown


EXPRESSIONS = _Expressions()
"""How each kind of expression is lowered; `lower_expressions` fills it in."""


def expression(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return EXPRESSIONS[type(node)](low, node)


def bind(low: Lowering, target: ir.Expr) -> None:
    """Take note of the names that an assignment to `target` binds."""
    if type(target) is ir.Name:
        low.bound.add(target.id)
    elif type(target) is ir.Sequence_:
        for element in target.elements:
            bind(low, element)
    elif type(target) is ir.Starred:
        bind(low, target.value)


def optional(low: Lowering, node: cst.BaseExpression | None) -> ir.Expr | None:
    return None if node is None else EXPRESSIONS[type(node)](low, node)
