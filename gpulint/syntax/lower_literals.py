"""Lowering of numbers, strings and format strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from gpulint.syntax import ir, literals
from gpulint.syntax.cst_lowering import expression
from gpulint.syntax.fstrings import joined
from gpulint.syntax.lowering import Lowering


def number(low: Lowering, node: cst.Integer | cst.Float | cst.Imaginary) -> ir.Expr:
    return ir.Constant(low.number(node), literals.number(node.value))


def ellipsis(low: Lowering, node: cst.Ellipsis) -> ir.Expr:
    return ir.Constant(low.number(node), ...)


def string(low: Lowering, node: cst.SimpleString) -> ir.Expr:
    return ir.Constant(low.number(node), literals.string(node.value))


def fstring(low: Lowering, node: cst.FormattedString | cst.TemplatedString) -> ir.Expr:
    number = low.number(node)
    parts: list[str | ir.Expr] = []
    exact = _fstring_parts(low, node, parts)
    return ir.FString(number, joined(parts), exact)


def concatenation(low: Lowering, node: cst.ConcatenatedString) -> ir.Expr:
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
        return ir.FString(number, joined(parts), exact)
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
        by_repr = part.equal is not None and not spec and part.conversion is None
        exact = exact and plain and part.conversion in (None, "s") and not by_repr
    return exact
