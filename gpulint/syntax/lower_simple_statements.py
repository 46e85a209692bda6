"""Lowering of LibCST's simple statements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir
from gpulint.syntax.cst_lowering import EXPRESSIONS, expression, optional
from gpulint.syntax.lowering import Lowering, bind
from gpulint.syntax.operators import AUGMENTED

_Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Statement]


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
    value = optional(low, node.value)
    target = expression(low, node.target)
    bind(low, target)
    return ir.Assign(number, (target,), value, expression(low, node.annotation.annotation))


def _augmented(low: Lowering, node: cst.AugAssign) -> ir.Statement:
    number = low.number(node)
    target = expression(low, node.target)
    bind(low, target)
    return ir.AugAssign(number, target, AUGMENTED[type(node.operator)], expression(low, node.value))


def _delete(low: Lowering, node: cst.Del) -> ir.Statement:
    number = low.number(node)
    bare = isinstance(node.target, cst.Tuple) and not node.target.lpar
    given = [each.value for each in node.target.elements] if bare else [node.target]  # type: ignore[attr-defined]
    targets = [expression(low, each) for each in given]
    for target in targets:
        bind(low, target)
    only = targets[0]
    return ir.Delete(number, only.elements if len(targets) == 1 and isinstance(only, ir.Sequence_) else tuple(targets))


def _return(low: Lowering, node: cst.Return) -> ir.Statement:
    number = low.number(node)
    return ir.Return(number, optional(low, node.value))


def _raise(low: Lowering, node: cst.Raise) -> ir.Statement:
    number = low.number(node)
    value = optional(low, node.exc)
    if node.cause is not None:
        expression(low, node.cause.item)
    return ir.Raise(number, value)


def _assert(low: Lowering, node: cst.Assert) -> ir.Statement:
    number = low.number(node)
    test = expression(low, node.test)
    return ir.Assert(number, test, optional(low, node.msg))


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


SIMPLE_STATEMENTS: dict[type[cst.CSTNode], _Lowerer] = {
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
}
if hasattr(cst, "LazyImport"):  # LibCST 1.9
    SIMPLE_STATEMENTS[cst.LazyImport] = _import
    SIMPLE_STATEMENTS[cst.LazyImportFrom] = _import_from
