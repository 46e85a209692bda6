"""Blame: the call to change where an object was created in the wrong place."""

from __future__ import annotations

from typing import Any

from gpulint.analysis.domain.context import Strategy
from gpulint.analysis.domain.path_conditions import Path, compatible
from gpulint.analysis.domain.values.base import Union
from gpulint.analysis.domain.values.functions import Function
from gpulint.analysis.domain.values.instances import Instance
from gpulint.analysis.engine.machine import Frame, Machine
from gpulint.places import Site
from gpulint.syntax import ir


def blame(machine: Machine, site: Site) -> tuple[Site | None, Strategy | None]:
    """Call to change for an object created at `site` in the wrong place, and the strategy visible there.

    The call is in the innermost function of the present call chain that can see a strategy. (None, None) where no
    function can.
    """
    frame: Frame | None = machine.frame
    place = site
    while frame is not None:
        if (strategy := _seen_strategy(machine, frame)) is not None:
            return place, strategy
        if frame.caller.site is None or frame.parent is None:
            return None, None
        if not isinstance(frame.definition, ir.ClassDef):
            place = frame.caller.site
        frame = frame.parent
    return None, None


def _seen_strategy(machine: Machine, frame: Frame) -> Strategy | None:
    for value in list(frame.locals.values()):
        if (found := _strategy_in(value, machine.path, 1)) is not None:
            return found
    if frame.locals is frame.module.globals or frame.definition is None:
        return None
    words = machine.project.words_of(frame.definition)
    for scope in (*frame.closure, frame.module.globals):
        for name, value in list(scope.items()):
            if name in words and (found := _strategy_in(value, machine.path, 1) or _got(machine, value)) is not None:
                return found
    return None


def _got(machine: Machine, value: Any) -> Strategy | None:
    """Strategy that a function of the program returns from a variable of its module."""
    if not isinstance(value, Function) or not isinstance(value.definition, ir.FunctionDef):
        return None
    given = machine.project.returned_by(value.definition)
    kept = (value.module.globals[name] for name in sorted(given) if name in value.module.globals)
    return next((found for one in kept if (found := _strategy_in(one, machine.path, 1)) is not None), None)


def _strategy_in(value: Any, path: Path, depth: int) -> Strategy | None:
    """Multi-replica strategy that a value is, may be, or has as an attribute."""
    if isinstance(value, Union):
        parts = [option for guard, option in value.alternatives if compatible(path, guard)]
    elif isinstance(value, Instance) and depth:
        parts, depth = list(value.attributes.values()), depth - 1
    else:
        return value if isinstance(value, Strategy) and value.is_multi_replica else None
    return next((found for part in parts if (found := _strategy_in(part, path, depth)) is not None), None)
