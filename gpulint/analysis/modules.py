"""The project's modules: finding the file of an import and keeping what was parsed and run."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gpulint.places import Site
from gpulint.sources.source import Source
from gpulint.syntax import ir
from gpulint.syntax.outline import Outline, outline
from gpulint.syntax.parse import CannotParse, parse


class ModuleScope:
    """A module being run: its syntax and its global names."""

    __slots__ = ("globals", "graph_mode", "name", "path", "syntax")

    def __init__(self, syntax: ir.Module, name: str, graph_mode: bool) -> None:
        self.syntax = syntax
        self.path = syntax.path
        self.name = name
        self.globals: dict[str, Any] = {}
        self.graph_mode = graph_mode
        """Whether the file is TF1 graph-mode code."""


class Project:
    """Files that can import each other.

    `roots` are the directories that dotted names start from; `read` gives a file's source, or None when it
    cannot be read. `written` has, by folder, the names in folders that are on no disk: a notebook with the files that
    it writes. `watched` is entered while a file is read for its syntax. Nothing of the project is ever imported by
    Python itself.
    """

    def __init__(
        self,
        roots: Sequence[Path],
        read: Callable[[str], Source | None],
        written: Mapping[str, Collection[str]] = MappingProxyType({}),
        watched: Callable[[Source], AbstractContextManager[None]] = lambda source: nullcontext(),
    ) -> None:
        self._roots = [os.path.abspath(root) for root in roots]
        self._read = read
        self._written = written
        self._watched = watched
        self._syntax: dict[str, ir.Module | None] = {}
        self._outlines: dict[str, Outline | None] = {}
        self.definition_words: dict[int, frozenset[str]] = {}
        """The names that the body of a definition (by id) reads."""
        self.memory: dict[Any, Any] = {}
        """What `relevance` found out about modules, which does not change during a run."""
        self._found: dict[tuple[str, str], str | None] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._directories: dict[str, str] = {}
        self._packages: dict[str, str] = {}
        self.scopes: dict[str, tuple[ModuleScope, str, Site | None]] = {}
        """Modules already run for an importer, by path, with what their import does to the runtime and where."""

    def forget(self) -> None:
        """Forget what programs made of the modules, which can depend on their order; keep what the files say."""
        self.scopes.clear()
        self.memory.clear()

    def syntax_of(self, path: str) -> ir.Module | None:
        """The lowered module at `path`; None when it cannot be read or parsed."""
        if path not in self._syntax:
            source = self._read(path)
            self._syntax[path] = None
            if source is not None:
                with self._watched(source), suppress(CannotParse):
                    self._syntax[path] = parse(source)
        return self._syntax[path]

    def outline_of(self, path: str) -> Outline | None:
        """A first look at the module at `path`; None when it cannot be read or is no Python."""
        if path not in self._outlines:
            source = self._read(path)
            self._outlines[path] = None
            if source is not None:
                with self._watched(source):
                    self._outlines[path] = outline(source)
        return self._outlines[path]

    def text_of(self, path: str) -> str:
        """The text of the file at `path`, "" when it cannot be read."""
        source = self._read(path)
        return source.text if source is not None else ""

    def keep(self, module: ir.Module) -> None:
        """Remember a module that was parsed elsewhere."""
        self._syntax[module.path] = module

    def find(self, dotted: str, importer: str) -> str | None:
        """The file of an absolute module name, looked for beside the importer, then under the roots."""
        here = self._directory_of(importer)
        key = (dotted, here)
        if key not in self._found:
            self._found[key] = self._look(dotted, here)
        return self._found[key]

    def _directory_of(self, path: str) -> str:
        if path not in self._directories:
            self._directories[path] = path if path in self._written else os.path.dirname(os.path.abspath(path))
        return self._directories[path]

    def _names_in(self, directory: str) -> frozenset[str]:
        """What a directory holds, read once."""
        if directory not in self._listed:
            try:
                self._listed[directory] = frozenset(os.listdir(directory))
            except OSError:
                self._listed[directory] = frozenset(self._written.get(directory, ()))
        return self._listed[directory]

    def _is_file(self, path: str) -> bool:
        folder, name = os.path.split(path)
        return name in self._written.get(folder, ()) or os.path.isfile(path)

    def _look(self, dotted: str, here: str) -> str | None:
        parts = dotted.split(".")
        bases = []
        while here in self._written:  # a notebook finds what it wrote, and what stands beside it
            bases.append(here)
            here = os.path.dirname(here)
        if here not in self._packages:
            self._packages[here] = package_root(here)
        for base in (*bases, here, self._packages[here], *self._roots):
            if found := self._module_file(base, parts):
                return found
        return None

    def find_relative(self, module: str, level: int, importer: str) -> str | None:
        """The file of `from ..module import`, by directories."""
        base = self._directory_of(importer)
        for _ in range(level - 1):
            base = os.path.dirname(base)
        key = (f"{'.' * level}{module}", base)
        if key not in self._found:
            self._found[key] = self._module_file(base, module.split(".") if module else [])
        return self._found[key]

    def _module_file(self, base: str, parts: Sequence[str]) -> str | None:
        """The file of a module below a directory: `a/b.py` or `a/b/__init__.py`."""
        directory = base
        for part in parts[:-1]:
            if part not in self._names_in(directory):
                return None
            directory = os.path.join(directory, part)
        names = self._names_in(directory)
        last = parts[-1] if parts else ""
        if last and f"{last}.py" in names and self._is_file(found := os.path.join(directory, f"{last}.py")):
            return found
        package = os.path.join(directory, last) if last else directory
        if (not last or last in names) and "__init__.py" in self._names_in(package):
            return os.path.join(package, "__init__.py")
        return None


def package_root(directory: str) -> str:
    """The directory that holds the outermost package around `directory`."""
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    return directory
