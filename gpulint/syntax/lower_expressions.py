"""LibCST expressions to `ir` expressions.

Every function takes the `Lowering` and one LibCST node, reads the fields that mean something and leaves the
blanks alone. Chains that source code nests deeply to the left (`a.b().c()`, `a + b + c`) are walked in loops.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import libcst as cst

from gpulint.syntax import ir, literals


class Lowering:
    """What is known while one file is lowered.

    `nodes[n]` is the LibCST node (or the first and last of several) that the `ir` node with number n was made
    of. `bound`, `declared` and `yields` describe the innermost function, lambda, class or module.
    """

    __slots__ = ("bound", "declared", "nodes", "words", "yields")

    def __init__(self) -> None:
        self.nodes: list[Origin] = []
        self.words: dict[str, str] = {}
        self.bound: set[str] = set()
        self.declared: set[str] = set()
        self.yields = False

    def number(self, node: Origin) -> int:
        nodes = self.nodes
        nodes.append(node)
        return len(nodes) - 1

    def word(self, text: str) -> str:
        """The identifier that `text` spells: one object for each, NFKC-normalised as Python does."""
        known = self.words.get(text)
        if known is None:
            known = text if text.isascii() else unicodedata.normalize("NFKC", text)
            self.words[text] = self.words[known] = known
        return known


Origin: TypeAlias = "cst.CSTNode | tuple[cst.CSTNode, cst.CSTNode]"
_Lowerer: TypeAlias = Callable[[Lowering, Any], ir.Expr]


def expression(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return EXPRESSIONS[type(node)](low, node)


def bind(low: Lowering, target: ir.Expr) -> None:
    """Take note of the names that an assignment to `target` binds."""
    if type(target) is ir.Name:
        low.bound.add(target.id)
    elif type(target) is ir.Sequence_:
        for element in target.elements:
            bind(low, element)
    elif type(target) is ir.Starred:
        bind(low, target.value)


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
    return ir.Slice(number, _optional(low, part.lower), _optional(low, part.upper), _optional(low, part.step))


def _optional(low: Lowering, node: cst.BaseExpression | None) -> ir.Expr | None:
    return None if node is None else EXPRESSIONS[type(node)](low, node)


# ------------------------------------------------------------------------------ literals


def _number(low: Lowering, node: cst.Integer | cst.Float | cst.Imaginary) -> ir.Expr:
    return ir.Constant(low.number(node), literals.number(node.value))


def _ellipsis(low: Lowering, node: cst.Ellipsis) -> ir.Expr:
    return ir.Constant(low.number(node), ...)


def _string(low: Lowering, node: cst.SimpleString) -> ir.Expr:
    return ir.Constant(low.number(node), literals.string(node.value))


def _fstring(low: Lowering, node: cst.FormattedString | cst.TemplatedString) -> ir.Expr:
    number = low.number(node)
    parts: list[str | ir.Expr] = []
    exact = _fstring_parts(low, node, parts)
    return ir.FString(number, _joined(parts), exact)


def _concatenation(low: Lowering, node: cst.ConcatenatedString) -> ir.Expr:
    number = low.number(node)
    pieces: list[cst.CSTNode] = []
    rest: cst.BaseExpression = node
    while isinstance(rest, cst.ConcatenatedString):
        pieces.append(rest.left)
        rest = rest.right
    pieces.append(rest)
    parts: list[str | ir.Expr] = []
    octets: list[bytes] = []
    exact, formatted = True, False
    for piece in pieces:
        if isinstance(piece, cst.SimpleString):
            value = literals.string(piece.value)
            if isinstance(value, bytes):
                octets.append(value)
            else:
                parts.append(value)
        else:
            formatted = True
            exact = _fstring_parts(low, piece, parts) and exact
    if octets:
        return ir.Constant(number, b"".join(octets))
    if formatted:
        return ir.FString(number, _joined(parts), exact)
    return ir.Constant(number, "".join([part for part in parts if isinstance(part, str)]))


def _fstring_parts(low: Lowering, node: Any, parts: list[str | ir.Expr]) -> bool:
    """Append the parts of `node`; whether every expression in it prints as `str` prints it."""
    raw = "r" in node.start.lower()
    return _format_parts(low, node.parts, raw, parts)


def _format_parts(low: Lowering, content: Sequence[Any], raw: bool, parts: list[str | ir.Expr]) -> bool:
    exact = True
    for part in content:
        if isinstance(part, cst.FormattedStringText | cst.TemplatedStringText):
            text = part.value
            if "\\" in text and not raw:
                text = literals.unescape(text)
            parts.append(text.replace("{{", "{").replace("}}", "}"))
            continue
        if part.equal is not None:
            code = cst.Module([]).code_for_node
            before, after = part.whitespace_before_expression, part.whitespace_after_expression
            parts.append("".join(map(code, (before, part.expression, part.equal, after))))
        parts.append(expression(low, part.expression))
        spec = part.format_spec or ()
        plain = not spec or (len(spec) == 1 and getattr(spec[0], "value", "") in ("d", "s"))
        if not plain:
            nested: list[str | ir.Expr] = []
            _format_parts(low, spec, raw, nested)
            parts.extend([each for each in nested if not isinstance(each, str)])
        exact = exact and plain and part.conversion in (None, "s") and part.equal is None
    return exact


def _joined(parts: list[str | ir.Expr]) -> tuple[str | ir.Expr, ...]:
    """`parts` with neighbouring texts made one and empty ones left out."""
    result: list[str | ir.Expr] = []
    for part in parts:
        if isinstance(part, str):
            if not part:
                continue
            last = result[-1] if result else None
            if isinstance(last, str):
                result[-1] = last + part
                continue
        result.append(part)
    return tuple(result)


# ------------------------------------------------------------------------------ operators


def _unary(low: Lowering, node: cst.UnaryOperation) -> ir.Expr:
    number = low.number(node)
    return ir.Unary(number, _UNARY[type(node.operator)], expression(low, node.expression))


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
        operator = _BINARY[type(link.operator)]
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
    rest = [(_COMPARE[type(each.operator)], expression(low, each.comparator)) for each in node.comparisons]
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
    return ir.Yield(number, _optional(low, node.value), False)


# ------------------------------------------------------------------------------ displays


def _display(kind: str) -> _Lowerer:
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


def _comprehension(kind: str) -> _Lowerer:
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
    """Parameters in the order of the source; defaults and annotations belong to the scope around."""
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
    return ir.Parameter(number, low.word(node.name.value), kind, _optional(low, node.default), annotation)


def _lambda(low: Lowering, node: cst.Lambda) -> ir.Expr:
    number = low.number(node)
    params = parameters(low, node.params)
    outer = low.bound, low.yields
    low.bound, low.yields = set(), False
    body = expression(low, node.body)
    low.bound, low.yields = outer
    return ir.Lambda(number, params, body)


# ------------------------------------------------------------------------------ tables


def _unknown(low: Lowering, node: cst.CSTNode) -> ir.Expr:
    return ir.Name(low.number(node), "")


class _Table(dict[type[cst.CSTNode], _Lowerer]):
    """Syntax that a newer LibCST knows and this table does not is a name that nothing binds."""

    def __missing__(self, kind: type[cst.CSTNode]) -> _Lowerer:
        return _unknown


EXPRESSIONS = _Table(
    {
        cst.Name: name,
        cst.Attribute: _chain,
        cst.Call: _chain,
        cst.Subscript: _chain,
        cst.Integer: _number,
        cst.Float: _number,
        cst.Imaginary: _number,
        cst.Ellipsis: _ellipsis,
        cst.SimpleString: _string,
        cst.ConcatenatedString: _concatenation,
        cst.FormattedString: _fstring,
        cst.TemplatedString: _fstring,
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

_UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "-", cst.Plus: "+", cst.BitInvert: "~", cst.Not: "not"}
_BINARY: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.MatrixMultiply: "@",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
}
_COMPARE: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.In: "in",
    cst.NotIn: "not in",
    cst.Is: "is",
    cst.IsNot: "is not",
}
