"""Edits of whole statements: taken out, moved, indented, decorated."""

from __future__ import annotations

from gpulint.places import Site
from gpulint.rewriting.draft import Draft, is_always, within
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import binds, reads, spelled
from gpulint.syntax import ir


def rows(draft: Draft, statement: ir.Statement) -> tuple[int, int]:
    """Where the rows of a statement start and end, those of its decorators and of the comments right above it
    included. Raises Refused where it shares a row with another one."""
    start, end = draft.extent(statement)
    if isinstance(statement, ir.FunctionDef | ir.ClassDef) and statement.decorators:
        start = draft.row_start(draft.start(statement.decorators[0]))
        start += len(draft.indent(start))
    first, last = draft.row_start(start), draft.row_end(end)
    behind = draft.text[end:last].strip()
    if draft.text[first:start].strip(" \t") or (behind and not behind.startswith("#")):
        raise Refused("it shares its row with another statement")
    if not draft.text[:last].endswith("\n"):
        raise Refused("it is the last row of a file without a line end")
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
    """Whether an expression is a statement of its own, so that nobody uses its value."""
    statement = draft.statement(call)
    return isinstance(statement, ir.ExpressionStatement) and statement.value is call


def unit(draft: Draft) -> str:
    """One step of the file's indentation."""
    for owner in (draft.module, *(one for statement in draft.module.body for one in within(statement))):
        for body in (getattr(owner, "body", ()),):
            if isinstance(body, tuple) and body and isinstance(owner, ir.Statement) and not is_always(owner):
                inner, outer = draft.indent(draft.start(body[0])), draft.indent(draft.start(owner))
                if len(inner) > len(outer) and inner.startswith(outer):
                    return inner[len(outer) :]
    return "    "


def indented(draft: Draft, start: int, end: int) -> list[Edit]:
    """Move the rows of a stretch of text in by one step; what is inside strings stays as it is."""
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
    """Put a header, with its indentation, above the rows of a stretch of text, and move them in."""
    first, *others = indented(draft, start, end)
    return [Edit(first.span, f"{header}\n{first.content}"), *others]


def dedented(draft: Draft, start: int, end: int, blanks: str) -> list[Edit]:
    """Move the rows of a stretch of text out by `blanks`; what is inside strings stays as it is."""
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
    """Take out the expression statement that a call is; `pass` takes its place where nothing else is left."""
    statement = draft.statement(draft.node(site))
    if not is_whole(draft, draft.node(site)):
        raise Refused("its value is used")
    start, end = draft.extent(statement)
    first, last = draft.row_start(start), draft.row_end(end)
    if draft.text[first:start].strip(" \t") or draft.text[end:last].strip():
        raise Refused("it shares its row with something else")
    if len(draft.block(statement)) == 1 and draft.parent(statement) is not None:
        return [draft.rewrite(statement, "pass")]
    return [draft.delete(first, last)]


def without_manager(draft: Draft, site: Site) -> list[Edit]:
    """Take the context manager made at a place out of its `with`, and the whole `with` where it is the only one: its
    block moves out by one step."""
    call = draft.node(site)
    statement = draft.statement(call)
    managers = [manager for manager, _ in statement.items] if isinstance(statement, ir.With) else []
    if not isinstance(statement, ir.With) or call not in managers:
        raise Refused("it is not the context manager of a `with`")
    index = managers.index(call)
    if statement.items[index][1] is not None:
        raise Refused("what it gives has a name")
    if len(managers) > 1:
        if index + 1 < len(managers):
            return [draft.delete(draft.start(call), draft.start(managers[index + 1]))]
        before, target = statement.items[index - 1]
        return [draft.delete(draft.end(target or before), draft.end(call))]
    return _without_header(draft, statement)


def _without_header(draft: Draft, statement: ir.With) -> list[Edit]:
    start, end = draft.extent(statement)
    if draft.text.startswith("async", start) or draft.text[draft.row_start(start) : start].strip(" \t"):
        raise Refused("it shares its row with something else")
    body = draft.start(statement.body[0])
    inner, outer = draft.indent(body), draft.indent(start)
    if draft.row_start(body) == draft.row_start(start):
        return [draft.delete(start, body)]
    header_end = draft.row_end(draft.text.index(":", draft.end(statement.items[-1][0])))
    if not inner.startswith(outer):
        raise Refused("it is indented with other blanks")
    header = draft.delete(draft.row_start(start), header_end)
    return [header, *dedented(draft, header_end, end, inner[len(outer) :])]


def wrapped(draft: Draft, statement: ir.Statement, header: str) -> list[Edit]:
    """Put one statement into a block of its own under a header such as `with tf.device("/CPU:0"):`."""
    start, end = rows(draft, statement)
    return under(draft, start, end, f"{draft.indent(draft.start(statement))}{header}")


def moved_out(draft: Draft, statement: ir.Statement) -> list[Edit]:
    """Put the first statement of a `with` before it. Raises Refused where the header has several rows."""
    owner = draft.parent(statement)
    body = rows(draft, statement)
    header = draft.row_start(draft.start(owner)) if isinstance(owner, ir.With) else body[0]
    if draft.row_end(header) != body[0]:
        raise Refused("it does not stand right behind the header")
    blanks = draft.indent(draft.start(statement)).removeprefix(draft.indent(header))
    moved = draft.insert(body[1], draft.text[header : body[0]])
    return [draft.delete(header, body[0]), *dedented(draft, *body, blanks), moved]


def put_first(draft: Draft, owner: ir.For | ir.While, row: str) -> list[Edit]:
    """Put a statement of one row at the start of the block of a loop."""
    first = draft.start(owner.body[0])
    if draft.row_start(first) == draft.row_start(draft.start(owner)):
        raise Refused("the block stands in the row of its header")
    return [draft.insert(first, f"{row}\n{draft.indent(first)}")]


def decorated(draft: Draft, site: Site, decorator: str) -> list[Edit]:
    """Put a decorator (`tensorflow.function`) right above a function."""
    function = draft.typed(site, ir.FunctionDef)
    text, edits = spelled(draft, decorator, function)
    start = draft.row_start(draft.start(function))
    return [*edits, draft.insert(start, f"{draft.indent(start)}@{text}\n")]


def exchanged(draft: Draft, late: Site, early: Site) -> list[Edit]:
    """Put `data = data.cache()` before `data = data.shuffle(…)`: statements of one block that change one name."""
    first, second = draft.statement(draft.node(early)), draft.statement(draft.node(late))
    block = list(draft.block(first))
    if not any(one is second for one in block):
        raise Refused("the two do not stand in one block")
    name = _changed(first, early)
    between = block[block.index(first) : block.index(second)]
    if name is None or _changed(second, late) != name or any(_changed(one) != name for one in between):
        raise Refused("the two do not change one name")
    start, end = rows(draft, second)
    return [draft.insert(rows(draft, first)[0], draft.text[start:end]), _taken(draft, start, end)]


def _changed(statement: ir.Statement, call: Site | None = None) -> str | None:
    """The name of `data = data.method(…)`, of which the method call is that at `call`, if it is given."""
    if not isinstance(statement, ir.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ir.Name) or (call is not None and value is not None and value.number != call.node):
        return None
    while isinstance(value, ir.Call) and isinstance(value.function, ir.Attribute):
        value = value.function.value
    return target.id if isinstance(value, ir.Name) and value.id == target.id else None


def moved_up(draft: Draft, late_sites: tuple[Site, ...], early_sites: tuple[Site, ...]) -> list[Edit]:
    """Move a statement before another one, with the statements between that it needs.

    The sites are the two places and the calls that lead to each, innermost first: the first two that stand in one
    block, or in blocks around one, are moved past each other. Raises Refused where there are none in this file, or
    where a statement that stays would see other values.
    """
    late, early = _siblings(draft, late_sites, early_sites)
    block = list(draft.block(early))
    first, last = block.index(early), block.index(late)
    moving, staying = _needed(block[first : last + 1])
    _check_move(moving, staying)
    place = rows(draft, early)[0]
    edits = []
    content = ""
    for statement in moving:
        start, end = rows(draft, statement)
        content += draft.text[start:end]
        if _has_empty_row(draft, start):
            while end < len(draft.text) and not draft.text[end : draft.row_end(end)].strip():
                end = draft.row_end(end)
        edits.append(_taken(draft, start, end))
    return [draft.insert(place, content), *edits]


def _has_empty_row(draft: Draft, start: int) -> bool:
    """Whether an empty row stands above a place, so that those below can go with what is taken out."""
    return start > 0 and not draft.text[draft.row_start(start - 1) : start].strip()


def _taken(draft: Draft, start: int, end: int) -> Edit:
    """Take out rows whose comments move with them."""
    edit = draft.insert(start, "")
    behind = draft.insert(end, "").span
    span = edit.span._replace(end_row=behind.row, end_column=behind.column)
    return Edit(span, "")


def _siblings(
    draft: Draft, late_sites: tuple[Site, ...], early_sites: tuple[Site, ...]
) -> tuple[ir.Statement, ir.Statement]:
    """The statements of one block around two places. The later one is the finding's own, or a call that leads there."""
    for late in late_sites:
        for early in early_sites:
            if late.path == draft.path == early.path:
                pair = _in_one_block(draft, draft.statement(draft.node(late)), draft.statement(draft.node(early)))
                if pair is not None:
                    return pair
    raise Refused("the two do not stand in one block")


def _in_one_block(draft: Draft, late: ir.Statement, early: ir.Statement) -> tuple[ir.Statement, ir.Statement] | None:
    """The innermost two statements of one block of which the first is or holds `early`, the second `late`."""
    before = {id(one): one for one in _around(draft, early)}
    for one in _around(draft, late):
        for sibling in draft.block(one):
            if id(sibling) in before and sibling.number < one.number:
                return one, sibling
    return None


def _around(draft: Draft, statement: ir.Statement) -> list[ir.Statement]:
    """A statement and those around it in the same function, innermost first."""
    found: list[ir.Statement] = []
    node: ir.Node | None = statement
    while node is not None and not (found and isinstance(node, ir.FunctionDef | ir.ClassDef)):
        if isinstance(node, ir.Statement):
            found.append(node)
        node = draft.parent(node)
    return found


def _needed(between: list[ir.Statement]) -> tuple[list[ir.Statement], list[ir.Statement]]:
    """Of some statements the last and those that it needs, and the others. The first one stays."""
    target = between[-1]
    moving = [target]
    wanted = reads(target)
    for statement in reversed(between[1:-1]):
        if wanted & binds(statement):
            moving.insert(0, statement)
            wanted |= reads(statement)
    if len(moving) > MAX_MOVED:
        raise Refused("too much would have to move with it")
    return moving, [one for one in between if not any(one is each for each in moving)]


MAX_MOVED = 6
"""Statements that are moved at once."""


def _check_move(moving: list[ir.Statement], staying: list[ir.Statement]) -> None:
    bound = {name for statement in moving for name in binds(statement)}
    used = {name for statement in moving for name in reads(statement)} | bound
    for statement in staying:
        if used & binds(statement) or bound & reads(statement):
            raise Refused("a statement that stays would see other values")
    if any(isinstance(inside, ir.Return | ir.Yield | ir.Await) for one in moving for inside in within(one)):
        raise Refused("it ends the function")
    if any(type(inside) in (ir.Break, ir.Continue) for one in moving for inside in _loose(one)):
        raise Refused("it ends a round of the loop")


def _loose(statement: ir.Node) -> list[ir.Node]:
    """What is inside a statement but not in a loop of it."""
    return list(within(statement, lambda one: not isinstance(one, ir.For | ir.While)))
