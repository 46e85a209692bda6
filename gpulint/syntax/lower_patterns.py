"""Lowering of `match` patterns: the names that they bind, and plain values."""

from __future__ import annotations

from typing import Any

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.cst_lowering import expression
from gpulint.syntax.lowering import Lowering


def case(low: Lowering, node: cst.MatchCase) -> tuple[int, tuple[str, ...], ir.Expr | None, bool]:
    """(number of the case, names that its pattern binds, value of a plain value pattern or None, whether it always
    matches)."""
    number = low.number(node)
    pattern: Any = node.pattern
    outer, low.bound = low.bound, set()
    value = _pattern(low, pattern)
    binds = tuple(sorted(low.bound))
    outer |= low.bound
    low.bound = outer
    return number, binds, value, _matches_all(pattern)


def _pattern(low: Lowering, node: Any) -> ir.Expr | None:
    """The value of a plain value pattern, None for any other; captures go to `low.bound`."""
    match node:
        case cst.MatchValue() | cst.MatchSingleton():
            return expression(low, node.value)
        case cst.MatchAs():
            if node.name is not None:
                low.bound.add(low.word(node.name.value))
            return None if node.pattern is None else _pattern(low, node.pattern)
        case cst.MatchStar():
            if node.name is not None and node.name.value != "_":
                low.bound.add(low.word(node.name.value))
        case cst.MatchList() | cst.MatchTuple() | cst.MatchOr():
            for each in node.patterns:
                _pattern(low, each)
        case cst.MatchSequenceElement():
            _pattern(low, node.value)
        case cst.MatchOrElement() | cst.MatchKeywordElement():
            _pattern(low, node.pattern)
        case cst.MatchMapping():
            for item in node.elements:
                expression(low, item.key)
                _pattern(low, item.pattern)
            if node.rest is not None:
                low.bound.add(low.word(node.rest.value))
        case cst.MatchClass():
            expression(low, node.cls)
            for argument in (*node.patterns, *node.kwds):
                _pattern(low, argument)
    return None


def _matches_all(node: Any) -> bool:
    if isinstance(node, cst.MatchAs):
        return node.pattern is None or _matches_all(node.pattern)
    if isinstance(node, cst.MatchOr):
        return any(_matches_all(each.pattern) for each in node.patterns)
    return False
