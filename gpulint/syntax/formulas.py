"""Functions that compute one value with nothing but arithmetic."""

from __future__ import annotations

from gpulint.syntax import ir, walk

_NUMERIC = frozenset({"abs", "float", "int", "max", "min", "pow", "round", "sum"})
_MODULES = frozenset({"math", "np", "numpy"})

_NUMBERS = (ir.Name, ir.Constant, ir.Attribute, ir.Unary, ir.Binary, ir.Conditional, ir.Compare)


def is_formula(definition: ir.FunctionDef | ir.Lambda) -> bool:
    """Whether a function only returns an expression of numbers, names and attributes, as schedules do:
    `return max(low, 1 - step / steps)`."""
    if isinstance(definition, ir.Lambda):
        value: object = definition.body
    elif definition.is_generator or definition.is_async or definition.decorators or len(definition.body) != 1:
        return False
    else:
        value = definition.body
    return all(
        isinstance(node, (*_NUMBERS, ir.Return, ir.Argument))
        or (isinstance(node, ir.Call) and _is_numeric(node.function))
        for node in walk.below((value,))
    )


def _is_numeric(called: ir.Expr) -> bool:
    if isinstance(called, ir.Attribute):
        return isinstance(called.value, ir.Name) and called.value.id in _MODULES
    return isinstance(called, ir.Name) and called.id in _NUMERIC
