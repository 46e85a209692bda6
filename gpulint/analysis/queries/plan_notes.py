"""The plan as text: what happens at each site, in which scopes, and how certain it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from gpulint.analysis.domain.context import Context, Object, Strategy, Where, callers
from gpulint.analysis.domain.path_conditions import Condition, Path
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Constant, LibraryName, PartialString, Value
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.functions import Bound, Function, Traced
from gpulint.analysis.plan import events
from gpulint.analysis.plan.plan import Plan
from gpulint.analysis.queries.device_scopes import scopes_that_only_build
from gpulint.analysis.queries.element_bytes import element_bytes, example_bytes
from gpulint.places import Site

MUST, MAY, UNKNOWN = "must", "may", "unknown"


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happens at `site`.

    `kind` is "strategy", "scope", "device", "model", "optimizer", "variable", "metric", "compile", "fit", "run",
    "dataset", "runtime", "environment" or "gradients". `scopes` are the device and strategy scopes around it, outermost
    first. `certainty` is "must", "may" (with the conditions in `because`) or "unknown" (with the reason there).
    `mentions` are the sites that replace `{0}`, `{1}` and so on in `text`.
    """

    site: Site
    kind: str
    text: str
    scopes: tuple[str, ...]
    certainty: str
    because: str
    via: tuple[tuple[str, Site], ...]
    mentions: tuple[Site, ...] = ()


def notes(plan: Plan) -> list[Note]:
    """All notes of a plan in evaluation order, without duplicates."""
    found: dict[tuple[Any, ...], Note] = {}
    building = scopes_that_only_build(plan)
    for event in plan.events:
        if (said := described(event)) is None:
            continue
        kind, text, *mentioned = said
        if isinstance(event, events.DeviceEntered) and event.scope.device is not None and event.site in building:
            text = f"variables of the layers go to {event.scope.device}, their operations do not"
        certainty, because = _certainty(event.where)
        note = Note(
            event.site,
            kind,
            text,
            tuple(_scopes(event.where.context)),
            certainty,
            because,
            tuple((caller.function, caller.site) for caller in callers(event.where.caller) if caller.site)[:4],
            tuple(mentioned),
        )
        key = (note.site, note.kind, note.text, note.scopes, note.because)
        present = found.get(key)
        if present is None or (present.certainty != MUST and certainty == MUST):
            found[key] = note
    return list(found.values())


def described(event: events.Event) -> _Described:
    """Description of an event: its kind, the text, and the sites that the text refers to. None for kinds of events
    without a description."""
    describe = _DESCRIBE.get(type(event))
    return describe(event) if describe is not None else None


def _certainty(where: Where) -> tuple[str, str]:
    if not where.caller.known:
        entry = list(callers(where.caller))
        name = next((caller.function for caller in reversed(entry) if caller.function), "")
        return UNKNOWN, f"nothing in the program calls `{name}`" if name else "the caller is not known"
    if where.path:
        return MAY, conditions(where.path)
    return MUST, ""


def _scopes(context: Context) -> Iterator[str]:
    for scope in context.scopes:
        yield f"{strategy_name(scope.strategy)} scope"
    if context.replica is not None:
        yield f"replica of {strategy_name(context.replica.strategy)}"
    for device in context.devices:
        yield f"device {device.device}" if device.device is not None else "device ?"
    if context.traced is not None:
        yield "tf.function"


# ---------------------------------------------------------------------------- conditions


def conditions(path: Path) -> str:
    """Conditions of a path as text, the shortest first."""
    texts = sorted(
        {text for literal in path if (text := _condition(literal.condition, literal.holds))},
        key=lambda text: (len(text), text),
    )
    if not texts:
        return "another path is not taken"
    texts = [text for text in texts if not _says_nothing(text)]
    if not texts:
        return "a condition holds"
    return " and ".join(texts[:MAX_CONDITIONS]) + (" and more" if len(texts) > MAX_CONDITIONS else "")


def _says_nothing(text: str) -> bool:
    """Whether one side of a condition cannot be written."""
    return text.removeprefix("not ").startswith("…") or text.endswith(" …")


MAX_CONDITIONS = 3
"""Maximum number of conditions of a path that are spelled out."""

_NEGATED = {"==": "!=", ">": "<=", ">=": "<", "is": "is not", "in": "not in"}


def _condition(condition: Condition, holds: bool) -> str:
    operator, subject, operand = condition
    if operator == "any":
        return ""
    if operator == "completes":
        return "" if holds else "the `try` body raises"
    if operator in ("handler", "case"):
        return ""
    left = written(subject)
    if operator == "truth":
        return left if holds else f"not {left}"
    if operator == "isinstance":
        return f"{'' if holds else 'not '}isinstance({left}, {written(operand)})"
    sign = operator if holds else _NEGATED.get(operator, f"not {operator}")
    return f"{left} {sign} {written(operand)}"


MAX_WRITTEN = 300
"""Maximum length of an expression that is written out."""


def written(symbol: object) -> str:
    """A symbol as the expression that it names, as far as it can be written in `MAX_WRITTEN` characters."""
    if not isinstance(symbol, Symbol):
        return repr(symbol) if isinstance(symbol, (str, int, float, bool, type(None))) else "…"
    text = _written(symbol)
    return text if len(text) <= MAX_WRITTEN else "…"


@lru_cache(maxsize=8192)
def _written(symbol: Symbol) -> str:
    head, *rest = symbol.parts
    if head == "attribute" and len(rest) == 2:
        base = written(rest[0])
        return str(rest[1]) if "(" in base or base == "…" else f"{base}.{rest[1]}"
    if head == "name":
        return str(rest[-1])
    if head == "parameter":
        return str(rest[-1])
    if head == "external":
        return str(rest[0]).removeprefix("builtins.")
    if head == "constant":
        return repr(rest[-1])
    if head in ("len", "int", "float", "str"):
        return f"{head}({written(rest[0])})"
    if head == "devices":
        return f"list_physical_devices({rest[0]!r})"
    if head == "replicas":
        return "num_replicas_in_sync"
    if head == "call" and rest:
        name = rest[0] if isinstance(rest[0], str) else written(rest[0])
        return f"{name}(…)" if len(rest) > 1 and rest[1] else f"{name}()"
    if head == "environment":
        return f"os.environ[{written(rest[0])}]"
    if head == "binary" and len(rest) == 3:
        operator, left, right = rest
        return f"{_operand(left, operator)} {operator} {_operand(right, operator, is_right=True)}"
    if head == "item":
        return f"{written(rest[0])}[{written(rest[1]) if len(rest) > 1 else '…'}]"
    if head == "boolean":
        parts = [written(part) for part in (rest[1], *rest[2])]
        return f" {rest[0]} ".join(parts) if "…" not in parts else "…"
    if head == "tuple" and isinstance(rest[0], tuple):
        return f"({', '.join(map(written, rest[0]))})"
    if head == "counter":
        return str(rest[0])
    if head == "argv":
        return "sys.argv"
    return "…"


def _operand(symbol: object, operator: object, is_right: bool = False) -> str:
    """An operand of an operator, in parentheses if precedence requires them."""
    text = written(symbol)
    if not isinstance(symbol, Symbol) or symbol.parts[0] != "binary" or operator == "+":
        return text
    return text if symbol.parts[1] == operator and not is_right else f"({text})"


# --------------------------------------------------------------------------- descriptions


def library_name(value: Object) -> str:
    """Name of an object's class, preferably of the program's own class."""
    return value.cls.name if value.cls is not None else value.library.rpartition(".")[2]


def strategy_name(strategy: Strategy) -> str:
    """Name of a strategy's class."""
    return strategy.library.rpartition(".")[2]


def home(context: Context) -> str:
    """Where variables created in this context are placed."""
    if context.strategy is not None:
        strategy = context.strategy
        if strategy.is_multi_replica:
            return f"one copy on each replica of {strategy_name(strategy)}"
        return f"under {strategy_name(strategy)}"
    if context.device is not None and context.device.device is not None:
        return f"on {context.device.device}"
    return "outside every scope: on one device"


_Described: TypeAlias = "tuple[Any, ...] | None"


def _strategy(event: events.StrategyBuilt) -> _Described:
    strategy = event.strategy
    items = strategy.devices.items if isinstance(strategy.devices, Items) else None
    if items is not None and all(isinstance(item, Constant) for item in items):
        names = ", ".join(str(item.value) for item in items if isinstance(item, Constant))
        text = f"{strategy_name(strategy)} on {names}"
    elif strategy.devices is not None:
        text = f"{strategy_name(strategy)} on {shown(strategy.devices)}"
    elif strategy.kind == "mirrored":
        text = f"{strategy_name(strategy)} on every visible GPU"
    else:
        text = strategy_name(strategy)
    return "strategy", text


def _scope(event: events.ScopeEntered) -> _Described:
    if event.escaped:
        return "scope", "its scope is handed on"
    return "scope", f"enters the scope of {strategy_name(event.strategy)} ({{0}})", event.strategy.site


def _device(event: events.DeviceEntered) -> _Described:
    scope = event.scope
    if scope.device is None:
        return "device", "device not known" if scope.chosen else "no device of its own"
    return "device", f"operations go to {scope.device}" + (", chosen at run time" if scope.chosen else "")


def _made(kind: str, attribute: str) -> Callable[[Any], _Described]:
    def describe(event: Any) -> _Described:
        made: Object = getattr(event, attribute)
        name = library_name(made) or kind
        return kind, f"{name}: {home(event.where.context)}"

    return describe


def _compiled(event: events.ModelCompiled) -> _Described:
    return "compile", f"compiles {library_name(event.model)} ({{0}})", event.model.site


def _fitted(event: events.ModelFitted) -> _Described:
    strategy = event.model.where.context.strategy
    text = f"trains {library_name(event.model)} ({{0}})"
    text += f" under {strategy_name(strategy)}" if strategy is not None else " on one device"
    size, example = event.batch_size, None
    if isinstance(event.data, Dataset):
        size = event.data.batch.size if size is None and event.data.batch is not None else size
        example = element_bytes(event.data)
    elif event.data is not None:
        example = example_bytes(event.arguments)
    if size is not None:
        text += f"; global batch {_size(size)}{_bytes(size, example)}"
        if strategy is not None and strategy.is_multi_replica:
            text += f", per replica {_size(size)} / {strategy_name(strategy)} replicas"
    return "fit", text, event.model.site


def _run(event: events.StrategyRun) -> _Described:
    function: Value | str = event.function
    if isinstance(function, Bound):
        function = function.method
    if isinstance(function, Traced):
        function = function.function
    name = f"`{function.name}`" if isinstance(function, Function) else "a function"
    return "run", f"every replica of {strategy_name(event.strategy)} runs {name}"


def pipeline(dataset: Dataset) -> str:
    """A pipeline as text: `from_tensor_slices → shuffle → batch(64) → prefetch`."""
    steps = [dataset.source.rpartition(".")[2]]
    for step in dataset.steps:
        first = step.arguments.positional[0] if step.arguments.positional else None
        inside = shown(first) if isinstance(first, Constant) else ""
        steps.append(f"{step.name}({inside})" if inside else step.name)
    return " → ".join(steps)


def _batched(event: events.DatasetBatched) -> _Described:
    size = event.size
    return "dataset", f"{pipeline(event.dataset)}; batches of {_size(size)}{_bytes(size, element_bytes(event.dataset))}"


def _distributed(event: events.DatasetDistributed) -> _Described:
    text = f"split over the replicas of {strategy_name(event.strategy)}"
    if isinstance(event.dataset, Dataset):
        text = f"{pipeline(event.dataset)}; {text}"
        if event.dataset.batch is not None:
            text += f"; global batch {_size(event.dataset.batch.size)}"
    return "dataset", text


_STATES = {
    "no": "the runtime is not initialised yet",
    "driver": "the runtime is not initialised yet",
    "maybe": "the GPU devices may exist already",
    "yes": "the runtime is initialised already",
    "unknown": "it is not known whether the runtime is initialised",
}


def _configured(event: events.RuntimeConfigured) -> _Described:
    text = f"configures {event.what.replace('_', ' ')}: {_STATES[event.state]}"
    if event.state in ("yes", "maybe") and event.since is not None:
        return "runtime", text + " ({0})", event.since
    return "runtime", text


def _initialised(event: events.RuntimeInitialised) -> _Described:
    return (
        "runtime",
        {
            "yes": "initialises the runtime",
            "driver": "asks the driver for devices",
            "maybe": "creates the GPU devices outside the runtime's context",
        }[event.state],
    )


def _environment(event: events.EnvironmentSet) -> _Described:
    return "environment", f"sets {event.key or 'a variable'} = {shown(event.value)}: {_STATES[event.state]}"


def _applied(event: events.GradientsApplied) -> _Described:
    replica = event.where.context.replica
    return "gradients", "applies gradients" + (" on every replica, added up over them" if replica else " on one device")


def _size(value: Value) -> str:
    """The size of a batch: a number, or the expression for it in backticks."""
    text = shown(value)
    return text if isinstance(value, Constant) or text == "…" else f"`{text}`"


def _bytes(size: Value, example: int | None) -> str:
    """The bytes of a batch in parentheses, where its size and those of an example are known."""
    if example is None or not isinstance(size, Constant) or type(size.value) is not int:
        return ""
    total = size.value * example / 1024
    return f" ({total:,.1f} KiB)" if total < 1000 else f" ({total / 1024:,.1f} MiB)"


def shown(value: Value) -> str:
    """A value as it would be written in the source."""
    if isinstance(value, Constant):
        return repr(value.value)
    if isinstance(value, PartialString):
        return "".join("{…}" if part is None else part for part in value.parts)
    if isinstance(value, LibraryName):
        return value.name
    own = getattr(value, "symbol", None)
    return written(own) if own is not None else "…"


_DESCRIBE: dict[type, Callable[[Any], _Described]] = {
    events.StrategyBuilt: _strategy,
    events.ScopeEntered: _scope,
    events.DeviceEntered: _device,
    events.ModelBuilt: _made("model", "model"),
    events.OptimizerBuilt: _made("optimizer", "optimizer"),
    events.VariableBuilt: _made("variable", "variable"),
    events.MetricBuilt: _made("metric", "metric"),
    events.ModelCompiled: _compiled,
    events.ModelFitted: _fitted,
    events.StrategyRun: _run,
    events.DatasetBatched: _batched,
    events.DatasetDistributed: _distributed,
    events.RuntimeConfigured: _configured,
    events.RuntimeInitialised: _initialised,
    events.EnvironmentSet: _environment,
    events.GradientsApplied: _applied,
}
