"""The importers of a folder's files: the findings of a file also depend on them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from itertools import islice

from gpulint.analysis import Project
from gpulint.discovery import files_below
from gpulint.linting.nearest import Importing, importers
from gpulint.server.buffers import Snapshot
from gpulint.server.folders import Folder
from gpulint.sources.containment import is_below

MAX_FILES = 5_000
"""Maximum number of files read in a folder: the user may have opened a home directory."""


class Importers:
    """The imports of a folder's files, computed once for each content."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._paths: dict[str, None] | None = None
        self._files: dict[str, tuple[object, Importing]] = {}
        """Path → stamp of the content, and the facts about it."""

    def files(self, snapshot: Snapshot) -> Collection[str]:
        """The folder's files, including open ones."""
        if self._paths is None:
            found = islice(files_below(self._folder.root, self._folder.finder), MAX_FILES)
            self._paths = dict.fromkeys(os.path.abspath(path) for path in found)
        return {**self._paths, **dict.fromkeys(path for path in snapshot.buffers if self._is_below(path))}

    def of(self, paths: Iterable[str], snapshot: Snapshot, project: Project) -> list[str]:
        """The direct and indirect importers of some files, nearest first."""
        files = [file for path in self.files(snapshot) if (file := self._file(path, snapshot)) is not None]
        return importers(paths, files, project)

    def _is_below(self, path: str) -> bool:
        return is_below(path, self._folder.root)

    def _file(self, path: str, snapshot: Snapshot) -> Importing | None:
        """Facts about a file, None if it cannot be read."""
        try:
            stamp = self._stamp(path, snapshot)
            known, file = self._files.get(path, (None, None))
            if file is None or known != stamp:
                file = Importing(path, snapshot.data(path))
                self._files[path] = stamp, file
        except OSError:
            return None
        return file

    @staticmethod
    def _stamp(path: str, snapshot: Snapshot) -> object:
        """A value that changes with the content of a file. Raises OSError."""
        if (buffer := snapshot.buffers.get(path)) is not None:
            return buffer.data
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size
