"""Imports of names that a project's module does not have."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gpulint.syntax import ir
from gpulint.syntax.binding import bound_by
from gpulint.syntax.walk import below

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
    if not text or _OPEN.search(text) is not None or _may_bind(project, path, text, name):
        return None
    is_module = _found(project, importer, statement, f"{statement.module}.{name}".lstrip(".")) is not None
    return None if is_module or project.syntax_of(path) is None else path


def _may_bind(project: Project, path: str, text: str, name: str) -> bool:
    """Whether a module may bind a name, rather than only read it or mention it in comments."""
    word = re.escape(name)
    if re.search(rf"^(?:def|class)[ \t]+{word}\b|^{word}[ \t]*=|^from\b[^\n]*\b{word}\b", text, re.MULTILINE):
        return True  # the usual case, without the cost of parsing the module
    if re.search(rf"\b{word}\b", text) is None:
        return False
    module = project.syntax_of(path)
    return module is None or any(_binds(node, name) for node in below(module.body))


def _binds(node: ir.Node, name: str) -> bool:
    if isinstance(node, ir.FunctionDef | ir.ClassDef):
        return node.name == name
    return name in bound_by(node)


def _found(project: Project, importer: str, statement: ir.ImportFrom, module: str) -> str | None:
    """File of a module that is named relative to the module of the import statement."""
    if statement.level:
        return project.find_relative(module, statement.level, importer)
    return project.find(module, importer)


_OPEN = re.compile(
    r"import\s*(?:\(\s*)?\*|__getattr__|__dict__|\b(?:globals|locals|vars|exec|setattr|lazy_import|_LazyModule)\b|sys\.modules"
)
"""Matches text of modules that may have names which do not occur in it."""
