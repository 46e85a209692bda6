"""Reads of tensors in eager code, and how the host uses the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from gpulint.analysis.domain.computations import only_computes
from gpulint.analysis.domain.context import callers
from gpulint.analysis.domain.host_arrays import images_in
from gpulint.analysis.domain.identifiers import words
from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.analysis.domain.random_draws import drawn_list
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import HOST_READ, Symbol, symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, Union, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.domain.values.tensors import Gradient, Tensor
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan import events
from gpulint.places import Site

READS = frozenset(
    {"float", "int", "bool", "numpy", "array", "math", "min", "max", "sorted", "print", "format", "weights"}
)
"""Kinds of read for which the host waits."""

_NOTED_BY = frozenset(
    {
        *("add", "append", "average", "collect", "extend", "mean", "push", "put", "round", "sum", "update"),
        *("assign", "assign_add", "assign_sub", "update_state"),
    }
)
"""Names of functions that only collect their arguments, reduce them to one number, or accept tensors as well."""

_LOGGING = frozenset(
    {
        *("audit", "critical", "debug", "description", "display", "draw", "dump", "echo", "emit", "error", "format"),
        *("history", "info", "isfinite", "isinf", "isnan", "log", "logger", "metric", "metrics", "monitor", "note"),
        *("plot", "postfix", "print", "progress", "record", "report", "result", "save", "scalar", "show", "smooth"),
        *("summary", "track", "verbose", "warn", "warning", "write", "writerow"),
        *("accuracy", "auc", "dice", "f1", "iou", "miou", "precision", "psnr", "recall", "ssim"),
    }
)
"""Words in the names of functions that only record their arguments."""


_LOGGERS = frozenset({"history", "logger", "meter", "metrics", "monitor", "statistics", "stats", "tracker", "writer"})
"""Words in the names of classes and objects that only record values."""


def _notes_down(name: str) -> bool:
    """Whether a function only records its arguments, by its name.

    `log_loss` and `mean` do, `update_priorities` and `linear_sum_assignment` do not.
    """
    return name in _NOTED_BY or not words(name).isdisjoint(_LOGGING)


_OF_EAGER_CODE = frozenset({"float", "int", "numpy", "array", "math"})
"""Kinds of read that raise in a traced function. Behind any decorator, a function with one is therefore not traced."""


def read_tensor(machine: Machine, tensor: Tensor, how: str, site: Site) -> None:
    """Record that the program reads the content of a tensor."""
    context = machine.context
    if how not in READS or tensor.from_data or tensor.shape_of or tensor.on_host:
        return
    is_eager = not context.may_be_traced or (context.may_be_eager and how in _OF_EAGER_CODE)
    if context.loops and is_eager and not context.is_on_cpu:
        if tensor.gradient is not None:
            machine.library_state.gradients_read[site] = tensor.gradient
        machine.emit(events.TensorRead(site, machine.where(), tensor, how))
        if not _is_one_number(tensor) and _is_in_environment(machine):
            _use(machine, (site,), "step", site, "")


def enter_method(machine: Machine, receiver: Value, method: Value) -> None:
    """Record the `step` of an environment that the program defines: of a class with `reset`, too."""
    if isinstance(method, Function) and method.name == "step" and isinstance(receiver, Instance):
        if receiver.cls is not None and receiver.cls.find("reset") is not None:
            machine.library_state.environment_steps.add(method.definition_site)


def _is_in_environment(machine: Machine) -> bool:
    """Whether a `step` of an environment of the program is running, which needs the action that it gets."""
    steps = machine.library_state.environment_steps
    return bool(steps) and any(caller.definition in steps for caller in callers(machine.frame.caller))


def _is_one_number(tensor: Tensor) -> bool:
    """Whether a tensor certainly is one number, such as a loss."""
    return tensor.reduced is not None and tensor.reduced.is_number


def gradient_in(machine: Machine, values: Iterable[Value]) -> Gradient | None:
    """Gradient from which the host computed one of the values."""
    places = (place for one in values if type(one) is Unknown for place in reads_in(one.symbol))
    return next(
        (
            machine.library_state.gradients_read[place]
            for place in places
            if place in machine.library_state.gradients_read
        ),
        None,
    )


def is_known_host(value: Value) -> bool:
    """Whether an unknown value certainly is a number or array in host memory.

    It is if it was read from a tensor, or if Python or NumPy computed it.
    """
    name = symbol_of(value)
    return name.parts[0] in _NUMBERS or any(word == HOST_READ or word.startswith("numpy.") for word in name.words)


_NUMBERS = frozenset({"float", "int", "len", "index", "counter"})
"""Heads of the symbols of Python numbers."""


def host_value(site: Site, how: str) -> Value:
    """Value read from a tensor at `site`: a Python number or a NumPy array."""
    return Unknown((HOST_READ, site, how))


@lru_cache(maxsize=8192)
def reads_in(symbol: Symbol) -> tuple[Site, ...]:
    """Places where the tensors were read that a host value was computed from."""
    if symbol.parts[0] == HOST_READ:
        return (symbol.parts[1],)
    return tuple(dict.fromkeys(_reads_among(symbol.parts))) if HOST_READ in symbol.words else ()


def _reads_among(parts: tuple[Any, ...]) -> Iterator[Site]:
    for part in parts:
        if isinstance(part, Symbol):
            yield from reads_in(part)
        elif isinstance(part, tuple) and not isinstance(part, Site):
            yield from _reads_among(part)


def _sides(value: Value, path: Path) -> Iterator[Symbol]:
    """Symbols of the alternatives of a value on a path. For a truth value, or another constant that a condition chose,
    those of the operands of its conditions."""
    for guard, option in alternatives(value, path):
        if type(option) is Unknown:
            yield option.symbol
        elif isinstance(option, Constant):
            sides = (side for one in guard - path for side in (one.condition.subject, one.condition.operand))
            yield from (side for side in sides if isinstance(side, Symbol))


def as_array(value: Value) -> Value:
    """Result of a comparison on which the program uses a member that only arrays have: an array and not a bool."""
    if type(value) is Union and all(isinstance(known(option), bool) for _, option in value.alternatives):
        return Unknown(content(value)) if _options_read(value) else value
    return value


def pass_host_values(machine: Machine, name: str, arguments: Arguments, site: Site, owner: str = "") -> None:
    """Record that host values are passed to a function or method called `name`.

    `owner` is the name of its class or object. Arguments of a `tf.function` are copied back to the device.
    """
    _use(machine, _reads_behind(machine, arguments), name, site, owner)


def pass_to_function(machine: Machine, function: Function, arguments: Arguments, result: Value, site: Site) -> None:
    """Record that host values were passed to a function of the program, unless it only computed a result from them:
    what becomes of that result tells whether they are needed."""
    found = _reads_behind(machine, arguments)
    if not found:
        return
    computed = {read for side in _sides(result, machine.path) for read in reads_in(side)}
    if not computed.issuperset(found) or not only_computes(function):
        owner = function.owner.name if function.owner is not None else ""
        _use(machine, found, function.name, site, owner)


def _use(machine: Machine, reads: tuple[Site, ...], name: str, site: Site, owner: str) -> None:
    """Record that values read at these places are passed to a function, unless it notes them down."""
    if reads and not _notes_down(name) and words(owner).isdisjoint(_LOGGERS):
        machine.emit(events.HostValueUsed(site, machine.where(), reads, name))


def _reads_behind(machine: Machine, arguments: Arguments) -> tuple[Site, ...]:
    """Places in an eager loop where the tensors were read that host values among the arguments were computed from."""
    if not machine.context.loops or machine.context.traced is not None:
        return ()
    given = (side for value in arguments.all() for side in _sides(value, machine.path))
    return tuple(dict.fromkeys(place for side in given for place in reads_in(side)))


def step_environment(machine: Machine, arguments: Arguments, site: Site) -> None:
    """Record that the `step` of an unknown object, such as an environment, reads the tensor that it gets. A single
    number, such as a loss, may be for a schedule of learning rates."""
    for value in (option for given in arguments.all() for _, option in alternatives(given, machine.path)):
        if isinstance(value, Tensor) and not _is_one_number(value):
            read_tensor(machine, value, "array", site)
            _use(machine, (site,), "step", site, "")


def use_host_value(machine: Machine, value: Value, site: Site) -> None:
    """Record that a value decides what the host does next (an index)."""
    if not machine.context.loops or machine.context.traced is not None or type(value) not in (Unknown, Union):
        return
    found = tuple(dict.fromkeys(place for side in _sides(value, machine.path) for place in reads_in(side)))
    if found:
        machine.emit(events.HostValueUsed(site, machine.where(), found, "", symbol_of(value)))


def await_person(machine: Machine, name: str, arguments: Arguments, site: Site) -> None:
    """Record a call of a library function that may wait for a person."""
    if not machine.context.loops or name not in _AWAITS:
        return
    given = arguments.get(_AWAITS[name], 0)
    if given is None or known(given) == 0 or _AWAITS[name] != "delay":
        machine.emit(events.PersonAwaited(site, machine.where()))


_AWAITS = {
    "builtins.input": "prompt",
    "cv2.waitKey": "delay",
    "matplotlib.pyplot.show": "block",
    "matplotlib.pyplot.waitforbuttonpress": "timeout",
    "open3d.visualization.draw_geometries": "geometry_list",
}
"""Functions that wait for a person → their first argument. With a `delay` in milliseconds they wait only briefly."""


def decide_loop(machine: Machine, guard: Path, site: Site) -> None:
    """Record that the operands of a condition decide whether a loop continues."""
    for literal in guard:
        sides = (literal.condition.subject, literal.condition.operand)
        found = tuple(read for side in sides if isinstance(side, Symbol) for read in reads_in(side))
        if found:
            machine.emit(events.HostValueUsed(site, machine.where(), found, ""))


def symbols(arguments: Arguments, site: Site) -> tuple[Symbol, ...]:
    """Symbols of the arguments of a host function, which reads tensors among them, and in lists, at `site`."""
    return tuple(_argument(value, site, MAX_LIST_DEPTH) for value in arguments.all())


def _argument(value: Value, site: Site, depth: int) -> Symbol:
    if isinstance(value, Tensor) and not value.from_data and not value.static:
        return Symbol((HOST_READ, site, "numpy"))
    items = value.items if isinstance(value, Items) and value.kind in ("list", "tuple") and depth else None
    if items is not None and len(items) <= MAX_LIST and any(isinstance(one, (Items, Tensor)) for one in items):
        parts = tuple(_argument(one, site, depth - 1) for one in items)
        if any(HOST_READ in part.words for part in parts):
            return Symbol(("list", parts))
    return content(value)


MAX_LIST_DEPTH = 2
"""Maximum number of lists within each other that are searched for tensors."""

MAX_LIST = 100
"""Maximum number of elements of a list that is searched for tensors."""


def content(value: Value) -> Symbol:
    """Symbol of a value. It contains the symbols of values read from tensors, and of images, in a list or a union, and
    says of a list whether it was drawn at random, or has one element."""
    if isinstance(value, Items) and value.kind == "list" and value.items is not None and len(value.items) == 1:
        return symbol(("list", (symbol_of(value.items[0]),)))
    if isinstance(value, Items) and value.items is None and value.element is not None:
        if found := _options_read(value.element):
            return Symbol(("list", found))
        if (drawn := drawn_list(value)) is not None:
            return drawn
        images = tuple(one for one in _sides(value.element, EVERYWHERE) if images_in(one) is not None)
        return Symbol(("list", *images)) if images else symbol_of(value)
    if type(value) is Union and (found := _options_read(value)):
        return symbol(("value", value.serial, *found))
    return symbol_of(value)


def _options_read(value: Value) -> tuple[Symbol, ...]:
    """Symbols computed from reads of tensors, among those of a value's alternatives or its conditions' operands."""
    sides = _sides(value, EVERYWHERE) if type(value) is Union else (symbol_of(value),)
    return tuple(dict.fromkeys(side for side in sides if HOST_READ in side.words))


def is_array(value: Value) -> bool:
    """Whether NumPy created a value. Tensors that are stored in it are read."""
    name = symbol_of(value)
    while name.parts[0] in ("call", "updated"):
        name = symbol(name.parts[1])
    return name.parts[0] == "external" and str(name.parts[1]).startswith("numpy.")


def array_updated(container: Value, value: Value) -> Value | None:
    """Host array after a value read from a tensor was stored in it, None if its symbol already contains the read."""
    if type(container) is not Unknown:
        return None
    found = _options_read(value)
    before = reads_in(container.symbol)
    if all(site in before for part in found for site in reads_in(part)):
        return None
    return Unknown(("updated", container.symbol, *found))
