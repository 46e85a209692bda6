"""Files that a project imports only behind a check for another TensorFlow release."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable

from gpulint.analysis import Project
from gpulint.analysis.project.module_names import paths_of
from gpulint.analysis.queries.moments import is_test
from gpulint.linting.files import Files
from gpulint.syntax.checked_imports import checked_imports, may_have_checked

_WORD = re.compile(rb"[\w\x80-\xff]+")

_MAIN = b"__main__"
"""Marks a file that is a program of its own."""


def only_imported_on_check(
    paths: Collection[str], run: Iterable[str], files: Files, project: Callable[[str], Project]
) -> frozenset[str]:
    """Files among `paths` that the run imports only behind a check of the TensorFlow release. An import counts as such,
    too, in a file that is itself imported only behind one."""
    return _CheckedImports(run, files, project).only_on_check(paths) if paths else frozenset()


class _CheckedImports:
    """Imports between the files of a run, each with whether a check of the TensorFlow release guards it."""

    def __init__(self, run: Iterable[str], files: Files, project: Callable[[str], Project]) -> None:
        self._files = [path for path in run if not is_test(path)]
        self._data = files.data
        self._read = files.source
        self._project = project
        self._imports: dict[str, dict[str, bool]] = {}

    def only_on_check(self, paths: Collection[str]) -> frozenset[str]:
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
        """Files of `below` that no other file imports unconditionally, and that are no programs themselves."""
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
        """The files that a file imports, and their packages; the value is whether all of its imports are checked."""
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
    """The `__init__.py` files that run when a file is imported, without those of packages around the importer."""
    found: list[str] = []
    folder = os.path.dirname(imported)
    while not importer.startswith(os.path.join(folder, "")):
        package = os.path.join(folder, "__init__.py")
        found += [package] if package != imported else []
        folder = os.path.dirname(folder)
    return found


def _name(path: str) -> bytes:
    """The word by which imports name a file: the folder of an `__init__.py`."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    return (os.path.basename(folder) if name == "__init__" else name).encode()
