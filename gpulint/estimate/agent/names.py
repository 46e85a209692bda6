"""Names of operations, and of functions of the program, that matter to a training step."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from types import CodeType
from typing import Any

GRADIENT = re.compile(r"(^|/)(gradient_tape|gradients)/")
"""Name scopes of operations that a `GradientTape` or `tf.gradients` creates."""

UPDATES = (
    *("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"),
    *("ResourceApply", "ResourceScatter", "ResourceSparseApply"),
)
"""Beginnings of the types of operations that change variables."""

_MOST_FUNCTIONS = 100
"""Functions that are looked into."""


def mentions(python: Any, names: Collection[str]) -> bool:
    """Whether the code of a Python function has one of some names in it, or that of a function of the same program
    which it refers to by name."""
    pending: list[tuple[Any, Any]] = [(python, None)]
    seen: set[CodeType] = set()
    while pending and len(seen) < _MOST_FUNCTIONS:
        function, owner = pending.pop()
        try:
            function = inspect.unwrap(function)
        except ValueError:  # an object that claims to wrap without end
            continue
        owner = getattr(function, "__self__", owner)
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if not isinstance(code, CodeType) or code in seen:
            continue
        seen.add(code)
        used = names_in(code)
        if used & set(names):
            return True
        cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
        scope = {**function.__globals__, **{name: cell.cell_contents for name, cell in cells if _is_filled(cell)}}
        owner = scope.get("self", owner)
        pending += [(scope[name], None) for name in used & scope.keys() if callable(scope[name])]
        pending += [(method, owner) for name in used if callable(method := getattr(type(owner), name, None))]
    return False


def names_in(code: CodeType) -> set[str]:
    """Names that code refers to, that of functions inside included."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return {*code.co_names, *code.co_freevars}.union(*map(names_in, inner))


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
