"""Lowering of LibCST's expressions.

Every function takes the `Lowering` and one LibCST node, and ignores blanks. Chains that nest deeply to the left
(`a.b().c()`, `a + b + c`) are walked in loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from gpulint.syntax import ir, lower_literals
from gpulint.syntax.cst_lowering import EXPRESSIONS, Lowerer, expression, optional
from gpulint.syntax.lowering import Lowering
from gpulint.syntax.operators import BINARY, COMPARE, UNARY

# ------------------------------------------------------------------------------ names, chains


def name(low: Lowering, node: cst.Name) -> ir.Expr:
    nodes = low.nodes
    nodes.append(node)
    text = node.value
    text = low.words.get(text) or low.word(text)
    constant = _SINGLETONS.get(text, node)
    if constant is not node:
        return ir.Constant(len(nodes) - 1, constant)
    return ir.Name(len(nodes) - 1, text)


_SINGLETONS: dict[str, object] = {"None": None, "True": True, "False": False}


def _chain(low: Lowering, node: Any) -> ir.Expr:
    """`a.b(c)[d].e`: attributes, calls and subscripts, from the innermost out."""
    links = []
    kind = type(node)
    while kind in _LINKS:
        links.append(node)
        node = node.func if kind is cst.Call else node.value
        kind = type(node)
    result = EXPRESSIONS[kind](low, node)
    nodes = low.nodes
    words = low.words
    for link in reversed(links):
        kind = type(link)
        number = len(nodes)
        nodes.append(link)
        if kind is cst.Attribute:
            text = link.attr.value
            result = ir.Attribute(number, result, words.get(text) or low.word(text))
        elif kind is cst.Call:
            result = ir.Call(number, result, arguments(low, link.args) if link.args else ())
        else:
            result = ir.Subscript(number, result, _index(low, link))
    return result


_LINKS = frozenset((cst.Attribute, cst.Call, cst.Subscript))


def arguments(low: Lowering, args: Sequence[cst.Arg]) -> tuple[ir.Argument, ...]:
    nodes = low.nodes
    result = []
    for arg in args:
        number = len(nodes)
        nodes.append(arg)
        value = arg.value
        keyword = arg.keyword
        result.append(
            ir.Argument(
                number,
                EXPRESSIONS[type(value)](low, value),
                None if keyword is None else low.word(keyword.value),
                arg.star,
            )
        )
    return tuple(result)


def _index(low: Lowering, node: cst.Subscript) -> ir.Expr:
    elements = node.slice
    first = elements[0]
    starred = isinstance(first.slice, cst.Index) and bool(first.slice.star)
    if len(elements) == 1 and first.comma is cst.MaybeSentinel.DEFAULT and not starred:
        return _subscript_element(low, first)
    number = low.number((first, elements[-1]))
    return ir.Sequence_(number, "tuple", tuple([_subscript_element(low, each) for each in elements]))


def _subscript_element(low: Lowering, element: cst.SubscriptElement) -> ir.Expr:
    part = element.slice
    if isinstance(part, cst.Index):
        if part.star:
            number = low.number(part)
            return ir.Starred(number, expression(low, part.value))
        return expression(low, part.value)
    assert isinstance(part, cst.Slice)
    number = low.number(part)
    return ir.Slice(number, optional(low, part.lower), optional(low, part.upper), optional(low, part.step))


# ------------------------------------------------------------------------------ operators


def _unary(low: Lowering, node: cst.UnaryOperation) -> ir.Expr:
    number = low.number(node)
    return ir.Unary(number, UNARY[type(node.operator)], expression(low, node.expression))


def _binary(low: Lowering, node: Any) -> ir.Expr:
    """`a + b * c - d`: the chain of left operands from the innermost out."""
    links = []
    while type(node) is cst.BinaryOperation:
        links.append(node)
        node = node.left
    result = EXPRESSIONS[type(node)](low, node)
    for link in reversed(links):
        number = low.number(link)
        right = link.right
        operator = BINARY[type(link.operator)]
        result = ir.Binary(number, result, operator, EXPRESSIONS[type(right)](low, right))
    return result


def _boolean(low: Lowering, node: Any) -> ir.Expr:
    links = []
    while type(node) is cst.BooleanOperation:
        links.append(node)
        node = node.left
    result = EXPRESSIONS[type(node)](low, node)
    for link in reversed(links):
        number = low.number(link)
        operator = "and" if type(link.operator) is cst.And else "or"
        result = ir.Boolean(number, result, operator, expression(low, link.right))
    return result


def _compare(low: Lowering, node: cst.Comparison) -> ir.Expr:
    number = low.number(node)
    left = expression(low, node.left)
    rest = [(COMPARE[type(each.operator)], expression(low, each.comparator)) for each in node.comparisons]
    return ir.Compare(number, left, tuple(rest))


def _conditional(low: Lowering, node: cst.IfExp) -> ir.Expr:
    number = low.number(node)
    test = expression(low, node.test)
    return ir.Conditional(number, test, expression(low, node.body), expression(low, node.orelse))


def _walrus(low: Lowering, node: cst.NamedExpr) -> ir.Expr:
    number = low.number(node)
    target = expression(low, node.target)
    assert isinstance(target, ir.Name)
    low.bound.add(target.id)
    return ir.Walrus(number, target, expression(low, node.value))


def _await(low: Lowering, node: cst.Await) -> ir.Expr:
    number = low.number(node)
    return ir.Await(number, expression(low, node.expression))


def _yield(low: Lowering, node: cst.Yield) -> ir.Expr:
    number = low.number(node)
    low.yields = True
    if isinstance(node.value, cst.From):
        return ir.Yield(number, expression(low, node.value.item), True)
    return ir.Yield(number, optional(low, node.value), False)


# ------------------------------------------------------------------------------ displays


def _display(kind: str) -> Lowerer:
    def lower_display(low: Lowering, node: cst.Tuple | cst.List | cst.Set) -> ir.Expr:
        number = low.number(node)
        elements = []
        for element in node.elements:
            if type(element) is cst.Element:
                value = element.value
                elements.append(EXPRESSIONS[type(value)](low, value))
            else:
                elements.append(EXPRESSIONS[type(element)](low, element))
        return ir.Sequence_(number, kind, tuple(elements))

    return lower_display


def _starred(low: Lowering, node: cst.StarredElement) -> ir.Expr:
    number = low.number(node)
    return ir.Starred(number, expression(low, node.value))


def _dict(low: Lowering, node: cst.Dict) -> ir.Expr:
    number = low.number(node)
    items: list[tuple[ir.Expr | None, ir.Expr]] = []
    for element in node.elements:
        key = None if isinstance(element, cst.StarredDictElement) else expression(low, element.key)  # type: ignore[attr-defined]
        items.append((key, expression(low, element.value)))
    return ir.Mapping_(number, tuple(items))


def _comprehension(kind: str) -> Lowerer:
    def lower_comprehension(low: Lowering, node: Any) -> ir.Expr:
        number = low.number(node)
        clauses = []
        clause: cst.CompFor | None = node.for_in
        while clause is not None:
            at = low.number(clause)
            target = expression(low, clause.target)
            iterable = expression(low, clause.iter)
            conditions = tuple([expression(low, each.test) for each in clause.ifs])
            clauses.append(ir.Clause(at, target, iterable, conditions))
            clause = clause.inner_for_in
        key = expression(low, node.key) if type(node) is cst.DictComp else None
        element = expression(low, node.value if kind == "dict" else node.elt)
        return ir.Comprehension(number, kind, key, element, tuple(clauses))

    return lower_comprehension


# ------------------------------------------------------------------------------ functions


def parameters(low: Lowering, node: cst.Parameters) -> tuple[ir.Parameter, ...]:
    """Parameters in source order; defaults and annotations belong to the enclosing scope."""
    result = []
    for params, kind in ((node.posonly_params, "positional"), (node.params, "positional")):
        result.extend([_parameter(low, each, kind) for each in params])
    if isinstance(node.star_arg, cst.Param):
        result.append(_parameter(low, node.star_arg, "*"))
    result.extend([_parameter(low, each, "keyword") for each in node.kwonly_params])
    if node.star_kwarg is not None:
        result.append(_parameter(low, node.star_kwarg, "**"))
    return tuple(result)


def _parameter(low: Lowering, node: cst.Param, kind: str) -> ir.Parameter:
    number = low.number(node)
    note = node.annotation
    annotation = None if note is None else expression(low, note.annotation)
    return ir.Parameter(number, low.word(node.name.value), kind, optional(low, node.default), annotation)


def _lambda(low: Lowering, node: cst.Lambda) -> ir.Expr:
    number = low.number(node)
    params = parameters(low, node.params)
    outer = low.bound, low.yields
    low.bound, low.yields = set(), False
    body = expression(low, node.body)
    low.bound, low.yields = outer
    return ir.Lambda(number, params, body)


# ------------------------------------------------------------------------------ tables


EXPRESSIONS.update(
    {
        cst.Name: name,
        cst.Attribute: _chain,
        cst.Call: _chain,
        cst.Subscript: _chain,
        cst.Integer: lower_literals.number,
        cst.Float: lower_literals.number,
        cst.Imaginary: lower_literals.number,
        cst.Ellipsis: lower_literals.ellipsis,
        cst.SimpleString: lower_literals.string,
        cst.ConcatenatedString: lower_literals.concatenation,
        cst.FormattedString: lower_literals.fstring,
        cst.TemplatedString: lower_literals.fstring,
        cst.UnaryOperation: _unary,
        cst.BinaryOperation: _binary,
        cst.BooleanOperation: _boolean,
        cst.Comparison: _compare,
        cst.IfExp: _conditional,
        cst.NamedExpr: _walrus,
        cst.Await: _await,
        cst.Yield: _yield,
        cst.Tuple: _display("tuple"),
        cst.List: _display("list"),
        cst.Set: _display("set"),
        cst.StarredElement: _starred,
        cst.Dict: _dict,
        cst.ListComp: _comprehension("list"),
        cst.SetComp: _comprehension("set"),
        cst.GeneratorExp: _comprehension("generator"),
        cst.DictComp: _comprehension("dict"),
        cst.Lambda: _lambda,
    }
)
if hasattr(cst, "StarredDictComp"):  # LibCST 1.9
    EXPRESSIONS[cst.StarredDictComp] = _comprehension("dict")
