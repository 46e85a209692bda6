"""Finding the files of imported modules."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

_LIBRARIES = frozenset({"keras", "tensorflow", "tf_keras"})
"""Packages that gpulint models: their files are never read, not even in their own repositories."""


class Lookup(NamedTuple):
    """A lookup of a module: its absolute name, or, after a dot, its name below `directory`. `nets.*` asks for all names
    that can be imported from a package, sorted and separated by spaces."""

    name: str
    directory: str


class ModuleFinder:
    """Finds modules as Python does, without importing anything.

    `roots` are the directories that dotted names start from. `written` has the names in folders that exist only in the
    run: a notebook and the files that it writes. Directories are read once.
    """

    def __init__(self, roots: Sequence[str], written: Mapping[str, Collection[str]] = MappingProxyType({})) -> None:
        self._roots = [os.path.abspath(root) for root in roots]
        self._written = written
        self._found: dict[Lookup, str | None] = {}
        self._listed: dict[str, frozenset[str]] = {}
        self._directories: dict[str, str] = {}
        self._packages: dict[str, str] = {}
        self._files: dict[str, bool] = {}
        """Whether paths are those of files."""
        self._globbed: set[str] = set()
        """Directories of which all names matter."""
        self.asked: dict[Lookup, str | None] = {}
        """Lookups on disk and their results. Callers clear it before they start recording."""

    def resume(self, written: Mapping[str, Collection[str]]) -> bool:
        """Prepare for another run. Returns False if modules may have moved: then a new finder is needed."""
        if self._written or not self._is_current():
            return False
        self._written = written
        self._directories.clear()
        self.asked = {}
        return True

    def _is_current(self) -> bool:
        """Whether nothing that was looked up has changed on disk."""
        changed = {directory: new for directory, names in self._listed.items() if (new := _listing(directory)) != names}
        if changed:
            parts = {"__init__", _SOURCES, *_TOPS}.union(*(lookup.name.split(".") for lookup in self._found))
            for directory, names in changed.items():
                different = names ^ self._listed[directory]
                if directory in self._globbed or any(
                    not parts.isdisjoint((n, n.removesuffix(".py"))) for n in different
                ):
                    return False
            self._listed |= changed
        return all(os.path.isfile(path) == was for path, was in self._files.items())

    def find(self, dotted: str, importer: str, depth: int = 0) -> str | None:
        """The file of an absolute module name: next to the importer, else under the roots.

        `depth` is the number of packages that the importer is known to be in, by its relative imports. No program is
        started in these: its search begins in the folder around them, and `gpflow` is not `models/gpflow`.
        """
        return self.module(dotted, self.start_of(importer, 0, depth))

    def start_of(self, importer: str, level: int, depth: int = 0) -> str:
        """The directory in which the search begins for an absolute name (`level` 0), or for one after `level` dots."""
        start = self._directory_of(importer)
        for _ in range(level - 1 if level else min(depth, start.count(os.sep))):
            start = os.path.dirname(start)
        return start

    def matching(self, pattern: str, directory: str) -> tuple[str, ...]:
        """The files of all modules that a name with `*` as some of its parts can mean, for importers in a directory."""
        package, star, below = pattern.partition("*")
        found = self.look(f"{package}{star}", directory) or ""
        if not star:
            return (found,) if found else ()
        return tuple(path for name in found.split() for path in self.matching(f"{package}{name}{below}", directory))

    def names_in(self, package: str, level: int, importer: str, depth: int = 0) -> list[str]:
        """The names that can be imported from a package: its modules, and the folders below it."""
        every = f"{package}.*" if package else "*"
        found = self.look(f".{every}" if level else every, self.start_of(importer, level, depth))
        return (found or "").split()

    def look(self, name: str, directory: str) -> str | None:
        """The result of a `Lookup` for importers in a directory: the file of a module, given its absolute name, or a
        name after a dot that is resolved in the directory only; names for `package.*`."""
        key = Lookup(name, directory)
        if key not in self._found:
            if name.startswith("."):
                parts = name[1:].split(".") if name != "." else []
                self._found[key] = self._at(directory, parts)
            else:
                self._found[key] = self._look(name, directory)
        self._note(key, self._found[key])
        return self._found[key]

    def _note(self, lookup: Lookup, found: str | None) -> None:
        """Record a lookup on disk. Files that a notebook writes are not recorded: they follow from the notebook."""
        name, directory = lookup
        if found is not None and os.path.dirname(found) in self._written:
            return
        while directory in self._written:
            if name.startswith("."):
                return
            directory = os.path.dirname(directory)
        self.asked[Lookup(name, directory)] = found

    def _directory_of(self, path: str) -> str:
        if path not in self._directories:
            self._directories[path] = path if path in self._written else os.path.dirname(os.path.abspath(path))
        return self._directories[path]

    def _names_in(self, directory: str) -> frozenset[str]:
        """The names in a directory, read once."""
        if directory not in self._listed:
            self._listed[directory] = _listing(directory) or frozenset(self._written.get(directory, ()))
        return self._listed[directory]

    def _is_file(self, path: str) -> bool:
        folder, name = os.path.split(path)
        if name in self._written.get(folder, ()):
            return True
        if path not in self._files:
            self._files[path] = os.path.isfile(path)
        return self._files[path]

    def _package_root(self, directory: str) -> str:
        """The directory that contains the outermost package around `directory`."""
        while self._is_file(os.path.join(directory, "__init__.py")):
            parent = os.path.dirname(directory)
            if parent == directory:
                break
            directory = parent
        return directory

    def _look(self, dotted: str, here: str) -> str | None:
        parts = dotted.split(".")
        if parts[0] in _LIBRARIES:
            return None
        bases = []
        while here in self._written:  # a notebook finds the files that it wrote, and those next to it
            bases.append(here)
            here = os.path.dirname(here)
        if here not in self._packages:
            self._packages[here] = self._package_root(here)
        for base in (*bases, here, self._packages[here], *self._roots, *self.around(here)):
            if parts[0] in sys.stdlib_module_names and "__init__.py" in self._names_in(base):
                continue  # few programs are started inside a package, so `random` is Python's
            if _is_project(base, here, parts[0]) and (found := self._at(base, parts)):
                return found
        if len(parts) > 1:
            for base in (here, *self.around(here)):
                is_named = os.path.basename(base) == parts[0]
                if is_named or (_is_copy_of(base, parts[0]) and "__init__.py" in self._names_in(base)):
                    return self._at(base, parts[1:])
        return None

    def _at(self, base: str, parts: Sequence[str]) -> str | None:
        """The file of a module below a directory, or the names in a package there."""
        return self._names_below(base, parts) if "*" in parts else self._module_file(base, parts)

    def _names_below(self, base: str, parts: Sequence[str]) -> str | None:
        folder = os.path.join(base, *parts[:-1])
        self._globbed.add(folder)
        names = (name.removesuffix(".py") for name in self._names_in(folder))
        return " ".join(sorted(name for name in names if name.isidentifier() and not name.startswith("__"))) or None

    def around(self, directory: str) -> Iterator[str]:
        """The directories above one in its project, which programs put on `sys.path` or are started from, and the `src`
        of each."""
        for _ in range(MAX_AROUND):
            if directory in self._roots or not self._names_in(directory).isdisjoint(_TOPS):
                return
            directory = os.path.dirname(directory)
            yield directory
            if _SOURCES in self._names_in(directory):
                yield os.path.join(directory, _SOURCES)

    def find_relative(self, module: str, level: int, importer: str) -> str | None:
        """The file of `from ..module import`, by directories."""
        return self.module(f".{module}", self.start_of(importer, level))

    def module(self, name: str, directory: str) -> str | None:
        """The file of a module, None for a name with `*`, which stands for many (see `matching`)."""
        return None if "*" in name else self.look(name, directory)

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


MAX_AROUND = 8
"""Maximum number of directories above a file that are searched for an import not found elsewhere."""

_SOURCES = "src"
"""Name of the directory in which projects keep their packages."""

_TOPS = frozenset({".git", ".hg", "pyproject.toml", "setup.cfg", "setup.py"})
"""Names that mark the top directory of a project."""

SHARED = frozenset({"site-packages", "dist-packages"})
"""Directories in which every package is a separate project, and a library to the others."""


def _is_project(base: str, importer: str, package: str) -> bool:
    """Whether a package below `base` belongs to the project of the directory `importer`."""
    if os.path.basename(base) not in SHARED:
        return True
    own = os.path.join(base, package)
    return importer == own or importer.startswith(own + os.sep)


def _is_copy_of(directory: str, package: str) -> bool:
    """Whether a copied package directory can be named so: `nets-main`, `org-nets-2.1`."""
    name, own = (re.sub(r"[^a-z0-9]+", "_", one.lower()).strip("_") for one in (os.path.basename(directory), package))
    return f"_{own}_" in f"_{name}_"


def _listing(directory: str) -> frozenset[str]:
    """The names in a directory, none if it cannot be read."""
    try:
        return frozenset(os.listdir(directory))
    except OSError:
        return frozenset()
