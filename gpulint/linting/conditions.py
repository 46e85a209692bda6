"""A condition of a rule in words: the part of it that decided, and what its names stand for."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any, NamedTuple

_PURE = (
    *(ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.Load),
    *(ast.boolop, ast.cmpop, ast.unaryop, ast.operator),
)
"""Syntax that only reads."""

_PURE_FUNCTIONS = ("isinstance", "len")

_SHOWN = (bool, int, float, str, type(None))
"""Types of which a value is shown."""

MAX_SHOWN = 60
"""Maximum number of characters of a value that is shown."""


class Moment(NamedTuple):
    """A line of a function that is about to run, with its names."""

    line: int
    names: Mapping[str, Any]
    everywhere: Mapping[str, Any]

    @classmethod
    def of(cls, frame: FrameType) -> Moment:
        return cls(frame.f_lineno, dict(frame.f_locals), frame.f_globals)

    def value(self, node: ast.expr) -> object:
        """The value of an expression that only reads, `_UNKNOWN` of others."""
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        called = {id(part) for one in calls for part in (one, one.func)}
        is_pure = all(isinstance(one.func, ast.Name) and one.func.id in _PURE_FUNCTIONS for one in calls)
        if is_pure and all(isinstance(one, _PURE) or id(one) in called for one in ast.walk(node)):
            with suppress(Exception):  # a name without a value yet
                return eval(_compiled(node), dict(self.everywhere), dict(self.names))
        return _UNKNOWN


_UNKNOWN = object()


def _compiled(node: ast.expr) -> CodeType:
    return compile(ast.Expression(node), "<condition>", "eval")


def deciding(test: ast.expr, holds: bool, moment: Moment) -> tuple[ast.expr, bool]:
    """The innermost part of a condition that decided, and whether it holds: of `a or b` that holds, for instance, the
    first part that does."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return deciding(test.operand, not holds, moment)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) is holds:
        for part in test.values:
            if (value := moment.value(part)) is _UNKNOWN:
                rest = test.values[test.values.index(part) :]
                return deciding(part, holds, moment) if len(rest) == 1 else (ast.BoolOp(test.op, rest), holds)
            if bool(value) is holds:
                return deciding(part, holds, moment)
    return test, holds


def explained(test: ast.expr, moment: Moment, constants: Mapping[str, str]) -> Iterator[str]:
    """A line for each name, attribute and call in a condition of which something is known: its value, and the first
    sentence of its docstring. `constants` are the docstrings of constants."""
    told: set[str] = set()
    for node in _terms(test):
        text = ast.unparse(node)
        if text in told or (isinstance(node, ast.Name) and inspect.ismodule(moment.value(node))):
            continue
        told.add(text)
        value = moment.value(node)
        is_shown = type(value) in _SHOWN and len(repr(value)) <= MAX_SHOWN
        says = constants.get(text) or _first_sentence(_documented(node, moment, is_shown))
        if is_shown or says:
            yield f"`{text}`" + (f" is {value!r}" if is_shown else "") + (f": {says}" if says else "")


def _terms(node: ast.AST) -> Iterator[ast.expr]:
    """The calls and the chains of attributes in an expression, in order."""
    if isinstance(node, ast.Attribute | ast.Name):
        yield node
        return
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _PURE_FUNCTIONS):
        yield node
        return
    arguments = node.args[:1] if isinstance(node, ast.Call) else ast.iter_child_nodes(node)
    for child in arguments:
        yield from _terms(child)


def _documented(node: ast.expr, moment: Moment, is_shown: bool) -> object:
    """What the docstring of a term belongs to: the function that is called, a property, or the class of a value."""
    if isinstance(node, ast.Call):
        return moment.value(node.func)
    if isinstance(node, ast.Attribute):
        owner = moment.value(node.value)
        found = getattr(type(owner), node.attr, None)
        if isinstance(found, property):
            return found
    return type(moment.value(node)) if not is_shown else None


def _first_sentence(documented: object) -> str:
    if documented in (None, object) or getattr(documented, "__module__", "") == "builtins":
        return ""
    text = " ".join((getattr(documented, "__doc__", None) or "").split())
    return text.partition(". ")[0].rstrip(".")


def docstrings_of_constants(module: str) -> dict[str, str]:
    """The first sentences of the strings behind a module's constants, also of those that it imports."""
    found: dict[str, str] = {}
    tree = _tree(module)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            names = {one.name: one.asname or one.name for one in statement.names if one.name.isupper()}
            theirs = docstrings_of_constants(statement.module) if names else {}
            found |= {names[name]: text for name, text in theirs.items() if name in names}
    for constant, string in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(constant, ast.Assign) and isinstance(constant.targets[0], ast.Name):
            if isinstance(string, ast.Expr) and isinstance(string.value, ast.Constant):
                found[constant.targets[0].id] = " ".join(str(string.value.value).split()).partition(". ")[0].rstrip(".")
    return found


def _tree(module: str) -> ast.Module:
    try:
        return ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return ast.Module([], [])
