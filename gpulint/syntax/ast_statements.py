"""Lowering of CPython's statements, to the same `ir` and node numbers as LibCST's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from gpulint.syntax import ir
from gpulint.syntax.ast_expressions import (
    BINARY,
    Table,
    arguments,
    constant,
    expression,
    optional,
    parameters,
)
from gpulint.syntax.lowering import Lowered, Lowering, bind, docstring, scope

_Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Statement]


def lower(tree: ast.Module, path: str) -> Lowered:
    """Lower one parsed file. Raises NotThisWay if that needs LibCST's tree."""
    low = Lowering()
    body = _block(low, tree.body)
    return Lowered(ir.Module(path, body, docstring(body), frozenset(low.words)), low.nodes)


def _block(low: Lowering, body: Sequence[ast.stmt]) -> tuple[ir.Statement, ...]:
    return tuple([_STATEMENTS[type(node)](low, node) for node in body])


# ------------------------------------------------------------------------------ simple statements


def _expression(low: Lowering, node: ast.Expr) -> ir.Statement:
    number = low.number(node)
    return ir.ExpressionStatement(number, expression(low, node.value))


def _assign(low: Lowering, node: ast.Assign) -> ir.Statement:
    number = low.number(node)
    value = expression(low, node.value)
    targets = [_target(low, each) for each in node.targets]
    return ir.Assign(number, tuple(targets), value, None)


def _target(low: Lowering, node: ast.expr) -> ir.Expr:
    target = expression(low, node)
    bind(low, target)
    return target


def _annotated(low: Lowering, node: ast.AnnAssign) -> ir.Statement:
    number = low.number(node)
    value = optional(low, node.value)
    target = _target(low, node.target)
    return ir.Assign(number, (target,), value, expression(low, node.annotation))


def _augmented(low: Lowering, node: ast.AugAssign) -> ir.Statement:
    number = low.number(node)
    target = _target(low, node.target)
    return ir.AugAssign(number, target, BINARY[type(node.op)], expression(low, node.value))


def _delete(low: Lowering, node: ast.Delete) -> ir.Statement:
    number = low.number(node)
    targets = [_target(low, each) for each in node.targets]
    only = targets[0]
    return ir.Delete(number, only.elements if len(targets) == 1 and isinstance(only, ir.Sequence_) else tuple(targets))


def _return(low: Lowering, node: ast.Return) -> ir.Statement:
    number = low.number(node)
    return ir.Return(number, optional(low, node.value))


def _raise(low: Lowering, node: ast.Raise) -> ir.Statement:
    number = low.number(node)
    value = optional(low, node.exc)
    optional(low, node.cause)
    return ir.Raise(number, value)


def _assert(low: Lowering, node: ast.Assert) -> ir.Statement:
    number = low.number(node)
    test = expression(low, node.test)
    return ir.Assert(number, test, optional(low, node.msg))


def _pass(low: Lowering, node: ast.Pass) -> ir.Statement:
    return ir.Pass(low.number(node))


def _break(low: Lowering, node: ast.Break) -> ir.Statement:
    return ir.Break(low.number(node))


def _continue(low: Lowering, node: ast.Continue) -> ir.Statement:
    return ir.Continue(low.number(node))


def _type_alias(low: Lowering, node: Any) -> ir.Statement:
    low.bound.add(low.word(node.name.id))
    return ir.Pass(low.number(node))


def _aliases(low: Lowering, names: Sequence[ast.alias]) -> tuple[tuple[str, str | None], ...]:
    result = []
    for each in names:
        dotted = _dotted(low, each.name)
        alias = low.word(each.asname) if each.asname is not None else None
        low.bound.add(alias or dotted.partition(".")[0])
        result.append((dotted, alias))
    return tuple(result)


def _dotted(low: Lowering, name: str) -> str:
    return ".".join([low.word(part) for part in name.split(".")])


def _import(low: Lowering, node: ast.Import) -> ir.Statement:
    return ir.Import(low.number(node), _aliases(low, node.names))


def _import_from(low: Lowering, node: ast.ImportFrom) -> ir.Statement:
    number = low.number(node)
    module = _dotted(low, node.module) if node.module else ""
    names: tuple[tuple[str, str | None], ...] = (("*", None),)
    if node.names[0].name != "*":
        names = _aliases(low, node.names)
    return ir.ImportFrom(number, module, node.level, names)


def _declare(kind: str) -> _Lowerer:
    def lower_declaration(low: Lowering, node: ast.Global | ast.Nonlocal) -> ir.Statement:
        number = low.number(node)
        names = tuple([low.word(each) for each in node.names])
        low.declared.update(names)
        return ir.Declare(number, kind, names)

    return lower_declaration


# ------------------------------------------------------------------------------ compound statements


def _if(low: Lowering, node: ast.If) -> ir.Statement:
    links = []
    rest: Sequence[ast.stmt] = [node]
    while len(rest) == 1 and isinstance(link := rest[0], ast.If):
        number = low.number(link)
        test = expression(low, link.test)
        links.append((number, test, _block(low, link.body)))
        rest = link.orelse
    orelse = _block(low, rest)
    for number, test, body in reversed(links):
        result = ir.If(number, test, body, orelse)
        orelse = (result,)
    return result


def _for(low: Lowering, node: ast.For | ast.AsyncFor) -> ir.Statement:
    number = low.number(node)
    iterable = expression(low, node.iter)
    target = _target(low, node.target)
    body = _block(low, node.body)
    return ir.For(number, target, iterable, body, _block(low, node.orelse))


def _while(low: Lowering, node: ast.While) -> ir.Statement:
    number = low.number(node)
    test = expression(low, node.test)
    body = _block(low, node.body)
    return ir.While(number, test, body, _block(low, node.orelse))


def _with(low: Lowering, node: ast.With | ast.AsyncWith) -> ir.Statement:
    number = low.number(node)
    items: list[tuple[ir.Expr, ir.Expr | None]] = []
    for item in node.items:
        context = expression(low, item.context_expr)
        items.append((context, None if item.optional_vars is None else _target(low, item.optional_vars)))
    return ir.With(number, tuple(items), _block(low, node.body))


def _try(low: Lowering, node: Any) -> ir.Statement:
    number = low.number(node)
    body = _block(low, node.body)
    handlers = tuple([_handler(low, each) for each in node.handlers])
    orelse = _block(low, node.orelse)
    return ir.Try(number, body, handlers, orelse, _block(low, node.finalbody))


def _handler(low: Lowering, node: ast.ExceptHandler) -> ir.Handler:
    number = low.number(node)
    kind = optional(low, node.type)
    name = None
    if node.name is not None:
        name = low.word(node.name)
        low.bound.add(name)
    return ir.Handler(number, kind, name, _block(low, node.body))


def _match(low: Lowering, node: ast.Match) -> ir.Statement:
    number = low.number(node)
    subject = expression(low, node.subject)
    return ir.Match(number, subject, tuple([_case(low, each) for each in node.cases]))


def _case(low: Lowering, node: ast.match_case) -> ir.Case:
    number = low.number(node)
    outer, low.bound = low.bound, set()
    value = _pattern(low, node.pattern)
    binds = tuple(sorted(low.bound))
    outer |= low.bound
    low.bound = outer
    guard = optional(low, node.guard)
    body = _block(low, node.body)
    return ir.Case(number, binds, value, guard is None and _matches_all(node.pattern), guard, body)


def _pattern(low: Lowering, node: ast.pattern | None) -> ir.Expr | None:
    """The value of a plain value pattern, None for any other; captures go to `low.bound`."""
    match node:
        case ast.MatchValue():
            return expression(low, node.value)
        case ast.MatchSingleton():
            return constant(low, node)
        case ast.MatchAs():
            _capture(low, node.name)
            return _pattern(low, node.pattern)
        case ast.MatchStar():
            _capture(low, node.name)
        case ast.MatchSequence() | ast.MatchOr():
            for each in node.patterns:
                _pattern(low, each)
        case ast.MatchMapping():
            for key, value in zip(node.keys, node.patterns, strict=True):
                expression(low, key)
                _pattern(low, value)
            _capture(low, node.rest)
        case ast.MatchClass():
            expression(low, node.cls)
            for each in (*node.patterns, *node.kwd_patterns):
                _pattern(low, each)
    return None


def _capture(low: Lowering, name: str | None) -> None:
    if name is not None:
        low.bound.add(low.word(name))


def _matches_all(node: ast.pattern) -> bool:
    if isinstance(node, ast.MatchAs):
        return node.pattern is None or _matches_all(node.pattern)
    return isinstance(node, ast.MatchOr) and any(_matches_all(each) for each in node.patterns)


# ------------------------------------------------------------------------------ definitions


def _function(low: Lowering, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Statement:
    number = low.number(node)
    name = low.word(node.name)
    low.bound.add(name)
    decorators = tuple([expression(low, each) for each in node.decorator_list])
    params = parameters(low, node.args)
    returns = optional(low, node.returns)
    with scope(low, {each.name for each in params}):
        body = _block(low, node.body)
        names = frozenset(low.bound - low.declared)
        yields = low.yields
    is_async = isinstance(node, ast.AsyncFunctionDef)
    return ir.FunctionDef(number, name, params, returns, decorators, body, is_async, yields, names, docstring(body))


def _class(low: Lowering, node: ast.ClassDef) -> ir.Statement:
    number = low.number(node)
    name = low.word(node.name)
    low.bound.add(name)
    decorators = tuple([expression(low, each) for each in node.decorator_list])
    bases = tuple([expression(low, each) for each in node.bases])
    keywords = arguments(low, (), node.keywords)
    with scope(low, set()):
        body = _block(low, node.body)
    return ir.ClassDef(number, name, bases, keywords, decorators, body, docstring(body))


_STATEMENTS: Table[_Lowerer] = Table(
    {
        ast.Expr: _expression,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.AugAssign: _augmented,
        ast.Delete: _delete,
        ast.Return: _return,
        ast.Raise: _raise,
        ast.Assert: _assert,
        ast.Pass: _pass,
        ast.Break: _break,
        ast.Continue: _continue,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.Global: _declare("global"),
        ast.Nonlocal: _declare("nonlocal"),
        ast.If: _if,
        ast.For: _for,
        ast.AsyncFor: _for,
        ast.While: _while,
        ast.With: _with,
        ast.AsyncWith: _with,
        ast.Try: _try,
        ast.Match: _match,
        ast.FunctionDef: _function,
        ast.AsyncFunctionDef: _function,
        ast.ClassDef: _class,
    }
)
for _kind, _lowerer in (("TryStar", _try), ("TypeAlias", _type_alias)):  # Python 3.11, Python 3.12
    if hasattr(ast, _kind):
        _STATEMENTS[getattr(ast, _kind)] = _lowerer
