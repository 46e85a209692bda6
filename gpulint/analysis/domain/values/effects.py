"""Stateful operations of functions that are traced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.analysis.domain.path_conditions import EVERYWHERE, Path
from gpulint.places import Site


class Effect(NamedTuple):
    """A stateful operation in a function that is traced: `kind` is "random", "python", "array" (Python that works on
    arrays as a whole), "names" (Python that gives texts), "variable" or "other". `path` are the conditions on which it
    is traced."""

    kind: str
    name: str
    site: Site
    path: Path = EVERYWHERE


def effects_within(effects: Iterable[Effect], path: Path) -> tuple[Effect, ...]:
    """Effects of something that was reached on a path, each with the conditions that it adds itself."""
    return tuple(effect._replace(path=effect.path - path) for effect in effects)


def effects_on(effects: Iterable[Effect], path: Path) -> Iterator[Effect]:
    """The same effects where they happen on another path."""
    return (effect._replace(path=effect.path | path) for effect in effects)
