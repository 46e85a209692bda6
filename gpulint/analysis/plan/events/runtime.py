"""The runtime, the environment and processes."""

from __future__ import annotations

from dataclasses import dataclass

from gpulint.analysis.domain.values.base import Arguments, Value
from gpulint.analysis.plan.events.base import Event
from gpulint.places import Site


@dataclass(eq=False, repr=False)
class RuntimeConfigured(Event):
    """A call that must precede the runtime's initialisation.

    `what` is a name of the knowledge table. `state` describes the runtime at that moment: "no", "driver", "maybe",
    "yes" or "unknown"; `since` is the site that initialised it. `against` is an earlier call that enabled memory growth
    on a GPU for which this one sets a limit, or vice versa. `repeats`: the same setting may already be in force. `gpus`
    is the number of logical GPUs before this call, as in `DeviceNamed`.
    """

    what: str
    arguments: Arguments
    device: Value | None
    state: str
    since: Site | None
    against: Site | None
    repeats: bool
    gpus: int | None


@dataclass(eq=False, repr=False)
class RuntimeInitialised(Event):
    """The first call that initialises the runtime (`state` "yes") or queries the driver ("driver", "maybe")."""

    state: str


@dataclass(eq=False, repr=False)
class ProcessStarted(Event):
    """`multiprocessing` or a pool of processes runs a function of the program in another process.

    `state` and `since` are as in `RuntimeConfigured`. `computes`: the function calls a model or a `tf.function`, or
    trains.
    """

    state: str
    since: Site | None
    computes: bool


@dataclass(eq=False, repr=False)
class EnvironmentSet(Event):
    """`os.environ[key] = value`, in any spelling.

    `state` and `since` are as in `RuntimeConfigured`. `option` is the type of a command-line option if the value is one
    that is a number. `repeats`: the variable already has this value.
    """

    key: str | None
    value: Value
    state: str
    since: Site | None
    option: str | None = None
    repeats: bool = False
