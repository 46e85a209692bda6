"""The importers of files, nearest first, found without parsing the files that cannot import them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from gpulint.analysis import Project
from gpulint.analysis.project.module_names import imported_paths
from gpulint.linting.screening import mentions_tensorflow, runs_something

MAX_IMPORTERS = 24
"""Maximum number of importers that are checked with files: the findings of a file also depend on them."""

_IMPORT = re.compile(rb"\b(?:from|import)\b(?:\\\r?\n|\((?:#[^\n]*|[^)#])*|[^\n\\(])*")
"""A possible import statement, which can span rows."""

_WORD = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")

_RELATIVE = re.compile(rb"from[ \t]*\.")

_PACKAGE = b"."
"""Represents the package of a file, which a relative import runs without naming it."""


class Importing:
    """What is known about the imports of a file: their words and, once needed, the imported files."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        statements = _IMPORT.findall(data) if mentions_tensorflow(data) or runs_something(data) else []
        self.words = {word for one in statements for word in _WORD.findall(one)}
        if any(map(_RELATIVE.match, statements)):
            self.words.add(_PACKAGE)
        self._imports: frozenset[str] | None = None

    def imports(self, project: Project) -> frozenset[str]:
        """The imported files."""
        if self._imports is None:
            self._imports = imported_paths(project, self.path) - {self.path}
        return self._imports


def importers(paths: Iterable[str], files: Sequence[Importing], project: Project) -> list[str]:
    """The direct and indirect importers of some files, nearest first and at most MAX_IMPORTERS. Most of `files` contain
    no word in their imports that can lead to them: only the others are parsed."""
    found: dict[str, None] = dict.fromkeys(paths)
    wanted = len(found) + MAX_IMPORTERS
    pending = set(found)
    while pending and len(found) < wanted:
        names = set().union(*map(_names, pending))
        near = [one for one in files if one.path not in found and not names.isdisjoint(one.words)]
        fresh = {one.path: None for one in near if not pending.isdisjoint(one.imports(project))}
        pending = set(fresh)
        found |= fresh
    return list(found)[wanted - MAX_IMPORTERS : wanted]


def _names(path: str) -> set[bytes]:
    """Words of which every import of a file contains one."""
    folder, name = os.path.split(os.path.splitext(path)[0])
    return {os.path.basename(folder).encode(), _PACKAGE} if name == "__init__" else {name.encode()}
