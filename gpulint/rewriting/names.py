"""The names of a file: what a statement reads and binds, what is visible where, how a library name is spelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gpulint.places import Site
from gpulint.rewriting.draft import Draft, children, is_always, within
from gpulint.rewriting.fix import Edit, Refused
from gpulint.syntax import ir


def binds(node: ir.Node) -> set[str]:
    """The names that a statement binds, or whose attributes or elements it sets."""
    found: set[str] = set()
    for one in within(node, lambda one: one is node or not isinstance(one, ir.FunctionDef | ir.ClassDef | ir.Lambda)):
        match one:
            case ir.Assign():
                found.update(name for target in one.targets for name in _targets(target))
            case ir.AugAssign() | ir.For() | ir.Walrus():
                found.update(_targets(one.target))
            case ir.Delete():
                found.update(name for target in one.targets for name in _targets(target))
            case ir.With():
                found.update(name for _, target in one.items if target is not None for name in _targets(target))
            case ir.Import():
                found.update(alias or dotted.partition(".")[0] for dotted, alias in one.names)
            case ir.ImportFrom():
                found.update(alias or name for name, alias in one.names)
            case ir.Handler():
                found.update([one.name] if one.name else [])
            case ir.Case():
                found.update(one.binds)
    for one in _definitions(node):
        found.add(one.name)
    return found


def _definitions(node: ir.Node) -> Iterator[ir.FunctionDef | ir.ClassDef]:
    """The functions and classes that a statement defines in its own scope."""
    if isinstance(node, ir.FunctionDef | ir.ClassDef):
        yield node
        return
    for child in children(node):
        yield from _definitions(child)


def _targets(target: ir.Expr) -> Iterator[str]:
    """The names that an assignment to a target binds or changes."""
    match target:
        case ir.Name():
            yield target.id
        case ir.Sequence_():
            for element in target.elements:
                yield from _targets(element)
        case ir.Attribute() | ir.Subscript() | ir.Starred():
            yield from _targets(target.value)


def reads(node: ir.Node) -> set[str]:
    """The names that a statement mentions, in functions inside it, too."""
    return {one.id for one in within(node) if isinstance(one, ir.Name)}


def bindings(draft: Draft, name: str, scope: ir.FunctionDef | ir.ClassDef | None) -> list[ir.Statement]:
    """The simple and compound statements of a function, class or module (None) that bind a name themselves."""
    body = scope.body if scope is not None else draft.module.body
    return list(_bindings(body, name))


def _bindings(body: Iterable[ir.Node], name: str) -> Iterator[ir.Statement]:
    for statement in body:
        if isinstance(statement, ir.FunctionDef | ir.ClassDef):
            if statement.name == name:
                yield statement
        elif name in binds(statement):
            inner = [one for one in children(statement) if isinstance(one, ir.Statement | ir.Handler | ir.Case)]
            own = list(_bindings(inner, name))
            if own:
                yield from own
            elif isinstance(statement, ir.Statement):
                yield statement


def is_local(draft: Draft, name: str, node: ir.Node) -> bool:
    """Whether a name belongs to a function around a node, not to the module."""
    around: ir.Node | None = node
    while around is not None:
        around = draft.parent(around)
        if isinstance(around, ir.FunctionDef) and name in around.local_names:
            return True
        if isinstance(around, ir.Lambda) and any(parameter.name == name for parameter in around.parameters):
            return True
    return False


def free(draft: Draft, *wishes: str) -> str:
    """The first of some names that the file does not use yet. Raises Refused."""
    for name in wishes:
        if name not in draft.module.words:
            return name
    raise Refused("every good name is taken")


# ------------------------------------------------------------------------------ objects


def variable(draft: Draft, made: Site, user: ir.Node) -> str:
    """How the object made at a place is called at another one, where it must have been made before: `strategy`,
    `self.strategy`. Raises Refused where it has no name there, or not for certain."""
    maker = draft.statement(draft.node(made))
    if not isinstance(maker, ir.Assign) or len(maker.targets) != 1 or made.node not in _options(maker.value):
        raise Refused("what is made there has no name")
    target = maker.targets[0]
    here, there = draft.function(user), draft.function(maker)
    if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and target.value.id == "self":
        if here is not there or not _is_before(draft, maker, draft.statement(user)):
            raise Refused("it is an attribute that another method sets")
        return draft.source(target)
    if not isinstance(target, ir.Name):
        raise Refused("what is made there has no name")
    name = target.id
    makers = bindings(draft, name, there)
    if here is there:
        known = any(_is_before(draft, one, draft.statement(user)) for one in makers) or _in_both_arms(
            draft, makers, draft.statement(user)
        )
    else:
        known = there is None and not is_local(draft, name, user) and _is_of_module(draft, makers)
    if not known or not all(isinstance(one, ir.Assign) and _is_made(one.value) for one in makers):
        raise Refused(f"`{name}` is not made for certain before it")
    return name


def _options(value: ir.Expr | None) -> list[int]:
    """The expressions, by number, of which one is the value of another: itself, or the arms of a condition."""
    if isinstance(value, ir.Conditional):
        return [*_options(value.body), *_options(value.orelse)]
    return [value.number] if value is not None else []


def _is_made(value: ir.Expr | None) -> bool:
    if isinstance(value, ir.Conditional):
        return _is_made(value.body) and _is_made(value.orelse)
    return isinstance(value, ir.Call)


def _is_before(draft: Draft, first: ir.Statement, second: ir.Statement) -> bool:
    """Whether whoever gets to the second statement has been at the first: it stands earlier in a block around it."""
    block = draft.block(first)
    around: ir.Node | None = second
    while around is not None and not any(one is around for one in block):
        around = draft.parent(around)
    holder = draft.parent(first)
    if around is None and is_always(holder):
        return _is_before(draft, holder, second)
    return around is not None and around is not first and first.number < around.number


def _in_both_arms(draft: Draft, makers: list[ir.Statement], user: ir.Statement) -> bool:
    """Whether an `if` and its `else` before a statement both make it."""
    for one in makers:
        around = draft.parent(one)
        if isinstance(around, ir.If) and around.orelse and _is_before(draft, around, user):
            arms = [any(maker in arm for maker in makers) for arm in (around.body, around.orelse)]
            if all(arms):
                return True
    return False


def _is_of_module(draft: Draft, makers: list[ir.Statement]) -> bool:
    """Whether a name is bound once, in the module's body itself."""
    if len(makers) != 1:
        return False
    holder = draft.parent(makers[0])
    return holder is None or (is_always(holder) and draft.parent(holder) is None)


# ------------------------------------------------------------------------------ libraries

_ALIASES = {"tensorflow.compat.v2": "tensorflow", "tensorflow.python.keras": "tensorflow.keras"}


def spelled(draft: Draft, dotted: str, user: ir.Node) -> tuple[str, list[Edit]]:
    """How a library name such as `tensorflow.data.AUTOTUNE` is written at a place, and the edit that imports it where
    that is needed. Raises Refused."""
    if not dotted.startswith("tensorflow"):
        raise Refused(f"`{dotted}` is not TensorFlow's")
    known: dict[str, str] = {}
    for statement in _imports(draft, user):
        for name, of in _imported(statement):
            known[name] = of
    best = ""
    for name, of in known.items():
        if (dotted == of or dotted.startswith(f"{of}.")) and len(of) > len(known.get(best, "")):
            if _is_only_imported(draft, name, user):
                best = name
    if best:
        return best + dotted.removeprefix(known[best]), []
    name = free(draft, "tf")
    return name + dotted.removeprefix("tensorflow"), [_import(draft, f"import tensorflow as {name}")]


def whole(draft: Draft, node: ir.Node, dotted: str) -> tuple[ir.Node, str]:
    """The longest dotted name that begins with one that is written at a place."""
    while isinstance(around := draft.parent(node), ir.Attribute):
        node, dotted = around, f"{dotted}.{around.name}"
    return node, dotted


def is_spelled(draft: Draft, node: ir.Node, dotted: str) -> bool:
    """Whether a name is written out at a place as the imports of the file give it: `tf.Session`."""
    parts: list[str] = []
    inner = node
    while isinstance(inner, ir.Attribute):
        parts.insert(0, inner.name)
        inner = inner.value
    if not isinstance(inner, ir.Name) or not parts or not _is_only_imported(draft, inner.id, node):
        return False
    known = [of for statement in _imports(draft, node) for name, of in _imported(statement) if name == inner.id]
    return bool(known) and ".".join((known[-1], *parts)) == dotted


def _imports(draft: Draft, user: ir.Node) -> Iterator[ir.Import | ir.ImportFrom]:
    """The imports that are done before a place is reached: of the module, and of the function around it."""
    around = draft.function(user)
    for body in (draft.module.body, around.body if around is not None else ()):
        for statement in body:
            if statement.number > user.number and around is None:
                return
            options = statement.body if isinstance(statement, ir.Try) else (statement,)
            yield from (one for one in options if isinstance(one, ir.Import | ir.ImportFrom))


def _imported(statement: ir.Import | ir.ImportFrom) -> Iterator[tuple[str, str]]:
    """(local name, dotted name) pairs."""
    if isinstance(statement, ir.ImportFrom):
        if statement.level == 0:
            yield from ((alias or name, _public(f"{statement.module}.{name}")) for name, alias in statement.names)
        return
    for dotted, alias in statement.names:
        top = dotted.partition(".")[0]
        yield (alias, _public(dotted)) if alias else (top, top)


def _public(dotted: str) -> str:
    for inner, public in _ALIASES.items():
        if dotted == inner or dotted.startswith(f"{inner}."):
            return public + dotted.removeprefix(inner)
    return dotted


def _is_only_imported(draft: Draft, name: str, user: ir.Node) -> bool:
    """Whether nothing but imports binds a name that is used at a place."""
    scopes: list[ir.FunctionDef | ir.ClassDef | None] = [None, draft.function(user)]
    makers = [one for scope in scopes for one in bindings(draft, name, scope)]
    if not all(isinstance(one, ir.Import | ir.ImportFrom) for one in makers):
        return False
    meant = Counter(of for one in makers for local, of in _imported_by(one) if local == name)
    parameters = [one for one in (draft.function(user),) if isinstance(one, ir.FunctionDef)]
    return len(meant) == 1 and not any(each.name == name for one in parameters for each in one.parameters)


def _imported_by(statement: ir.Statement) -> Iterator[tuple[str, str]]:
    return _imported(statement) if isinstance(statement, ir.Import | ir.ImportFrom) else iter(())


def _import(draft: Draft, line: str) -> Edit:
    """The edit that adds an import: behind those that the module begins with, else behind its docstring."""
    last: ir.Statement | None = None
    for index, statement in enumerate(draft.module.body):
        is_docstring = index == 0 and draft.module.docstring is not None
        if not is_docstring and not isinstance(statement, ir.Import | ir.ImportFrom):
            break
        last = statement
    if last is None:
        first = draft.row_start(draft.start(draft.module.body[0])) if draft.module.body else len(draft.text)
        return draft.insert(first, f"{line}\n")
    blank = "" if isinstance(last, ir.Import | ir.ImportFrom) else "\n"
    end = draft.row_end(draft.end(last))
    if not draft.text[:end].endswith("\n"):
        raise Refused("the file ends with its imports")
    return draft.insert(end, f"{blank}{line}\n")
