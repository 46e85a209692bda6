"""The importers of a folder's files: the findings of a file also depend on them."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from itertools import islice

from gpulint.analysis import Project
from gpulint.analysis.project.module_names import imported_paths
from gpulint.discovery import files_below
from gpulint.linting.screening import mentions_tensorflow, runs_something
from gpulint.server.buffers import Snapshot
from gpulint.server.folders import Folder
from gpulint.sources.containment import is_below

MAX_FILES = 5_000
"""Maximum number of files read in a folder: the user may have opened a home directory."""

MAX_IMPORTERS = 24
"""Maximum number of importers that are checked with open files, nearest first."""


_IMPORT = re.compile(rb"\b(?:from|import)\b(?:\\\r?\n|\((?:#[^\n]*|[^)#])*|[^\n\\(])*")
"""A possible import statement, which can span rows."""

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")

_RELATIVE = re.compile(rb"from[ \t]*\.")


class _File:
    """Facts about a file with this `stamp`: the words in its imports and, once needed, the imported files."""

    def __init__(self, stamp: object, data: bytes) -> None:
        self.stamp = stamp
        statements = _IMPORT.findall(data) if mentions_tensorflow(data) or runs_something(data) else []
        self.words = {word for one in statements for word in _WORD.findall(one)}
        if any(map(_RELATIVE.match, statements)):
            self.words.add(_PACKAGE)
        self.imports: frozenset[str] | None = None


_PACKAGE = b"."
"""Represents the package of a file, which a relative import runs without naming it."""


def _names(path: str) -> set[bytes]:
    """Words of which every import of a file contains one."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    return {os.path.basename(folder).encode(), _PACKAGE} if name == "__init__" else {name.encode()}


class Importers:
    """The imports of a folder's files, computed once for each content.

    Most files contain no word in their imports that can lead to an open file: only the others are parsed.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._paths: dict[str, None] | None = None
        self._files: dict[str, _File] = {}

    def files(self, snapshot: Snapshot) -> Collection[str]:
        """The folder's files, including open ones."""
        if self._paths is None:
            found = islice(files_below(self._folder.root, self._folder.finder), MAX_FILES)
            self._paths = dict.fromkeys(os.path.abspath(path) for path in found)
        return {**self._paths, **dict.fromkeys(path for path in snapshot.buffers if self._is_below(path))}

    def of(self, paths: Iterable[str], snapshot: Snapshot, project: Project) -> list[str]:
        """The direct and indirect importers of some files, nearest first."""
        files = [(path, file) for path in self.files(snapshot) if (file := self._file(path, snapshot)) is not None]
        found: dict[str, None] = dict.fromkeys(paths)
        wanted = len(found) + MAX_IMPORTERS
        pending = set(found)
        while pending and len(found) < wanted:
            names = set().union(*map(_names, pending))
            near = [(path, file) for path, file in files if path not in found and not names.isdisjoint(file.words)]
            fresh = {path: None for path, file in near if not pending.isdisjoint(_imports(path, file, project))}
            pending = set(fresh)
            found |= fresh
        return list(found)[wanted - MAX_IMPORTERS : wanted]

    def _is_below(self, path: str) -> bool:
        return is_below(path, self._folder.root)

    def _file(self, path: str, snapshot: Snapshot) -> _File | None:
        """Facts about a file, None if it cannot be read."""
        try:
            stamp = self._stamp(path, snapshot)
            if (known := self._files.get(path)) is None or known.stamp != stamp:
                known = self._files[path] = _File(stamp, snapshot.data(path))
        except OSError:
            return None
        return known

    @staticmethod
    def _stamp(path: str, snapshot: Snapshot) -> object:
        """A value that changes with the content of a file. Raises OSError."""
        if (buffer := snapshot.buffers.get(path)) is not None:
            return buffer.data
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size


def _imports(path: str, file: _File, project: Project) -> frozenset[str]:
    if file.imports is None:
        file.imports = imported_paths(project, path) - {path}
    return file.imports
