"""What need not be run: programs and functions in which no rule could find anything.

A rule names the identifiers without which it has nothing to say (`Rule.speaks_of`). A program that has none of
them, itself or in what it imports, is not run; nor is an entry point that neither has one nor names a
function that does.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.analysis.modules import Project
from gpulint.syntax import ir

MAX_IMPORT_DEPTH = 2
"""How far imports are followed to see whether a program is relevant."""


def is_relevant(project: Project, syntax: ir.Module, words: frozenset[str]) -> bool:
    """Whether a program, or a project module that it imports, has one of the words."""
    seen = {syntax.path}
    level = [syntax]
    for depth in range(MAX_IMPORT_DEPTH + 1):
        if any(module.words & words for module in level):
            return True
        if depth == MAX_IMPORT_DEPTH:
            return False
        paths = {path for module in level for path in imported_paths(project, module)} - seen
        seen |= paths
        level = [module for path in sorted(paths) if (module := project.syntax_of(path)) is not None]
    return False


def imported_paths(project: Project, syntax: ir.Module) -> Iterable[str]:
    """The project files that the top level of a module imports."""
    for statement in syntax.body:
        if isinstance(statement, ir.Import):
            names = [dotted for dotted, _ in statement.names]
            found = [project.find(dotted, syntax.path) for dotted in names]
        elif isinstance(statement, ir.ImportFrom):
            found = [
                path
                for name, _ in statement.names
                if (path := _from(project, statement, name, syntax.path)) is not None
            ]
        else:
            continue
        yield from (path for path in found if path is not None)


def _from(project: Project, statement: ir.ImportFrom, name: str, importer: str) -> str | None:
    deeper = f"{statement.module}.{name}" if statement.module else name
    if statement.level:
        return project.find_relative(deeper, statement.level, importer) or project.find_relative(
            statement.module, statement.level, importer
        )
    return project.find(deeper, importer) or project.find(statement.module, importer)


def spread(named: dict[int, tuple[str, frozenset[str]]], words: frozenset[str]) -> set[int]:
    """Of definitions (by id: name and the words in it) those that have one of `words`, or the name of such a one."""
    wanted = set(words)
    chosen: set[int] = set()
    growing = True
    while growing:
        growing = False
        for identity, (name, own) in named.items():
            if identity not in chosen and not own.isdisjoint(wanted):
                chosen.add(identity)
                wanted.add(name)
                growing = True
    return chosen
