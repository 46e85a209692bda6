"""Devices of the values of a program: tensors, variables, models, functions."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from gpulint.probe.agent.devices import short
from gpulint.probe.agent.places import Place


class Lines(NamedTuple):
    """First location, and last row."""

    first: Place
    last: int


@dataclass(slots=True)
class Seen:
    """The devices of a value so far, and where to find the rest."""

    subject: str
    objects: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(name, device) of tensors and variables."""
    lines: Lines | None = None
    """The lines of a function, or of the code that creates a symbolic tensor."""
    op: str = ""
    """The operation in those lines, "" for all."""
    function: Any = None
    """The `tf.function`, if it is one."""
    missing: str = ""
    """Why nothing is visible, else ""."""


def look_at(
    value: Any, place_of: Callable[[Any], tuple[Place, str] | None], place_at: Callable[[str, int], Place]
) -> Seen:
    """Examines a value. `place_of` returns the line and operation that created a symbolic tensor, `place_at` the
    location of a row in a file as the interpreter names it."""
    if is_function(value):
        return Seen(f"function `{name_of(value)}`", function=value, lines=lines_of(value.python_function, place_at))
    if (variables := _variables(value)) is not None:
        seen = Seen(f"{type(value).__name__} `{getattr(value, 'name', '')}`")
        for variable in variables:
            seen.objects.update(_parts(variable))
        seen.missing = "" if seen.objects else "it has no variables"
        return seen
    if parts := _parts(value):
        return Seen(_described(value), parts)
    if (built := place_of(value)) is not None:
        place, op = built
        return Seen(f"result of `{op}`", lines=Lines(place, place[1]), op=op)
    if isinstance(value, (list, tuple, Mapping)):
        return _all(value, place_of, place_at)
    if callable(value) and (lines := lines_of(value, place_at)) is not None:
        return Seen(f"function `{name_of(value)}`", lines=lines)
    return Seen(f"a value of type {type(value).__name__}", missing="it has no device")


def is_function(value: Any) -> bool:
    """Whether a value is a `tf.function`."""
    return hasattr(value, "python_function") and hasattr(value, "experimental_get_tracing_count")


def name_of(function: Any) -> str:
    """A function's own name."""
    inner = _unwrapped(getattr(function, "python_function", function))
    return str(getattr(inner, "__name__", type(inner).__name__))


def lines_of(function: Any, place_at: Callable[[str, int], Place]) -> Lines | None:
    """The rows of a Python function, including nested ones; None without source."""
    code = getattr(_unwrapped(function), "__code__", None)
    if not isinstance(code, CodeType):
        return None
    path = code.co_filename
    return Lines(place_at(path, code.co_firstlineno), place_at(path, _last_row(code))[1])


def _unwrapped(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    return getattr(function, "__func__", function)


def _last_row(code: CodeType) -> int:
    rows = [row for _, _, row in code.co_lines() if row is not None]
    rows += [_last_row(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max(rows, default=code.co_firstlineno)


def _variables(value: Any) -> list[Any] | None:
    """Variables of a model, layer, optimizer or tf.Module; None for other values."""
    variables = getattr(value, "variables", None)
    if callable(variables):  # optimizers before Keras 3
        variables = variables()
    return list(variables) if isinstance(variables, (list, tuple)) else None


def _parts(value: Any) -> Counter[tuple[str, str]]:
    """(name, device) of a tensor or variable, for each replica."""
    inner = getattr(value, "_value", None)  # a Keras 3 variable around TensorFlow's
    if inner is not None and hasattr(value, "path"):
        return Counter({(str(value.path), device): count for (_, device), count in _parts(inner).items()})
    parts = getattr(value, "values", None)
    if isinstance(parts, tuple):
        return sum((_parts(part) for part in parts), Counter())
    device = getattr(value, "device", None)
    if not isinstance(device, str) or not device or not hasattr(value, "dtype") or _is_symbolic(value):
        return Counter()
    return Counter({(str(getattr(value, "name", "") if _is_variable(value) else "") or "tensor", short(device)): 1})


def _all(
    values: Any, place_of: Callable[[Any], tuple[Place, str] | None], place_at: Callable[[str, int], Place]
) -> Seen:
    """Several values together, as far as they exist."""
    seen = Seen(f"{len(values)} values")
    for value in values.values() if isinstance(values, Mapping) else values:
        one = look_at(value, place_of, place_at)
        seen.objects.update(one.objects)
        if not one.objects:
            seen.missing = seen.missing or one.missing or "some of them have no device yet"
    if not values:
        seen.missing = "there are none"
    return seen


def _is_symbolic(value: Any) -> bool:
    """Whether a tensor belongs to a graph under construction: its device is the requested one, if any."""
    return hasattr(value, "graph") and not _is_variable(value) and not hasattr(value, "numpy")


def _is_variable(value: Any) -> bool:
    return hasattr(value, "assign")


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    kind = "variable" if _is_variable(value) else "tensor"
    return f"{kind} of shape {shape}" if shape is not None else kind
