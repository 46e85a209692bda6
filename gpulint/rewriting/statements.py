"""Edits of whole statements: remove, move, indent, decorate."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

from gpulint.places import Site
from gpulint.rewriting.draft import Draft, is_always
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import binds, reads, spelled
from gpulint.syntax import ir
from gpulint.syntax.walk import within


def rows(draft: Draft, statement: ir.Statement) -> tuple[int, int]:
    """Start and end of the rows of a statement, with its decorators and the comments right above it. Raises Refused if
    it shares a row with another one."""
    return draft.once(_rows, statement)


def _rows(draft: Draft, statement: ir.Statement) -> tuple[int, int]:
    start, end = draft.extent(statement)
    if isinstance(statement, ir.FunctionDef | ir.ClassDef) and statement.decorators:
        start = draft.row_start(draft.start(statement.decorators[0]))
        start += len(draft.indent(start))
    first, last = draft.row_start(start), draft.row_end(end)
    behind = draft.text[end:last].strip()
    if draft.text[first:start].strip(" \t") or (behind and not behind.startswith("#")):
        raise Refused("the statement shares its line with another one")
    if not draft.text.endswith("\n", 0, last):
        raise Refused("the file ends without a line break")
    indent = draft.indent(first)
    while first > 0:
        above = draft.row_start(first - 1)
        text = draft.text[above:first]
        if not text.strip().startswith("#") or draft.indent(above) != indent or draft.is_in_string(above):
            break
        if text.startswith("#!") or ((above == 0 or draft.row_start(above - 1) == 0) and "coding" in text):
            break
        first = above
    return first, last


def is_whole(draft: Draft, call: ir.Node) -> bool:
    """Whether an expression is a statement, so that its value is not used."""
    statement = draft.statement(call)
    return isinstance(statement, ir.ExpressionStatement) and statement.value is call


def unit(draft: Draft) -> str:
    """One step of the file's indentation."""
    return draft.once(_unit, None)


def _unit(draft: Draft, nothing: None) -> str:
    for owner in (draft.module, *(one for statement in draft.module.body for one in within(statement))):
        for body in (getattr(owner, "body", ()),):
            if isinstance(body, tuple) and body and isinstance(owner, ir.Statement) and not is_always(owner):
                inner, outer = draft.indent(draft.start(body[0])), draft.indent(draft.start(owner))
                if len(inner) > len(outer) and inner.startswith(outer):
                    return inner[len(outer) :]
    return "    "


def indented(draft: Draft, start: int, end: int) -> list[Edit]:
    """Indent the rows of a range of text by one level; string contents are unchanged."""
    step = unit(draft)
    edits = []
    place = draft.row_start(start)
    while place < end:
        following = draft.row_end(place)
        if draft.text[place:following].strip() and not draft.is_in_string(place):
            edits.append(draft.insert(place, step))
        place = following
    return edits


def under(draft: Draft, start: int, end: int, header: str) -> list[Edit]:
    """Put a header, with its indentation, above the rows of a range of text, and indent them."""
    first, *others = indented(draft, start, end)
    return [Edit(first.span, f"{header}\n{first.content}"), *others]


def dedented(draft: Draft, start: int, end: int, blanks: str) -> list[Edit]:
    """Dedent the rows of a range of text by `blanks`; string contents are unchanged."""
    edits = []
    place = draft.row_start(start)
    while place < end:
        following = draft.row_end(place)
        if draft.text[place:following].strip() and not draft.is_in_string(place):
            own = draft.indent(place)
            common = len(blanks) if own.startswith(blanks) else len(own) if blanks.startswith(own) else 0
            if common:
                edits.append(draft.delete(place, place + common))
        place = following
    return edits


def without_statement(draft: Draft, site: Site) -> list[Edit]:
    """Remove the expression statement of a call, or replace it by `pass` if it is the only one in its block."""
    statement = draft.statement(draft.node(site))
    if not is_whole(draft, draft.node(site)):
        raise Refused("its value is used")
    start, end = draft.extent(statement)
    first, last = draft.row_start(start), draft.row_end(end)
    if draft.text[first:start].strip(" \t") or draft.text[end:last].strip():
        raise Refused("the statement shares its line with other code")
    if len(draft.block(statement)) == 1 and draft.parent(statement) is not None:
        return [draft.rewrite(statement, "pass")]
    return [draft.delete(first, last)]


def without_manager(draft: Draft, site: Site) -> list[Edit]:
    """Remove a context manager from its `with`. If it is the only one, remove the `with` and dedent its block."""
    call = draft.node(site)
    statement = draft.statement(call)
    index = draft.once(_managers, statement).get(call) if isinstance(statement, ir.With) else None
    if not isinstance(statement, ir.With) or index is None:
        raise Refused("the call is not the context manager of a `with`")
    if statement.items[index][1] is not None:
        raise Refused("the `with` binds a name")
    if len(statement.items) > 1:
        if index + 1 < len(statement.items):
            return [draft.delete(draft.start(call), draft.start(statement.items[index + 1][0]))]
        before, target = statement.items[index - 1]
        return [draft.delete(draft.end(target or before), draft.end(call))]
    return _without_header(draft, statement)


def _managers(draft: Draft, statement: ir.With) -> dict[ir.Node, int]:
    """The index of each context manager of a `with`."""
    return {manager: index for index, (manager, _) in enumerate(statement.items)}


def _without_header(draft: Draft, statement: ir.With) -> list[Edit]:
    start, end = draft.extent(statement)
    if draft.text.startswith("async", start) or draft.text[draft.row_start(start) : start].strip(" \t"):
        raise Refused("the statement shares its line with other code")
    body = draft.start(statement.body[0])
    inner, outer = draft.indent(body), draft.indent(start)
    if draft.row_start(body) == draft.row_start(start):
        return [draft.delete(start, body)]
    header_end = draft.row_end(draft.text.index(":", draft.end(statement.items[-1][0])))
    if not inner.startswith(outer):
        raise Refused("its indentation mixes tabs and spaces")
    header = draft.delete(draft.row_start(start), header_end)
    return [header, *dedented(draft, header_end, end, inner[len(outer) :])]


def wrapped(draft: Draft, statement: ir.Statement, header: str) -> list[Edit]:
    """Put one statement into a block with a header such as `with tf.device("/CPU:0"):`."""
    start, end = rows(draft, statement)
    return under(draft, start, end, f"{draft.indent(draft.start(statement))}{header}")


def moved_out(draft: Draft, statement: ir.Statement) -> list[Edit]:
    """Move the first statement of a `with` in front of it. Raises Refused if the header has several rows."""
    owner = draft.parent(statement)
    body = rows(draft, statement)
    header = draft.row_start(draft.start(owner)) if isinstance(owner, ir.With) else body[0]
    if draft.row_end(header) != body[0]:
        raise Refused("the block does not begin right after its header")
    blanks = draft.indent(draft.start(statement)).removeprefix(draft.indent(header))
    moved = draft.insert(body[1], draft.text[header : body[0]])
    return [draft.delete(header, body[0]), *dedented(draft, *body, blanks), moved]


def decorated(draft: Draft, site: Site, decorator: str) -> list[Edit]:
    """Add a decorator (`tensorflow.function`) right above a function."""
    function = draft.typed(site, ir.FunctionDef)
    text, edits = spelled(draft, decorator, function)
    start = draft.row_start(draft.start(function))
    return [*edits, draft.insert(start, f"{draft.indent(start)}@{text}\n")]


def exchanged(draft: Draft, late: Site, early: Site) -> list[Edit]:
    """Move `data = data.cache()` before `data = data.shuffle(…)`: statements of one block that rebind one name."""
    first, second = draft.statement(draft.node(early)), draft.statement(draft.node(late))
    block = draft.block(first)
    late_place, early_place = draft.place(second), draft.place(first)
    if late_place.block is not block:
        raise Refused("the two statements are not in the same block")
    name = _changed(first, early)
    since = draft.once(_since, block[0])[late_place.number - 1]
    if name is None or _changed(second, late) != name or not since <= early_place.number < late_place.number:
        raise Refused("the two statements do not assign the same name")
    start, end = rows(draft, second)
    return [draft.insert(rows(draft, first)[0], draft.text[start:end]), _taken(draft, start, end)]


def _since(draft: Draft, first: ir.Statement) -> list[int]:
    """For each statement of a block, the index from which on all statements rebind the same name."""
    found: list[int] = []
    before: str | None = None
    for index, statement in enumerate(draft.place(first).block):
        name = _changed(statement)
        found.append(found[-1] if found and name == before else index)
        before = name
    return found


def _changed(statement: ir.Statement, call: Site | None = None) -> str | None:
    """The name in `data = data.method(…)`, None for any other statement, or for another call than `call`."""
    if not isinstance(statement, ir.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ir.Name) or (call is not None and value is not None and value.number != call.node):
        return None
    while isinstance(value, ir.Call) and isinstance(value.function, ir.Attribute):
        value = value.function.value
    return target.id if isinstance(value, ir.Name) and value.id == target.id else None


def moved_up(draft: Draft, late_sites: tuple[Site, ...], early_sites: tuple[Site, ...]) -> list[Edit]:
    """Move a statement before another one, with the statements in between that it needs.

    The sites are the two places and the calls that lead to each, innermost first: the first two statements in a common
    block swap order. Raises Refused if there are none in this file, or if a statement that stays would see other
    values.
    """
    late, early = _siblings(draft, late_sites, early_sites)
    place = rows(draft, early)[0]
    edits = []
    content = ""
    for statement in draft.once(_moving, (early, late)):
        start, end = rows(draft, statement)
        content += draft.text[start:end]
        edits.append(_taken(draft, start, draft.once(_end_of_taken, statement)))
    return [draft.insert(place, content), *edits]


def _moving(draft: Draft, about: tuple[ir.Statement, ir.Statement]) -> list[ir.Statement]:
    """The second of two statements of a block and those in between that it needs, to be moved before the first."""
    block = draft.block(about[0])
    first, last = (draft.place(one).number for one in about)
    moving = _needed(draft, block, first, last)
    _check_move(draft, block, first, last, moving)
    return [block[index] for index in moving]


def _end_of_taken(draft: Draft, statement: ir.Statement) -> int:
    """End of the rows that are removed with a statement: empty rows below if there is one above."""
    start, end = rows(draft, statement)
    if start == 0 or draft.text[draft.row_start(start - 1) : start].strip():
        return end
    behind = _EMPTY.match(draft.text, end).end()  # type: ignore[union-attr]
    return behind if behind == len(draft.text) else draft.row_start(behind)


_EMPTY = re.compile(r"\s*")


def _taken(draft: Draft, start: int, end: int) -> Edit:
    """Delete rows whose comments are kept elsewhere."""
    edit = draft.insert(start, "")
    behind = draft.insert(end, "").span
    span = edit.span._replace(end_row=behind.row, end_column=behind.column)
    return Edit(span, "")


def _siblings(
    draft: Draft, late_sites: tuple[Site, ...], early_sites: tuple[Site, ...]
) -> tuple[ir.Statement, ir.Statement]:
    """The statements of one block around two places. The later one is that of the finding, or a call that leads to
    it."""
    for late in late_sites:
        for early in early_sites:
            if late.path == draft.path == early.path:
                pair = _in_one_block(draft, draft.statement(draft.node(late)), draft.statement(draft.node(early)))
                if pair is not None:
                    return pair
    raise Refused("the two statements are not in the same block")


def _in_one_block(draft: Draft, late: ir.Statement, early: ir.Statement) -> tuple[ir.Statement, ir.Statement] | None:
    """The innermost two statements of one block that contain `early` and `late`."""
    before = {id(draft.place(one).block): one for one in _around(draft, early)}
    for one in _around(draft, late):
        sibling = before.get(id(draft.block(one)))
        if sibling is not None and sibling.number < one.number:
            return one, sibling
    return None


def _around(draft: Draft, statement: ir.Statement) -> list[ir.Statement]:
    """A statement and its ancestors in the same function, innermost first."""
    found: list[ir.Statement] = []
    node: ir.Node | None = statement
    while node is not None and not (found and isinstance(node, ir.FunctionDef | ir.ClassDef)):
        if isinstance(node, ir.Statement):
            found.append(node)
        node = draft.parent(node)
    return found


class _Names(NamedTuple):
    """For each name, the indices of the statements of a block that bind it, and of those that mention it."""

    bound: dict[str, list[int]]
    read: dict[str, list[int]]


def _names(draft: Draft, first: ir.Statement) -> _Names:
    found = _Names({}, {})
    for index, statement in enumerate(draft.place(first).block):
        for name in binds(draft, statement):
            found.bound.setdefault(name, []).append(index)
        for name in reads(draft, statement):
            found.read.setdefault(name, []).append(index)
    return found


def _needed(draft: Draft, block: ir.Block, first: int, last: int) -> list[int]:
    """Indices of the statement at `last` and of those after `first` that it needs."""
    bound = draft.once(_names, block[0]).bound
    moving = [last]
    wanted = reads(draft, block[last])
    while (index := max((_last_before(bound.get(name, []), moving[0]) for name in wanted), default=-1)) > first:
        moving.insert(0, index)
        wanted |= reads(draft, block[index])
        if len(moving) > MAX_MOVED:
            raise Refused("too much would have to move with it")
    return moving


def _last_before(indices: list[int], limit: int) -> int:
    """The largest index below a limit, -1 if there is none."""
    place = bisect_left(indices, limit)
    return indices[place - 1] if place else -1


MAX_MOVED = 6
"""Maximum number of statements that are moved together."""


def _check_move(draft: Draft, block: ir.Block, first: int, last: int, moving: Collection[int]) -> None:
    names = draft.once(_names, block[0])
    bound = {name for index in moving for name in binds(draft, block[index])}
    used = {name for index in moving for name in reads(draft, block[index])} | bound
    if _stays(names.bound, used, first, last, moving) or _stays(names.read, bound, first, last, moving):
        raise Refused("a statement in between would see other values")
    ends = {end for index in moving for end in draft.once(_ends, block[index])}
    if "function" in ends:
        raise Refused("a `return` is in between")
    if "loop" in ends:
        raise Refused("a `break` or `continue` is in between")


def _stays(of: dict[str, list[int]], names: Iterable[str], first: int, last: int, moving: Collection[int]) -> bool:
    """Whether a statement from `first` to `last` that stays uses one of some names."""
    for name in names:
        indices = of.get(name, [])
        start, end = bisect_left(indices, first), bisect_right(indices, last)
        if end - start > len(moving) or any(index not in moving for index in indices[start:end]):
            return True
    return False


def _ends(draft: Draft, statement: ir.Statement) -> frozenset[str]:
    """Blocks that a statement can leave: the "function" or the "loop" around it."""
    function = any(isinstance(inside, ir.Return | ir.Yield | ir.Await) for inside in within(statement))
    loop = any(type(inside) in (ir.Break, ir.Continue) for inside in _loose(statement))
    return frozenset(["function"] * function + ["loop"] * loop)


def _loose(statement: ir.Node) -> list[ir.Node]:
    """The nodes inside a statement, without those in its loops."""
    return list(within(statement, lambda one: not isinstance(one, ir.For | ir.While)))
