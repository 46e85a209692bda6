"""Lowering of LibCST's compound statements, definitions and blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.cst_lowering import expression, optional
from gpulint.syntax.lower_expressions import arguments, parameters
from gpulint.syntax.lower_patterns import case
from gpulint.syntax.lower_simple_statements import SIMPLE_STATEMENTS
from gpulint.syntax.lowering import Lowering, bind, docstring, scope

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


def _suite(low: Lowering, node: Any) -> tuple[ir.Statement, ...]:
    return () if node is None else block(low, node.body.body)


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
    kind = optional(low, node.type)
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
        guard = optional(low, each.guard)
        body = block(low, each.body.body)
        cases.append(ir.Case(at, binds, value, wildcard and guard is None, guard, body))
    return ir.Match(number, subject, tuple(cases))


# ------------------------------------------------------------------------------ definitions


def _function(low: Lowering, node: cst.FunctionDef) -> ir.Statement:
    number = low.number(node)
    name = low.word(node.name.value)
    low.bound.add(name)
    decorators = tuple([expression(low, each.decorator) for each in node.decorators])
    params = parameters(low, node.params)
    returns = None if node.returns is None else expression(low, node.returns.annotation)
    with scope(low, {each.name for each in params}):
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
    with scope(low, set()):
        body = block(low, node.body.body)
    return ir.ClassDef(number, name, tuple(bases), keywords, decorators, body, docstring(body))


# ------------------------------------------------------------------------------ tables


class _Table(dict[type[cst.CSTNode], _Lowerer]):
    """Statements of a newer LibCST that this table lacks do nothing."""

    def __missing__(self, kind: type[cst.CSTNode]) -> _Lowerer:
        return SIMPLE_STATEMENTS[cst.Pass]


STATEMENTS = _Table(SIMPLE_STATEMENTS)
STATEMENTS.update(
    {
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
