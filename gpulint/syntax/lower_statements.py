"""LibCST statements to `ir` statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.lower_expressions import EXPRESSIONS, Lowering, arguments, bind, expression, parameters
from gpulint.syntax.lower_patterns import case

_Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Statement]


def block(low: Lowering, body: Sequence[Any]) -> tuple[ir.Statement, ...]:
    """The statements of a module, an indented block or the rest of a line after a colon."""
    result: list[ir.Statement] = []
    for node in body:
        if type(node) is cst.SimpleStatementLine:
            for small in node.body:
                result.append(STATEMENTS[type(small)](low, small))
        else:
            result.append(STATEMENTS[type(node)](low, node))
    return tuple(result)


def docstring(body: Sequence[ir.Statement]) -> str | None:
    if body and isinstance(body[0], ir.ExpressionStatement):
        value = body[0].value
        if isinstance(value, ir.Constant) and isinstance(value.value, str):
            return value.value
    return None


def _suite(low: Lowering, node: Any) -> tuple[ir.Statement, ...]:
    return () if node is None else block(low, node.body.body)


def _optional(low: Lowering, node: cst.BaseExpression | None) -> ir.Expr | None:
    return None if node is None else expression(low, node)


# ------------------------------------------------------------------------------ simple statements


def _expression(low: Lowering, node: cst.Expr) -> ir.Statement:
    nodes = low.nodes
    number = len(nodes)
    nodes.append(node)
    value = node.value
    return ir.ExpressionStatement(number, EXPRESSIONS[type(value)](low, value))


def _assign(low: Lowering, node: cst.Assign) -> ir.Statement:
    number = low.number(node)
    value = expression(low, node.value)
    targets = []
    for each in node.targets:
        target = expression(low, each.target)
        bind(low, target)
        targets.append(target)
    return ir.Assign(number, tuple(targets), value, None)


def _annotated(low: Lowering, node: cst.AnnAssign) -> ir.Statement:
    number = low.number(node)
    value = _optional(low, node.value)
    target = expression(low, node.target)
    bind(low, target)
    return ir.Assign(number, (target,), value, expression(low, node.annotation.annotation))


def _augmented(low: Lowering, node: cst.AugAssign) -> ir.Statement:
    number = low.number(node)
    target = expression(low, node.target)
    bind(low, target)
    return ir.AugAssign(number, target, _AUGMENTED[type(node.operator)], expression(low, node.value))


def _delete(low: Lowering, node: cst.Del) -> ir.Statement:
    number = low.number(node)
    target = expression(low, node.target)
    bind(low, target)
    targets = target.elements if isinstance(target, ir.Sequence_) else (target,)
    return ir.Delete(number, targets)


def _return(low: Lowering, node: cst.Return) -> ir.Statement:
    number = low.number(node)
    return ir.Return(number, _optional(low, node.value))


def _raise(low: Lowering, node: cst.Raise) -> ir.Statement:
    number = low.number(node)
    value = _optional(low, node.exc)
    if node.cause is not None:
        expression(low, node.cause.item)
    return ir.Raise(number, value)


def _assert(low: Lowering, node: cst.Assert) -> ir.Statement:
    number = low.number(node)
    test = expression(low, node.test)
    return ir.Assert(number, test, _optional(low, node.msg))


def _pass(low: Lowering, node: cst.CSTNode) -> ir.Statement:
    return ir.Pass(low.number(node))


def _break(low: Lowering, node: cst.Break) -> ir.Statement:
    return ir.Break(low.number(node))


def _continue(low: Lowering, node: cst.Continue) -> ir.Statement:
    return ir.Continue(low.number(node))


def _type_alias(low: Lowering, node: cst.TypeAlias) -> ir.Statement:
    low.bound.add(low.word(node.name.value))
    return ir.Pass(low.number(node))


def _dotted(low: Lowering, node: cst.BaseExpression | None) -> str:
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(low.word(node.attr.value))
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(low.word(node.value))
    return ".".join(reversed(parts))


def _aliases(low: Lowering, names: Sequence[cst.ImportAlias]) -> tuple[tuple[str, str | None], ...]:
    result: list[tuple[str, str | None]] = []
    for each in names:
        dotted = _dotted(low, each.name)
        alias = None
        if each.asname is not None and isinstance(each.asname.name, cst.Name):
            alias = low.word(each.asname.name.value)
        low.bound.add(alias or dotted.partition(".")[0])
        result.append((dotted, alias))
    return tuple(result)


def _import(low: Lowering, node: cst.Import) -> ir.Statement:
    return ir.Import(low.number(node), _aliases(low, node.names))


def _import_from(low: Lowering, node: cst.ImportFrom) -> ir.Statement:
    number = low.number(node)
    module = _dotted(low, node.module)
    names: tuple[tuple[str, str | None], ...] = (("*", None),)
    if not isinstance(node.names, cst.ImportStar):
        names = _aliases(low, node.names)
    return ir.ImportFrom(number, module, len(node.relative), names)


def _declare(kind: str) -> _Lowerer:
    def lower_declaration(low: Lowering, node: cst.Global | cst.Nonlocal) -> ir.Statement:
        number = low.number(node)
        names = tuple([low.word(each.name.value) for each in node.names])
        low.declared.update(names)
        return ir.Declare(number, kind, names)

    return lower_declaration


# ------------------------------------------------------------------------------ compound statements


def _if(low: Lowering, node: cst.If) -> ir.Statement:
    links = []
    rest: cst.If | cst.Else | None = node
    while isinstance(rest, cst.If):
        number = low.number(rest)
        test = expression(low, rest.test)
        links.append((number, test, block(low, rest.body.body)))
        rest = rest.orelse
    orelse = _suite(low, rest)
    for number, test, body in reversed(links):
        result = ir.If(number, test, body, orelse)
        orelse = (result,)
    return result


def _for(low: Lowering, node: cst.For) -> ir.Statement:
    number = low.number(node)
    iterable = expression(low, node.iter)
    target = expression(low, node.target)
    bind(low, target)
    body = block(low, node.body.body)
    return ir.For(number, target, iterable, body, _suite(low, node.orelse))


def _while(low: Lowering, node: cst.While) -> ir.Statement:
    number = low.number(node)
    test = expression(low, node.test)
    body = block(low, node.body.body)
    return ir.While(number, test, body, _suite(low, node.orelse))


def _with(low: Lowering, node: cst.With) -> ir.Statement:
    number = low.number(node)
    items: list[tuple[ir.Expr, ir.Expr | None]] = []
    for item in node.items:
        context = expression(low, item.item)
        target = None
        if item.asname is not None:
            target = expression(low, item.asname.name)
            bind(low, target)
        items.append((context, target))
    return ir.With(number, tuple(items), block(low, node.body.body))


def _try(low: Lowering, node: cst.Try | cst.TryStar) -> ir.Statement:
    number = low.number(node)
    body = block(low, node.body.body)
    handlers = tuple([_handler(low, each) for each in node.handlers])
    orelse = _suite(low, node.orelse)
    return ir.Try(number, body, handlers, orelse, _suite(low, node.finalbody))


def _handler(low: Lowering, node: cst.ExceptHandler | cst.ExceptStarHandler) -> ir.Handler:
    number = low.number(node)
    kind = _optional(low, node.type)
    name = None
    if node.name is not None and isinstance(node.name.name, cst.Name):
        name = low.word(node.name.name.value)
        low.bound.add(name)
    return ir.Handler(number, kind, name, block(low, node.body.body))


def _match(low: Lowering, node: cst.Match) -> ir.Statement:
    number = low.number(node)
    subject = expression(low, node.subject)
    cases = []
    for each in node.cases:
        at, binds, value, wildcard = case(low, each)
        guard = _optional(low, each.guard)
        body = block(low, each.body.body)
        cases.append(ir.Case(at, binds, value, wildcard and guard is None, guard, body))
    return ir.Match(number, subject, tuple(cases))


# ------------------------------------------------------------------------------ definitions


@contextmanager
def _scope(low: Lowering, bound: set[str]) -> Iterator[None]:
    outer = low.bound, low.declared, low.yields
    low.bound, low.declared, low.yields = bound, set(), False
    yield
    low.bound, low.declared, low.yields = outer


def _function(low: Lowering, node: cst.FunctionDef) -> ir.Statement:
    number = low.number(node)
    name = low.word(node.name.value)
    low.bound.add(name)
    decorators = tuple([expression(low, each.decorator) for each in node.decorators])
    params = parameters(low, node.params)
    returns = None if node.returns is None else expression(low, node.returns.annotation)
    with _scope(low, {each.name for each in params}):
        body = block(low, node.body.body)
        names = frozenset(low.bound - low.declared)
        yields = low.yields
    return ir.FunctionDef(
        number,
        name,
        params,
        returns,
        decorators,
        body,
        node.asynchronous is not None,
        yields,
        names,
        docstring(body),
    )


def _class(low: Lowering, node: cst.ClassDef) -> ir.Statement:
    number = low.number(node)
    name = low.word(node.name.value)
    low.bound.add(name)
    decorators = tuple([expression(low, each.decorator) for each in node.decorators])
    bases: list[ir.Expr] = []
    for each in node.bases:
        if each.star:
            at = low.number(each)
            bases.append(ir.Starred(at, expression(low, each.value)))
        else:
            bases.append(expression(low, each.value))
    keywords = arguments(low, node.keywords)
    with _scope(low, set()):
        body = block(low, node.body.body)
    return ir.ClassDef(number, name, tuple(bases), keywords, decorators, body, docstring(body))


# ------------------------------------------------------------------------------ tables


class _Table(dict[type[cst.CSTNode], _Lowerer]):
    """A statement that a newer LibCST knows and this table does not does nothing."""

    def __missing__(self, kind: type[cst.CSTNode]) -> _Lowerer:
        return _pass


STATEMENTS = _Table(
    {
        cst.Expr: _expression,
        cst.Assign: _assign,
        cst.AnnAssign: _annotated,
        cst.AugAssign: _augmented,
        cst.Del: _delete,
        cst.Return: _return,
        cst.Raise: _raise,
        cst.Assert: _assert,
        cst.Pass: _pass,
        cst.Break: _break,
        cst.Continue: _continue,
        cst.TypeAlias: _type_alias,
        cst.Import: _import,
        cst.ImportFrom: _import_from,
        cst.Global: _declare("global"),
        cst.Nonlocal: _declare("nonlocal"),
        cst.If: _if,
        cst.For: _for,
        cst.While: _while,
        cst.With: _with,
        cst.Try: _try,
        cst.TryStar: _try,
        cst.Match: _match,
        cst.FunctionDef: _function,
        cst.ClassDef: _class,
    }
)
if hasattr(cst, "LazyImport"):  # LibCST 1.9
    STATEMENTS[cst.LazyImport] = _import
    STATEMENTS[cst.LazyImportFrom] = _import_from

_AUGMENTED: dict[type[cst.CSTNode], str] = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.MatrixMultiplyAssign: "@",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.PowerAssign: "**",
    cst.LeftShiftAssign: "<<",
    cst.RightShiftAssign: ">>",
    cst.BitAndAssign: "&",
    cst.BitOrAssign: "|",
    cst.BitXorAssign: "^",
}
