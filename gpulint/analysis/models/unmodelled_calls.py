"""Calls of library functions that no table describes."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol, symbol
from gpulint.analysis.domain.values.base import NONE, Arguments, LibraryName, Union, Unknown, Value, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python import loggers, threads
from gpulint.analysis.models.tensorflow import escape, host_sync, minimizers, tensors, tuners
from gpulint.places import Site


def call_unmodelled(machine: Machine, name: str, arguments: Arguments, site: Site) -> Value:
    """Unknown result of a call that may keep, read, print or call its arguments."""
    for value in arguments.all():
        escape.escape(machine, value, "passed", site)
    if name.startswith("numpy.") and name not in _OF_KINDS:
        for value in tensors.flattened(arguments.positional):
            tensors.read_at(machine, value, "array", site)
        whole = Unknown(("call", ("external", name), host_sync.symbols(arguments, site)))
        return _of_objects(machine, name, arguments, whole.symbol) or whole
    if name.startswith("math."):
        numbers = tuple(tensors.as_number(value) for value in arguments.positional)
        for value in tensors.flattened(numbers):
            tensors.read_at(machine, value, "math", site)
        return Unknown(("call", ("external", name), host_sync.symbols(Arguments(numbers), site)))
    is_logger = name.startswith(loggers.PREFIXES) or name in loggers.FUNCTIONS
    if is_logger:
        loggers.print_arguments(machine, arguments, site)
    name_of = host_sync.content if name.startswith("sklearn.") else _symbol  # it returns rows of what it gets
    result = Unknown(("call", ("external", name), tuple(map(name_of, arguments.all()))))
    if name in threads.THREADS or name in threads.PROCESSES:
        threads.run_target(machine, name, arguments, site)
    elif not is_logger:
        if not name.startswith("sklearn.metrics."):  # what becomes of the score tells whether the host needs it
            host_sync.pass_host_values(machine, name.rpartition(".")[2], arguments, site)
        tuners.run_trials(machine, name, arguments, site, result.symbol)
        minimizers.run_step(machine, name, arguments, site)
    return result


def _of_objects(machine: Machine, name: str, arguments: Arguments, called: Symbol) -> Items | None:
    """The rows of `np.array(pairs, dtype=object)`, which keeps its objects as a list does; None for other calls."""
    kind = arguments.get("dtype", 1)
    if name not in _KEEPS_OBJECTS or not isinstance(kind, LibraryName) or kind.name not in _OBJECTS:
        return None
    given = machine.choose(arguments.get("object" if name == "numpy.array" else "a", 0) or NONE)
    if not isinstance(given, Items) or not isinstance(given.element, Items):
        return None
    return Items(given.kind, given.items, given.element, called)


_KEEPS_OBJECTS = frozenset({"numpy.array", "numpy.asarray"})
_OBJECTS = frozenset({"builtins.object", "numpy.object_", "numpy.object"})


def _symbol(value: Value) -> Symbol:
    """Symbol of a value. For a union of few alternatives, it contains the symbol of each."""
    if isinstance(value, Union) and len(value.alternatives) <= MAX_NAMED:
        return symbol(("value", value.serial, *(symbol_of(option) for _, option in value.alternatives)))
    return symbol_of(value)


MAX_NAMED = 4
"""Maximum number of alternatives spelled out in a result's symbol."""


_OF_KINDS = frozenset({"numpy.isscalar", "numpy.iterable", "numpy.ndim", "numpy.shape", "numpy.size"})
"""Functions that inspect the type or shape of a value, not its content (they do not call `__array__` on 2.21)."""
