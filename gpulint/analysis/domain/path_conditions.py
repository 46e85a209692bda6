"""Path conditions, and whether two of them can hold together.

A `Path` is a set of literals, each a condition and whether it holds. Conditions are about *symbols*, structural names
of unknown values (`("attribute", args, "multi_gpu")`). Testing the same value twice therefore yields the same
condition, and what the program does under the two tests stays correlated.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Hashable, Iterator
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from gpulint.analysis.domain.symbolic import Symbol, symbol


class Condition(NamedTuple):
    """A test of a symbol. `operator` is "truth", "==", ">", ">=", "is", "in", "isinstance", "completes", "handler" or
    "any".

    For "any", the operand is a frozenset of paths, and the condition holds if one of them does. For "completes" and
    "handler", it is a tuple of names of errors: those after which the program continues, or those that the handler
    catches.
    """

    operator: str
    subject: Hashable
    operand: Hashable = None


class Literal:
    """A condition and whether it holds. Literals are interned by `literal_of`: paths are compared by identity."""

    __slots__ = ("choices", "condition", "group", "holds", "interval", "members", "negation", "ways")

    def __init__(self, condition: Condition, holds: bool, group: _Group) -> None:
        self.condition = condition
        self.holds = holds
        self.negation = self
        self.group = group
        """All literals about the same subject."""
        self.interval = _interval(condition, holds)
        """Bounds that the literal sets on a number: (subject, least, greatest), or None."""
        self.ways: tuple[Path, ...] = ()
        """The paths of which this literal states that none holds."""
        self.members: Path = EVERYWHERE
        """All literals of these paths."""
        self.choices: tuple[Path, ...] = ()
        """The paths of which this literal states that at least one holds."""

    def __repr__(self) -> str:
        return f"Literal({self.condition!r}, {self.holds})"


class _Group:
    """Literals about one subject or its length."""

    __slots__ = ("literals",)

    def __init__(self) -> None:
        self.literals: list[Literal] = []


class _Table:
    """Interned literals and groups of the program under analysis."""

    __slots__ = ("groups", "literals")

    def __init__(self) -> None:
        self.literals: dict[tuple[Hashable, bool], Literal] = {}
        self.groups: dict[Hashable, _Group] = {}


_LOCAL = threading.local()


def _table() -> _Table:
    """The table of this thread: each thread may analyse another program."""
    table: _Table | None = getattr(_LOCAL, "table", None)
    if table is None:
        table = _LOCAL.table = _Table()
    return table


def literal_of(condition: Condition, holds: bool) -> Literal:
    """The literal of a condition."""
    known = _table().literals.get((condition, holds))
    return known if known is not None else _create_literals(condition, holds)


def _create_literals(condition: Condition, holds: bool) -> Literal:
    """Create both literals of a condition and return the requested one."""
    subject = condition.subject
    if condition.operator == "any":
        subject = condition
    elif isinstance(subject, Symbol) and subject.parts[0] == "len":
        subject = subject.parts[1]
    table = _table()
    group = table.groups.setdefault(subject, _Group())
    yes, no = Literal(condition, True, group), Literal(condition, False, group)
    yes.negation, no.negation = no, yes
    table.literals[condition, True] = yes
    table.literals[condition, False] = no
    group.literals += (yes, no)
    if condition.operator == "any" and isinstance(condition.operand, frozenset):
        yes.choices = no.ways = tuple(condition.operand)
        no.members = frozenset().union(*condition.operand)
    return yes if holds else no


Path: TypeAlias = frozenset[Literal]

EVERYWHERE: Path = frozenset()

MAX_CONDITIONS = 200
"""Number of conditions of a path from which those of further assertions, joins and branches that do not end (`if a:
raise`) are not remembered: each is compared with all later ones."""

_WHOLE = (-math.inf, math.inf)


def length_of(name: Hashable) -> Symbol:
    """Symbol of `len(x)`."""
    return symbol(("len", name))


def _interval(condition: Condition, holds: bool) -> tuple[Hashable, float, float] | None:
    """Bounds that a condition sets on a number: (subject, least, greatest), or None. Assumes integers."""
    operator, subject, operand = condition
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


def _are_two(a: Hashable, b: Hashable) -> bool:
    """Whether two unequal operands are certainly different values: constants, or library names such as `Mode.TRAIN`."""
    unknown = [one for one in (a, b) if isinstance(one, Symbol)]
    return not unknown or (len(unknown) == 2 and all(one.parts[0] == "external" for one in unknown))


def _contradict(a: Literal, b: Literal) -> bool:
    """Whether two literals with the same subject but different conditions exclude each other."""
    if a.condition.subject == b.condition.subject and a.condition.operator == b.condition.operator == "==":
        return a.holds and b.holds and _are_two(a.condition.operand, b.condition.operand)
    if a.condition.subject == b.condition.subject and {a.condition.operator, b.condition.operator} == {
        "truth",
        "is",
    }:
        truth, identity = (a, b) if a.condition.operator == "truth" else (b, a)
        return truth.holds and identity.holds and identity.condition.operand is None
    first, second = a.interval, b.interval
    if first is None or second is None or first[0] != second[0]:
        return False
    return first[1] > second[2] or second[1] > first[2]


def _has_room(literals: tuple[Literal, ...]) -> bool:
    """Whether an integer can satisfy all these literals about it."""
    least, greatest = _WHOLE
    for literal in literals:
        if (said := literal.interval) is not None:
            least, greatest = max(least, said[1]), min(greatest, said[2])
    if least != greatest:
        return least < greatest
    return all(one.holds or one.condition.operator != "==" or one.condition.operand != least for one in literals)


def compatible(a: Path, b: Path) -> bool:
    """Whether one run of the program can take both paths."""
    if not a or not b or a is b:
        return True
    return _agree(a, b) if len(a) <= len(b) else _agree(b, a)


class _Profile:
    """The properties of a path that decide whether it is compatible with another, computed once for each path."""

    __slots__ = ("choices", "exclusions", "groups")

    def __init__(self, path: Path) -> None:
        self.groups = frozenset([literal.group for literal in path])
        self.choices = [literal for literal in path if literal.choices]
        """Literals that state that at least one of several paths holds."""
        self.exclusions = [literal for literal in path if literal.ways]
        """Literals that state that none of several paths holds."""


_profile = lru_cache(maxsize=16384)(_Profile)


@lru_cache(maxsize=32768)
def _agree(a: Path, b: Path) -> bool:
    of_a, of_b = _profile(a), _profile(b)
    groups = of_b.groups
    if groups.isdisjoint(of_a.groups):
        only = a
    else:
        only = a - b
        shared: dict[_Group, list[Literal]] = {}
        for literal in only:
            group = literal.group
            if group in groups:
                if literal.negation in b:
                    return False
                if len(group.literals) > 2:
                    shared.setdefault(group, []).append(literal)
        for literals in shared.values():
            if not _fit(literals, a, b):
                return False
    if of_a.exclusions or of_b.exclusions:
        both = a | b
        for one in (*of_a.exclusions, *of_b.exclusions):
            if one in only or not only.isdisjoint(one.members):
                for way in one.ways:
                    if way <= both:
                        return False
    for literal in of_a.choices:
        if not _leaves_one(literal, a, b, of_a.groups, groups):
            return False
    for literal in of_b.choices:
        if literal not in a and not _leaves_one(literal, a, b, of_a.groups, groups):
            return False
    return True


def _leaves_one(literal: Literal, a: Path, b: Path, groups_a: frozenset[_Group], groups_b: frozenset[_Group]) -> bool:
    """Whether one of the paths of an "any" condition is compatible with each of two other paths, each part being
    checked by itself. `groups_a` and `groups_b` are those of the two paths."""
    for choice in literal.choices:
        for part in choice:
            if part in a or part in b:
                continue
            group = part.group
            if group in groups_a and (
                part.negation in a or (len(group.literals) > 2 and not _fit([part], EVERYWHERE, a))
            ):
                break
            if group in groups_b and (
                part.negation in b or (len(group.literals) > 2 and not _fit([part], EVERYWHERE, b))
            ):
                break
            if part.choices and not (_leaves_any(part, a) and _leaves_any(part, b)):
                break
        else:
            return True
    return False


@lru_cache(maxsize=32768)
def _leaves_any(literal: Literal, path: Path) -> bool:
    """Whether one of the paths of an "any" condition is compatible with a path, each part being checked by itself."""
    return _leaves_one(literal, path, EVERYWHERE, _profile(path).groups, frozenset())


def _fit(literals: list[Literal], own: Path, other: Path) -> bool:
    """Whether literals about one subject, those of `own` that are not in `other`, are consistent with the literals of
    `other` about it."""
    group = literals[0].group
    about = group.literals
    there = (
        [one for one in about if one in other]
        if len(about) < len(other)
        else [one for one in other if one.group is group]
    )
    if not there:
        return True
    for literal in literals:
        if not literal.holds and literal.condition.operator == "==":
            continue  # that a value is another than one constant contradicts no other statement by itself
        for one in there:
            if _contradict(literal, one):
                return False
    here = [one for one in own if one.group is group]
    return len(there) + len(here) < 3 or _has_room((*there, *here))


@lru_cache(maxsize=16384)
def has_one_replica(path: Path) -> bool:
    """Whether a condition of the path implies that a strategy has one replica, or that the machine has at most one
    GPU."""
    for literal in path:
        said = literal.interval
        if said is not None and said[2] <= 1 and isinstance(said[0], Symbol):
            head, *rest = said[0].parts
            if head == "replicas" or (head == "len" and isinstance(rest[0], Symbol) and rest[0].parts[0] == "devices"):
                return True
    return False


@lru_cache(maxsize=16384)
def has_no_gpu(path: Path) -> bool:
    """Whether a condition of the path implies that the machine has no GPU."""
    for literal in path:
        said = literal.interval
        if said is not None and said[2] <= 0 and isinstance(said[0], Symbol) and said[0].parts[0] == "len":
            counted = said[0].parts[1]
            if isinstance(counted, Symbol) and counted.parts[:2] == ("devices", "GPU") and counted.parts[2] is None:
                return True
    return False


def forget() -> None:
    """Clear the interned literals of this thread, so that the next program starts with new ones.

    A surviving literal would keep everything that earlier programs stated about its subject. Paths created before this
    call must not be compared with paths created after it.
    """
    _agree.cache_clear()
    has_one_replica.cache_clear()
    has_no_gpu.cache_clear()
    _leaves_any.cache_clear()
    _profile.cache_clear()
    words_of.cache_clear()
    _LOCAL.table = _Table()


def mentions(path: Path, word: str) -> bool:
    """Whether a condition of the path is about a symbol that contains `word`."""
    return word in words_of(path)


@lru_cache(maxsize=4096)
def words_of(path: Path) -> frozenset[str]:
    """Strings in the symbols that the conditions of a path are about."""
    found: set[str] = set()
    for literal in path:
        condition = literal.condition
        if isinstance(condition.operand, frozenset):
            found.update(*(words_of(way) for way in condition.operand))
            continue
        for part in (condition.subject, condition.operand):
            if isinstance(part, Symbol):
                found |= part.words
            elif isinstance(part, str):
                found.add(part)
    return frozenset(found)


def one_of(paths: Collection[Path]) -> Literal:
    """Literal stating that one of several paths is taken. Its negation states that none is."""
    return literal_of(Condition("any", "", frozenset(paths)), True)


MAX_CASES = 500
"""Maximum number of cases distinguished to decide whether one of several paths is always taken."""


def is_complete(ways: Collection[Path], given: Path = EVERYWHERE) -> bool:
    """Whether one of several paths is taken whatever the conditions are, given that each "any" condition in `given`
    holds. False if this takes more than `MAX_CASES` cases."""
    cases = 0

    def always(case: Path, ways: list[Path]) -> bool:
        nonlocal cases
        left = [way for way in ways if _is_possible(case, way)]
        if any(_follows(case, way) for way in left):
            return True
        cases += 1
        if not left or cases > MAX_CASES:
            return False
        literal = next((one for way in sorted(left, key=len) for one in _undecided(case, way)), None)
        return literal is not None and all(
            always(case | {side}, left)
            for side in (literal, literal.negation)
            if compatible(case, frozenset({side}))
            and all(any(_is_possible(case | {side}, part) for part in _parts(one)) for one in given)
        )

    return always(EVERYWHERE, list(ways))


def _is_possible(case: Path, way: Path) -> bool:
    """Whether a path can be taken in a case, one of the paths of each "any" condition in it included."""
    return compatible(case, way) and all(
        any(_is_possible(case, part) for part in _parts(literal))
        for literal in way
        if literal.holds and literal.condition.operator == "any"
    )


def _follows(case: Path, way: Path) -> bool:
    """Whether a case implies that a path is taken."""
    return all(
        literal in case
        or (
            literal.condition.operator == "any"
            and (
                any(_follows(case, part) for part in _parts(literal))
                if literal.holds
                else not any(_is_possible(case, part) for part in _parts(literal))
            )
        )
        for literal in way
    )


def _undecided(case: Path, way: Path) -> Iterator[Literal]:
    """Literals of a path, including those of its parts, that a case leaves open."""
    for literal in way:
        if literal in case or literal.negation in case:
            continue
        if literal.condition.operator == "any":
            for part in _parts(literal):
                yield from _undecided(case, part)
        else:
            yield literal


def _parts(literal: Literal) -> tuple[Path, ...]:
    """Paths of an "any" condition, one of which is taken if it holds."""
    return (literal.negation if literal.holds else literal).ways
