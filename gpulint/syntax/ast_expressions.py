"""Lowering of CPython's expressions, to the same `ir` and node numbers as LibCST's.

Python's parser is sixteen times as fast as LibCST's. Its tree has no blanks, parentheses or comments: `spans` finds the
positions of reported nodes by lowering LibCST's tree of that file and looking up the numbers given here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias, TypeVar

from gpulint.syntax import ir
from gpulint.syntax.fstrings import joined
from gpulint.syntax.lowering import Lowering

T = TypeVar("T")
_Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Expr]


class NotThisWay(Exception):
    """Syntax of a newer Python that these tables lack."""


class Table(dict[type[ast.AST], T]):
    """Lowering of each kind of node."""

    def __missing__(self, kind: type[ast.AST]) -> T:
        raise NotThisWay(kind.__name__)


_EXPRESSIONS: Table[_Lowerer] = Table()


def expression(low: Lowering, node: ast.AST) -> ir.Expr:
    return _EXPRESSIONS[type(node)](low, node)


def optional(low: Lowering, node: ast.AST | None) -> ir.Expr | None:
    return None if node is None else _EXPRESSIONS[type(node)](low, node)


# ------------------------------------------------------------------------------ names, literals, chains


def _name(low: Lowering, node: ast.Name) -> ir.Expr:
    nodes = low.nodes
    nodes.append(node)
    text = node.id
    return ir.Name(len(nodes) - 1, low.words.get(text) or low.word(text))


def constant(low: Lowering, node: ast.Constant | ast.MatchSingleton) -> ir.Expr:
    value = node.value
    if value is None or value is True or value is False:
        low.word(str(value))
    return ir.Constant(low.number(node), value)


def _fstring(low: Lowering, node: ast.JoinedStr) -> ir.Expr:
    number = low.number(node)
    parts: list[str | ir.Expr] = []
    exact = _format_parts(low, node, parts)
    return ir.FString(number, joined(parts), exact)


def _format_parts(low: Lowering, node: Any, parts: list[str | ir.Expr]) -> bool:
    """Append the parts of `node`; whether every expression in it prints as `str` prints it."""
    exact = True
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        parts.append(expression(low, part.value))
        spec = part.format_spec.values if part.format_spec is not None else ()
        plain = not spec or (len(spec) == 1 and getattr(spec[0], "value", "") in ("d", "s"))
        if not plain:
            nested: list[str | ir.Expr] = []
            _format_parts(low, part.format_spec, nested)
            parts.extend([each for each in nested if not isinstance(each, str)])
        exact = exact and plain and part.conversion in (-1, ord("s"))
    return exact


def _chain(low: Lowering, node: Any) -> ir.Expr:
    """`a.b(c)[d].e`: attributes, calls and subscripts, from the innermost out."""
    links = []
    kind = type(node)
    while kind in _LINKS:
        links.append(node)
        node = node.func if kind is ast.Call else node.value
        kind = type(node)
    result = _EXPRESSIONS[kind](low, node)
    nodes = low.nodes
    words = low.words
    for link in links[::-1]:
        kind = type(link)
        number = len(nodes)
        nodes.append(link)
        if kind is ast.Attribute:
            text = link.attr
            result = ir.Attribute(number, result, words.get(text) or low.word(text))
        elif kind is ast.Call:
            given = arguments(low, link.args, link.keywords) if link.args or link.keywords else ()
            result = ir.Call(number, result, given)
        else:
            result = ir.Subscript(number, result, expression(low, link.slice))
    return result


_LINKS = frozenset((ast.Attribute, ast.Call, ast.Subscript))


def arguments(low: Lowering, args: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> tuple[ir.Argument, ...]:
    """Arguments in source order: `*args` can follow keywords."""
    given: list[Any] = [*args, *keywords]
    if keywords and args and _place(keywords[0]) < _place(args[-1]):
        given.sort(key=_place)
    result = []
    for each in given:
        number = low.number(each)
        kind = type(each)
        if kind is ast.keyword:
            value = expression(low, each.value)
            keyword = None if each.arg is None else low.word(each.arg)
            result.append(ir.Argument(number, value, keyword, "**" if each.arg is None else ""))
        elif kind is ast.Starred:
            result.append(ir.Argument(number, expression(low, each.value), None, "*"))
        else:
            result.append(ir.Argument(number, _EXPRESSIONS[kind](low, each), None, ""))
    return tuple(result)


def _place(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _slice(low: Lowering, node: ast.Slice) -> ir.Expr:
    number = low.number(node)
    return ir.Slice(number, optional(low, node.lower), optional(low, node.upper), optional(low, node.step))


# ------------------------------------------------------------------------------ operators

_UNARY: dict[type[ast.AST], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not"}
BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMPARE: dict[type[ast.AST], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def _unary(low: Lowering, node: ast.UnaryOp) -> ir.Expr:
    number = low.number(node)
    return ir.Unary(number, _UNARY[type(node.op)], expression(low, node.operand))


def _binary(low: Lowering, node: Any) -> ir.Expr:
    """`a + b * c - d`: the chain of left operands from the innermost out."""
    links = []
    while type(node) is ast.BinOp:
        links.append(node)
        node = node.left
    result = expression(low, node)
    for link in reversed(links):
        number = low.number(link)
        result = ir.Binary(number, result, BINARY[type(link.op)], expression(low, link.right))
    return result


def _boolean(low: Lowering, node: ast.BoolOp) -> ir.Expr:
    operator = "and" if type(node.op) is ast.And else "or"
    result = expression(low, node.values[0])
    for value in node.values[1:]:
        number = low.number(node)
        result = ir.Boolean(number, result, operator, expression(low, value))
    return result


def _compare(low: Lowering, node: ast.Compare) -> ir.Expr:
    number = low.number(node)
    left = expression(low, node.left)
    pairs = zip(node.ops, node.comparators, strict=True)
    rest = [(_COMPARE[type(operator)], expression(low, value)) for operator, value in pairs]
    return ir.Compare(number, left, tuple(rest))


def _conditional(low: Lowering, node: ast.IfExp) -> ir.Expr:
    number = low.number(node)
    test = expression(low, node.test)
    return ir.Conditional(number, test, expression(low, node.body), expression(low, node.orelse))


def _walrus(low: Lowering, node: ast.NamedExpr) -> ir.Expr:
    number = low.number(node)
    target = expression(low, node.target)
    assert isinstance(target, ir.Name)
    low.bound.add(target.id)
    return ir.Walrus(number, target, expression(low, node.value))


def _await(low: Lowering, node: ast.Await) -> ir.Expr:
    number = low.number(node)
    return ir.Await(number, expression(low, node.value))


def _yield(low: Lowering, node: ast.Yield) -> ir.Expr:
    number = low.number(node)
    low.yields = True
    return ir.Yield(number, optional(low, node.value), False)


def _yield_from(low: Lowering, node: ast.YieldFrom) -> ir.Expr:
    number = low.number(node)
    low.yields = True
    return ir.Yield(number, expression(low, node.value), True)


# ------------------------------------------------------------------------------ displays


def _display(kind: str) -> _Lowerer:
    def lower_display(low: Lowering, node: ast.Tuple | ast.List | ast.Set) -> ir.Expr:
        number = low.number(node)
        return ir.Sequence_(number, kind, tuple([_EXPRESSIONS[type(each)](low, each) for each in node.elts]))

    return lower_display


def _starred(low: Lowering, node: ast.Starred) -> ir.Expr:
    number = low.number(node)
    return ir.Starred(number, expression(low, node.value))


def _dict(low: Lowering, node: ast.Dict) -> ir.Expr:
    number = low.number(node)
    pairs = zip(node.keys, node.values, strict=True)
    return ir.Mapping_(number, tuple([(optional(low, key), expression(low, value)) for key, value in pairs]))


def _comprehension(kind: str) -> _Lowerer:
    def lower_comprehension(low: Lowering, node: Any) -> ir.Expr:
        number = low.number(node)
        clauses = []
        for clause in node.generators:
            at = low.number(clause)
            target = expression(low, clause.target)
            iterable = expression(low, clause.iter)
            clauses.append(ir.Clause(at, target, iterable, tuple([expression(low, each) for each in clause.ifs])))
        key = expression(low, node.key) if kind == "dict" else None
        element = expression(low, node.value if kind == "dict" else node.elt)
        return ir.Comprehension(number, kind, key, element, tuple(clauses))

    return lower_comprehension


# ------------------------------------------------------------------------------ functions


def parameters(low: Lowering, node: ast.arguments) -> tuple[ir.Parameter, ...]:
    """Parameters in source order; defaults and annotations belong to the enclosing scope."""
    positional = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(positional) - len(node.defaults)) + node.defaults
    result = [_parameter(low, *each, "positional") for each in zip(positional, defaults, strict=True)]
    if node.vararg is not None:
        result.append(_parameter(low, node.vararg, None, "*"))
    result += [_parameter(low, *each, "keyword") for each in zip_longest(node.kwonlyargs, node.kw_defaults)]
    if node.kwarg is not None:
        result.append(_parameter(low, node.kwarg, None, "**"))
    return tuple(result)


def _parameter(low: Lowering, node: ast.arg, default: ast.expr | None, kind: str) -> ir.Parameter:
    number = low.number(node)
    annotation = optional(low, node.annotation)
    return ir.Parameter(number, low.word(node.arg), kind, optional(low, default), annotation)


def _lambda(low: Lowering, node: ast.Lambda) -> ir.Expr:
    number = low.number(node)
    params = parameters(low, node.args)
    outer = low.bound, low.yields
    low.bound, low.yields = set(), False
    body = expression(low, node.body)
    low.bound, low.yields = outer
    return ir.Lambda(number, params, body)


_EXPRESSIONS.update(
    {
        ast.Name: _name,
        ast.Constant: constant,
        ast.JoinedStr: _fstring,
        ast.Attribute: _chain,
        ast.Call: _chain,
        ast.Subscript: _chain,
        ast.Slice: _slice,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.BoolOp: _boolean,
        ast.Compare: _compare,
        ast.IfExp: _conditional,
        ast.NamedExpr: _walrus,
        ast.Await: _await,
        ast.Yield: _yield,
        ast.YieldFrom: _yield_from,
        ast.Tuple: _display("tuple"),
        ast.List: _display("list"),
        ast.Set: _display("set"),
        ast.Starred: _starred,
        ast.Dict: _dict,
        ast.ListComp: _comprehension("list"),
        ast.SetComp: _comprehension("set"),
        ast.GeneratorExp: _comprehension("generator"),
        ast.DictComp: _comprehension("dict"),
        ast.Lambda: _lambda,
    }
)
