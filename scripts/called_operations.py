"""Which generated operations a function of TensorFlow runs, read off its source and the sources of what it calls."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

_OF_WRAPPER = re.compile(r"_apply_op_helper\(\s*\"(\w+)\"")


def operation(function: Any) -> str | None:
    """The operation of which a function is the generated wrapper."""
    if ".gen_" not in (getattr(function, "__module__", None) or ""):
        return None
    found = _OF_WRAPPER.search(inspect.getsource(function))
    return found[1] if found else None


class Called:
    """The operations that functions run; `wanted` selects those of interest."""

    def __init__(self, wanted: Callable[[str], bool]) -> None:
        self._wanted = wanted
        self._certain: dict[CodeType, bool] = {}
        self._possible: dict[CodeType, frozenset[str]] = {}

    def possible(self, function: Any) -> frozenset[str]:
        """All operations that a function may run, as far as the names that it calls can be followed."""
        function = inspect.unwrap(function)
        if (op := operation(function)) is not None:
            return frozenset({op})
        body = _body(function)
        if body is None:
            return frozenset()
        code = function.__code__
        if code not in self._possible:
            self._possible[code] = frozenset()
            names = _Names(function)
            calls = [node.func for node in ast.walk(body) if isinstance(node, ast.Call)]
            self._possible[code] = frozenset().union(*(self.possible(names.value(called)) for called in calls))
        return self._possible[code]

    def certain(self, function: Any) -> bool:
        """Whether a function runs a wanted operation on each way through it that does not raise.

        One that calls itself comes to a way on which it does not.
        """
        function = inspect.unwrap(function)
        if (op := operation(function)) is not None:
            return self._wanted(op)
        body = _body(function)
        if body is None:
            return False
        code = function.__code__
        if code not in self._certain:
            self._certain[code] = True
            returned: list[bool] = []
            fell = self._runs_block(body.body, False, _Names(function), returned)
            ends = returned if fell is None else [*returned, fell]
            self._certain[code] = bool(ends) and all(ends)
        return self._certain[code]

    def _runs_block(self, block: Sequence[ast.stmt], ran: bool, names: _Names, returned: list[bool]) -> bool | None:
        """Whether a wanted operation has run at the end of a block, None if no path reaches the end. The same for each
        path that returns is added to `returned`."""
        for statement in block:
            if isinstance(statement, ast.Raise):
                return None
            if isinstance(statement, ast.Return):
                returned.append(ran or self._runs(statement, names))
                return None
            if isinstance(statement, (ast.If, ast.With, ast.Try)):
                ways = []
                for before, arm in _arms(statement):
                    on_arm = ran or any(self._runs(node, names) for node in before)
                    ways.append(self._runs_block(arm, on_arm, names, returned))
                left = [way for way in ways if way is not None]
                if not left:
                    return None
                ran = all(left)
            elif isinstance(statement, (ast.For, ast.While)):
                self._runs_block(statement.body, ran, names, returned)
            elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                ran = ran or self._runs(statement, names)
        return ran

    def _runs(self, node: ast.AST, names: _Names) -> bool:
        """Whether evaluating an expression or a simple statement always runs a wanted operation."""
        if isinstance(node, ast.Lambda):
            return False
        if isinstance(node, ast.IfExp):
            return self._runs(node.test, names) or (self._runs(node.body, names) and self._runs(node.orelse, names))
        if isinstance(node, ast.BoolOp):
            return self._runs(node.values[0], names)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)):
            return self._runs(node.generators[0].iter, names)
        if isinstance(node, ast.Call) and self.certain(names.value(node.func)):
            return True
        return any(self._runs(child, names) for child in ast.iter_child_nodes(node))


class _Names:
    """The functions and modules behind the free names of a function's body."""

    def __init__(self, function: types.FunctionType) -> None:
        own = set(function.__code__.co_varnames) | set(function.__code__.co_cellvars)
        outside = vars(builtins) | function.__globals__
        self._values = {name: value for name, value in outside.items() if name not in own}

    def value(self, node: ast.expr) -> Any:
        """The function or module named by `name` or `module.name`, else None."""
        if isinstance(node, ast.Name):
            return self._values.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self.value(node.value)
            return getattr(module, node.attr, None) if isinstance(module, types.ModuleType) else None
        return None


def _arms(statement: ast.If | ast.With | ast.Try) -> list[tuple[list[ast.expr], Sequence[ast.stmt]]]:
    """The branches of a statement, each with the expressions that are evaluated before it."""
    if isinstance(statement, ast.If):
        return [([statement.test], statement.body), ([statement.test], statement.orelse)]
    if isinstance(statement, ast.With):
        return [([item.context_expr for item in statement.items], statement.body)]
    return [([], statement.body), *(([], handler.body) for handler in statement.handlers)]


def _body(function: Any) -> ast.FunctionDef | None:
    """The definition of a function that TensorFlow writes in Python."""
    if not isinstance(function, types.FunctionType) or "tensorflow" not in (function.__module__ or ""):
        return None
    try:
        definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        return None
    return definition if isinstance(definition, ast.FunctionDef) else None
