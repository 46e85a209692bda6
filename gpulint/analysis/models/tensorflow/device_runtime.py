"""TensorFlow's runtime and the process environment, as the program configures them."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpulint.analysis.domain.context import Where
from gpulint.analysis.domain.path_conditions import Path, has_no_gpu
from gpulint.analysis.domain.store import alternatives
from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, PartialString, Unknown, Value, known, symbol_of
from gpulint.analysis.domain.values.containers import Items
from gpulint.analysis.domain.values.devices import DeviceList, ListedDevice
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.models.python import command_line_options
from gpulint.analysis.plan.events import EnvironmentSet, RuntimeConfigured, RuntimeInitialised
from gpulint.knowledge.facts import Fact, Initialises, Kind
from gpulint.places import Site

_ORDER = ("no", "driver", "maybe", "yes")
UNKNOWN = "unknown"


def state(machine: Machine) -> tuple[str, Site | None]:
    """State of the runtime on the present path ("unknown" where alternatives differ), and the call that led to it.

    Alternatives for machines without a GPU count only where there is no other.
    """
    states = {known(value) for value in _on_gpus(machine, machine.library_state.runtime["state"])}
    since = _on_gpus(machine, machine.library_state.runtime["since"])[0]
    if len(states) != 1 or ... in states:
        return UNKNOWN, None
    place = since.value if isinstance(since, Constant) else None
    return str(states.pop()), place if isinstance(place, Site) else None


def _on_gpus(machine: Machine, value: Value) -> list[Value]:
    """Alternatives of a value on the present path: those for machines with a GPU, or all if there is none."""
    ways = alternatives(value, machine.path)
    return [one for path, one in ways if not has_no_gpu(path)] or [one for _, one in ways]


def initialise(machine: Machine, how: str, site: Site) -> None:
    """Record that a call initialises the runtime ("yes"), may do so ("maybe"), or queries the driver ("driver").

    Operations, models and strategies initialise nothing in graph mode, where a session runs them (2.21).
    """
    if how != "no" and not (how == "yes" and machine.frame.module.graph_mode):
        _record(machine, how, site)


def _record(machine: Machine, how: str, site: Site) -> None:
    for _, value in alternatives(machine.library_state.runtime["state"], machine.path):
        present = value.value if isinstance(value, Constant) else UNKNOWN
        if present not in _ORDER or _ORDER.index(str(present)) < _ORDER.index(how):
            break
    else:
        return
    machine.state.write(machine.library_state.runtime, "state", Constant(how))
    machine.state.write(machine.library_state.runtime, "since", Constant(site))
    machine.emit(RuntimeInitialised(site, machine.where(), how))


def may_initialise(machine: Machine, fact: Fact, site: Site) -> None:
    """Record the effect of calling a known name on the runtime."""
    if fact.initialises is Initialises.YES and fact.kind is Kind.QUERY:
        _record(machine, fact.initialises.value, site)
    else:
        initialise(machine, fact.initialises.value, site)


MAX_SETTINGS = 200
"""Maximum number of calls that are remembered of each kind of configuration, the last ones."""

_OPPOSITE = {"memory_growth": "logical_devices", "logical_devices": "memory_growth"}


def configure(machine: Machine, name: str, fact: Fact, arguments: Arguments, site: Site) -> None:
    """Record a configuration call and what it sets. Emits `RuntimeConfigured`."""
    what = fact.detail
    device = arguments.of(fact.params[0], fact.params) if fact.params else None
    device = machine.choose(device) if device is not None else None
    value = arguments.of(fact.params[1], fact.params) if len(fact.params) > 1 else None
    now, since = state(machine)
    opposite = _settings(machine, _OPPOSITE.get(what, ""))
    against = [
        one
        for one in opposite
        if _same_device(one.device, device)
        and not _is_off(machine, one.value)
        and not _is_flag(machine, one.value)
        and _belong_together(one.path, machine.path)
    ]
    off = _is_off(machine, value)
    machine.emit(
        RuntimeConfigured(
            site,
            machine.where(),
            what,
            arguments,
            device,
            now,
            since,
            against[-1].site if against and not off and not _is_flag(machine, value) else None,
            device is not None and _may_be_in_force(machine, what, Setting(name, site, device, value, machine.path)),
            logical_gpus(machine),
        )
    )
    if device is not None:
        others = [one for one in _settings(machine, what) if not off or not _same_device(one.device, device)]
        made = Setting(name, site, device, value, machine.path)
        machine.state.write(machine.library_state.configuration, what, Constant((*others, made)[-MAX_SETTINGS:]))


def _is_off(machine: Machine, value: Value | None) -> bool:
    """Whether the value of a setting is False in every alternative on the present path."""
    return value is not None and all(known(option) is False for _, option in alternatives(value, machine.path))


def _is_same(machine: Machine, first: Any, second: Any) -> bool:
    """Whether two values have the same alternatives.

    TensorFlow accepts a setting that is already in force at any time (run on 2.21).
    """
    meant = [{symbol_of(one) for _, one in alternatives(value, machine.path)} for value in (first, second) if value]
    return len(meant) == 2 and meant[0] == meant[1]


def _is_flag(machine: Machine, value: Value | None) -> bool:
    """Whether the value of a setting is unknown, as that of a command-line flag."""
    return value is not None and type(machine.choose(value)) is Unknown


class Setting(NamedTuple):
    """Configuration call of the program."""

    name: str
    site: Site
    device: Value
    value: Value | None
    path: Path


def _may_be_in_force(machine: Machine, what: str, new: Setting) -> bool:
    """Whether a setting may already be in force.

    TensorFlow accepts such a setting at any time: memory growth, logical and visible devices, numbers of threads (read
    and run on 2.21).
    """
    present = machine.library_state.configuration.get(what)
    ways = [known(way) for _, way in alternatives(present, machine.path)] if present is not None else [()]
    for way in ways:
        earlier = [one for one in way if _is_of_same(machine, what, one, new)] if isinstance(way, tuple) else []
        if what == "visible_devices" and _are_all(machine, new, unless_set=bool(earlier)):
            return True
        if earlier and not _differ(machine, _set_by(what, earlier[-1]), _set_by(what, new)):
            return True
    return False


def _set_by(what: str, setting: Setting) -> Value | None:
    """Value that a call sets: the second argument for memory growth and logical devices, the first for others."""
    return setting.value if what in _OPPOSITE else setting.device


def _is_of_same(machine: Machine, what: str, first: Setting, second: Setting) -> bool:
    """Whether two settings of one kind configure the same thing."""
    if what in _OPPOSITE:
        return _same_device(first.device, second.device)
    return first.name == second.name and not _differ(machine, first.value, second.value)


def _are_all(machine: Machine, setting: Setting, unless_set: bool) -> bool:
    """Whether a call makes exactly the devices visible that are visible anyway.

    With `unless_set`, an earlier call may have restricted them.
    """
    kind = known(setting.value) if setting.value is not None else None
    devices = setting.device
    return (
        isinstance(devices, DeviceList)
        and devices.part is None
        and devices.type == (kind or "")
        and (devices.listing == "visible" or (devices.listing == "physical" and not unless_set))
    )


def _differ(machine: Machine, first: Value | None, second: Value | None) -> bool:
    """Whether two settings certainly differ on a machine with several GPUs."""
    if first is None or second is None:
        return False
    return all(
        _are_different(one, other)
        for _, one in alternatives(first, machine.path)
        for _, other in alternatives(second, machine.path)
    )


def _are_different(first: Value, second: Value) -> bool:
    if isinstance(first, Constant) and isinstance(second, Constant):
        return bool(first.value != second.value)
    chosen = [_chosen(one) for one in (first, second)]
    if None not in chosen:
        return chosen[0] != chosen[1]
    lengths = [len(one.items) if isinstance(one, Items) and one.items is not None else None for one in (first, second)]
    return None not in lengths and lengths[0] != lengths[1]


def _chosen(devices: Value) -> tuple[int, ...] | str | None:
    """Indices of the selected devices of their type, or "all". None where they are unknown."""
    if isinstance(devices, ListedDevice):
        return (devices.index,) if devices.index is not None and devices.list.part is None else None
    if isinstance(devices, DeviceList):
        start, stop = devices.part or (None, None)
        if stop is None:
            return "all" if not start and devices.listing == "physical" else None
        return tuple(range(start or 0, stop)) if stop >= 0 and (start or 0) >= 0 else None
    if isinstance(devices, Items) and devices.items is not None:
        each = [_chosen(one) if isinstance(one, ListedDevice) else None for one in devices.items]
        return tuple(index for one in each if isinstance(one, tuple) for index in one) if None not in each else None
    return None


def _belong_together(first: Path, second: Path) -> bool:
    """Whether one of two settings applies wherever the other does: they are not behind independent conditions."""
    own = [frozenset(one for one in path if one.condition.operator not in _OF_TRIES) for path in (first, second)]
    return own[0] <= own[1] or own[1] <= own[0]


def _is_always(path: Path) -> bool:
    """Whether the conditions only require that there are devices and that a `try` completes."""
    return all(
        one.condition.operator in _OF_TRIES
        or (isinstance(one.condition.subject, Symbol) and "devices" in one.condition.subject.words)
        for one in path
    )


_OF_TRIES = frozenset({"completes", "handler"})
"""Operators of conditions about the completion of a `try`, which nobody chooses."""


def _settings(machine: Machine, what: str) -> tuple[Setting, ...]:
    present = machine.library_state.configuration.get(what)
    options = [option for _, option in alternatives(present, machine.path)] if present is not None else []
    return tuple(one for option in options if isinstance(option, Constant) for one in option.value)  # type: ignore[attr-defined]


def _same_device(a: Value | None, b: Value | None) -> bool:
    """Whether two values certainly are the same device, or one of them is every device of the list."""
    if isinstance(a, ListedDevice) and isinstance(b, ListedDevice):
        if a.list.symbol != b.list.symbol:
            return False
        if a.index is None and b.index is None:
            return a.iteration == b.iteration
        return a.index == b.index or a.index is None or b.index is None
    return a is not None and b is not None and symbol_of(a) == symbol_of(b)


def logical_gpus(machine: Machine) -> int | None:
    """Number of logical GPUs after the program's own configuration, None where it does not determine the number."""
    visible = _visible_gpus(machine)
    if visible is None:
        return None
    count, indices = visible
    for setting in _settings(machine, "logical_devices"):
        value = machine.choose(setting.value) if setting.value is not None else None
        parts = value.items if isinstance(value, Items) else None
        if parts is None:
            return None
        if isinstance(setting.device, ListedDevice) and setting.device.list.type == "GPU":
            if setting.device.index is None or (indices is not None and setting.device.index not in indices):
                return None
            count += len(parts) - 1
    return count


def _visible_gpus(machine: Machine) -> tuple[int, tuple[int, ...] | None] | None:
    """Number of visible GPUs and their indices if known, None where the program does not determine them."""
    calls = [one for one in _settings(machine, "visible_devices") if not _of_cpu(one)]
    if calls:
        return _count(calls[-1].device) if _is_always(calls[-1].path - machine.path) else None
    mask = machine.library_state.environment.get("CUDA_VISIBLE_DEVICES")
    mask = machine.choose(mask) if mask is not None else None
    if isinstance(mask, Constant) and isinstance(mask.value, str):
        names = [name.strip() for name in mask.value.split(",") if name.strip()]
        listed = names[: names.index("-1")] if "-1" in names else names
        return len(listed), None
    return None


def numbered_by(machine: Machine, name: PartialString) -> Site | None:
    """Where the visible GPUs are set, if the only unknown part of a device's name is the number by which they are
    taken from the list of physical ones."""
    calls = [one for one in _settings(machine, "visible_devices") if not _of_cpu(one)]
    if not calls or not _is_always(calls[-1].path - machine.path) or name.parts.count(None) != 1:
        return None
    devices = calls[-1].device
    device = devices.element if isinstance(devices, Items) and devices.items is None else devices
    if not isinstance(device, ListedDevice) or device.chosen is None or device.list.listing != "physical":
        return None
    head, *rest = name.symbol.parts
    parts = rest[-1] if head == "text" and rest and isinstance(rest[-1], tuple) else rest[-1:]
    numbers = {_collection_of(part) for part in parts if isinstance(part, Symbol)}
    return calls[-1].site if _collection_of(device.chosen) in numbers else None


def _collection_of(number: Symbol) -> Symbol:
    """The collection that a loop takes a number from, or the number itself."""
    is_of_loop = number.parts[0] == "item" and isinstance(number.parts[-1], Site)
    return number.parts[1] if is_of_loop and isinstance(number.parts[1], Symbol) else number


def _of_cpu(setting: Setting) -> bool:
    kind = setting.value
    return isinstance(kind, Constant) and kind.value == "CPU"


def _count(devices: Value) -> tuple[int, tuple[int, ...] | None] | None:
    if isinstance(devices, ListedDevice):
        return (1, (devices.index,)) if devices.index is not None else (1, None)
    if isinstance(devices, Items) and devices.items is not None:
        indices = [one.index for one in devices.items if isinstance(one, ListedDevice) and one.index is not None]
        return len(devices.items), tuple(indices) if len(indices) == len(devices.items) else None
    if isinstance(devices, DeviceList) and devices.part is not None:
        start, stop = devices.part
        if stop is not None and stop >= 0 and (start or 0) >= 0:
            return max(stop - (start or 0), 0), tuple(range(start or 0, stop))
    return None


def environment_set(machine: Machine, key: Value, value: Value, site: Site, where: Where | None = None) -> None:
    """Record `os.environ[key] = value`. Emits `EnvironmentSet`."""
    name = key.value if isinstance(key, Constant) and isinstance(key.value, str) else None
    now, since = state(machine)
    kind = command_line_options.number_type(machine, value)
    repeats = name is not None and _is_same(machine, machine.library_state.environment.get(name), value)
    machine.emit(EnvironmentSet(site, where or machine.where(), name, value, now, since, kind, repeats))
    if name is not None:
        machine.state.write(machine.library_state.environment, name, value)


def environment_read(machine: Machine, key: Value) -> Value:
    """Value of `os.environ[key]` or `os.getenv(key)`."""
    if isinstance(key, Constant) and key.value in machine.library_state.environment:
        return machine.choose(machine.library_state.environment[key.value])
    return Unknown(("environment", symbol_of(key)))
