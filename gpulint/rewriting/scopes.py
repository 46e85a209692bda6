"""Edits that bring the making of models, optimizers and variables into `with strategy.scope():`."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from gpulint.places import Site
from gpulint.rewriting.draft import Draft, within
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import binds, reads, variable
from gpulint.rewriting.statements import indented, is_whole, rows, under
from gpulint.syntax import ir


def in_scope(draft: Draft, place: Site, strategy: Site, makers: Collection[Site]) -> list[Edit]:
    """Bring the statement at `place` into the scope of the strategy made at `strategy`.

    The statements before it that make what it is made of (`makers`: places that make layers, models, optimizers,
    variables) come with it, and those behind it that add to it or compile it. A scope right before or behind is
    used; else there is a new one. Raises Refused.
    """
    statement = draft.statement(draft.node(place))
    if not isinstance(statement, ir.Assign | ir.ExpressionStatement):
        raise Refused("it is made in the middle of another statement")
    block = list(draft.block(statement))
    index = block.index(statement)
    making = [_makes(draft, one, makers) for one in block]
    first, last = _first_part(block, index, making), _last_part(block, index, making)
    last = max([last, *(at for at in range(index, len(block)) if _builds(block[at], binds(statement)))])
    name = variable(draft, strategy, block[first])
    if any(not _can_be_inside(one) for one in block[first : last + 1]):
        raise Refused("other statements stand between its parts")
    parts = [list(group) for _, group in groupby(range(first, last + 1), lambda at: draft.part(block[at]))]
    return [edit for part in parts for edit in _wrapped(draft, block, part[0], part[-1], f"{name}.scope()")]


def managed(draft: Draft, site: Site) -> list[ir.Statement]:
    """The statements in the block of which the context manager at a place is the only one; none elsewhere."""
    statement = draft.statement(draft.node(site))
    if isinstance(statement, ir.With) and [manager.number for manager, _ in statement.items] == [site.node]:
        return list(statement.body)
    return []


def with_entered(draft: Draft, site: Site, makers: Collection[Site]) -> list[Edit]:
    """Make `strategy.scope()`, a statement of its own, the header of a `with` around the statements behind it that
    make models, optimizers and variables. Raises Refused."""
    statement = draft.statement(draft.node(site))
    if not is_whole(draft, draft.node(site)):
        raise Refused("the scope is kept")
    block = list(draft.block(statement))
    index = block.index(statement)
    rows(draft, statement)
    making = [_makes(draft, one, makers) for one in block]
    last = index
    for position in range(index + 1, len(block)):
        if making[position] and _can_be_inside(block[position]):
            last = position
        elif not isinstance(block[position], ir.Assign | ir.ExpressionStatement):
            break
    last = _last_part(block, last, making) if last > index else last
    if last == index:
        raise Refused("nothing is made behind it")
    start = rows(draft, block[index + 1])[0]
    end = rows(draft, block[last])[1]
    for one in block[index + 1 : last + 1]:
        rows(draft, one)
    header = [draft.insert(draft.start(statement), "with "), draft.insert(draft.end(statement), ":")]
    return [*header, *indented(draft, start, end)]


def _makes(draft: Draft, statement: ir.Statement, makers: Collection[Site]) -> bool:
    """Whether a statement that is no definition makes something that has variables."""
    if isinstance(statement, ir.FunctionDef | ir.ClassDef):
        return False
    return any(Site(draft.path, one.number) in makers for one in within(statement))


def _first_part(block: list[ir.Statement], index: int, making: list[bool]) -> int:
    """Where the statements begin that make what the one at `index` is made of."""
    wanted = reads(block[index])
    tensors: set[str] = set()
    for position in range(index):
        if making[position] or tensors & reads(block[position]):
            tensors |= binds(block[position])
    first = index
    for position in range(index - 1, -1, -1):
        statement = block[position]
        bound = binds(statement)
        if not wanted & bound or isinstance(statement, ir.FunctionDef | ir.ClassDef):
            continue
        if bound & tensors and (making[position] or tensors & reads(statement)):
            first = position
            wanted |= reads(statement)
    return first


def _last_part(block: list[ir.Statement], index: int, making: list[bool]) -> int:
    """Where the statements end that add to what the one at `index` makes, or compile it."""
    names = binds(block[index])
    last = index
    for position in range(index + 1, len(block)):
        statement = block[position]
        if _completes(statement, names):
            last = position
        elif not (isinstance(statement, ir.Assign) and (making[position] or isinstance(statement.value, ir.Constant))):
            break
    return last


def _completes(statement: ir.Statement, names: set[str]) -> bool:
    """Whether a statement is `model.add(…)`, `model.build(…)` or `model.compile(…)`."""
    if not isinstance(statement, ir.ExpressionStatement) or not isinstance(statement.value, ir.Call):
        return False
    function = statement.value.function
    return (
        isinstance(function, ir.Attribute)
        and function.name in ("add", "build", "compile")
        and isinstance(function.value, ir.Name)
        and function.value.id in names
    )


def _builds(statement: ir.Statement, names: set[str]) -> bool:
    """Whether a statement is `model(x)` or `_ = model(x)`: variables of a model are made in its first call."""
    call = statement.value if isinstance(statement, ir.ExpressionStatement | ir.Assign) else None
    return isinstance(call, ir.Call) and isinstance(call.function, ir.Name) and call.function.id in names


def _can_be_inside(statement: ir.Statement) -> bool:
    """Whether a statement means the same in a scope: it defines nothing and trains nothing."""
    if isinstance(statement, ir.FunctionDef | ir.ClassDef | ir.Import | ir.ImportFrom | ir.Declare):
        return False
    calls = (one.function for one in within(statement) if isinstance(one, ir.Call))
    return not any(isinstance(one, ir.Attribute) and one.name in _OUTSIDE for one in calls)


_OUTSIDE = frozenset({"fit", "evaluate", "predict", "scope", "run"})


def _wrapped(draft: Draft, block: list[ir.Statement], first: int, last: int, manager: str) -> list[Edit]:
    """Statements of one part of a block in a `with`: that right before or behind them if there is one, or a new one."""
    places = [rows(draft, statement) for statement in block[first : last + 1]]
    start, end = places[0][0], places[-1][1]
    beside = [one for one in block[max(first - 1, 0) : last + 2] if draft.part(one) == draft.part(block[first])]
    before = beside[0] if first > 0 and beside[0] is block[first - 1] else None
    behind = beside[-1] if beside[-1] is not block[last] else None
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
    """Whether a statement is `with strategy.scope():` over rows of its own."""
    return (
        isinstance(statement, ir.With)
        and len(statement.items) == 1
        and statement.items[0][1] is None
        and draft.source(statement.items[0][0]) == manager
        and draft.row_start(draft.start(statement.body[0])) != draft.row_start(draft.start(statement))
    )


def _is_open_ended(draft: Draft, before: ir.Statement, start: int) -> bool:
    """Whether nothing but empty rows stands between a block and the rows that are to join it."""
    return not draft.text[draft.row_end(draft.end(before)) : start].strip()
