"""Edits of calls, their arguments and chains of calls."""

from __future__ import annotations

import ast
from collections.abc import Collection

from gpulint.places import Site
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import spelled
from gpulint.syntax import ir


def argument(call: ir.Call, name: str, position: int | None = None) -> ir.Argument | None:
    """The argument of a call with that keyword, or at that position."""
    for index, given in enumerate(call.arguments):
        if given.keyword == name or (position == index and given.keyword is None and not given.star):
            return given
        if given.star == "*":
            position = None
    return None


def passed(call: ir.Call, value: object, named: Collection[str]) -> ir.Argument | None:
    """The only argument of a call that is a literal, or a variable that the literal was passed through."""
    found = [
        one
        for one in call.arguments
        if (isinstance(one.value, ir.Constant) and one.value.value == value)
        or (isinstance(one.value, ir.Name) and one.value.id in named)
    ]
    return found[0] if len(found) == 1 else None


def without_argument(draft: Draft, site: Site, name: str) -> list[Edit]:
    """Remove a keyword argument, with its comma, from the call at or around a place."""
    call = call_around(draft, site)
    given = argument(call, name)
    if given is None:
        raise Refused(f"the call has no argument `{name}`")
    index = call.arguments.index(given)
    start, end = draft.extent(given)
    if index > 0:
        return [draft.delete(draft.end(call.arguments[index - 1]), end)]
    if len(call.arguments) > 1:
        return [draft.delete(start, draft.start(call.arguments[1]))]
    opening = draft.text.index("(", draft.end(call.function))
    return [draft.delete(opening + 1, draft.end(call) - 1)]


def call_around(draft: Draft, site: Site) -> ir.Call:
    """The innermost call around a place: the place itself, an argument of it, the call of a decorator. Raises
    Refused."""
    node: ir.Node | None = draft.node(site)
    while node is not None and not isinstance(node, ir.Call):
        node = draft.parent(node)
    if node is None:
        raise Refused("there is no call at this place")
    return node


def with_argument(draft: Draft, site: Site, name: str, value: str) -> list[Edit]:
    """Add a keyword argument to the call at a place, or replace its value. A dotted name of TensorFlow is written as
    the file spells it."""
    call = draft.typed(site, ir.Call)
    edits: list[Edit] = []
    if value.startswith("tensorflow."):
        value, edits = spelled(draft, value, call)
    if (given := argument(call, name)) is not None:
        return [*edits, draft.rewrite(given.value, value)]
    if not call.arguments:
        return [*edits, draft.insert(draft.end(call) - 1, f"{name}={value}")]
    if any(one.star for one in call.arguments):
        raise Refused("a starred argument may contain it")
    last = call.arguments[-1]
    start, end = draft.extent(last)
    if isinstance(last.value, ir.Comprehension) and last.value.kind == "generator" and draft.text[start] != "(":
        raise Refused("its argument is a generator expression without parentheses")
    own_row = not draft.text[draft.row_start(start) : start].strip()
    separator = f"\n{draft.indent(start)}" if own_row else " "
    return [*edits, draft.insert(end, f",{separator}{name}={value}")]


def renamed(draft: Draft, site: Site, name: str) -> Edit:
    """Rename the attribute at a place, or the method that is called there."""
    node = draft.node(site)
    function = node.function if isinstance(node, ir.Call) else node
    if not isinstance(function, ir.Attribute):
        raise Refused("it is not an attribute")
    end = draft.end(function)
    return draft.replace(end - len(function.name), end, name)


def uncalled(draft: Draft, site: Site) -> Edit:
    """Replace the call at a place by its callee: `x.shape()` by `x.shape`. Raises Refused if it has arguments."""
    call = call_around(draft, site)
    if call.arguments:
        raise Refused("the call has arguments")
    return draft.delete(draft.end(call.function), draft.end(call))


def keyword_renamed(draft: Draft, site: Site, keyword: str) -> Edit:
    """Rename the keyword of the argument whose value is at a place."""
    given = draft.parent(draft.node(site))
    if not isinstance(given, ir.Argument) or given.keyword is None:
        raise Refused("it is not a keyword argument")
    start = draft.start(given)
    return draft.replace(start, start + len(given.keyword), keyword)


def container(draft: Draft, node: ir.Expr) -> str:
    """The text of the container of an element: `gpus` of `gpus[0]`."""
    if not isinstance(node, ir.Subscript):
        raise Refused("it does not come from a list in the call")
    return draft.source(node.value)


def factor(draft: Draft, node: ir.Expr) -> str:
    """The text of an expression as a factor, in parentheses if it needs them."""
    plain = isinstance(node, ir.Constant | ir.Name | ir.Attribute | ir.Call | ir.Subscript)
    return draft.source(node) if plain else f"({draft.source(node)})"


def literal(draft: Draft, site: Site, value: str) -> list[Edit]:
    """Replace a string literal, keeping its quotes."""
    node = draft.typed(site, ir.Constant)
    written = draft.source(node)
    if not isinstance(node.value, str) or len(written) < 2 or written[0] not in "\"'" or written[0] != written[-1]:
        raise Refused("it is not a plain string literal")
    content = f"{written[0]}{value}{written[0]}"
    if written != f"{written[0]}{node.value}{written[0]}" or ast.literal_eval(content) != value:
        raise Refused("the literal is not spelled as it is meant")
    return [draft.rewrite(node, content)]


def appended(draft: Draft, site: Site, link: str) -> list[Edit]:
    """Append a call to the one at a place: `.prefetch(tensorflow.data.AUTOTUNE)`. The dotted name is written as the
    file spells it. In a chain with one call per row it gets a row of its own."""
    call = draft.typed(site, ir.Call)
    edits: list[Edit] = []
    method, _, given = link[:-1].partition("(")
    if given.startswith("tensorflow."):
        given, edits = spelled(draft, given, call)
    return [*edits, draft.insert(draft.end(call), f"{_separator(draft, call)}{method}({given})")]


def _separator(draft: Draft, call: ir.Call) -> str:
    """The text between a call and the next one of its chain: a new row if the call itself begins one."""
    if isinstance(call.function, ir.Attribute):
        dot = draft.text.rfind(".", 0, draft.end(call.function) - len(call.function.name) + 1)
        before = draft.row_start(dot)
        if not draft.text[before:dot].strip() and not draft.text[:before].rstrip(" \t\n").endswith("\\"):
            return f"\n{draft.indent(dot)}"
    return ""


def moved_in_chain(draft: Draft, link: Site, target: Site, before: bool) -> list[Edit]:
    """Move a call of a chain before or behind another one of the same chain."""
    call, other = draft.typed(link, ir.Call), draft.typed(target, ir.Call)
    if before:
        if call not in _links(other, call) or not isinstance(other.function, ir.Attribute):
            raise Refused("the two calls are not in one chain")
        place = draft.end(other.function.value)
        place = _behind_parentheses(draft, place)
    else:
        if other not in _links(call, other):
            raise Refused("the two calls are not in one chain")
        place = draft.end(other)
    if not isinstance(call.function, ir.Attribute):
        raise Refused("it is not a method")
    start = _behind_parentheses(draft, draft.end(call.function.value))
    end = draft.end(call)
    return [draft.insert(place, draft.text[start:end]), draft.delete(start, end)]


def assigned(draft: Draft, site: Site) -> list[Edit]:
    """Assign the result of a chain of methods to the variable or attribute that the first one is called on."""
    call = draft.typed(site, ir.Call)
    owner: ir.Expr = call
    while isinstance(owner, ir.Call) and isinstance(owner.function, ir.Attribute):
        owner = owner.function.value
    if not isinstance(owner, (ir.Name, ir.Attribute)):
        raise Refused("the object has no name")
    return [draft.insert(draft.start(call), f"{draft.source(owner)} = ")]


def _behind_parentheses(draft: Draft, end: int) -> int:
    """The offset behind the receiver of a call, including closing parentheses that its extent leaves out."""
    while draft.text[end : end + 1] == ")":
        end += 1
    return end


def _links(inner: ir.Call, outer: ir.Call) -> list[ir.Expr]:
    """The calls of a chain from the outermost to the given inner one, none if that is not part of it."""
    found: list[ir.Expr] = []
    node: ir.Expr = outer
    while isinstance(node, ir.Call) and isinstance(node.function, ir.Attribute):
        found.append(node)
        node = node.function.value
        if node is inner:
            return found
    return []
