"""Modules of the project, with caches of what was parsed and run."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from gpulint.analysis.domain.module_scope import ModuleScope
from gpulint.analysis.domain.values.functions import UserClass
from gpulint.analysis.plan.import_effects import ImportEffects
from gpulint.analysis.project.definition_uses import Uses, returned_names, uses_of, words_in
from gpulint.analysis.project.parsed import Parsed, Remembered
from gpulint.sources.comments import without_comments
from gpulint.sources.modules import Lookup
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.formulas import is_formula
from gpulint.syntax.outline import Outline
from gpulint.syntax.parse import CannotParse

T = TypeVar("T")


KEPT_CHARACTERS = 3_000_000
"""Maximum total size of the files whose syntax is kept from one program to the next, in characters: about 80,000
lines."""


MANY_MODULES = 1_000
"""Number of modules run for programs after which to run the garbage collector, which seldom runs by itself."""


def release(scope: ModuleScope) -> None:
    """Clear references to this module's functions and classes: they form cycles that only the garbage collector could
    free."""
    for value in scope.globals.values():
        if isinstance(value, UserClass) and value.module is scope:
            value.namespace.clear()
    scope.globals.clear()


class ModuleRun(NamedTuple):
    """A module that was run for an importer, and its effects on the process. There are no effects while it is still
    running."""

    scope: ModuleScope
    effects: ImportEffects = ImportEffects()


class Project:
    """Files that can import each other.

    `roots` are the directories that dotted names start from. `read` returns a file's source, or None if it cannot be
    read. `written` maps folders to names in them that are not on disk, for a notebook and the files that it writes.
    `watched` is entered while a file is parsed. `parsed` may be shared with other projects. Python itself never imports
    any file of the project.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        read: Callable[[str], Source | None],
        written: Mapping[str, Collection[str]] = MappingProxyType({}),
        watched: Callable[[Source], AbstractContextManager[None]] = lambda source: nullcontext(),
        parsed: Parsed | None = None,
    ) -> None:
        self._parsed = parsed if parsed is not None else Parsed()
        self.finder, self._memory = self._parsed.lookups(tuple(map(str, roots)), written)
        self._read = read
        self._watched = watched
        self._syntax: dict[str, ir.Module | None] = {}
        self._kept = 0
        """Characters parsed for the kept syntax."""
        self._released = 0
        """Number of modules run for programs since the garbage collector last ran."""
        self._outlines: dict[str, Outline | None] = {}
        self._words: dict[ir.Node, frozenset[str]] = {}
        self._uses: dict[ir.Node, Uses] = {}
        self._returned: dict[ir.Node, frozenset[str]] = {}
        self._formulas: dict[ir.Node, bool] = {}
        self._code: dict[str, str] = {}
        self._texts: dict[str, int | None] = {}
        """Hashes of the texts of consulted files, None for those that cannot be read."""
        self._current: dict[Remembered, bool] = {}
        """Whether cached results are still what their computation would give."""
        self._computed: dict[Hashable, Any] = {}
        self._consulted: set[str] = set()
        self._used: dict[Remembered, None] = {}
        """Cached results requested by the present caller that do not yet count as consulted."""
        self._recorded: set[Remembered] = set()
        """Cached results that count as consulted since the last `forget`."""
        self.is_eager = False
        """Whether the program under analysis switches TensorFlow 1 to eager execution."""
        self.runs: dict[str, ModuleRun] = {}
        """Modules already run for an importer, keyed by path."""

    def forget(self) -> None:
        """Drop the results of running modules, which can depend on the order of programs, and the records of what was
        consulted. Keep what follows from the files' contents, unless it is too large."""
        self._released += len(self.runs)
        for run in self.runs.values():
            release(run.scope)
        self.runs.clear()
        if self._released > MANY_MODULES:
            self._released = 0
            gc.collect()
        self._consulted.clear()
        self._used.clear()
        self._recorded.clear()
        self.finder.asked.clear()
        if self._kept > KEPT_CHARACTERS:
            self._kept = 0
            for of_syntax in (self._syntax, self._words, self._uses, self._returned, self._formulas, self._code):
                of_syntax.clear()

    def remembered(self, key: Hashable, find: Callable[[], T], module: str = "") -> T:
        """Cached result of `find`, which must depend only on the contents of files.

        The modules consulted for it count as consulted by the present caller as well. `module` is the path of a module
        whose outline or syntax `find` uses; all callers have requested its imports, if any has, so that the modules
        consulted for these are not recorded again.
        """
        known = self._memory.get(key)
        if known is None or not self._is_current(known):
            outside = self._consulted, self.finder.asked, self._used
            self._consulted, self.finder.asked, self._used = set(), {}, {}
            try:
                if module:
                    self._consult(module)
                found = find()
            finally:
                inside = self._consulted, self.finder.asked, self._used
                self._consulted, self.finder.asked, self._used = outside
                self._consulted |= inside[0]
                self.finder.asked |= inside[1]
                self._used |= inside[2]
            known = self._memory[key] = self._result(found, *inside, self._memory.get(("imports", module)))
            self._current[known] = True
        elif known.consulted or known.asked or known.used:
            self._used[known] = None
        result: T = known.found
        return result

    def _result(
        self,
        found: Any,
        consulted: set[str],
        asked: dict[Lookup, str | None],
        used: dict[Remembered, None],
        base: Remembered | None,
    ) -> Remembered:
        """A result to cache, without what is recorded for `base`."""
        if base is not None and not self._is_current(base):
            base = None
        if base is not None:
            consulted = consulted.difference(base.consulted)
            asked = {lookup: place for lookup, place in asked.items() if lookup not in base.asked}
            used.pop(base, None)
        return Remembered(found, {path: self._texts[path] for path in consulted}, asked, tuple(used), base)

    def _is_current(self, known: Remembered) -> bool:
        """Whether a result, perhaps of an earlier project, was computed from the present texts."""
        if (current := self._current.get(known)) is None:
            current = self._current[known] = (
                all(self._text_hash(path) == text for path, text in known.consulted.items())
                and all(map(self._is_current, known.used))
                and (known.base is None or self._is_current(known.base))
            )
        return current

    def _text_hash(self, path: str) -> int | None:
        if path not in self._texts:
            source = self._read(path)
            self._texts[path] = hash(source.text) if source is not None else None
        return self._texts[path]

    def _consult(self, path: str) -> None:
        """Record that a file is consulted, with its present text."""
        self._text_hash(path)
        self._consulted.add(path)

    @property
    def consulted(self) -> Set[str]:
        """Paths of the modules consulted since the last `forget`."""
        self._record()
        return self._consulted

    @property
    def asked(self) -> Mapping[Lookup, str | None]:
        """Lookups on disk since the last `forget`, and their results."""
        self._record()
        return self.finder.asked

    def _record(self) -> None:
        """Record what was consulted for cached results, once for each: results are computed from others along any
        number of ways."""
        pending = list(self._used)
        self._used.clear()
        while pending:
            if (one := pending.pop()) not in self._recorded:
                self._recorded.add(one)
                self._consulted |= one.consulted.keys()
                self.finder.asked |= one.asked
                pending += one.used

    def computed(self, key: Hashable, find: Callable[[], T]) -> T:
        """Cached result of `find`, for callers that record by themselves which modules they consult."""
        if key not in self._computed:
            self._computed[key] = find()
        found: T = self._computed[key]
        return found

    def syntax_of(self, path: str) -> ir.Module | None:
        """Syntax of the module at `path`; None if it cannot be read or parsed."""
        self._consult(path)
        if path not in self._syntax:
            source = self._read(path)
            syntax: ir.Module | None = None
            if source is not None:
                self._kept += len(source.text)
                with self._watched(source), suppress(CannotParse):
                    syntax = self._parsed.syntax(source)
            self._syntax[path] = syntax  # unset if memory ran out
        return self._syntax[path]

    def outline_of(self, path: str) -> Outline | None:
        """Outline of the module at `path`; None if it cannot be read or is not Python."""
        self._consult(path)
        if path not in self._outlines:
            source = self._read(path)
            self._outlines[path] = self.outline_of_source(source) if source is not None else None
        return self._outlines[path]

    def outline_of_source(self, source: Source) -> Outline | None:
        """Outline of a program; None if it is not Python."""
        with self._watched(source):
            return self._parsed.outline(source)

    def text_of(self, path: str) -> str:
        """Text of the file at `path`; "" if it cannot be read."""
        self._consult(path)
        source = self._read(path)
        return source.text if source is not None else ""

    def code_of(self, text: str) -> str:
        """A text without comments and docstrings."""
        code = self._code.get(text)
        if code is None:
            code = self._code[text] = without_comments(text)
        return code

    def words_of(self, definition: ir.Statement | ir.Lambda) -> frozenset[str]:
        """Names and attribute names that the body of a definition, or another statement, reads."""
        words = self._words.get(definition)
        if words is None:
            words = self._words[definition] = frozenset(words_in(definition))
        return words

    def uses_of(self, definition: ir.FunctionDef | ir.Lambda) -> Uses:
        """Names that a definition assigns and reads."""
        uses = self._uses.get(definition)
        if uses is None:
            uses = self._uses[definition] = uses_of(definition)
        return uses

    def returned_by(self, definition: ir.FunctionDef) -> frozenset[str]:
        """Variables that a definition returns as they are."""
        names = self._returned.get(definition)
        if names is None:
            names = self._returned[definition] = returned_names(definition)
        return names

    def is_formula(self, definition: ir.FunctionDef | ir.Lambda) -> bool:
        """Whether a function only does arithmetic."""
        formula = self._formulas.get(definition)
        if formula is None:
            formula = self._formulas[definition] = is_formula(definition)
        return formula

    def keep(self, module: ir.Module) -> None:
        """Store a module that was parsed elsewhere."""
        self._syntax[module.path] = module

    def find(self, dotted: str, importer: str) -> str | None:
        """File of an absolute module name: searched beside the importer, then under the roots, then in the folders that
        the importer, or a module that it imports, adds to `sys.path`, relative to its own or to one above it, from
        which the program is started."""
        return self.remembered(("found", dotted, importer), partial(self._find, dotted, importer))

    def _find(self, dotted: str, importer: str) -> str | None:
        outline = self.outline_of(importer)
        depth = outline.depth if outline is not None else 0
        found = self.finder.find(dotted, importer, depth)
        if outline is None or (found is not None and not self._is_inner_package(dotted, found, importer, outline)):
            return found
        for folder in self.remembered(("added folders", importer), partial(self._added_folders, importer, outline)):
            if (place := self.finder.module(f".{dotted}", folder)) is not None:
                return place
        return None

    def _is_inner_package(self, dotted: str, found: str, importer: str, outline: Outline) -> bool:
        """Whether a file that was found for an absolute name is a package that the importer is in, inside another one
        whose name the importer uses: its programs start above that one, and the name is that of a library."""
        folder, name = os.path.split(os.path.abspath(found))
        if name != "__init__.py" or not os.path.abspath(importer).startswith(folder + os.sep):
            return False
        for _ in range(dotted.count(".")):
            folder = os.path.dirname(folder)
        used = {one.module.partition(".")[0] for one in outline.imports if one.level == 0} - {os.path.basename(folder)}
        while self.finder.look(".", around := os.path.dirname(folder)) is not None and around != folder:
            if os.path.basename(around) in used:
                return True
            folder = around
        top = f"{os.path.basename(around)}."  # without an `__init__.py` it is a package if its modules are used
        inner = {one.module.removeprefix(top) for one in outline.imports if one.module.startswith(top)}
        return any(self.finder.look(f".{module}", around) is not None for module in sorted(inner))

    def _added_folders(self, importer: str, outline: Outline) -> tuple[str, ...]:
        """Folders that a file, or a module that it imports, adds to `sys.path`."""
        absolute = (one.module for one in outline.imports if one.level == 0)
        imported = (self.finder.find(module, importer, outline.depth) for module in absolute)
        folders = []
        for adding in dict.fromkeys((importer, *filter(None, imported))):
            here = os.path.dirname(adding)
            added = self.outline_of(adding)
            for folder in added.folders if added is not None else ():
                for started in (here, *self.finder.around(os.path.abspath(here))):
                    folders.append(os.path.abspath(os.path.join(started, folder)))
        return tuple(dict.fromkeys(folders))

    def names_in(self, package: str, level: int, importer: str) -> list[str]:
        """Names that can be imported from a package, given by its absolute name or, with a level, by directories."""
        outline = self.outline_of(importer)
        return self.finder.names_in(package, level, importer, outline.depth if outline is not None else 0)

    def find_all(self, pattern: str, level: int, importer: str) -> tuple[str, ...]:
        """Files of the modules that a name with `*`, absolute or with a level, can mean. They are the same for all
        importers that start from one directory."""
        outline = self.outline_of(importer)
        start = self.finder.start_of(importer, level, outline.depth if outline is not None else 0)
        name = f".{pattern}" if level else pattern
        return self.remembered(("matching", name, start), partial(self.finder.matching, name, start))

    def find_relative(self, module: str, level: int, importer: str) -> str | None:
        """File of `from ..module import`, resolved by directories."""
        return self.finder.find_relative(module, level, importer)
