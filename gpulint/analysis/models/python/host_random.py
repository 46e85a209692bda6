"""Random numbers of Python and NumPy that traced functions draw."""

from __future__ import annotations

from gpulint.analysis.domain.symbolic import Symbol
from gpulint.analysis.engine.machine import Machine
from gpulint.analysis.plan.events import HostRandomDrawn
from gpulint.places import Site

_MODULES = ("numpy.random", "random")

_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator", "random.Random")

_DRAW_NOTHING = frozenset(
    {"get_state", "getstate", "seed", "set_state", "setstate", "spawn", "SeedSequence", "SystemRandom"}
    | {name.rpartition(".")[2] for name in _GENERATORS}
)
"""Functions of these modules, and methods of generators, that return no random number."""


def function_called(machine: Machine, name: str, site: Site) -> None:
    """Record a call of a library function that draws a random number while a function is traced."""
    module, _, function = name.rpartition(".")
    if module in _MODULES and function not in _DRAW_NOTHING:
        _drawn(machine, name, site)


def method_called(machine: Machine, owner: Symbol, method: str, site: Site) -> None:
    """Record a call of a method of a generator while a function is traced."""
    if owner.origin in _GENERATORS and method not in _DRAW_NOTHING:
        _drawn(machine, f"{owner.origin}().{method}", site)


def _drawn(machine: Machine, name: str, site: Site) -> None:
    if machine.context.traced is not None:
        machine.emit(HostRandomDrawn(site, machine.where(), name))
