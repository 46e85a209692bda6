"""Edits that move the creation of models, optimizers and variables into `with strategy.scope():`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from itertools import accumulate
from typing import NamedTuple

from gpulint.places import Site
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import binds, reads, variable
from gpulint.rewriting.statements import indented, is_whole, rows, under
from gpulint.syntax import ir
from gpulint.syntax.walk import within


def in_scope(draft: Draft, place: Site, strategy: Site, makers: Collection[Site]) -> list[Edit]:
    """Move the statement at `place` into the scope of the strategy created at `strategy`.

    Earlier statements that create its parts (`makers`: sites that create layers, models, optimizers, variables) and
    later ones that add to it or compile it move with it. An adjacent scope is reused. Raises Refused.
    """
    statement = draft.statement(draft.node(place))
    if not isinstance(statement, ir.Assign | ir.ExpressionStatement):
        raise Refused("it is created in the middle of another statement")
    block = draft.block(statement)
    index = draft.place(statement).number
    making = draft.once(_making, (block[0], frozenset(makers)))
    used = [making.called.get(name, index) for name in binds(draft, statement)]
    first, last = making.first[index], max([_last_part(draft, block, index, making), *used])
    name = variable(draft, strategy, block[first])
    if making.outside[last + 1] > making.outside[first]:
        raise Refused("other statements are between its parts")
    if making.crowded[last + 1] > making.crowded[first]:
        raise Refused("a statement shares its line with another one")
    edits = []
    while first <= last:
        behind = bisect_right(block, draft.part(block[first]), first, last + 1, key=draft.part)
        edits += _wrapped(draft, block, first, behind - 1, f"{name}.scope()")
        first = behind
    return edits


def managed(draft: Draft, site: Site) -> list[ir.Statement]:
    """The body of the `with` whose only context manager is at a place, empty for any other place."""
    statement = draft.statement(draft.node(site))
    if isinstance(statement, ir.With) and [manager.number for manager, _ in statement.items] == [site.node]:
        return list(statement.body)
    return []


def with_entered(draft: Draft, site: Site, makers: Collection[Site]) -> list[Edit]:
    """Turn the statement `strategy.scope()` into a `with` around the next statements that create models, optimizers and
    variables. Raises Refused."""
    statement = draft.statement(draft.node(site))
    if not is_whole(draft, draft.node(site)):
        raise Refused("the scope is stored")
    block = draft.block(statement)
    index = draft.place(statement).number
    rows(draft, statement)
    making = draft.once(_making, (block[0], frozenset(makers)))
    last = making.reach[index]
    if last == index:
        raise Refused("nothing is created after it")
    last = _last_part(draft, block, last, making)
    if making.crowded[last + 1] > making.crowded[index + 1]:
        raise Refused("a statement shares its line with another one")
    start = rows(draft, block[index + 1])[0]
    end = rows(draft, block[last])[1]
    header = [draft.insert(draft.start(statement), "with "), draft.insert(draft.end(statement), ":")]
    return [*header, *indented(draft, start, end)]


class _Making(NamedTuple):
    """Which statements of a block, by index, create models, optimizers and variables."""

    first: list[int]
    """The first of the statements that create parts of this one's object, or this one."""
    reach: list[int]
    """The last statement after this one that creates something, with only assignments and expressions between the two,
    or this one."""
    goes_on: list[int]
    """The first statement from this one on that does not assign a new object or a constant."""
    ends: list[int]
    """The last statement of an uninterrupted run of `model.add(…)` and the like for one model."""
    called: dict[str, int]
    """The last `model(x)` in the block, by name."""
    outside: list[int]
    """Number of earlier statements that must not be in a scope."""
    crowded: list[int]
    """Number of earlier statements that share a row with another."""


def _making(draft: Draft, about: tuple[ir.Statement, frozenset[Site]]) -> _Making:
    """The `_Making` of a block, given its first statement and the sites that create something."""
    block = draft.place(about[0]).block
    makes = [_makes(draft, one, about[1]) for one in block]
    can_be_inside = [_can_be_inside(one) for one in block]
    reach, goes_on, ends = (list(range(len(block))) for _ in range(3))
    goes_on.append(len(block))
    last: int | None = None
    for index in reversed(range(len(block))):
        one, following = block[index], goes_on[index + 1]
        if isinstance(one, ir.Assign) and (makes[index] or isinstance(one.value, ir.Constant)):
            goes_on[index] = following
        if (model := _completed(one)) and following < len(block) and _completed(block[following]) == model:
            ends[index] = ends[following]
        reach[index] = index if last is None else last
        if makes[index] and can_be_inside[index]:
            last = reach[index]
        elif not isinstance(one, ir.Assign | ir.ExpressionStatement):
            last = None
    return _Making(
        _first_parts(draft, block, makes),
        reach,
        goes_on,
        ends,
        {name: index for index, one in enumerate(block) if (name := _called(one))},
        [0, *accumulate(not each for each in can_be_inside)],
        [0, *accumulate(_is_crowded(draft, one) for one in block)],
    )


def _is_crowded(draft: Draft, statement: ir.Statement) -> bool:
    try:
        rows(draft, statement)
    except Refused:
        return True
    return False


def _makes(draft: Draft, statement: ir.Statement, makers: Collection[Site]) -> bool:
    """Whether a statement, definitions aside, creates something with variables."""
    if isinstance(statement, ir.FunctionDef | ir.ClassDef):
        return False
    return any(Site(draft.path, one.number) in makers for one in within(statement))


def _first_parts(draft: Draft, block: ir.Block, makes: list[bool]) -> list[int]:
    """For each statement of a block, the first that creates a part of its object."""
    made: set[str] = set()
    begins: dict[str, int] = {}
    found = []
    for index, statement in enumerate(block):
        names = reads(draft, statement)
        first = min([index, *(begins[name] for name in names if name in begins)])
        found.append(first)
        if makes[index] or not made.isdisjoint(names):
            bound = binds(draft, statement)
            made |= bound
            if not isinstance(statement, ir.FunctionDef | ir.ClassDef):
                begins |= {name: min(first, begins.get(name, first)) for name in bound}
    return found


def _last_part(draft: Draft, block: ir.Block, index: int, making: _Making) -> int:
    """End of the statements that add to the object of the one at `index`, or compile it."""
    names = binds(draft, block[index])
    last = index
    while (following := making.goes_on[last + 1]) < len(block) and _completed(block[following]) in names:
        last = making.ends[following]
    return last


def _completed(statement: ir.Statement) -> str | None:
    """The `model` of the statement `model.add(…)`, `model.build(…)` or `model.compile(…)`."""
    call = statement.value if isinstance(statement, ir.ExpressionStatement) else None
    function = call.function if isinstance(call, ir.Call) else None
    if isinstance(function, ir.Attribute) and function.name in ("add", "build", "compile"):
        return function.value.id if isinstance(function.value, ir.Name) else None
    return None


def _called(statement: ir.Statement) -> str | None:
    """The `model` of `model(x)` or `_ = model(x)`: the first call of a model creates its variables."""
    call = statement.value if isinstance(statement, ir.ExpressionStatement | ir.Assign) else None
    return call.function.id if isinstance(call, ir.Call) and isinstance(call.function, ir.Name) else None


def _can_be_inside(statement: ir.Statement) -> bool:
    """Whether a statement means the same in a scope: it defines nothing and trains nothing."""
    if isinstance(statement, ir.FunctionDef | ir.ClassDef | ir.Import | ir.ImportFrom | ir.Declare):
        return False
    calls = (one.function for one in within(statement) if isinstance(one, ir.Call))
    return not any(isinstance(one, ir.Attribute) and one.name in _OUTSIDE for one in calls)


_OUTSIDE = frozenset({"fit", "evaluate", "predict", "scope", "run"})


def _wrapped(draft: Draft, block: ir.Block, first: int, last: int, manager: str) -> list[Edit]:
    """Put statements of a block into a `with`: an adjacent one if there is one, otherwise a new one."""
    start, end = rows(draft, block[first])[0], rows(draft, block[last])[1]
    before, behind = (
        block[index] if 0 <= index < len(block) and draft.part(block[index]) == draft.part(block[first]) else None
        for index in (first - 1, last + 1)
    )
    header = f"{draft.indent(draft.start(block[first]))}with {manager}:"
    if before is not None and _is_with(draft, before, manager) and _is_open_ended(draft, before, start):
        return indented(draft, start, end)
    if behind is not None and _is_with(draft, behind, manager):
        row = draft.row_start(draft.start(behind))
        between = [line for line in draft.text[end:row].splitlines() if line.strip()]
        if draft.text[row : draft.row_end(row)] == f"{header}\n" and all(one.lstrip()[0] == "#" for one in between):
            return [*under(draft, start, row, header), draft.delete(row, draft.row_end(row))]
    return under(draft, start, end, header)


def _is_with(draft: Draft, statement: ir.Statement, manager: str) -> bool:
    """Whether a statement is `with strategy.scope():` that shares no row with another."""
    return (
        isinstance(statement, ir.With)
        and len(statement.items) == 1
        and statement.items[0][1] is None
        and draft.source(statement.items[0][0]) == manager
        and draft.row_start(draft.start(statement.body[0])) != draft.row_start(draft.start(statement))
    )


def _is_open_ended(draft: Draft, before: ir.Statement, start: int) -> bool:
    """Whether only empty rows separate a block from rows that are to join it."""
    return not draft.text[draft.row_end(draft.end(before)) : start].strip()
