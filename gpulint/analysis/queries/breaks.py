"""Loops that a counter ends."""

from __future__ import annotations

from collections.abc import Hashable
from math import ceil, isfinite

from gpulint.analysis.domain.context import Loop
from gpulint.analysis.domain.path_conditions import Literal
from gpulint.analysis.domain.symbolic import COUNTER, Symbol, symbol
from gpulint.analysis.domain.traversal import leaves
from gpulint.analysis.domain.values.base import symbol_of
from gpulint.analysis.domain.values.containers import Items


def iterations_to_break(loop: Loop) -> int | None:
    """Number of iterations after which a counter, or the index of an iteration, ends a loop; None if neither does. A
    counter whose start is unknown is taken to start at 0. Whether the last iteration runs to its end makes a difference
    of one."""
    last = max((iteration for iteration, _ in loop.continuations), default=0)
    ends = [end for iteration, end in loop.continuations if iteration == last]
    if not ends:
        return None
    counts = (_limit(literal, loop) for literal in frozenset.intersection(*ends) - loop.before)
    return min((count for count in counts if count is not None), default=None)


def _limit(literal: Literal, loop: Loop) -> int | None:
    """Number of iterations for which a condition holds, all of which it must hold in."""
    operator, subject, limit = literal.condition
    if type(limit) is float and isfinite(limit):
        limit = ceil(limit)
    if literal.holds or type(limit) is not int or operator not in (">", ">=", "==", "<", "<="):
        return None
    if _is_index(subject, loop):
        start, step = 0, 1
    elif isinstance(subject, Symbol) and subject.parts[0] == COUNTER and subject.parts[2] in loop.counters:
        known = loop.counters[subject.parts[2]]
        if known is None and operator == "==" and limit < 2:
            return None  # the counter may be decremented
        start, step = known or (0, 1)
    else:
        return None
    if step == 0 or (operator.startswith("<" if step > 0 else ">")):
        return None
    left = (limit - start if step > 0 else start - limit) + (operator in (">", "<"))
    if left < 0:
        return None if operator == "==" else 0
    return -(-left // abs(step))


def _is_index(name: Hashable, loop: Loop) -> bool:
    """Whether a symbol is the index of an iteration: of `enumerate`, or the number of a `range` from a start."""
    if not isinstance(name, Symbol) or not isinstance(loop.iterable, Items):
        return False
    if name.parts[0] == "in_iteration":
        name = symbol(name.parts[2])
    source = symbol_of(loop.iterable)
    if source.parts[0] == "range":
        return name.parts[:2] == ("item", source) and len(source.parts[1]) < 3
    row = loop.iterable.element
    return name.parts[0] == "index" and row is not None and name in map(symbol_of, leaves(row))
