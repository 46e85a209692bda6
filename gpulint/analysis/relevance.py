"""What need not be run: programs and functions in which no rule could find anything.

A rule names the identifiers without which it has nothing to say (`Rule.speaks_of`). A program that has none of
them, itself or in what it imports, is neither parsed nor run; nor is an entry point run that neither has one nor
names a function that does.
"""

from __future__ import annotations

from gpulint.analysis.modules import Project
from gpulint.sources.source import Source
from gpulint.syntax.outline import Imported

MAX_IMPORT_DEPTH = 2
"""How far imports are followed to see whether a program is relevant."""


def is_relevant(project: Project, source: Source, words: frozenset[str]) -> bool:
    """Whether a program, or a project module that it imports, has one of the words.

    True also where the file is no Python that a first look understands.
    """
    if project.mentions(source.path, words) is not False:
        return True
    seen = level = {source.path}
    for _ in range(MAX_IMPORT_DEPTH):
        level = {path for importer in level for path in _imported_paths(project, importer)} - seen
        seen |= level
        if any(project.mentions(path, words) for path in level):
            return True
    return False


def _imported_paths(project: Project, importer: str) -> set[str]:
    first = project.outline_of(importer)
    imports = first.imports if first is not None else ()
    return {path for one in imports for path in _paths(project, importer, one) if path is not None}


def _paths(project: Project, importer: str, imported: Imported) -> list[str | None]:
    """The project files that an import may run."""
    module, level, names = imported
    deeper = [f"{module}.{name}" if module else name for name in names if name != "*"]
    if level:
        return [project.find_relative(one, level, importer) for one in (module, *deeper)]
    return [project.find(one, importer) for one in (module, *deeper)]


def spread(named: dict[int, tuple[str, frozenset[str]]], words: frozenset[str]) -> set[int]:
    """Of definitions (by id: name and words) those that have one of `words`, or the name of such a one."""
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
