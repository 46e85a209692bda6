"""Storing under names known only at run time: `setattr(options, name, value)`, `options.__dict__.update(given)`,
`exec(text)`. Flags with a known value may be replaced."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.context import Object
from gpulint.analysis.domain.path_conditions import Condition, literal_of
from gpulint.analysis.domain.symbolic import symbol
from gpulint.analysis.domain.values.base import Arguments, Constant, Union, Unknown, Value
from gpulint.analysis.domain.values.containers import Mapping
from gpulint.analysis.domain.values.functions import ModuleValue, Namespace, UserClass
from gpulint.analysis.domain.values.instances import AttributeDict
from gpulint.analysis.engine.budget import ELEMENTS_PER_STEP
from gpulint.analysis.engine.machine import Machine
from gpulint.places import Site


def overwrite_any(machine: Machine, names: dict[Any, Any], site: Site, inherited: dict[Any, Any] | None = None) -> None:
    """Make flags and other texts, booleans and None under the names of a dict, object or module one of two values.

    Numbers keep their values: they are sizes, seldom switches. `inherited` are values that the names have so far.
    """
    before = names if inherited is None else inherited
    machine.spend(len(before) // ELEMENTS_PER_STEP)
    for name, value in list(before.items()):
        is_flag = isinstance(value, Constant) and (value.value is None or isinstance(value.value, (bool, str)))
        if is_flag and not (isinstance(name, str) and name.startswith("__")) and (before is names or name not in names):
            stored = Unknown(("stored", site, name))
            literal = literal_of(Condition("truth", symbol(("overwritten", site, name))), True)
            both = ((frozenset({literal}), stored), (frozenset({literal.negation}), value))
            machine.state.write(names, name, Union(both))


def update_attributes(machine: Machine, names: AttributeDict | Namespace, given: Arguments, site: Site) -> None:
    """Store the arguments of `update` under the names of an object or module."""
    new = given.get("", 0)
    if new is not None and not (isinstance(new, Mapping) and new.is_complete):
        overwrite_attributes(machine, names, site)
    known = names.owner.attributes if isinstance(names, AttributeDict) else names.scope.globals
    for name, value in ((new.entries if isinstance(new, Mapping) else {}) | given.keywords).items():
        if isinstance(name, str):
            machine.state.write(known, name, value)


def overwrite_attributes(machine: Machine, owner: Value, site: Site) -> None:
    """The same as `overwrite_any` for the attributes of an object, class or module of the program."""
    if isinstance(owner, AttributeDict):
        owner = owner.owner
    if isinstance(owner, Object):
        overwrite_any(machine, owner.attributes, site)
        inherited: dict[Any, Any] = {}
        for cls in reversed(owner.cls.classes) if owner.cls is not None else ():
            inherited |= cls.namespace
        overwrite_any(machine, owner.attributes, site, inherited)
    elif isinstance(owner, UserClass):
        overwrite_any(machine, owner.namespace, site)
    elif isinstance(owner, (ModuleValue, Namespace)):
        overwrite_any(machine, owner.scope.globals, site)
