"""What need not be run: programs and functions in which no rule could find anything.

A rule names its subject (`Rule.speaks_of`, `Rule.itself`). A program that has none of its words, neither itself nor
in the definitions that it names of what it imports, is neither parsed nor run; nor is an entry point run that
neither has one nor names a function that does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.analysis.modules import Project
from gpulint.sources.source import Source
from gpulint.syntax.outline import Imported, in_any_form, without_calls

MAX_IMPORT_DEPTH = 4
"""How far imports are followed to see whether a program is relevant."""


PICKS = frozenset({"__dict__", "eval", "getattr", "globals"})
"""Words of code that uses definitions without naming them."""

MAX_PACKAGES = 5
"""Directories above a file in which the package is looked for that it belongs to."""


class Subject(NamedTuple):
    """What a rule speaks of.

    `words` are identifiers of which a program must have one, itself or in what it uses of its imports; written
    `device(`, it must be called. `itself` is a regular expression that the file's own text must match, "" for none.
    Of each set in `besides` a program must have one, too. `own_words` gives words of the file itself that matter
    besides, for its text and identifiers.
    """

    words: frozenset[str]
    itself: str = ""
    own_words: Callable[[str, frozenset[str]], frozenset[str]] | None = None
    besides: tuple[frozenset[str], ...] = ()


def relevant_words(project: Project, source: Source, subjects: Iterable[Subject]) -> frozenset[str]:
    """The words of those subjects that a program speaks of.

    All of them where the file is no Python that a first look understands.
    """
    found: set[str] = set()
    for subject in subjects:
        if (
            subject.words
            and all(_is_used(project, source.path, in_any_form(words)) for words in (subject.words, *subject.besides))
            and (not subject.itself or re.search(subject.itself, source.text))
        ):
            found |= without_calls(subject.words)
        if subject.own_words is not None and (outline := project.outline_of(source.path)) is not None:
            found |= subject.own_words(source.text, without_calls(outline.words))
    return frozenset(found)


def speaking_imports(project: Project, path: str, words: frozenset[str]) -> frozenset[str]:
    """The names of definitions that a file can import and whose use leads to one of the words, and of what picks such a
    definition by name."""
    wanted = in_any_form(words)
    imported = imported_paths(project, path)
    _look_into(project, path, MAX_IMPORT_DEPTH + 1)
    found = frozenset().union(*[_speaking(project, module, wanted, MAX_IMPORT_DEPTH) for module in imported])
    return found | PICKS if found else found


def _is_used(project: Project, path: str, words: frozenset[str]) -> bool:
    """Whether a file has one of the words, names a definition of its imports that does, or runs one by importing. What
    a package only imports is checked where it is written."""
    outline = project.outline_of(path)
    if outline is None:
        return True
    if os.path.basename(path) == "__init__.py" and outline.only_imports:
        return False
    own = outline.words
    if not own.isdisjoint(words):
        return True
    speaking = speaking_imports(project, path, words)
    if any(_runs(project, module, words, MAX_IMPORT_DEPTH - 1) for module in imported_paths(project, path)):
        return True
    return any(name in own or f"{name}(" in own for name in speaking)


def _look_into(project: Project, path: str, depth: int) -> None:
    """Take note that a module is looked into, and what it imports at `depth` removes."""

    def find() -> None:
        project.outline_of(path)
        for one in imported_paths(project, path) if depth > 1 else ():
            _look_into(project, one, depth - 1)

    project.remembered(("looked into", path, depth), find)


def _runs(project: Project, path: str, words: frozenset[str], depth: int) -> bool:
    """Whether importing a module runs code that has one of the words, or puts some where others find it."""

    def find() -> bool:
        outline = project.outline_of(path)
        return outline is not None and (
            not outline.body.isdisjoint(words)
            or not outline.registered.isdisjoint(words)
            or (depth > 1 and any(_runs(project, one, words, depth - 1) for one in imported_paths(project, path)))
        )

    return project.computed(("runs", path, words, depth), find)


def _speaking(project: Project, path: str, words: frozenset[str], depth: int) -> frozenset[str]:
    """The names of a module whose use leads to one of the words: its own definitions, and what it imports."""

    def find() -> frozenset[str]:
        outline = project.outline_of(path)
        if outline is None:
            return frozenset()
        imported: set[str] = set()
        if depth > 1:
            for one in imported_paths(project, path):
                imported |= _speaking(project, one, words, depth - 1)
        numbered = dict(enumerate(outline.definitions.items()))
        if imported:
            imported |= PICKS
        chosen = spread(numbered, words | in_any_form(frozenset(imported)))
        return frozenset({numbered[number][0] for number in chosen} | imported)

    return project.computed(("speaking", path, words, depth), find)


def calls_at_import(project: Project, path: str, depth: int) -> bool:
    """Whether importing a module calls anything, in itself or in what it imports."""

    def find() -> bool:
        outline = project.outline_of(path)
        return (
            outline is None
            or outline.calls_at_import
            or (depth > 1 and any(calls_at_import(project, one, depth - 1) for one in imported_paths(project, path)))
        )

    return project.remembered(("calls", path, depth), find)


def texts(project: Project, source: Source) -> Iterator[str]:
    """The text of a file, of the packages around it, and of the files that it imports, at some removes."""
    yield source.text
    seen = {source.path}
    for level in range(1, MAX_PACKAGES + 1):
        package = project.find_relative("", level, source.path)
        if package is not None and package not in seen:
            seen.add(package)
            yield project.text_of(package)
    fresh = [source.path]
    for _ in range(MAX_IMPORT_DEPTH):
        fresh = [path for one in fresh for path in imported_paths(project, one) if path not in seen]
        for path in dict.fromkeys(fresh):
            seen.add(path)
            yield project.text_of(path)


def imported_paths(project: Project, importer: str) -> frozenset[str]:
    """The files of the project that a file imports, or may."""

    def find() -> frozenset[str]:
        first = project.outline_of(importer)
        imports = first.imports if first is not None else ()
        return frozenset(path for one in imports for path in _paths(project, importer, one) if path is not None)

    return project.remembered(("imports", importer), find)


def _paths(project: Project, importer: str, imported: Imported) -> list[str | None]:
    """The project files that an import may run."""
    module, level, names = imported
    package, star, below = module.partition("*")
    if star:
        picked = [f"{package}{one}{below}" for one in project.names_in(package.removesuffix("."), level, importer)]
        return [path for one in picked for path in _paths(project, importer, Imported(one, level, ()))]
    deeper = [f"{module}.{name}" if module else name for name in names if name != "*"]
    if level:
        return [project.find_relative(one, level, importer) for one in (module, *deeper)]
    return [project.find(one, importer) for one in (module, *deeper)]


def spread(named: Mapping[int, tuple[str, frozenset[str]]], words: frozenset[str]) -> set[int]:
    """Of numbered definitions (name and words) those that have one of `words`, or the name of such a one."""
    wanted = set(words)
    chosen: set[int] = set()
    growing = True
    while growing:
        growing = False
        for identity, (name, own) in named.items():
            if identity not in chosen and not own.isdisjoint(wanted):
                chosen.add(identity)
                wanted |= {name, f"{name}("}
                growing = True
    return chosen
