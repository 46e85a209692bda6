"""Edits of training loops."""

from __future__ import annotations

import builtins
from collections import Counter, defaultdict
from typing import NamedTuple

from gpulint.places import Site
from gpulint.rewriting.draft import Draft
from gpulint.rewriting.fix import Edit, Refused
from gpulint.rewriting.names import bindings, free, is_local, spelled, variable
from gpulint.rewriting.statements import decorated, rows, unit
from gpulint.syntax import ir
from gpulint.syntax.walk import within


def loop_over(draft: Draft, site: Site) -> ir.For:
    """The innermost `for` around a place in the same function. Raises Refused."""
    node: ir.Node | None = draft.node(site)
    while node is not None and not isinstance(node, ir.FunctionDef | ir.ClassDef | ir.Lambda):
        if isinstance(node, ir.For):
            return node
        node = draft.parent(node)
    raise Refused("it is not in a loop")


def with_iterable_in(draft: Draft, loop: ir.For, function: str) -> list[Edit]:
    """Change `for x in data:` to `for x in function(data):`, also inside `enumerate` and `iter`. Raises Refused."""
    iterable = loop.iterable
    if isinstance(iterable, ir.Call) and isinstance(iterable.function, ir.Name) and iterable.arguments:
        if iterable.function.id not in ("enumerate", "iter"):
            raise Refused("it is unknown what the loop iterates over")
        iterable = iterable.arguments[0].value
    return [draft.rewrite(iterable, f"{function}({draft.source(iterable)})")]


def made_for(draft: Draft, loop: ir.For) -> ir.Call | None:
    """The call that creates the dataset of a loop, if it is bound to a name once and used nowhere else."""
    name = loop.iterable
    if not isinstance(name, ir.Name):
        return None
    makers = bindings(draft, name.id, draft.function(loop))
    uses = draft.once(_mentions, None)[name.id]
    made = makers[0].value if len(makers) == 1 and isinstance(makers[0], ir.Assign) else None
    return made if uses == 2 and isinstance(made, ir.Call) else None


def demand_passed_on(draft: Draft, loop: ir.For) -> None:
    """Raise Refused unless the body of a loop only passes the elements on to functions of the program, or to methods.

    Elements of a distributed dataset have no shape and no values: library functions and operators reject them.
    """
    targets = loop.target
    if isinstance(loop.iterable, ir.Call) and draft.source(loop.iterable.function) == "enumerate":
        targets = targets.elements[-1] if isinstance(targets, ir.Sequence_) else targets
    elements = {one.id for one in within(targets) if isinstance(one, ir.Name)}
    libraries = draft.once(_libraries, None)
    for statement in loop.body:
        for node in within(statement):
            if isinstance(node, ir.Name) and node.id in elements and not _is_passed_on(draft, node, libraries):
                raise Refused(f"the loop uses `{node.id}` as one tensor")


def _is_passed_on(draft: Draft, node: ir.Node, libraries: frozenset[str]) -> bool:
    """Whether an element, or a part of it, is an argument of a call of the program's own function or of a method."""
    while (above := draft.parent(node)) is not None:
        if isinstance(above, ir.Call):
            name = above.function
            while isinstance(name, ir.Attribute | ir.Subscript | ir.Call):
                name = name.function if isinstance(name, ir.Call) else name.value
            is_library = isinstance(name, ir.Name) and name.id in libraries
            return node is not above.function and not is_library
        is_part = isinstance(above, ir.Subscript) and node is above.value
        if not is_part and not isinstance(above, ir.Argument | ir.Sequence_ | ir.Starred):
            return False
        node = above
    return False


def _libraries(draft: Draft, nothing: None) -> frozenset[str]:
    """Names of modules that a file imports, of what it imports from array libraries, and of Python's functions."""
    nodes = [one for statement in draft.module.body for one in within(statement)]
    modules = {
        alias or name.partition(".")[0] for one in nodes if isinstance(one, ir.Import) for name, alias in one.names
    }
    functions = {
        alias or name
        for one in nodes
        if isinstance(one, ir.ImportFrom) and one.module.partition(".")[0] in ("keras", "numpy", "tensorflow")
        for name, alias in one.names
    }
    return frozenset({*modules, *functions, *dir(builtins)})


def _mentions(draft: Draft, nothing: None) -> Counter[str]:
    """Number of occurrences of each name in a file."""
    nodes = (one for statement in draft.module.body for one in within(statement))
    return Counter(one.id for one in nodes if isinstance(one, ir.Name))


def compiled(draft: Draft, site: Site) -> list[Edit]:
    """Decorate a function with `tf.function`. Raises Refused if its body reads values of tensors, or has side effects
    in Python, which tracing would run once."""
    function = draft.typed(site, ir.FunctionDef)
    above = draft.text[rows(draft, function)[0] : draft.start(function)]
    if "function" in above:
        raise Refused("a comment or decorator there refers to it")
    here = draft.once(_of_function, function)
    if here.needs_python or not here.calls.isdisjoint(draft.once(_needing_python, None)):
        raise Refused("the function needs tensor values, or changes Python state")
    return decorated(draft, site, "tensorflow.function")


class _Function(NamedTuple):
    """(whether the body of a function needs Python at every step, the names that it calls except its own)."""

    needs_python: bool
    calls: frozenset[str]


def _of_function(draft: Draft, function: ir.FunctionDef) -> _Function:
    nodes = [node for statement in function.body for node in within(statement)]
    called = [node.function for node in nodes if isinstance(node, ir.Call)]
    names = {
        one.id if isinstance(one, ir.Name) else one.name for one in called if isinstance(one, ir.Name | ir.Attribute)
    }
    return _Function(any(map(_needs_python, nodes)), frozenset(names - {function.name}))


def _needing_python(draft: Draft, nothing: None) -> set[str]:
    """The names of the functions of a file that need Python at every step, directly or by calling one that does."""
    nodes = (one for statement in draft.module.body for one in within(statement))
    functions = {one.name: draft.once(_of_function, one) for one in nodes if isinstance(one, ir.FunctionDef)}
    callers: dict[str, list[str]] = defaultdict(list)
    for name, function in functions.items():
        for called in function.calls:
            callers[called].append(name)
    found = {name for name, function in functions.items() if function.needs_python}
    pending = [*found]
    while pending:
        for name in callers[pending.pop()]:
            if name not in found:
                found.add(name)
                pending.append(name)
    return found


def _needs_python(node: ir.Node) -> bool:
    match node:
        case ir.Attribute():
            return node.name in _OF_VALUES
        case ir.Call(function=ir.Name(id=name)):
            return name in _BUILTINS
        case ir.Call(function=ir.Attribute(name=name), arguments=[]):
            return name in _OF_ARRAYS
        case ir.Assign():
            return any(isinstance(target, ir.Attribute | ir.Subscript) for target in node.targets)
        case ir.AugAssign():
            return isinstance(node.target, ir.Attribute | ir.Subscript)
        case ir.Yield() | ir.Await() | ir.Declare() | ir.Try() | ir.Delete() | ir.Import() | ir.ImportFrom():
            return True
    return isinstance(node, ir.Name) and node.id in ("np", "numpy", "random", "time")


_OF_VALUES = frozenset({"numpy", "append", "astype", "extend", "item", "tolist", "update", "pop"})
"""Methods that read a tensor, change a Python object, or exist in NumPy only."""

_OF_ARRAYS = frozenset({"all", "any", "argmax", "copy", "flatten", "max", "mean", "min", "ravel", "squeeze", "sum"})
"""Methods of arrays, callable without arguments, that tensors lack: `tf.function` converts array arguments to
tensors."""

_BUILTINS = frozenset({"print", "float", "int", "bool", "input", "open", "next"})


def compiled_call(draft: Draft, site: Site, strategy: Site) -> list[Edit]:
    """Change `strategy.run(step, args=(x,))` in a loop to `distributed_step(x)`, a `tf.function` defined before the
    loop."""
    call = draft.typed(site, ir.Call)
    loop = _outermost(draft, loop_over(draft, site))
    name = variable(draft, strategy, loop)
    receiver = call.function.value if isinstance(call.function, ir.Attribute) else None
    if receiver is None or draft.source(receiver) != name or not call.arguments:
        raise Refused("the strategy has another name there")
    step, *rest = call.arguments
    if not isinstance(step.value, ir.Name) or step.star or step.keyword not in (None, "fn"):
        raise Refused("the step has no name")
    if is_local(draft, step.value.id, loop) or len(bindings(draft, step.value.id, None)) != 1:
        raise Refused("the step is not a module-level function")
    given = _passed(rest)
    wrapper = free(draft, f"distributed_{step.value.id.lstrip('_').removeprefix('distributed_')}", "distributed_step")
    decorator, edits = spelled(draft, "tensorflow.function", loop)
    start = rows(draft, loop)[0]
    indent = draft.indent(draft.start(loop))
    arguments = ", ".join(given)
    definition = (
        f"{indent}@{decorator}\n{indent}def {wrapper}({arguments}):\n"
        f"{indent}{unit(draft)}return {draft.source(call)}\n\n"
    )
    if not indent:
        definition = f"{_rows_missing(draft, start)}{definition}\n"
    return [*edits, draft.insert(start, definition), draft.rewrite(call, f"{wrapper}({arguments})")]


def _rows_missing(draft: Draft, start: int) -> str:
    """The empty rows above a function of a module."""
    if not start:
        return ""
    ends = next((number for number in range(3) if draft.text[start - number - 1 : start - number] != "\n"), 3)
    return "\n" * max(0, 3 - ends)


def _outermost(draft: Draft, loop: ir.For) -> ir.Statement:
    """The outermost loop around a loop in the same function."""
    found: ir.Statement = loop
    node = draft.parent(loop)
    while node is not None and not isinstance(node, ir.FunctionDef | ir.ClassDef):
        if isinstance(node, ir.For | ir.While):
            found = node
        node = draft.parent(node)
    return found


def _passed(arguments: list[ir.Argument]) -> list[str]:
    """The distinct names in `args=(x, y)`. Raises Refused if anything else is passed."""
    if not arguments:
        return []
    given = arguments[0].value
    if len(arguments) > 1 or arguments[0].keyword not in (None, "args") or not isinstance(given, ir.Sequence_):
        raise Refused("the arguments are not a tuple of names")
    names = [one.id for one in given.elements if isinstance(one, ir.Name)]
    if len(names) != len(given.elements) or len(set(names)) != len(names):
        raise Refused("the arguments are not a tuple of names")
    return names
