"""TensorFlow's runtime and the process environment, as the program changes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpulint.analysis.events import EnvironmentSet, RuntimeConfigured, RuntimeInitialised
from gpulint.analysis.state import alternatives
from gpulint.analysis.values import Arguments, Constant, Items, Unknown, Value, symbol_of
from gpulint.knowledge.facts import Fact, Initialises
from gpulint.places import Site

if TYPE_CHECKING:
    from gpulint.analysis.interpreter import Interpreter

_ORDER = ("no", "driver", "maybe", "yes")
UNKNOWN = "unknown"


def state(interp: Interpreter) -> tuple[str, Site | None]:
    """What is known of the runtime on the present path ("unknown" where paths differ), and since when."""
    value = interp.choose(interp.runtime["state"])
    since = interp.choose(interp.runtime["since"])
    if not isinstance(value, Constant):
        return UNKNOWN, None
    place = since.value if isinstance(since, Constant) else None
    return str(value.value), place if isinstance(place, Site) else None


def initialised(interp: Interpreter, how: str, site: Site) -> None:
    """A call initialises the runtime ("yes"), perhaps ("maybe"), or asks the driver ("driver")."""
    if how == "no":
        return
    for _, value in alternatives(interp.runtime["state"], interp.path):
        present = value.value if isinstance(value, Constant) else UNKNOWN
        if present not in _ORDER or _ORDER.index(str(present)) < _ORDER.index(how):
            break
    else:
        return
    interp.state.write(interp.runtime, "state", Constant(how))
    interp.state.write(interp.runtime, "since", Constant(site))
    interp.emit(RuntimeInitialised(site, interp.where(), how))


def called(interp: Interpreter, fact: Fact, site: Site) -> None:
    """What calling a known name does to the runtime."""
    if fact.initialises is not Initialises.NO:
        initialised(interp, fact.initialises.value, site)


def configured(interp: Interpreter, what: str, fact: Fact, arguments: Arguments, site: Site) -> None:
    """A configuration call; remembers what it sets."""
    device = arguments.of(fact.params[0], fact.params) if fact.params else None
    now, since = state(interp)
    interp.emit(RuntimeConfigured(site, interp.where(), what, arguments, device, now, since))
    if device is not None:
        key = (what, symbol_of(device))
        interp.state.write(interp.configuration, key, Items("tuple", arguments.positional + tuple(arguments.keywords.values())))


def environment_set(interp: Interpreter, key: Value, value: Value, site: Site) -> None:
    """`os.environ[key] = value`."""
    name = key.value if isinstance(key, Constant) and isinstance(key.value, str) else None
    now, since = state(interp)
    interp.emit(EnvironmentSet(site, interp.where(), name, value, now, since))
    if name is not None:
        interp.state.write(interp.environment, name, value)


def environment_read(interp: Interpreter, key: Value) -> Value:
    """`os.environ[key]`, `os.getenv(key)`."""
    if isinstance(key, Constant) and key.value in interp.environment:
        return interp.choose(interp.environment[key.value])
    return Unknown(("environment", symbol_of(key)))
