"""What need not be run: programs and functions in which no rule could find anything.

A rule names its subject (`Rule.speaks_of`, `Rule.itself`). A program that has none of its words, neither itself nor
in the definitions that it names of what it imports, is neither parsed nor run; nor is an entry point run that
neither has one nor names a function that does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpulint.analysis.project.call_graph import MAX_IMPORT_DEPTH, Node, Reach, imported_paths, registers
from gpulint.analysis.project.modules import Project
from gpulint.sources.source import Source
from gpulint.syntax.outline import identifiers, in_any_form

MAX_PACKAGES = 5
"""Directories above a file in which the package is looked for that it belongs to."""


class Subject(NamedTuple):
    """What a rule speaks of.

    `words` are identifiers of which a program must have one, itself or in what it uses of its imports; written
    `device(`, it must be called. `itself` is a regular expression that the file's own text must match, "" for none.
    Of each set in `besides` a program must have one, too. `own_words` gives words of the file itself that matter
    besides, for its text and identifiers. `in_graph_mode` says whether it speaks of TF1 graph-mode files.
    """

    words: frozenset[str]
    itself: str = ""
    own_words: Callable[[str, frozenset[str]], frozenset[str]] | None = None
    besides: tuple[frozenset[str], ...] = ()
    in_graph_mode: bool = True


class Relevant(NamedTuple):
    """What of a program need be run: it speaks of `words`; `leading` are its definitions that lead to one, and those of
    other files, `home` those that do so by way of the file itself; None where that is not known. `known` says whether
    anything is known of a definition."""

    words: frozenset[str]
    leading: frozenset[Node] | None = None
    home: frozenset[Node] | None = None
    known: Callable[[Node], bool] = lambda node: False

    def has(self, node: Node) -> bool:
        """Whether a definition, or a method by the name of its class and its own, leads to one of the words."""
        return self.leading is None or node in self.leading

    def comes_home(self, node: Node) -> bool:
        """Whether it does so by way of the file itself."""
        return self.home is None or node in self.home


class Relevance:
    """What is relevant of the program in a file for those who speak of some subjects."""

    def __init__(self, project: Project, source: Source, subjects: Iterable[Subject]) -> None:
        self._subjects = list(subjects)
        self._text = source.text
        self._outline = outline = project.outline_of(source.path)
        is_list = outline is None or (os.path.basename(source.path) == "__init__.py" and outline.only_imports)
        self._reach = Reach(project, source.path) if not is_list else None
        self._spoken = frozenset().union(*self._reach.words()) if self._reach is not None else frozenset()

    def of(self, graph_mode: bool = False) -> Relevant:
        """What need be run of it, as a TF1 graph-mode file or another one; all of it where it is no Python that a first
        look understands."""
        subjects = [subject for subject in self._subjects if subject.in_graph_mode or not graph_mode]
        if self._outline is None:
            return Relevant(frozenset().union(*(identifiers(subject.words) for subject in subjects)))
        found: set[str] = set()
        own = identifiers(self._outline.words)
        for subject in subjects:
            if self._has(subject):
                found |= subject.words
            if subject.own_words is not None:
                found |= subject.own_words(self._text, own)
        words = identifiers(frozenset(found))
        if self._reach is None or not words:
            return Relevant(words)
        wanted = in_any_form(frozenset(found))
        leading = self._reach.leading_to(wanted)
        return Relevant(words, leading, self._reach.leading_home(leading, wanted), self._reach.knows)

    def _has(self, subject: Subject) -> bool:
        needed = (subject.words, *subject.besides)
        return not any(self._spoken.isdisjoint(in_any_form(words)) for words in needed) and (
            not subject.itself or re.search(subject.itself, self._text) is not None
        )


def calls_at_import(project: Project, path: str, depth: int) -> bool:
    """Whether importing a module calls anything, or puts something where others find it, in itself or in what it
    imports."""

    def find() -> bool:
        outline = project.outline_of(path)
        return (
            outline is None
            or outline.calls_at_import
            or registers(project, path)
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
