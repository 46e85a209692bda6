"""Imports of names that a project's module does not have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gpulint.syntax import ir

if TYPE_CHECKING:
    from gpulint.analysis.project.modules import Project


class MissingName(NamedTuple):
    """A name that an import statement asks of a module of the project, which cannot bind it."""

    statement: ir.ImportFrom
    name: str
    file: str
    """The path of the module."""

    @property
    def module(self) -> str:
        """The module as the statement names it: `helpers`, `..nets.layers`."""
        return "." * self.statement.level + self.statement.module


def missing_names(project: Project, program: ir.Module) -> Iterator[MissingName]:
    """The names whose import raises `ImportError`.

    Only unguarded imports count, and only modules that cannot obtain names in another way.
    """
    names = (
        (statement, name)
        for statement in program.body
        if isinstance(statement, ir.ImportFrom)
        for name, _ in statement.names
        if name != "*"
    )
    for statement, name in islice(names, MAX_NAMES):
        if (file := _lacking(project, program.path, statement, name)) is not None:
            yield MissingName(statement, name, file)


MAX_NAMES = 200
"""Maximum number of a program's imported names to check. Each is searched in the whole text of its module."""


def _lacking(project: Project, importer: str, statement: ir.ImportFrom, name: str) -> str | None:
    """The file of the module that a name is imported from, if it cannot bind the name."""
    path = _found(project, importer, statement, statement.module)
    if path is None or path == importer:
        return None
    if not statement.level and "." not in statement.module and os.path.dirname(path) != os.path.dirname(importer):
        return None  # Python may find another package of that name
    text = project.text_of(path)
    if not text or _may_bind(project, text, name) or _OPEN.search(text) is not None:
        return None
    is_module = _found(project, importer, statement, f"{statement.module}.{name}".lstrip(".")) is not None
    return None if is_module or project.syntax_of(path) is None else path


def _may_bind(project: Project, text: str, name: str) -> bool:
    """Whether a text may bind a name: it is defined, or occurs other than as the callee of a call, and not only in
    comments."""
    word = re.escape(name)
    binding = re.compile(rf"\b(?:def|class)\s+{word}\b|\b{word}\b(?!\s*\()")
    found = [match.start() for match in binding.finditer(text)]
    if any("#" not in text[text.rfind("\n", 0, start) + 1 : start] for start in found):
        return True  # the usual case, without the cost of finding the comments
    return bool(found) and binding.search(project.code_of(text)) is not None


def _found(project: Project, importer: str, statement: ir.ImportFrom, module: str) -> str | None:
    """File of a module that is named relative to the module of the import statement."""
    if statement.level:
        return project.find_relative(module, statement.level, importer)
    return project.find(module, importer)


_OPEN = re.compile(
    r"import\s*(?:\(\s*)?\*|__getattr__|__dict__|\b(?:globals|locals|vars|exec|setattr|lazy_import|_LazyModule)\b|sys\.modules"
)
"""Matches text of modules that may have names which do not occur in it."""
