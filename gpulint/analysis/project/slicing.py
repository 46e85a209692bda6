"""Selection of the programs and entry points to run: those in which a rule could report something.

A rule names its subject (`Rule.any_of_names`, `Rule.source_pattern`). A program is neither parsed nor run if it
contains none of a rule's words, neither in its own text nor in the imported definitions that it reaches. An entry point
is not run if it neither contains such a word nor leads to a function that does. In a program that cannot have an object
of TensorFlow, only the words of the file itself count: what it imports is about something else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpulint.analysis.project.call_graph import MAX_IMPORT_DEPTH, Node, Reach, imported_paths, registers
from gpulint.analysis.project.modules import Project
from gpulint.analysis.project.tensorflow_imports import may_have_tensorflow
from gpulint.sources.source import Source
from gpulint.syntax.outline import identifiers, in_any_form

MAX_PACKAGES = 5
"""Maximum number of directories above a file to search for its package."""


class Subject(NamedTuple):
    """The subject of a rule.

    `words` are identifiers, one of which a program must contain, itself or in the imported code that it uses; `device(`
    must be called. `itself` is a regular expression that the file's own text must match, or "". Of each set in
    `besides` a program must contain a word as well. `own_words` returns further relevant words of the file itself,
    given its text and identifiers. `in_graph_mode`: the rule applies to TF1 graph-mode files.
    """

    words: frozenset[str]
    itself: str = ""
    own_words: Callable[[str, frozenset[str]], frozenset[str]] | None = None
    besides: tuple[frozenset[str], ...] = ()
    in_graph_mode: bool = True


class Relevant(NamedTuple):
    """The part of a program to run.

    `words` are the relevant words in it. `leading` are the definitions, in any file, that lead to one of them; `home`
    those that do so through the file itself. Both are None if unknown. `known` tells whether a definition is in the
    call graph.
    """

    words: frozenset[str]
    leading: frozenset[Node] | None = None
    home: frozenset[Node] | None = None
    known: Callable[[Node], bool] = lambda node: False

    def has(self, node: Node) -> bool:
        """Whether a definition leads to one of the words. A method is named `Class.method`."""
        return self.leading is None or node in self.leading

    def comes_home(self, node: Node) -> bool:
        """Whether a definition leads to one of the words through the file itself."""
        return self.home is None or node in self.home


class Relevance:
    """Finds the relevant part of the program in a file, for rules with these subjects."""

    def __init__(self, project: Project, source: Source, subjects: Iterable[Subject]) -> None:
        self._subjects = list(subjects)
        self._text = source.text
        self._outline = outline = project.outline_of(source.path)
        is_list = outline is None or (os.path.basename(source.path) == "__init__.py" and outline.only_imports)
        alone = not is_list and not may_have_tensorflow(project, source.path)
        self._reach = Reach(project, source.path, alone) if not is_list else None
        self._spoken = frozenset().union(*self._reach.words()) if self._reach is not None else frozenset()

    def of(self, graph_mode: bool = False) -> Relevant:
        """The part to run, as a TF1 graph-mode file or as a TensorFlow 2 file. Everything, if the file has no
        outline."""
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
    """Whether importing a module calls or registers something, in itself or in what it imports up to `depth`."""

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
    """Texts of a file, of the packages around it, and of its direct and indirect imports."""
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
