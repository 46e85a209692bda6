"""Which files of a folder import which: what a file comes to is decided by those that import it, too."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from itertools import islice

from gpulint.analysis import Project
from gpulint.analysis.relevance import imported_paths
from gpulint.linting.engine import speaks_of_tensorflow
from gpulint.server.buffers import Snapshot
from gpulint.server.folders import Folder
from gpulint.sources.discovery import files_below

MAX_FILES = 5_000
"""Files of a folder that are looked at: somebody may have opened a home directory."""

MAX_IMPORTERS = 24
"""Files that are checked for the sake of those that are open, the nearest first."""


class Importers:
    """The imports of a folder's files, read once for each content."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: dict[str, None] | None = None
        self._imports: dict[str, tuple[object, frozenset[str]]] = {}

    def files(self, snapshot: Snapshot) -> Collection[str]:
        """The folder's files, open ones included."""
        if self._files is None:
            found = islice(files_below(self._folder.root, self._folder.finder), MAX_FILES)
            self._files = dict.fromkeys(os.path.abspath(path) for path in found)
        return {**self._files, **dict.fromkeys(path for path in snapshot.buffers if self._is_below(path))}

    def of(self, paths: Iterable[str], snapshot: Snapshot, project: Project) -> list[str]:
        """The files that import one of these, or another that does, the nearest first."""
        importing: dict[str, list[str]] = {}
        for path in self.files(snapshot):
            for imported in self._imported_by(path, snapshot, project):
                importing.setdefault(imported, []).append(path)
        found: dict[str, None] = dict.fromkeys(paths)
        wanted = len(found) + MAX_IMPORTERS
        pending = list(found)
        while pending and len(found) < wanted:
            fresh = {one: None for path in pending for one in importing.get(path, ()) if one not in found}
            pending = list(fresh)
            found |= fresh
        return list(found)[wanted - MAX_IMPORTERS : wanted]

    def _is_below(self, path: str) -> bool:
        return path.startswith(os.path.join(self._folder.root, ""))

    def _imported_by(self, path: str, snapshot: Snapshot, project: Project) -> frozenset[str]:
        """The files that a file imports; none where it does not speak of TensorFlow and so is no program of ours."""
        try:
            stamp = self._stamp(path, snapshot)
            if (known := self._imports.get(path)) is not None and known[0] == stamp:
                return known[1]
            is_ours = speaks_of_tensorflow(snapshot.data(path))
        except OSError:
            return frozenset()
        imports = imported_paths(project, path) - {path} if is_ours else frozenset()
        self._imports[path] = stamp, imports
        return imports

    @staticmethod
    def _stamp(path: str, snapshot: Snapshot) -> object:
        """What changes with a file's content. Raises OSError."""
        if (buffer := snapshot.buffers.get(path)) is not None:
            return buffer.data
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
