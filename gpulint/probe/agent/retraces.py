"""Reasons why a `tf.function` was traced again: differences between the types of its arguments.

TensorFlow keeps the traces of a function in a cache by the types of the arguments and by the context of the call. Types
are nested: those of tensors have a shape and a dtype, those of Python's numbers and strings are the value itself, those
of other objects their identity (`tensorflow.core.function.trace_type`, 2.16 and 2.21).
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from gpulint.probe.agent.guard import Guard, guarded
from gpulint.probe.agent.places import Places
from gpulint.probe.agent.tally import Tally

SHAPE, DTYPE, VALUE, OBJECT, STRUCTURE, MODEL = "shape", "dtype", "value", "object", "structure", "model"
"""Differences between arguments. `STRUCTURE`: one is a tensor and the other a Python value, or they nest
differently. `MODEL`: another model or layer, whose variables are part of the graph."""

FUNCTION, CONTEXT = "function", "context"
"""Another function object of the same code; the same arguments under another device, strategy or outer function."""

MOST_TYPES = 64
"""Limit of the remembered types of one function: the last ones."""

MOST_CAUSES = 3
"""Limit of the arguments named for one trace."""

MOST_LEAVES = 100
LONGEST = 60
"""Characters of a value that are kept."""

_DEPTH = 6
_PARTS = ("components", "components_tuple", "mapping", "attributes", "named_attributes", "_element_spec")
"""Attributes of types that consist of others."""

_OF_REPLICAS = "_value_specs"
"""Attribute of the type of a batch that is divided among replicas: the types of its parts."""

_VALUES = (bool, int, float, complex, str, bytes, type(None))

Leaves = Mapping[str, Any]
"""Path of an argument or of a part of it → its type."""


class Retraces:
    """Counts traces after the first one by the calling line, function and cause, with the first example of each."""

    def __init__(self, places: Places, fault: Guard) -> None:
        self._places = places
        self.note = guarded("retraces", fault, self._count)
        """Call with the type and the options of each trace before it runs. Returns whether the function is traced
        again, None if that failed."""
        self.seen = Tally("retraces")
        self._types: weakref.WeakKeyDictionary[Any, dict[Any, list[Leaves]]] = weakref.WeakKeyDictionary()
        """Lock of a function object → scope of its traces → their types. A function that creates variables is traced
        twice, in two scopes."""
        self._codes: set[Any] = set()
        """Code of traced functions."""
        self._examples: dict[tuple[Any, ...], str] = {}

    def _count(self, function_type: Any, options: Any) -> bool:
        function = inspect.unwrap(options.python_function)
        code = getattr(function, "__code__", None)
        if options.lock is None or code is None:
            return False
        scopes = self._types.get(options.lock)
        is_new = scopes is None
        scopes = self._types.setdefault(options.lock, {}) if scopes is None else scopes
        known = scopes.setdefault(options.scope_type, [])
        leaves = dict(_leaves_of(function_type.parameters))
        own = not self._places.is_foreign(code.co_filename)
        causes: list[tuple[str, str, str]] = []
        if known:
            causes = list(compared(known, leaves))
        elif is_new and own and code in self._codes:
            causes = [(FUNCTION, "", "")]  # a library creates its own as it needs them
        self._codes.add(code)
        known.append(leaves)
        del known[:-MOST_TYPES]
        if causes:
            place = self._places.here()
            for kind, argument, example in causes:
                key = (place, options.name, own, kind, argument)
                self.seen.count(place, options.name, own, kind, argument, self._examples.setdefault(key, example))
        return bool(causes)


def compared(known: list[Leaves], leaves: Leaves) -> Iterator[tuple[str, str, str]]:
    """Cause, argument and example for each difference from the known types that are nearest, the latest of equals."""
    before = min(reversed(known), key=lambda one: len(_differing(one, leaves)))
    differing = _differing(before, leaves)
    if not differing:
        yield CONTEXT, "", ""
    present = [path for path in differing if path in leaves]
    for path in (present or differing)[:MOST_CAUSES]:
        old, new = before.get(path), leaves.get(path)
        kind = _kind(old, new)
        yield kind, path, _example(kind, old, new)


def _differing(before: Leaves, leaves: Leaves) -> list[str]:
    return [path for path in dict.fromkeys([*before, *leaves]) if before.get(path) != leaves.get(path)]


def _kind(old: Any, new: Any) -> str:
    if old is None or new is None:
        return STRUCTURE
    if all(hasattr(one, "shape") and hasattr(one, "dtype") for one in (old, new)):
        return DTYPE if old.dtype != new.dtype else SHAPE if str(old.shape) != str(new.shape) else OBJECT
    if type(old) is not type(new):
        return STRUCTURE
    if isinstance(getattr(new, "value", new), _VALUES):
        return VALUE
    return MODEL if hasattr(type(_object(new)), "trainable_variables") else OBJECT


def _example(kind: str, old: Any, new: Any) -> str:
    if kind == SHAPE:
        return f"{old.shape} → {new.shape}"
    if kind == DTYPE:
        return f"{old.dtype.name} → {new.dtype.name}"
    return _text(new) if kind in (OBJECT, MODEL) else f"{_text(old)} → {_text(new)}"


def _leaves_of(parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    found = 0
    for name, parameter in parameters.items():
        for path, leaf in _leaves(name, parameter.type_constraint, 0):
            found += 1
            if found > MOST_LEAVES:
                return
            yield path, leaf


def _leaves(path: str, one: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """The innermost types of a type, with their paths: `batch[0]`, `batch['image']`."""
    parts: list[tuple[str, Any]] | None = None
    if depth < _DEPTH:
        if isinstance(one, Mapping):
            parts = [(f"{path}[{key!r}]", value) for key, value in one.items()]
        elif isinstance(one, (tuple, list)):
            parts = [(f"{path}[{index}]", value) for index, value in enumerate(one)]
        elif (of_replicas := getattr(one, _OF_REPLICAS, None)) is not None:
            parts = [(f"{path}.values[{index}]", value) for index, value in enumerate(of_replicas)]
        else:
            for name in _PARTS:
                inner = getattr(one, name, None)
                if inner is not None and not callable(inner):
                    parts = [(path, inner)]
                    break
    if parts is None:
        yield path, one
    elif not parts:
        yield path, ()
    for inner_path, inner in parts or ():
        yield from _leaves(inner_path, inner, depth + 1)


def _text(leaf: Any) -> str:
    if leaf is None:
        return "nothing"
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return f"a tensor of {leaf.dtype.name}, {leaf.shape}"
    value = getattr(leaf, "value", None)
    if hasattr(leaf, "value") and isinstance(value, _VALUES):
        text = repr(value)
        return text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return f"an object of {type(_object(leaf)).__name__}"


def _object(leaf: Any) -> Any:
    """The object that a type stands for; the type itself if the object is gone."""
    reference = getattr(leaf, "_ref", None)
    value = reference() if isinstance(reference, weakref.ref) else getattr(leaf, "value", None)
    return leaf if value is None else value
