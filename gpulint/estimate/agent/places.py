"""Where the operations of a graph come from: lines of the user's code, and layers, by the operations' names."""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from gpulint.estimate.agent.pieces import Pieces
from gpulint.probe.agent.places import Place, Places

GENERATED = "__autograph_generated_file"
"""Beginning of the names of modules that AutoGraph generates."""

_ADDED = re.compile(r"^(ArithmeticOptimizer|ConstantFolding|LayoutOptimizer|RemapperOptimizer|ConstantFoldingCtrl)/")
"""Name scopes of operations that Grappler adds; the rest of the name begins with that of one that it replaces."""

_BACKWARD = re.compile(r"(^|/)(gradient_tape|gradients)/")
_ENDS = re.compile(r"[/\-_]")


class Source(NamedTuple):
    """A line, "" and 0 if unknown, the cell of a notebook, and the path of a layer, "" if there is none."""

    filename: str = ""
    row: int = 0
    cell: int | None = None
    layer: str = ""


class Sources:
    """Sources of a function's operations by name, those of functions that it calls included.

    Inlined operations are called `CALLER/NAME`. Those of the backward pass, `gradient_tape/NAME/…`, have the source of
    the operation they are the gradient of; those that Grappler adds, that of the operation they replace.
    """

    def __init__(self, graph: Any, places: Places, layers: Mapping[str, str], fallback: Place | None = None) -> None:
        """`layers`: name scope → path of the layer that opened it. `fallback`: the line of operations without one, such
        as the call of `fit`, which is not on the stack of the threads that trace replicas."""
        self._places = places
        self._fallback = Source(*fallback) if fallback is not None else Source()
        self._layers = layers
        self._known: dict[str, Source] = {}
        self._collect(graph, "", set())

    def _collect(self, graph: Any, prefix: str, within: set[str]) -> None:
        for operation in graph.get_operations():
            name = f"{prefix}{operation.name}"
            source = Source(*self._line(operation), self._layer(operation.name))
            self._known[name] = source
            self._known.setdefault(name.rpartition("/")[0], source)
            for value in operation.node_def.attr.values():
                called = value.func.name if value.WhichOneof("value") == "func" else ""
                if called and called not in within and (function := _function(graph, called)) is not None:
                    self._collect(function, f"{name}/", within | {called})

    def of(self, name: str) -> Source:
        """The source of an operation, of the longest known name that it begins with if it was added later."""
        found = self._found(name)
        return found if found.filename else self._fallback._replace(layer=found.layer)

    def _found(self, name: str) -> Source:
        known = self._known.get(name)
        backward = _BACKWARD.search(name)
        if backward is not None:
            forward = self._longest(name[: backward.start(0)] + backward[1] + name[backward.end(0) :])
            if forward is not None:
                return forward
        return known or self._longest(_ADDED.sub("", name)) or Source()

    def _longest(self, name: str) -> Source | None:
        while name:
            if (known := self._known.get(name)) is not None:
                return known
            ends = [found.start() for found in _ENDS.finditer(name)]
            if not ends:
                return None
            name = name[: ends[-1]]
        return None

    def _line(self, operation: Any) -> tuple[str, int, int | None]:
        try:
            frames = operation.traceback
        except AttributeError:
            return "", 0, None
        for frame in reversed(frames or ()):
            if not self._places.is_foreign(frame.filename):
                line = frame.filename, frame.lineno
                if GENERATED in frame.filename:
                    if line not in self._converted:
                        continue
                    line = self._converted[line]
                place = self._places.at(*line)
                return place[0], place[1], place[2] if len(place) > 2 else None
        return "", 0, None

    @functools.cached_property
    def _converted(self) -> Mapping[tuple[str, int], tuple[str, int]]:
        """Lines of code that AutoGraph generated → those of the program. TensorFlow translates them itself, but not in
        the threads that trace replicas."""
        return {
            (line.filename, line.lineno): (origin.loc.filename, origin.loc.lineno)
            for one in gc.get_objects()
            if type(one).__name__ == "_PythonFnFactory"  # AutoGraph keeps one for each function that it converted
            for line, origin in (one.source_map or {}).items()
        }

    def _layer(self, name: str) -> str:
        """The path of the layer whose name scope an operation is in."""
        while name:
            name = name.rpartition("/")[0]
            if name in self._layers:
                return self._layers[name]
        return ""


class Layers:
    """Name scopes of Keras's layers, noted while functions are traced."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self.scopes: dict[str, str] = {}
        """Name scope → path of the layer that opened it."""

    @contextmanager
    def noted(self) -> Iterator[None]:
        """A context in which calls of layers note their name scopes."""
        keras = sys.modules.get("keras")
        kind = getattr(keras, "Operation", None)
        if kind is None:
            yield
            return
        call = kind.__call__

        @functools.wraps(call)
        def noting(layer: Any, *arguments: Any, **keywords: Any) -> Any:
            scope = self._pieces.ops.get_name_scope()
            if scope and hasattr(layer, "weights"):
                self.scopes.setdefault(scope, str(getattr(layer, "path", None) or layer.name))
            return call(layer, *arguments, **keywords)

        kind.__call__ = noting
        try:
            yield
        finally:
            kind.__call__ = call


def _function(graph: Any, name: str) -> Any:
    """The graph of a function that a graph calls, None if it has none."""
    try:
        found = graph._get_function(name)
        return getattr(found, "graph", None)
    except (AttributeError, KeyError, ValueError):
        return None
