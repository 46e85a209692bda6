"""Files that a project imports only where a check says that TensorFlow is another one."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection

from gpulint.analysis import Project
from gpulint.analysis.project.call_graph import paths_of
from gpulint.analysis.queries.moments import is_test
from gpulint.sources.source import Source
from gpulint.syntax.checked_imports import checked_imports, may_have_checked

_WORD = re.compile(rb"[\w\x80-\xff]+")

_MAIN = b"__main__"
"""What a file has that is a program of its own."""


class Importers:
    """Who imports which of the files of a run, and on what condition. `data` gives the content of a file, b"" where
    there is none, `read` its program."""

    def __init__(
        self,
        files: Collection[str],
        data: Callable[[str], bytes],
        read: Callable[[str], Source | None],
        project: Callable[[str], Project],
    ) -> None:
        self._files = [path for path in files if not is_test(path)]
        self._data = data
        self._read = read
        self._project = project
        self._imports: dict[str, dict[str, bool]] = {}

    def only_on_check(self, paths: Collection[str]) -> frozenset[str]:
        """Those of these files that others of the run import, and each of them behind a check, or from a file of that
        kind."""
        if not paths:
            return frozenset()
        checking = [path for path in self._files if may_have_checked(self._data(path))]
        pending = [
            imported
            for path in checking
            for imported, is_checked in self._imports_of(path).items()
            if is_checked and imported != path
        ]
        below: set[str] = set()
        while pending:
            path = pending.pop()
            if path not in below:
                below.add(path)
                pending += self._imports_of(path)
        if below.isdisjoint(paths):
            return frozenset()
        return self._without_imported(below) & frozenset(paths)

    def _without_imported(self, below: set[str]) -> frozenset[str]:
        """Those of some files that no other file imports on no condition."""
        names = {_name(path) for path in below}
        importing = [
            path for path in self._files if path in below or not names.isdisjoint(_WORD.findall(self._data(path)))
        ]
        kept = {path for path in below if _MAIN not in self._data(path)}
        pending = [path for path in importing if path not in kept]
        while pending:
            for imported, is_checked in self._imports_of(pending.pop()).items():
                if not is_checked and imported in kept:
                    kept.remove(imported)
                    pending.append(imported)
        return frozenset(kept)

    def _imports_of(self, path: str) -> dict[str, bool]:
        """The files that a file imports, and the packages that they are in, each with whether it always does so behind
        a check."""
        if path not in self._imports:
            found: dict[str, bool] = {}
            source = self._read(path)
            for imported, is_checked in checked_imports(source) if source is not None else ():
                for one in paths_of(self._project(path), path, imported):
                    for run in (one, *_packages(one, path)):
                        found[run] = found.get(run, True) and is_checked
            found.pop(path, None)
            self._imports[path] = found
        return self._imports[path]


def _packages(imported: str, importer: str) -> list[str]:
    """The packages around a file that are run where it is imported, but for those that the importer is in."""
    found: list[str] = []
    folder = os.path.dirname(imported)
    while not importer.startswith(os.path.join(folder, "")):
        package = os.path.join(folder, "__init__.py")
        found += [package] if package != imported else []
        folder = os.path.dirname(folder)
    return found


def _name(path: str) -> bytes:
    """The word by which imports name a file: of a package its folder."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    return (os.path.basename(folder) if name == "__init__" else name).encode()
