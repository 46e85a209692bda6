"""The names of a file: which are read and bound where, which are visible, how library names are spelled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from gpulint.places import Site
from gpulint.rewriting.draft import Draft, is_always
from gpulint.rewriting.fix import Edit, Refused
from gpulint.syntax import ir
from gpulint.syntax.binding import bound_by
from gpulint.syntax.walk import children, within

Scope: TypeAlias = "ir.FunctionDef | ir.ClassDef | None"
"""A function, a class, or the module (None)."""


def binds(draft: Draft, node: ir.Node) -> frozenset[str]:
    """The names that a statement binds or changes by setting attributes or elements."""
    return draft.once(_binds, node)


def _binds(draft: Draft, node: ir.Node) -> frozenset[str]:
    inside = within(node, lambda one: one is node or not isinstance(one, ir.FunctionDef | ir.ClassDef | ir.Lambda))
    return frozenset([*(name for one in inside for name in bound_by(one)), *(one.name for one in _definitions(node))])


def _definitions(node: ir.Node) -> Iterator[ir.FunctionDef | ir.ClassDef]:
    """The functions and classes that a statement defines in its own scope."""
    if isinstance(node, ir.FunctionDef | ir.ClassDef):
        yield node
        return
    for child in children(node):
        yield from _definitions(child)


def reads(draft: Draft, node: ir.Node) -> frozenset[str]:
    """The names that a statement mentions, including functions inside it."""
    return draft.once(_reads, node)


def _reads(draft: Draft, node: ir.Node) -> frozenset[str]:
    return frozenset(one.id for one in within(node) if isinstance(one, ir.Name))


def bindings(draft: Draft, name: str, scope: Scope) -> Sequence[ir.Statement]:
    """The statements of a function, class or module (None) that bind a name themselves."""
    return draft.once(_bindings, scope).get(name, ())


def _bindings(draft: Draft, scope: Scope) -> dict[str, list[ir.Statement]]:
    found: dict[str, list[ir.Statement]] = {}
    for statement in scope.body if scope is not None else draft.module.body:
        for name, binding in _binding(statement).items():
            found.setdefault(name, []).extend(binding)
    return found


def _binding(node: ir.Node) -> dict[str, list[ir.Statement]]:
    """The innermost statements that bind each name bound inside a statement, handler or case; none if the handler or
    case itself does."""
    if isinstance(node, ir.FunctionDef | ir.ClassDef):
        return {node.name: [node]}
    found: dict[str, list[ir.Statement]] = {}
    for one in within(node, lambda one: one is node or not isinstance(one, _OTHERS)):
        found.update((name, []) for name in bound_by(one))
    for inner in children(node):
        if isinstance(inner, _PARTS):
            for name, binding in _binding(inner).items():
                found.setdefault(name, []).extend(binding)
    if isinstance(node, ir.Statement):
        for binding in found.values():
            if not binding:
                binding.append(node)
    return found


_PARTS = ir.Statement | ir.Handler | ir.Case

_OTHERS = _PARTS | ir.Lambda
"""Nodes inside a statement that bind names themselves."""


def is_local(draft: Draft, name: str, node: ir.Node) -> bool:
    """Whether a name is local to a function around a node."""
    around: ir.Node | None = node
    while around is not None:
        around = draft.parent(around)
        if isinstance(around, ir.FunctionDef) and name in around.local_names:
            return True
        if isinstance(around, ir.Lambda) and any(parameter.name == name for parameter in around.parameters):
            return True
    return False


def free(draft: Draft, *wishes: str) -> str:
    """The first of some names that the file does not use. Raises Refused."""
    for name in wishes:
        if name not in draft.module.words:
            return name
    raise Refused("every suitable name is taken")


# ------------------------------------------------------------------------------ objects


def variable(draft: Draft, made: Site, user: ir.Node) -> str:
    """The expression for an object, created at one place, at another: `strategy`, `self.strategy`. Raises Refused if
    there may be none, or if the object may not exist yet."""
    maker = draft.statement(draft.node(made))
    if not isinstance(maker, ir.Assign) or len(maker.targets) != 1 or made.node not in _options(maker.value):
        raise Refused("the object has no name")
    target = maker.targets[0]
    here, there = draft.function(user), draft.function(maker)
    if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and target.value.id == "self":
        if here is not there or not _is_after_any(draft, _first(draft, [maker]), user):
            raise Refused("the attribute is set by another method")
        return draft.source(target)
    if not isinstance(target, ir.Name):
        raise Refused("the object has no name")
    name = target.id
    makers = draft.once(_makers, (name, there))
    if here is there:
        known = _is_after_any(draft, makers.first, user)
    else:
        known = there is None and not is_local(draft, name, user) and makers.is_of_module
    if not known or not makers.are_calls:
        raise Refused(f"`{name}` is not certain to be assigned before it")
    return name


class _Makers(NamedTuple):
    """The statements that bind a name in a scope."""

    first: dict[int, int]
    """`_first` of these statements and of each `if` that binds the name in both arms."""
    are_calls: bool
    """Whether all of them bind the name to the result of a call."""
    is_of_module: bool


def _makers(draft: Draft, about: tuple[str, Scope]) -> _Makers:
    makers = bindings(draft, *about)
    arms = {one.number: one for maker in makers if isinstance(one := draft.parent(maker), ir.If) and one.orelse}
    made = {maker.number for maker in makers}
    both = [
        one
        for one in arms.values()
        if all(not made.isdisjoint(each.number for each in arm) for arm in (one.body, one.orelse))
    ]
    return _Makers(
        _first(draft, [*makers, *both]),
        all(isinstance(one, ir.Assign) and _is_made(one.value) for one in makers),
        _is_of_module(draft, makers),
    )


def _options(value: ir.Expr | None) -> list[int]:
    """Numbers of the expressions that can be the value of an expression: itself, or the arms of a condition."""
    if isinstance(value, ir.Conditional):
        return [*_options(value.body), *_options(value.orelse)]
    return [value.number] if value is not None else []


def _is_made(value: ir.Expr | None) -> bool:
    if isinstance(value, ir.Conditional):
        return _is_made(value.body) and _is_made(value.orelse)
    return isinstance(value, ir.Call)


def _first(draft: Draft, statements: Collection[ir.Statement]) -> dict[int, int]:
    """Index of the first of some statements in each block, keyed by the number of the block's first statement. A
    statement in an `if 1:` also counts for the block around it."""
    first: dict[int, int] = {}
    for statement in statements:
        one: ir.Node | None = statement
        while isinstance(one, ir.Statement) and (one is statement or is_always(one)):
            block = draft.place(one).block[0].number
            first[block] = min(one.number, first.get(block, one.number))
            one = draft.parent(one)
    return first


def _is_after_any(draft: Draft, first: dict[int, int], user: ir.Node) -> bool:
    """Whether one of some statements (as given by `_first`) precedes a place in a block around it."""
    around: ir.Node | None = user
    while around is not None:
        if isinstance(around, ir.Statement):
            if first.get(draft.place(around).block[0].number, around.number) < around.number:
                return True
        around = draft.parent(around)
    return False


def _is_of_module(draft: Draft, makers: Sequence[ir.Statement]) -> bool:
    """Whether a name is bound once, directly in the module."""
    if len(makers) != 1:
        return False
    holder = draft.parent(makers[0])
    return holder is None or (is_always(holder) and draft.parent(holder) is None)


# ------------------------------------------------------------------------------ libraries

_ALIASES = {"tensorflow.compat.v2": "tensorflow", "tensorflow.python.keras": "tensorflow.keras"}


def spelled(draft: Draft, dotted: str, user: ir.Node) -> tuple[str, list[Edit]]:
    """(text, edits): a library name such as `tensorflow.data.AUTOTUNE` as the file spells it at a place, with the
    import that it needs, if any. Raises Refused."""
    if not dotted.startswith("tensorflow"):
        raise Refused(f"`{dotted}` is not TensorFlow's")
    prefix = dotted
    while prefix:
        for name in _known_as(draft, prefix, user):
            if _is_only_imported(draft, name, user):
                return name + dotted.removeprefix(prefix), []
        prefix = prefix.rpartition(".")[0]
    name = free(draft, "tf")
    place, blank = draft.once(_place_of_imports, None)
    edit = draft.insert(place, f"{blank}import tensorflow as {name}\n")
    return name + dotted.removeprefix("tensorflow"), [edit]


def whole(draft: Draft, node: ir.Node, dotted: str) -> tuple[ir.Node, str]:
    """The longest dotted name that starts with the one at a place."""
    while isinstance(around := draft.parent(node), ir.Attribute):
        node, dotted = around, f"{dotted}.{around.name}"
    return node, dotted


def is_spelled(draft: Draft, node: ir.Node, dotted: str) -> bool:
    """Whether a name is spelled out at a place through the imports of the file: `tf.Session`."""
    parts: list[str] = []
    inner = node
    while isinstance(inner, ir.Attribute):
        parts.insert(0, inner.name)
        inner = inner.value
    if not isinstance(inner, ir.Name) or not parts or not _is_only_imported(draft, inner.id, node):
        return False
    of = dotted.removesuffix("." + ".".join(parts))
    return of != dotted and _is_known_as(draft, inner.id, of, node)


def _known_as(draft: Draft, dotted: str, user: ir.Node) -> Iterator[str]:
    """The local names of a dotted name, imported before a place by the module or the function around it. Names that the
    module also binds to something else are left out."""
    around = draft.function(user)
    for name in draft.once(_imports, None).get(dotted, ()):
        if not _is_known_as(draft, name, dotted, user):
            break  # later imports are after the place, too
        yield name
    if around is not None:
        yield from draft.once(_imports, around).get(dotted, ())


def _is_known_as(draft: Draft, name: str, dotted: str, user: ir.Node) -> bool:
    """Whether a name is one of `_known_as`."""
    around = draft.function(user)
    statement = draft.once(_imports, None).get(dotted, {}).get(name)
    if statement is not None and (around is not None or statement <= user.number):
        return True
    return around is not None and name in draft.once(_imports, around).get(dotted, ())


def _imports(draft: Draft, scope: Scope) -> dict[str, dict[str, int]]:
    """The local names of each dotted name that the body of a scope imports, with the number of the first import."""
    found: dict[str, dict[str, int]] = {}
    for statement in scope.body if scope is not None else draft.module.body:
        for one in statement.body if isinstance(statement, ir.Try) else (statement,):
            for name, of in _imported(one):
                if draft.once(_meanings, (name, None)) <= {of}:
                    found.setdefault(of, {}).setdefault(name, statement.number)
    return found


def _meanings(draft: Draft, about: tuple[str, Scope]) -> frozenset[str]:
    """The dotted names that a local name stands for; "" for anything else that it is bound to."""
    name, scope = about
    found = {""} if isinstance(scope, ir.FunctionDef) and any(one.name == name for one in scope.parameters) else set()
    for one in bindings(draft, name, scope):
        if isinstance(one, ir.Import | ir.ImportFrom):
            found.update(of for local, of in _imported(one) if local == name)
        else:
            found.add("")
    return frozenset(found)


def _imported(statement: ir.Statement) -> Iterator[tuple[str, str]]:
    """(local name, dotted name) pairs of an import; none of another statement."""
    if isinstance(statement, ir.ImportFrom):
        if statement.level == 0:
            yield from ((alias or name, _public(f"{statement.module}.{name}")) for name, alias in statement.names)
    elif isinstance(statement, ir.Import):
        for dotted, alias in statement.names:
            top = dotted.partition(".")[0]
            yield (alias, _public(dotted)) if alias else (top, top)


def _public(dotted: str) -> str:
    for inner, public in _ALIASES.items():
        if dotted == inner or dotted.startswith(f"{inner}."):
            return public + dotted.removeprefix(inner)
    return dotted


def _is_only_imported(draft: Draft, name: str, user: ir.Node) -> bool:
    """Whether a name used at a place is bound by imports of one dotted name only."""
    meant = draft.once(_meanings, (name, None)) | draft.once(_meanings, (name, draft.function(user)))
    return len(meant) == 1 and "" not in meant


def _place_of_imports(draft: Draft, nothing: None) -> tuple[int, str]:
    """(offset, separator) for a new import: after the first imports of the module, else after its docstring. Raises
    Refused."""
    last: ir.Statement | None = None
    for index, statement in enumerate(draft.module.body):
        is_docstring = index == 0 and draft.module.docstring is not None
        if not is_docstring and not isinstance(statement, ir.Import | ir.ImportFrom):
            break
        last = statement
    if last is None:
        return draft.row_start(draft.start(draft.module.body[0])) if draft.module.body else len(draft.text), ""
    end = draft.row_end(draft.end(last))
    if not draft.text.endswith("\n", 0, end):
        raise Refused("the file ends with its imports")
    return end, "" if isinstance(last, ir.Import | ir.ImportFrom) else "\n"
