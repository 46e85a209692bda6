"""Functions that stand for those of subclasses."""

from __future__ import annotations

from itertools import islice

from gpulint.syntax import ir


def is_placeholder(definition: ir.FunctionDef | ir.Lambda) -> bool:
    """Whether a function only raises `NotImplementedError`, or is an abstract method without statements."""
    if not isinstance(definition, ir.FunctionDef):
        return False
    body = list(islice((one for one in definition.body if not _is_empty(one)), 2))
    if not body:
        return any(_name(decorator) in _ABSTRACT for decorator in definition.decorators)
    if len(body) > 1 or not isinstance(body[0], ir.Raise):
        return False
    raised = body[0].value
    return _name(raised.function if isinstance(raised, ir.Call) else raised) == "NotImplementedError"


_ABSTRACT = frozenset({"abstractmethod", "abstractproperty"})


def _is_empty(statement: ir.Statement) -> bool:
    """Whether a statement is `pass`, `...` or a docstring."""
    return isinstance(statement, ir.Pass) or (
        isinstance(statement, ir.ExpressionStatement) and isinstance(statement.value, ir.Constant)
    )


def _name(expression: ir.Expr | None) -> str:
    """The last part of a dotted name."""
    if isinstance(expression, ir.Attribute):
        return expression.name
    return expression.id if isinstance(expression, ir.Name) else ""
