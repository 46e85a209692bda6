"""A common form of programs, from CPython's `ast` and from gpulint's `ir`, to compare the two."""

from __future__ import annotations

import ast
from typing import Any

from gpulint.syntax import ir, walk

Shape = Any
"""Nested tuples and plain values."""

_OPERATORS: dict[type[ast.AST], str] = {
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
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
    ast.And: "and",
    ast.Or: "or",
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


def of_ir(value: Any) -> Shape:
    """Nodes as (class name, fields in alphabetical order …), without their numbers."""
    if isinstance(value, tuple):
        return tuple([of_ir(each) for each in value])
    if isinstance(value, ir.Constant):
        return ("Constant", type(value.value).__name__, repr(value.value))
    if isinstance(value, ir.FString):
        return ("FString", of_ir(value.parts))
    if isinstance(value, ir.FunctionDef):
        fields = tuple(name for name in walk.fields(value) if name not in ("local_names", "is_generator"))
    elif isinstance(value, ir.Node):
        fields = walk.fields(value)
    else:
        return value
    return (type(value).__name__, *[of_ir(getattr(value, field)) for field in fields])


def of_ast(node: Any) -> Shape:
    """The same from CPython's tree."""
    if isinstance(node, list | tuple):
        return tuple([of_ast(each) for each in node])
    if not isinstance(node, ast.AST):
        return node
    return globals()[f"_{type(node).__name__}"](node)


def _Name(node: ast.Name) -> Shape:
    return ("Name", node.id)


def _Constant(node: ast.Constant) -> Shape:
    return ("Constant", type(node.value).__name__, repr(node.value))


def _JoinedStr(node: ast.JoinedStr) -> Shape:
    return ("FString", tuple(_format_parts(node)))


def _format_parts(node: ast.JoinedStr) -> list[Shape]:
    parts: list[Shape] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(value.value)
        else:
            assert isinstance(value, ast.FormattedValue)
            parts.append(of_ast(value.value))
            if isinstance(value.format_spec, ast.JoinedStr):
                parts.extend([part for part in _format_parts(value.format_spec) if not isinstance(part, str)])
    return parts


def _Attribute(node: ast.Attribute) -> Shape:
    return ("Attribute", node.attr, of_ast(node.value))


def _Subscript(node: ast.Subscript) -> Shape:
    return ("Subscript", of_ast(node.slice), of_ast(node.value))


def _Slice(node: ast.Slice) -> Shape:
    return ("Slice", of_ast(node.lower), of_ast(node.step), of_ast(node.upper))


def _Call(node: ast.Call) -> Shape:
    positional = [_argument(each) for each in node.args]
    keywords = [_keyword(each) for each in node.keywords]
    values = [*node.args, *[each.value for each in node.keywords]]
    both = sorted(zip(values, [*positional, *keywords], strict=True), key=_place)
    return ("Call", tuple([shape for _, shape in both]), of_ast(node.func))


def _place(pair: tuple[ast.expr, Shape]) -> tuple[int, int]:
    return pair[0].lineno, pair[0].col_offset


def _argument(node: ast.expr) -> Shape:
    if isinstance(node, ast.Starred):
        return ("Argument", None, "*", of_ast(node.value))
    return ("Argument", None, "", of_ast(node))


def _keyword(node: ast.keyword) -> Shape:
    return ("Argument", node.arg, "" if node.arg else "**", of_ast(node.value))


def _UnaryOp(node: ast.UnaryOp) -> Shape:
    return ("Unary", of_ast(node.operand), _OPERATORS[type(node.op)])


def _BinOp(node: ast.BinOp) -> Shape:
    return ("Binary", of_ast(node.left), _OPERATORS[type(node.op)], of_ast(node.right))


def _BoolOp(node: ast.BoolOp) -> Shape:
    result = of_ast(node.values[0])
    for value in node.values[1:]:
        result = ("Boolean", result, _OPERATORS[type(node.op)], of_ast(value))
    return result


def _Compare(node: ast.Compare) -> Shape:
    rest = [(_OPERATORS[type(op)], of_ast(each)) for op, each in zip(node.ops, node.comparators, strict=True)]
    return ("Compare", of_ast(node.left), tuple(rest))


def _IfExp(node: ast.IfExp) -> Shape:
    return ("Conditional", of_ast(node.body), of_ast(node.orelse), of_ast(node.test))


def _Tuple(node: ast.Tuple) -> Shape:
    return ("Sequence_", of_ast(node.elts), "tuple")


def _List(node: ast.List) -> Shape:
    return ("Sequence_", of_ast(node.elts), "list")


def _Set(node: ast.Set) -> Shape:
    return ("Sequence_", of_ast(node.elts), "set")


def _Dict(node: ast.Dict) -> Shape:
    items = [(of_ast(key), of_ast(value)) for key, value in zip(node.keys, node.values, strict=True)]
    return ("Mapping_", tuple(items))


def _Starred(node: ast.Starred) -> Shape:
    return ("Starred", of_ast(node.value))


def _comprehension(node: ast.comprehension) -> Shape:
    return ("Clause", of_ast(node.ifs), of_ast(node.iter), of_ast(node.target))


def _ListComp(node: ast.ListComp) -> Shape:
    return ("Comprehension", of_ast(node.generators), of_ast(node.elt), None, "list")


def _SetComp(node: ast.SetComp) -> Shape:
    return ("Comprehension", of_ast(node.generators), of_ast(node.elt), None, "set")


def _GeneratorExp(node: ast.GeneratorExp) -> Shape:
    return ("Comprehension", of_ast(node.generators), of_ast(node.elt), None, "generator")


def _DictComp(node: ast.DictComp) -> Shape:
    return ("Comprehension", of_ast(node.generators), of_ast(node.value), of_ast(node.key), "dict")


def _NamedExpr(node: ast.NamedExpr) -> Shape:
    return ("Walrus", of_ast(node.target), of_ast(node.value))


def _Await(node: ast.Await) -> Shape:
    return ("Await", of_ast(node.value))


def _Yield(node: ast.Yield) -> Shape:
    return ("Yield", False, of_ast(node.value))


def _YieldFrom(node: ast.YieldFrom) -> Shape:
    return ("Yield", True, of_ast(node.value))


def _Lambda(node: ast.Lambda) -> Shape:
    return ("Lambda", of_ast(node.body), _arguments(node.args))


def _arguments(node: ast.arguments) -> Shape:
    positional = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(positional) - len(node.defaults)) + node.defaults
    result = [_parameter(a, "positional", d) for a, d in zip(positional, defaults, strict=True)]
    if node.vararg:
        result.append(_parameter(node.vararg, "*", None))
    result += [_parameter(a, "keyword", d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
    if node.kwarg:
        result.append(_parameter(node.kwarg, "**", None))
    return tuple(result)


def _parameter(node: ast.arg, kind: str, default: ast.expr | None) -> Shape:
    return ("Parameter", of_ast(node.annotation), of_ast(default), kind, node.arg)


# --------------------------------------------------------------------------- statements


def _Expr(node: ast.Expr) -> Shape:
    return ("ExpressionStatement", of_ast(node.value))


def _Assign(node: ast.Assign) -> Shape:
    return ("Assign", None, of_ast(node.targets), of_ast(node.value))


def _AnnAssign(node: ast.AnnAssign) -> Shape:
    return ("Assign", of_ast(node.annotation), (of_ast(node.target),), of_ast(node.value))


def _AugAssign(node: ast.AugAssign) -> Shape:
    return ("AugAssign", _OPERATORS[type(node.op)], of_ast(node.target), of_ast(node.value))


def _Delete(node: ast.Delete) -> Shape:
    targets = node.targets
    if len(targets) == 1 and isinstance(targets[0], ast.Tuple | ast.List):
        targets = targets[0].elts
    return ("Delete", of_ast(targets))


def _Return(node: ast.Return) -> Shape:
    return ("Return", of_ast(node.value))


def _Raise(node: ast.Raise) -> Shape:
    return ("Raise", of_ast(node.exc))


def _Assert(node: ast.Assert) -> Shape:
    return ("Assert", of_ast(node.msg), of_ast(node.test))


def _Pass(node: ast.Pass) -> Shape:
    return ("Pass",)


_TypeAlias = _Pass


def _Break(node: ast.Break) -> Shape:
    return ("Break",)


def _Continue(node: ast.Continue) -> Shape:
    return ("Continue",)


def _alias(node: ast.alias) -> Shape:
    return (node.name, node.asname)


def _Import(node: ast.Import) -> Shape:
    return ("Import", of_ast(node.names))


def _ImportFrom(node: ast.ImportFrom) -> Shape:
    return ("ImportFrom", node.level, node.module or "", of_ast(node.names))


def _Global(node: ast.Global) -> Shape:
    return ("Declare", "global", tuple(node.names))


def _Nonlocal(node: ast.Nonlocal) -> Shape:
    return ("Declare", "nonlocal", tuple(node.names))


def _If(node: ast.If) -> Shape:
    return ("If", of_ast(node.body), of_ast(node.orelse), of_ast(node.test))


def _For(node: ast.For | ast.AsyncFor) -> Shape:
    return ("For", of_ast(node.body), of_ast(node.iter), of_ast(node.orelse), of_ast(node.target))


_AsyncFor = _For


def _While(node: ast.While) -> Shape:
    return ("While", of_ast(node.body), of_ast(node.orelse), of_ast(node.test))


def _With(node: ast.With | ast.AsyncWith) -> Shape:
    items = [(of_ast(item.context_expr), of_ast(item.optional_vars)) for item in node.items]
    return ("With", of_ast(node.body), tuple(items))


_AsyncWith = _With


def _Try(node: Any) -> Shape:
    return ("Try", of_ast(node.body), of_ast(node.finalbody), of_ast(node.handlers), of_ast(node.orelse))


_TryStar = _Try


def _ExceptHandler(node: ast.ExceptHandler) -> Shape:
    return ("Handler", of_ast(node.body), node.name, of_ast(node.type))


def _Match(node: ast.Match) -> Shape:
    return ("Match", of_ast(node.cases), of_ast(node.subject))


def _match_case(node: ast.match_case) -> Shape:
    pattern = node.pattern
    binds = {each.name for each in ast.walk(pattern) if isinstance(each, ast.MatchAs | ast.MatchStar)}
    binds |= {each.rest for each in ast.walk(pattern) if isinstance(each, ast.MatchMapping)}
    compared = pattern
    while isinstance(compared, ast.MatchAs) and compared.pattern is not None:
        compared = compared.pattern
    value: Shape = None
    if isinstance(compared, ast.MatchValue):
        value = of_ast(compared.value)
    elif isinstance(compared, ast.MatchSingleton):
        value = ("Constant", type(compared.value).__name__, repr(compared.value))
    wildcard = node.guard is None and _matches_all(pattern)
    names = tuple(sorted(name for name in binds if name))
    return ("Case", names, of_ast(node.body), of_ast(node.guard), value, wildcard)


def _matches_all(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchOr):
        return any(_matches_all(each) for each in pattern.patterns)
    return isinstance(pattern, ast.MatchAs) and (pattern.pattern is None or _matches_all(pattern.pattern))


def _FunctionDef(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Shape:
    return (
        "FunctionDef",
        of_ast(node.body),
        of_ast(node.decorator_list),
        ast.get_docstring(node, clean=False),
        isinstance(node, ast.AsyncFunctionDef),
        node.name,
        _arguments(node.args),
        of_ast(node.returns),
    )


_AsyncFunctionDef = _FunctionDef


def _ClassDef(node: ast.ClassDef) -> Shape:
    return (
        "ClassDef",
        of_ast(node.bases),
        of_ast(node.body),
        of_ast(node.decorator_list),
        ast.get_docstring(node, clean=False),
        tuple([_keyword(each) for each in node.keywords]),
        node.name,
    )
