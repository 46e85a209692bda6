"""What follows from the texts of files, kept from one run to the next."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gpulint.sources.modules import Lookup, ModuleFinder
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.outline import Outline, outline
from gpulint.syntax.parse import parse

MAX_REMEMBERED = 50_000
"""Maximum number of cached results kept for later projects: some 25 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Remembered:
    """A cached result: the hashes of the texts of the modules consulted for it, the module names that were looked up,
    and the cached results that it was computed from. What is recorded for `base` is not recorded again."""

    found: Any
    consulted: dict[str, int | None]
    asked: dict[Lookup, str | None]
    used: tuple[Remembered, ...]
    base: Remembered | None


Text: TypeAlias = tuple[str, int]
"""Path and hash of a file's text."""


class Parsed:
    """Outlines, syntax and other facts that follow from the texts of files alone: one object can serve many runs.

    Outlines are kept of the last text of each file, syntax of the files used last: `characters` is the maximum of their
    total size. If it is 0, nothing but outlines is kept.
    """

    def __init__(self, characters: int = 0) -> None:
        self._outlines: dict[str, tuple[int, Outline | None]] = {}
        self._characters = characters
        self._kept = 0
        self._syntax: dict[Text, tuple[ir.Module, int]] = {}
        self._lookups: dict[tuple[str, ...], tuple[ModuleFinder, dict[Hashable, Remembered]]] = {}

    def lookups(
        self, roots: tuple[str, ...], written: Mapping[str, Collection[str]]
    ) -> tuple[ModuleFinder, dict[Hashable, Remembered]]:
        """A finder of modules below search directories, and the cached results of earlier projects that found the same
        modules; their texts can have changed."""
        known = self._lookups.get(roots)
        if known is None or len(known[1]) > MAX_REMEMBERED or not known[0].resume(written):
            known = ModuleFinder(roots, written), {}
            if self._characters:
                self._lookups[roots] = known
        return known

    def outline(self, source: Source) -> Outline | None:
        """The outline of a program; None if it is not Python."""
        text = hash(source.text)
        known = self._outlines.get(source.path)
        if known is None or known[0] != text:
            known = self._outlines[source.path] = text, outline(source)
        return known[1]

    def syntax(self, source: Source) -> ir.Module:
        """The syntax of a file. Raises CannotParse."""
        key = source.path, hash(source.text)
        if (known := self._syntax.pop(key, None)) is None:
            known = parse(source), len(source.text)
            self._kept += known[1]
        self._syntax[key] = known
        while self._kept > self._characters:
            oldest = next(iter(self._syntax))
            self._kept -= self._syntax.pop(oldest)[1]
        return known[0]
