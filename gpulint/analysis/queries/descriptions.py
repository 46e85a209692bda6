"""Short descriptions of values, for `gpulint plan --events` and for tests of the value of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpulint.analysis.domain.context import Object, Strategy
from gpulint.analysis.domain.values.base import (
    Constant,
    Folder,
    Imported,
    LibraryName,
    PartialString,
    Union,
    Unknown,
    Value,
)
from gpulint.analysis.domain.values.containers import Items, Mapping
from gpulint.analysis.domain.values.datasets import Dataset
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice
from gpulint.analysis.domain.values.functions import (
    Bound,
    Function,
    ModuleValue,
    Partial,
    Super,
    Traced,
    UserClass,
)
from gpulint.analysis.domain.values.managers import Manager, NullManager
from gpulint.analysis.domain.values.objects import DeviceManager, ScopeManager
from gpulint.analysis.domain.values.tensors import PerReplica, Tensor
from gpulint.analysis.queries.plan_notes import pipeline, shown, strategy_name

MAX_PARTS = 4
"""Maximum number of elements of a list, or of alternatives of a value, that are written out."""

MAX_DEPTH = 3
"""Maximum depth of nested containers that are written out."""


def describe(value: Value, depth: int = 0) -> str:
    """Description of a value: `3`, `[1, 2]`, `1 | 2` for either, `tensor`, `instance of Net`, `unknown`.

    A kind of value that is not in the table is described by the name of its class.
    """
    if depth > MAX_DEPTH:
        return "…"
    for cls in type(value).__mro__:
        if (written := _DESCRIPTIONS.get(cls)) is not None:
            return written(value, depth)
    return type(value).__name__.lower()


def _join(value: Union, depth: int) -> str:
    options = list(dict.fromkeys(describe(option, depth + 1) for _, option in value.alternatives))
    return " | ".join(options[:MAX_PARTS] + ["…"] * (len(options) > MAX_PARTS))


def _items(value: Items, depth: int) -> str:
    if value.items is None:
        return f"{value.kind} of {describe(value.element, depth + 1) if value.element is not None else 'unknown'}"
    parts = [describe(item, depth + 1) for item in value.items[:MAX_PARTS]] + ["…"] * (len(value.items) > MAX_PARTS)
    inside = ", ".join(parts)
    if value.kind == "tuple":
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    return f"[{inside}]" if value.kind == "list" else f"{value.kind}({inside})"


def _mapping(value: Mapping, depth: int) -> str:
    entries = list(value.entries.items())
    known = [f"{key!r}: {describe(one, depth + 1)}" for key, one in entries[:MAX_PARTS] if isinstance(key, (str, int))]
    is_open = len(known) < len(entries) or not value.is_complete
    return "{" + ", ".join(known + ["…"] * is_open) + "}"


def _tensor(value: Tensor, depth: int) -> str:
    facts = [value.dtype] if value.dtype is not None else []
    facts += [f"on {value.device}"] if value.device is not None else []
    facts += ["from data"] if value.from_data else []
    facts += ["from a shape"] if value.shape_of else []
    facts += [f"reduced by {value.reduced.how}"] if value.reduced is not None else []
    facts += ["gradient"] if value.gradient is not None else []
    return f"tensor ({', '.join(facts)})" if facts else "tensor"


def _object(value: Object, depth: int) -> str:
    name = value.cls.name if value.cls is not None else value.library.rpartition(".")[2] or "object"
    return f"instance of {name}"


def _bound(value: Bound, depth: int) -> str:
    method = value.method if isinstance(value.method, str) else describe(value.method, depth + 1)
    kind = "" if isinstance(value.method, Traced) else "method "
    return f"{kind}{method.removeprefix('function ')} of {describe(value.receiver, depth + 1)}"


def _list(value: DeviceList, depth: int) -> str:
    part = "" if value.part is None else f"[{':'.join('' if end is None else str(end) for end in value.part)}]"
    return f"{value.listing} {value.type or 'device'}s{part}"


_DESCRIPTIONS: dict[type, Callable[[Any, int], str]] = {
    Bound: _bound,
    Constant: lambda value, depth: repr(value.value),
    Dataset: lambda value, depth: f"dataset {pipeline(value)}",
    DeviceList: _list,
    DeviceManager: lambda value, depth: f"device scope {describe(value.named, depth + 1)}",
    LibraryName: lambda value, depth: value.name,
    Folder: lambda value, depth: f"package {value.dotted}",
    Function: lambda value, depth: f"function {value.name}",
    Imported: lambda value, depth: f"import of {value.attribute or value.dotted}",
    Items: _items,
    Union: _join,
    ListedDevice: lambda value, depth: f"{value.list.type} {'of a loop' if value.index is None else value.index}",
    NullManager: lambda value, depth: "null context",
    Manager: lambda value, depth: "context manager",
    Mapping: _mapping,
    ModuleValue: lambda value, depth: f"module {value.scope.name}",
    Object: _object,
    Partial: lambda value, depth: f"partial {describe(value.function, depth + 1)}",
    PerReplica: lambda value, depth: f"per replica {describe(value.value, depth + 1)}",
    ScopeManager: lambda value, depth: f"scope of {strategy_name(value.strategy)}",
    Strategy: lambda value, depth: strategy_name(value),
    Super: lambda value, depth: f"super of {value.cls.name}",
    Tensor: _tensor,
    PartialString: lambda value, depth: f"text {shown(value)!r}",
    Traced: lambda value, depth: f"tf.function {describe(value.function, depth + 1).removeprefix('function ')}",
    Unknown: lambda value, depth: "unknown",
    UserClass: lambda value, depth: f"class {value.name}",
}
