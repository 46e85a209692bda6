"""Functions of the standard library, and of progress bars and `absl.app`."""

from __future__ import annotations

from gpulint.analysis.domain.completion import PathEnds
from gpulint.analysis.domain.traversal import dataset_iterables
from gpulint.analysis.domain.values.base import (
    NONE,
    Arguments,
    Constant,
    LibraryName,
    PartialString,
    Unknown,
    Value,
    known,
    symbol_of,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.functions import ContextManagerFunction, Partial
from gpulint.analysis.domain.values.managers import ExitStackManager, NullManager
from gpulint.analysis.engine import builtins, dynamic_lookup, imports
from gpulint.analysis.engine.iteration import elements
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.handlers import Handler
from gpulint.analysis.models.python import dataclass_fields, decorators
from gpulint.analysis.models.tensorflow import device_runtime
from gpulint.analysis.models.unmodelled_calls import call_unmodelled
from gpulint.analysis.plan import events
from gpulint.places import Site


def _partial(machine: Machine, arguments: Arguments, site: Site) -> Value:
    if not arguments.positional:
        return Unknown(("partial", site))
    function, *rest = arguments.positional
    return Partial(function, arguments._replace(positional=tuple(rest)))


def _halt(machine: Machine, arguments: Arguments, site: Site) -> Value:
    raise PathEnds


def _run_main(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `app.run(main)`, which calls `main` with the remaining command-line arguments and then exits."""
    main = arguments.get("main", 0)
    if main is not None:
        return machine.each(main, lambda option: machine.call(option, Arguments((Unknown(("argv",)),)), site), site)
    value = machine.frame.module.globals.get("main")
    if isinstance(value, Value):
        machine.call(machine.choose(value), Arguments((Unknown(("argv",)),)), site)
    return NONE


def _timed(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `timeit.timeit(statement)`, which calls functions given to it."""
    for given in (arguments.get("setup", 1), arguments.get("stmt", 0)):
        if given is not None and not isinstance(known(given), str):
            machine.each(given, lambda option: machine.call(option, Arguments(), site), site)
    return Unknown(("timed", site))


def _null_context(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return NullManager(site, arguments.get("enter_result", 0) or NONE)


def _suppress(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `contextlib.suppress(…)`, which ends its body at one of these errors and goes on after it."""
    errors = (value.name.rpartition(".")[2] if isinstance(value, LibraryName) else "" for value in arguments.all())
    return NullManager(site, NONE, tuple(errors))


def _exit_stack(machine: Machine, arguments: Arguments, site: Site) -> Value:
    return ExitStackManager(site)


def _environ_default(machine: Machine, arguments: Arguments, site: Site) -> Value:
    key, value = arguments.get("key", 0), arguments.get("value", 1)
    if key is not None and value is not None:
        device_runtime.environment_set(machine, key, value, site)
    return value or NONE


def _environ_update(machine: Machine, arguments: Arguments, site: Site) -> Value:
    given = arguments.get("", 0)
    if isinstance(given, Mapping):
        for key, value in given.entries.items():
            device_runtime.environment_set(machine, Constant(key), value, site)
    for name, value in arguments.keywords.items():
        device_runtime.environment_set(machine, Constant(name), value, site)
    return NONE


def _environ_get(machine: Machine, arguments: Arguments, site: Site) -> Value:
    key = arguments.get("key", 0)
    return device_runtime.environment_read(machine, key) if key is not None else Unknown(("environment", site))


def _import_module(machine: Machine, arguments: Arguments, site: Site) -> Value:
    name, package = arguments.get("name", 0), known(arguments.get("package", 1))
    first, *rest = name.parts if isinstance(name, PartialString) else (known(name),)
    if isinstance(first, str) and first.startswith(".") and isinstance(package, str):
        first = package + first if first[1:2] != "." else ""
    if not isinstance(first, str) or not first or first.startswith("."):
        return Unknown(("module", site))
    if name is not None and rest:
        found = dynamic_lookup.module_of(machine, PartialString((first, *rest), ("module", symbol_of(name))), site)
        return found or Unknown(("module", site))
    return imports.loaded(machine, first, site)


def _import_function(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `__import__`, which returns the top-level package when no `fromlist` is given."""
    if known(arguments.get("fromlist", 3)) is None and isinstance(name := known(arguments.get("name", 0)), str):
        arguments = Arguments((Constant(name.partition(".")[0]),), {})
    return _import_module(machine, Arguments(arguments.positional[:1], arguments.keywords), site)


def _collect(machine: Machine, arguments: Arguments, site: Site) -> Value:
    machine.emit(events.LibraryCalled(site, machine.where(), "gc.collect", arguments))
    return Unknown(("collected", site))


def _default_dict(machine: Machine, arguments: Arguments, site: Site) -> Value:
    made = Mapping({}, False, ("dict", site))
    factory = arguments.get("default_factory", 0)
    empty = machine.choose(machine.call(factory, Arguments(), site)) if factory is not None else None
    made.makes_lists = isinstance(empty, Items) and empty.kind == "list" and empty.items == ()
    made.around = machine.context.loops
    return made


def _passed_on(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Iterable that a progress bar wraps."""
    return arguments.get("iterable", 0) or Unknown(("iterable", site))


def _sliced(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `islice(iterable, stop)` or `islice(iterable, start, stop, …)`: at most `stop` elements."""
    iterable = arguments.get("", 0)
    if iterable is None or not (data := dataset_iterables([iterable])):
        return call_unmodelled(machine, "itertools.islice", arguments, site)
    _, element = elements(machine, iterable, site)
    stop = builtins.call_builtin(machine, "range", Arguments(arguments.positional[1:3][-1:]), site)
    return Items("list", None, element, ("islice", site), (*data, stop))


def _chained(machine: Machine, arguments: Arguments, site: Site) -> Value:
    """Result of `chain(*iterables)`. The total number of elements is unknown."""
    data = dataset_iterables(arguments.positional)
    if not data:
        return call_unmodelled(machine, "itertools.chain", arguments, site)
    _, element = elements(machine, data[0], site)
    return Items("generator", None, element, ("chain", site), data)


HANDLERS: dict[str, Handler] = {
    "functools.partial": _partial,
    "functools.wraps": lambda machine, arguments, site: LibraryName("functools.wraps()"),
    "functools.lru_cache": lambda machine, arguments, site: LibraryName("functools.lru_cache()"),
    "functools.wraps()": lambda machine, arguments, site: arguments.get("", 0) or NONE,
    "functools.lru_cache()": lambda machine, given, site: decorators.behind(given.get("", 0) or NONE, memoized=True),
    "contextlib.nullcontext": _null_context,
    "contextlib.suppress": _suppress,
    "contextlib.ExitStack": _exit_stack,
    "contextlib.contextmanager": lambda machine, arguments, site: ContextManagerFunction(arguments.get("", 0) or NONE),
    "os.environ.setdefault": _environ_default,
    "os.environ.update": _environ_update,
    "os.environ.get": _environ_get,
    "os.getenv": _environ_get,
    "os.putenv": _environ_default,
    "sys.exit": _halt,
    "os._exit": _halt,
    "os.abort": _halt,
    "builtins.exit": _halt,
    "builtins.quit": _halt,
    "absl.app.run": _run_main,
    "tensorflow.compat.v1.app.run": _run_main,
    "collections.defaultdict": _default_dict,
    "collections.namedtuple": dataclass_fields.named_tuple,
    **dict.fromkeys(
        ("dataclasses.field", "attr.ib", "attr.field", "attrs.field", "pydantic.Field"), dataclass_fields.field
    ),
    **dict.fromkeys(("attr.Factory", "attrs.Factory"), dataclass_fields.factory),
    **dict.fromkeys(
        (
            *("types.SimpleNamespace", "argparse.Namespace", "addict.Dict", "attrdict.AttrDict", "box.Box"),
            *("dotmap.DotMap", "easydict.EasyDict", "ml_collections.ConfigDict", "munch.Munch"),
            "ml_collections.config_dict.ConfigDict",
        ),
        dataclass_fields.namespace,
    ),
    "tensorboard.plugins.hparams.api.Discrete": dataclass_fields.with_fields("values"),
    "tensorboard.plugins.hparams.api.HParam": dataclass_fields.with_fields("name", "domain"),
    "builtins.__import__": _import_function,
    "gc.collect": _collect,
    "importlib.import_module": _import_module,
    **dict.fromkeys(("tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "tqdm.tqdm_notebook"), _passed_on),
    **dict.fromkeys(("tqdm.autonotebook.tqdm", "rich.progress.track", "alive_progress.alive_it"), _passed_on),
    **dict.fromkeys(("timeit.timeit", "timeit.repeat"), _timed),
    "itertools.islice": _sliced,
    "itertools.chain": _chained,
}
"""The functions by canonical name."""
