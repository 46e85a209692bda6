"""Results of applying decorators to functions and classes."""

from __future__ import annotations

import sys

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import NONE, Arguments, Constant, LibraryName, Value, symbol_of
from gpulint.analysis.domain.values.functions import (
    Bound,
    ContextManagerFunction,
    Descriptor,
    Function,
    Partial,
    Traced,
    UserClass,
)
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.tensorflow import tf_function
from gpulint.places import Site
from gpulint.syntax import ir


def decorate(machine: Machine, decorator: Value, function: Value, node: ir.Expr) -> Value:
    """Result of applying a decorator to a function or a class."""
    if isinstance(function, UserClass):
        return _decorate_class(machine, decorator, function, node)
    site = machine.site(node)
    origin = _library_of(decorator)
    if _is_profiler(decorator):
        return function
    if origin in _INJECTING:
        return behind(function, injected=True)
    if (
        isinstance(decorator, LibraryName)
        and (made := _by_library(machine, decorator.name, function, site)) is not None
    ):
        return made
    if origin in _NOT_TRACING:
        return function
    if isinstance(decorator, Bound) and isinstance(before := decorator.receiver, Descriptor):
        return Descriptor(before.kind, before.function, function) if decorator.method == "setter" else before
    if _is_of_program(decorator):
        result = machine.choose(machine.call(decorator, Arguments((function,)), site))
        if isinstance(result, (Function, Traced, Partial, Object, Descriptor, ContextManagerFunction)):
            return result
    return behind(function, opaque=True)


def _by_library(machine: Machine, name: str, function: Value, site: Site) -> Value | None:
    """Result of a library decorator that is modelled by name, None for any other."""
    if name == "tensorflow.function":
        return tf_function.trace(machine, function, NONE, site)
    if name == "builtins.property":
        return Descriptor("property", function)
    if name == "functools.cached_property":
        return Descriptor("property", behind(function, memoized=True))
    if name in _MEMOIZING:
        return behind(function, memoized=True)
    if name == "builtins.staticmethod":
        return Descriptor("static", function)
    if name == "builtins.classmethod":
        return Descriptor("class", function)
    if name in ("contextlib.contextmanager", "contextlib.asynccontextmanager"):
        return ContextManagerFunction(function)
    return function if name in _TRANSPARENT or name.endswith(".setter") else None


def _is_profiler(decorator: Value) -> bool:
    """Whether the decorator is the unbound `profile`, which line_profiler and memory_profiler add to the built-ins."""
    name = symbol_of(decorator)
    return bool(name.parts[0] == "name" and name.parts[-1] == "profile")


_MEMOIZING = frozenset({"functools.lru_cache", "functools.cache", "functools.lru_cache()"})
"""Decorators that cache results, so that a function runs once for the same arguments."""

_TRANSPARENT = frozenset(
    {
        "tensorflow.autograph.experimental.do_not_convert",
        "tensorflow.keras.saving.register_keras_serializable",
        "tensorflow.keras.utils.register_keras_serializable",
    }
)
"""TensorFlow decorators that return the function unchanged."""


def _is_of_program(decorator: Value) -> bool:
    """Whether a decorator may be defined by the program."""
    return isinstance(decorator, (Function, Partial, UserClass, Traced)) or (
        isinstance(decorator, Bound) and not isinstance(decorator.method, str)
    )


def _library_of(decorator: Value) -> str:
    """Package that a decorator comes from (`@click.option("--size")`, `@app.command()`), "" where it is unknown."""
    name = symbol_of(decorator)
    while name.parts[0] in ("call", "attribute"):
        name = symbol(name.parts[1])
    return str(name.parts[1]).partition(".")[0] if name.parts[0] == "external" else ""


_INJECTING = frozenset({"gin", "sacred"})
"""Libraries whose decorators pass arguments from a configuration to the function."""

_NOT_TRACING = (
    _INJECTING
    | {
        "absl",
        "airflow",
        "attr",
        "attrs",
        "beartype",
        "celery",
        "click",
        "click_log",
        "comet_ml",
        "dask",
        "fastapi",
        "fire",
        "flask",
        "hydra",
        "jaxtyping",
        "joblib",
        "kfp",
        "line_profiler",
        "loguru",
        "luigi",
        "memory_profiler",
        "metaflow",
        "mlflow",
        "neptune",
        "nni",
        "numba",
        "optuna",
        "plac",
        "prefect",
        "pydantic",
        "pytest",
        "ray",
        "retry",
        "rich_click",
        "tenacity",
        "torch",
        "tyro",
        "typeguard",
        "typer",
        "wandb",
        "zenml",
    }
    | sys.stdlib_module_names
)
"""Libraries whose decorators do not wrap a function in a `tf.function`."""


def behind(function: Value, *, opaque: bool = False, memoized: bool = False, injected: bool = False) -> Value:
    """Function with one more decorator around it. Other values are returned unchanged."""
    return function.behind(opaque, memoized, injected) if isinstance(function, Function) else function


def _decorate_class(machine: Machine, decorator: Value, cls: UserClass, node: ir.Expr) -> Value:
    """Result of applying a decorator to a class.

    `dataclass` adds a constructor. A decorator of the program may register the class or return another one.
    """
    if isinstance(decorator, LibraryName) and decorator.name in (
        "dataclasses.dataclass",
        "attr.s",
        "attrs.define",
    ):
        cls.namespace["."] = Constant("dataclass")
    elif _library_of(decorator) in _INJECTING:
        if "__init__" in cls.namespace:
            cls.namespace["__init__"] = behind(cls.namespace["__init__"], injected=True)
    elif isinstance(decorator, Partial) and isinstance(decorator.function, LibraryName):
        return _decorate_class(machine, decorator.function, cls, node)
    elif _is_of_program(decorator):
        result = machine.choose(machine.call(decorator, Arguments((cls,)), machine.site(node)))
        return result if isinstance(result, (UserClass, Function, Partial)) else cls
    return cls
