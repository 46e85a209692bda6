"""The project's modules: keeping what was parsed and run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.plan.import_effects import ImportEffects
from gpulint.analysis.project.definition_uses import Uses, uses_of, words_in
from gpulint.sources.modules import Lookup, ModuleFinder
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.formulas import is_formula
from gpulint.syntax.outline import Outline, outline
from gpulint.syntax.parse import CannotParse, parse

T = TypeVar("T")


KEPT_CHARACTERS = 3_000_000
"""Size of the files of which a project remembers the syntax from program to program, some 80,000 lines."""


MANY_MODULES = 1_000
"""Modules that programs imported after which the garbage collector is worth its time: it runs seldom by itself."""


def release(scope: ModuleScope) -> None:
    """Clear references to this module's functions and classes: they form cycles that only the garbage collector could
    free."""
    for value in scope.globals.values():
        if isinstance(value, UserClass) and value.module is scope:
            value.namespace.clear()
    scope.globals.clear()


class ModuleRun(NamedTuple):
    """A module that was run for an importer, and what that left in the process; nothing yet while it is being run."""

    scope: ModuleScope
    effects: ImportEffects = ImportEffects()


class _Remembered(NamedTuple):
    """What was found out, the modules that were looked into for it, and those that were looked for."""

    found: Any
    consulted: set[str]
    asked: dict[Lookup, str | None]


Outlines: TypeAlias = dict[tuple[str, int], Outline | None]
"""First looks at files, by path and hash of the text: what is worth keeping where syntax would take too much memory."""


class Project:
    """Files that can import each other.

    `roots` are the directories that dotted names start from; `read` gives a file's source, or None when it
    cannot be read. `written` has, by folder, the names in folders that are on no disk: a notebook with the files that
    it writes. `watched` is entered while a file is read for its syntax. `outlines` may be shared with other projects.
    Nothing of the project is ever imported by Python itself.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        read: Callable[[str], Source | None],
        written: Mapping[str, Collection[str]] = MappingProxyType({}),
        watched: Callable[[Source], AbstractContextManager[None]] = lambda source: nullcontext(),
        outlines: Outlines | None = None,
    ) -> None:
        self.finder = ModuleFinder([str(root) for root in roots], written)
        self._read = read
        self._watched = watched
        self._syntax: dict[str, ir.Module | None] = {}
        self._kept = 0
        """Characters of the files that were parsed for it."""
        self._released = 0
        """Modules that were run for programs, since the garbage collector ran."""
        self._outlines: dict[str, Outline | None] = {}
        self._shared: Outlines = outlines if outlines is not None else {}
        self._words: dict[ir.Node, frozenset[str]] = {}
        self._uses: dict[ir.Node, Uses] = {}
        self._formulas: dict[ir.Node, bool] = {}
        self._memory: dict[Hashable, _Remembered] = {}
        self._computed: dict[Hashable, Any] = {}
        self.consulted: set[str] = set()
        """Paths of the modules that were looked into since the last `forget`."""
        self.is_eager = False
        """Whether the program that is run makes TensorFlow 1 eager."""
        self.runs: dict[str, ModuleRun] = {}
        """Modules already run for an importer, by path."""

    def forget(self) -> None:
        """Forget what programs made of the modules, which can depend on their order, and what they looked at; keep
        what the files say, unless that is too much."""
        self._released += len(self.runs)
        for run in self.runs.values():
            release(run.scope)
        self.runs.clear()
        if self._released > MANY_MODULES:
            self._released = 0
            gc.collect()
        self.consulted.clear()
        self.finder.asked.clear()
        if self._kept > KEPT_CHARACTERS:
            self._kept = 0
            for of_syntax in (self._syntax, self._words, self._uses, self._formulas):
                of_syntax.clear()

    def remembered(self, key: Hashable, find: Callable[[], T], beside: Hashable = None) -> T:
        """What `find` gives, found out once: it must follow from what the files say. What was looked at for it is taken
        to be looked at again by whoever asks; who asked for what is remembered under `beside` looked at that."""
        if (known := self._memory.get(key)) is None:
            consulted, asked = self.consulted, self.finder.asked
            self.consulted, self.finder.asked = set(), {}
            try:
                found = find()
                known = self._memory[key] = _Remembered(found, self.consulted, self.finder.asked)
            finally:
                consulted |= self.consulted
                asked |= self.finder.asked
                self.consulted, self.finder.asked = consulted, asked
            if (base := self._memory.get(beside)) is not None:
                more = {lookup: place for lookup, place in known.asked.items() if lookup not in base.asked}
                self._memory[key] = _Remembered(found, known.consulted - base.consulted, more)
        else:
            if known.consulted:
                self.consulted |= known.consulted
            if known.asked:
                self.finder.asked |= known.asked
            found = known.found
        return found

    def computed(self, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, found out once, for whoever takes note by himself of what is looked at for it."""
        if key not in self._computed:
            self._computed[key] = find()
        found: T = self._computed[key]
        return found

    def syntax_of(self, path: str) -> ir.Module | None:
        """The lowered module at `path`; None when it cannot be read or parsed."""
        self.consulted.add(path)
        if path not in self._syntax:
            source = self._read(path)
            syntax: ir.Module | None = None
            if source is not None:
                self._kept += len(source.text)
                with self._watched(source), suppress(CannotParse):
                    syntax = parse(source)
            self._syntax[path] = syntax  # which is open where memory ran out
        return self._syntax[path]

    def outline_of(self, path: str) -> Outline | None:
        """A first look at the module at `path`; None when it cannot be read or is no Python."""
        self.consulted.add(path)
        if path not in self._outlines:
            source = self._read(path)
            first: Outline | None = None
            if source is not None:
                key = path, hash(source.text)
                if key not in self._shared:
                    with self._watched(source):
                        self._shared[key] = outline(source)
                first = self._shared[key]
            self._outlines[path] = first
        return self._outlines[path]

    def text_of(self, path: str) -> str:
        """The text of the file at `path`, "" when it cannot be read."""
        self.consulted.add(path)
        source = self._read(path)
        return source.text if source is not None else ""

    def words_of(self, definition: ir.Statement | ir.Lambda) -> frozenset[str]:
        """The names that the body of a definition, or another statement, reads, attributes included."""
        words = self._words.get(definition)
        if words is None:
            words = self._words[definition] = frozenset(words_in(definition))
        return words

    def uses_of(self, definition: ir.FunctionDef | ir.Lambda) -> Uses:
        """What a definition fills in for others, and what it reads."""
        uses = self._uses.get(definition)
        if uses is None:
            uses = self._uses[definition] = uses_of(definition)
        return uses

    def is_formula(self, definition: ir.FunctionDef | ir.Lambda) -> bool:
        """Whether a function does nothing but arithmetic."""
        formula = self._formulas.get(definition)
        if formula is None:
            formula = self._formulas[definition] = is_formula(definition)
        return formula

    def keep(self, module: ir.Module) -> None:
        """Remember a module that was parsed elsewhere."""
        self._syntax[module.path] = module

    def find(self, dotted: str, importer: str) -> str | None:
        """The file of an absolute module name, looked for beside the importer, then under the roots, then where the
        importer lets Python look."""
        if (found := self.finder.find(dotted, importer)) is not None:
            return found
        outline = self.outline_of(importer)
        given = [os.path.join(os.path.dirname(importer), folder) for folder in outline.folders] if outline else []
        places = (self.finder.look(f".{dotted}", os.path.abspath(folder)) for folder in given)
        return next((place for place in places if place is not None), None)

    def names_in(self, package: str, level: int, importer: str) -> list[str]:
        """The names of what can be imported from a package, by its absolute name or, with a level, by directories."""
        return self.finder.names_in(package, level, importer)

    def find_relative(self, module: str, level: int, importer: str) -> str | None:
        """The file of `from ..module import`, by directories."""
        return self.finder.find_relative(module, level, importer)
