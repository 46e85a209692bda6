"""Which way the program went: conditions, and whether two of them can hold together.

A `Path` is a set of literals, each a condition and whether it holds. Conditions are about *symbols*, structural
names of unknown values (`("attribute", args, "multi_gpu")`), so that testing the same thing twice gives
the same condition and facts of the two tests stay correlated.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from gpulint.analysis.symbols import Symbol, symbol


class Condition(NamedTuple):
    """`operator` is "truth", "==", ">", ">=", "is", "in", "isinstance", "completes" or "any".

    For "any" the operand is a frozenset of paths, and the condition says that one of them holds.
    """

    operator: str
    subject: Hashable
    operand: Hashable = None


class Literal(NamedTuple):
    condition: Condition
    holds: bool


Path: TypeAlias = frozenset[Literal]

EVERYWHERE: Path = frozenset()

_WHOLE = (-math.inf, math.inf)


def length_of(name: Hashable) -> Symbol:
    """The symbol of `len(x)`."""
    return symbol(("len", name))


def _interval(literal: Literal) -> tuple[Hashable, float, float] | None:
    """What a literal says of a number: (subject, least, greatest), or None. Integers are assumed."""
    (operator, subject, operand), holds = literal
    if operator == "truth":
        return length_of(subject), 1 if holds else 0, math.inf if holds else 0
    if isinstance(operand, bool) or not isinstance(operand, (int, float)):
        return None
    if operator == ">":
        return (subject, operand + 1, math.inf) if holds else (subject, -math.inf, operand)
    if operator == ">=":
        return (subject, operand, math.inf) if holds else (subject, -math.inf, operand - 1)
    if operator == "==" and holds:
        return subject, operand, operand
    return None


def _contradict(a: Literal, b: Literal) -> bool:
    if a.condition == b.condition:
        return a.holds != b.holds
    if a.condition.subject == b.condition.subject and a.condition.operator == b.condition.operator == "==":
        return a.holds and b.holds
    if a.condition.operator == "any" or b.condition.operator == "any":
        return False
    if a.condition.subject == b.condition.subject and {a.condition.operator, b.condition.operator} == {
        "truth",
        "is",
    }:
        truth, identity = (a, b) if a.condition.operator == "truth" else (b, a)
        return truth.holds and identity.holds and identity.condition.operand is None
    first, second = _interval(a), _interval(b)
    if first is None or second is None or first[0] != second[0]:
        return False
    return first[1] > second[2] or second[1] > first[2]


def _has_room(literals: tuple[Literal, ...]) -> bool:
    """Whether a whole number can satisfy what all the literals say of it together."""
    least, greatest = _WHOLE
    for literal in literals:
        if (said := _interval(literal)) is not None:
            least, greatest = max(least, said[1]), min(greatest, said[2])
    only = least if least == greatest else None
    excluded = {one.condition.operand for one in literals if one.condition.operator == "==" and not one.holds}
    return least <= greatest and (only is None or only not in excluded)


class _Index(NamedTuple):
    """A path's literals by what they are about, and the compound conditions that do not hold on it."""

    literals: dict[Hashable, tuple[Literal, ...]]
    excluded: tuple[frozenset[Path], ...]


@lru_cache(maxsize=16384)
def _index(path: Path) -> _Index:
    literals: dict[Hashable, tuple[Literal, ...]] = {}
    excluded: list[frozenset[Path]] = []
    for literal in path:
        (operator, subject, operand), holds = literal
        if operator == "any":
            if not holds and isinstance(operand, frozenset):
                excluded.append(operand)
            subject = operand
        elif isinstance(subject, Symbol) and subject.parts[0] == "len":
            subject = subject.parts[1]
        literals[subject] = (*literals.get(subject, ()), literal)
    return _Index(literals, tuple(excluded))


@lru_cache(maxsize=65536)
def compatible(a: Path, b: Path) -> bool:
    """Whether one run of the program can take both."""
    if not a or not b or a is b:
        return True
    index, other = _index(a), _index(b)
    if len(index.literals) > len(other.literals):
        index, other = other, index
    for subject, literals in index.literals.items():
        others = other.literals.get(subject, ())
        if any(_contradict(first, second) for first in literals for second in others):
            return False
        if others and len(literals) + len(others) > 2 and not _has_room((*literals, *others)):
            return False
    if index.excluded or other.excluded:
        together = a | b
        return not any(way <= together for ways in (*index.excluded, *other.excluded) for way in ways)
    return True


@lru_cache(maxsize=16384)
def has_one_replica(path: Path) -> bool:
    """Whether a condition of the path says that a strategy has one replica, or the machine at most one GPU."""
    for literal in path:
        said = _interval(literal)
        if said is not None and said[2] <= 1 and isinstance(said[0], Symbol):
            head, *rest = said[0].parts
            if head == "replicas" or (head == "len" and isinstance(rest[0], Symbol) and rest[0].parts[0] == "devices"):
                return True
    return False


def mentions(path: Path, word: str) -> bool:
    """Whether a condition of the path is about a symbol that contains `word`."""
    return any(_speaks_of(literal.condition, word) for literal in path)


def _speaks_of(condition: Condition, word: str) -> bool:
    if isinstance(condition.operand, frozenset):
        return any(mentions(way, word) for way in condition.operand)
    return any(
        word in part.words if isinstance(part, Symbol) else part == word
        for part in (condition.subject, condition.operand)
    )
