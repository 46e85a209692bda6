"""Stateful ops of traced functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.places import Site


class Effect(NamedTuple):
    """A stateful op in a traced function.

    `kind` is "random", "python", "array" (Python code that works on whole arrays), "names" (Python code that returns
    strings), "variable" or "other". `path` holds the conditions under which it is traced.
    """

    kind: str
    name: str
    site: Site
    path: Path = EVERYWHERE


def effects_within(effects: Iterable[Effect], path: Path) -> tuple[Effect, ...]:
    """Effects of code reached on a path, each with only the conditions that the code itself adds."""
    return tuple(effect._replace(path=effect.path - path) for effect in effects)


def effects_on(effects: Iterable[Effect], path: Path) -> list[Effect]:
    """Effects that occur where a path is taken: its conditions are added to those of each."""
    return [effect._replace(path=effect.path | path) for effect in effects]
