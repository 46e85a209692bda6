"""The syntax tree that the interpreter runs: Python without layout.

LibCST's tree keeps every blank and parenthesis, which fixes need, at 20 KB per line. Lowering converts it to these
nodes, after which it is freed.

Every node has a `number`, its place in lowering order. Lowering the same text again gives the same numbers, so that a
`Site` only needs the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias


class Node:
    """A node with a place in the source."""

    __slots__ = ("number",)

    number: int


class Expr(Node):
    """An expression."""

    __slots__ = ()


class Statement(Node):
    """A statement."""

    __slots__ = ()


# --------------------------------------------------------------------------- expressions


class Name(Expr):
    __slots__ = ("id",)

    def __init__(self, number: int, id: str) -> None:
        self.number = number
        self.id = id


class Constant(Expr):
    """A literal: int, float, complex, str, bytes, bool, None or Ellipsis, implicit concatenation folded."""

    __slots__ = ("value",)

    def __init__(self, number: int, value: object) -> None:
        self.number = number
        self.value = value


class FString(Expr):
    """An f-string (or t-string): literal text and expressions, in order.

    `exact` says that each expression is formatted as by `str`: no conversion, no format specification that changes the
    text.
    """

    __slots__ = ("exact", "parts")

    def __init__(self, number: int, parts: tuple[str | Expr, ...], exact: bool = True) -> None:
        self.number = number
        self.parts = parts
        self.exact = exact


class Attribute(Expr):
    __slots__ = ("name", "value")

    def __init__(self, number: int, value: Expr, name: str) -> None:
        self.number = number
        self.value = value
        self.name = name


class Subscript(Expr):
    """`value[index]`; several indices are a `Sequence_` of kind "tuple"."""

    __slots__ = ("index", "value")

    def __init__(self, number: int, value: Expr, index: Expr) -> None:
        self.number = number
        self.value = value
        self.index = index


class Slice(Expr):
    __slots__ = ("lower", "step", "upper")

    def __init__(self, number: int, lower: Expr | None, upper: Expr | None, step: Expr | None) -> None:
        self.number = number
        self.lower = lower
        self.upper = upper
        self.step = step


class Argument(Node):
    """One argument of a call. `star` is "", "*" or "**"; `keyword` is None for positional ones."""

    __slots__ = ("keyword", "star", "value")

    def __init__(self, number: int, value: Expr, keyword: str | None, star: str) -> None:
        self.number = number
        self.value = value
        self.keyword = keyword
        self.star = star


class Call(Expr):
    __slots__ = ("arguments", "function")

    def __init__(self, number: int, function: Expr, arguments: tuple[Argument, ...]) -> None:
        self.number = number
        self.function = function
        self.arguments = arguments


class Unary(Expr):
    """`operator` is "-", "+", "~" or "not"."""

    __slots__ = ("operand", "operator")

    def __init__(self, number: int, operator: str, operand: Expr) -> None:
        self.number = number
        self.operator = operator
        self.operand = operand


class Binary(Expr):
    """`operator` as written: "+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"."""

    __slots__ = ("left", "operator", "right")

    def __init__(self, number: int, left: Expr, operator: str, right: Expr) -> None:
        self.number = number
        self.left = left
        self.operator = operator
        self.right = right


class Boolean(Expr):
    """`left and right` / `left or right`; longer chains nest to the left."""

    __slots__ = ("left", "operator", "right")

    def __init__(self, number: int, left: Expr, operator: str, right: Expr) -> None:
        self.number = number
        self.left = left
        self.operator = operator
        self.right = right


class Compare(Expr):
    """`left op value op value …`; operators as written, "not in" and "is not" with one blank."""

    __slots__ = ("left", "rest")

    def __init__(self, number: int, left: Expr, rest: tuple[tuple[str, Expr], ...]) -> None:
        self.number = number
        self.left = left
        self.rest = rest


class Conditional(Expr):
    """`body if test else orelse`."""

    __slots__ = ("body", "orelse", "test")

    def __init__(self, number: int, test: Expr, body: Expr, orelse: Expr) -> None:
        self.number = number
        self.test = test
        self.body = body
        self.orelse = orelse


class Sequence_(Expr):
    """A tuple, list or set display. `kind` is "tuple", "list" or "set"."""

    __slots__ = ("elements", "kind")

    def __init__(self, number: int, kind: str, elements: tuple[Expr, ...]) -> None:
        self.number = number
        self.kind = kind
        self.elements = elements


class Mapping_(Expr):
    """A dict display; the key of a `**value` entry is None."""

    __slots__ = ("items",)

    def __init__(self, number: int, items: tuple[tuple[Expr | None, Expr], ...]) -> None:
        self.number = number
        self.items = items


class Starred(Expr):
    """`*value` in a display, a subscript or a target."""

    __slots__ = ("value",)

    def __init__(self, number: int, value: Expr) -> None:
        self.number = number
        self.value = value


class Clause(Node):
    """One `for target in iterable if condition…` of a comprehension."""

    __slots__ = ("conditions", "iterable", "target")

    def __init__(self, number: int, target: Expr, iterable: Expr, conditions: tuple[Expr, ...]) -> None:
        self.number = number
        self.target = target
        self.iterable = iterable
        self.conditions = conditions


class Comprehension(Expr):
    """`kind` is "list", "set", "dict" or "generator"; `key` is set for dicts only."""

    __slots__ = ("clauses", "element", "key", "kind")

    def __init__(self, number: int, kind: str, key: Expr | None, element: Expr, clauses: tuple[Clause, ...]) -> None:
        self.number = number
        self.kind = kind
        self.key = key
        self.element = element
        self.clauses = clauses


class Walrus(Expr):
    """`target := value`."""

    __slots__ = ("target", "value")

    def __init__(self, number: int, target: Name, value: Expr) -> None:
        self.number = number
        self.target = target
        self.value = value


class Await(Expr):
    __slots__ = ("value",)

    def __init__(self, number: int, value: Expr) -> None:
        self.number = number
        self.value = value


class Yield(Expr):
    """`yield value`, `yield` (value None) or `yield from value`."""

    __slots__ = ("delegates", "value")

    def __init__(self, number: int, value: Expr | None, delegates: bool) -> None:
        self.number = number
        self.value = value
        self.delegates = delegates


class Parameter(Node):
    """One parameter. `kind`: "positional" (also positional-only), "*", "keyword" (after `*`), "**"."""

    __slots__ = ("annotation", "default", "kind", "name")

    def __init__(self, number: int, name: str, kind: str, default: Expr | None, annotation: Expr | None) -> None:
        self.number = number
        self.name = name
        self.kind = kind
        self.default = default
        self.annotation = annotation


class Lambda(Expr):
    __slots__ = ("body", "parameters")

    def __init__(self, number: int, parameters: tuple[Parameter, ...], body: Expr) -> None:
        self.number = number
        self.parameters = parameters
        self.body = body


# --------------------------------------------------------------------------- statements


class ExpressionStatement(Statement):
    __slots__ = ("value",)

    def __init__(self, number: int, value: Expr) -> None:
        self.number = number
        self.value = value


class Assign(Statement):
    """`a = b = value`: targets in order. Annotated assignments have one target and an annotation."""

    __slots__ = ("annotation", "targets", "value")

    def __init__(self, number: int, targets: tuple[Expr, ...], value: Expr | None, annotation: Expr | None) -> None:
        self.number = number
        self.targets = targets
        self.value = value
        self.annotation = annotation


class AugAssign(Statement):
    """`target operator= value`; the operator without its "="."""

    __slots__ = ("operator", "target", "value")

    def __init__(self, number: int, target: Expr, operator: str, value: Expr) -> None:
        self.number = number
        self.target = target
        self.operator = operator
        self.value = value


class Delete(Statement):
    __slots__ = ("targets",)

    def __init__(self, number: int, targets: tuple[Expr, ...]) -> None:
        self.number = number
        self.targets = targets


class Return(Statement):
    __slots__ = ("value",)

    def __init__(self, number: int, value: Expr | None) -> None:
        self.number = number
        self.value = value


class Raise(Statement):
    __slots__ = ("value",)

    def __init__(self, number: int, value: Expr | None) -> None:
        self.number = number
        self.value = value


class Assert(Statement):
    __slots__ = ("message", "test")

    def __init__(self, number: int, test: Expr, message: Expr | None) -> None:
        self.number = number
        self.test = test
        self.message = message


class Pass(Statement):
    __slots__ = ()

    def __init__(self, number: int) -> None:
        self.number = number


class Break(Pass):
    __slots__ = ()


class Continue(Pass):
    __slots__ = ()


class Import(Statement):
    """`import a.b.c as d`: (dotted name, alias or None) pairs."""

    __slots__ = ("names",)

    def __init__(self, number: int, names: tuple[tuple[str, str | None], ...]) -> None:
        self.number = number
        self.names = names


class ImportFrom(Statement):
    """`from ..module import a as b`; `names` is (("*", None),) for a star import."""

    __slots__ = ("level", "module", "names")

    def __init__(self, number: int, module: str, level: int, names: tuple[tuple[str, str | None], ...]) -> None:
        self.number = number
        self.module = module
        self.level = level
        self.names = names


class Declare(Statement):
    """`global a, b` or `nonlocal a, b`."""

    __slots__ = ("kind", "names")

    def __init__(self, number: int, kind: str, names: tuple[str, ...]) -> None:
        self.number = number
        self.kind = kind
        self.names = names


class If(Statement):
    """`if`/`elif`: an `elif` is an `If` as the only statement of `orelse`."""

    __slots__ = ("body", "orelse", "test")

    def __init__(self, number: int, test: Expr, body: Block, orelse: Block) -> None:
        self.number = number
        self.test = test
        self.body = body
        self.orelse = orelse


class For(Statement):
    __slots__ = ("body", "iterable", "orelse", "target")

    def __init__(self, number: int, target: Expr, iterable: Expr, body: Block, orelse: Block) -> None:
        self.number = number
        self.target = target
        self.iterable = iterable
        self.body = body
        self.orelse = orelse


class While(Statement):
    __slots__ = ("body", "orelse", "test")

    def __init__(self, number: int, test: Expr, body: Block, orelse: Block) -> None:
        self.number = number
        self.test = test
        self.body = body
        self.orelse = orelse


class With(Statement):
    """`with a as x, b:`: (context expression, target or None) pairs."""

    __slots__ = ("body", "items")

    def __init__(self, number: int, items: tuple[tuple[Expr, Expr | None], ...], body: Block) -> None:
        self.number = number
        self.items = items
        self.body = body


class Handler(Node):
    """`except type as name:`; `type` is None for a bare except."""

    __slots__ = ("body", "name", "type")

    def __init__(self, number: int, type: Expr | None, name: str | None, body: Block) -> None:
        self.number = number
        self.type = type
        self.name = name
        self.body = body


class Try(Statement):
    __slots__ = ("body", "finalbody", "handlers", "orelse")

    def __init__(
        self,
        number: int,
        body: Block,
        handlers: tuple[Handler, ...],
        orelse: Block,
        finalbody: Block,
    ) -> None:
        self.number = number
        self.body = body
        self.handlers = handlers
        self.orelse = orelse
        self.finalbody = finalbody


class Case(Node):
    """One `case`: the names its pattern binds; `value` if the pattern is a plain value, `wildcard` if it always matches
    (`case _:` or a bare capture, without a guard)."""

    __slots__ = ("binds", "body", "guard", "value", "wildcard")

    def __init__(
        self,
        number: int,
        binds: tuple[str, ...],
        value: Expr | None,
        wildcard: bool,
        guard: Expr | None,
        body: Block,
    ) -> None:
        self.number = number
        self.binds = binds
        self.value = value
        self.wildcard = wildcard
        self.guard = guard
        self.body = body


class Match(Statement):
    __slots__ = ("cases", "subject")

    def __init__(self, number: int, subject: Expr, cases: tuple[Case, ...]) -> None:
        self.number = number
        self.subject = subject
        self.cases = cases


class FunctionDef(Statement):
    """A `def`. `local_names` are the names its body binds (parameters included, declared globals and
    nonlocals not); `is_generator` says that it yields."""

    __slots__ = (
        "body",
        "decorators",
        "docstring",
        "is_async",
        "is_generator",
        "local_names",
        "name",
        "parameters",
        "returns",
    )

    def __init__(
        self,
        number: int,
        name: str,
        parameters: tuple[Parameter, ...],
        returns: Expr | None,
        decorators: tuple[Expr, ...],
        body: Block,
        is_async: bool,
        is_generator: bool,
        local_names: frozenset[str],
        docstring: str | None,
    ) -> None:
        self.number = number
        self.name = name
        self.parameters = parameters
        self.returns = returns
        self.decorators = decorators
        self.body = body
        self.is_async = is_async
        self.is_generator = is_generator
        self.local_names = local_names
        self.docstring = docstring


class ClassDef(Statement):
    """A `class`; `keywords` are `metaclass=…` and the like."""

    __slots__ = ("bases", "body", "decorators", "docstring", "keywords", "name")

    def __init__(
        self,
        number: int,
        name: str,
        bases: tuple[Expr, ...],
        keywords: tuple[Argument, ...],
        decorators: tuple[Expr, ...],
        body: Block,
        docstring: str | None,
    ) -> None:
        self.number = number
        self.name = name
        self.bases = bases
        self.keywords = keywords
        self.decorators = decorators
        self.body = body
        self.docstring = docstring


Block: TypeAlias = Sequence[Statement]


class Module:
    """One lowered file.

    `words` are all identifiers in it, names and attributes: a cheap test for mentions.
    """

    __slots__ = ("body", "docstring", "path", "words")

    def __init__(self, path: str, body: Block, docstring: str | None, words: frozenset[str]) -> None:
        self.path = path
        self.body = body
        self.docstring = docstring
        self.words = words
