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

from gpulint.analysis.project.call_graph import MAX_IMPORT_DEPTH, Reach, registers
from gpulint.analysis.project.module_names import Node, imported_paths, paths_of
from gpulint.analysis.project.modules import Project
from gpulint.analysis.project.tensorflow_imports import may_have_tensorflow
from gpulint.sources.source import Source
from gpulint.sources.spelling import as_read
from gpulint.syntax.outline import Imported, identifiers, in_any_form

MAX_PACKAGES = 5
"""Maximum number of directories above a file to search for its package."""


class Subject(NamedTuple):
    """The subject of a rule.

    `words` are identifiers, one of which a program must contain, itself or in the imported code that it uses; `device(`
    must be called. `itself` is a regular expression that the file's own text must match, or "". Of each set in
    `besides` a program must contain a word as well. `own_words` returns further relevant words of the file itself,
    given its text and identifiers. `in_graph_mode`: the rule applies to TF1 graph-mode files. `in_own_file`: `words`
    count only in the file itself.
    """

    words: frozenset[str]
    itself: str = ""
    own_words: Callable[[str, frozenset[str]], frozenset[str]] | None = None
    besides: tuple[frozenset[str], ...] = ()
    in_graph_mode: bool = True
    in_own_file: bool = False


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
        self._text = as_read(source.text)
        self._outline = outline = project.outline_of(source.path)
        is_list = outline is None or (os.path.basename(source.path) == "__init__.py" and outline.only_imports)
        self._alone = not is_list and not may_have_tensorflow(project, source.path)
        self._reach = Reach(project, source.path, self._alone) if not is_list else None
        self._spoken = frozenset().union(*self._reach.words()) if self._reach is not None else frozenset()
        self._own = frozenset().union(*self._reach.words(in_own_file=True)) if self._reach is not None else frozenset()

    def of(self, graph_mode: bool = False) -> Relevant:
        """The part to run, as a TF1 graph-mode file or as a TensorFlow 2 file. Everything, if the file has no
        outline."""
        subjects = [subject for subject in self._subjects if subject.in_graph_mode or not graph_mode]
        if self._outline is None:
            return Relevant(frozenset().union(*(identifiers(subject.words) for subject in subjects)))
        anywhere: set[str] = set()
        here: set[str] = set()
        own = identifiers(self._own if self._alone else self._outline.words)
        for subject in subjects:
            found = here if subject.in_own_file else anywhere
            if self._has(subject):
                found |= subject.words
            if subject.own_words is not None:
                found |= subject.own_words(self._text, own)
        words = identifiers(frozenset(anywhere | here))
        if self._reach is None or not words:
            return Relevant(words)
        wanted, wanted_here = in_any_form(frozenset(anywhere)), in_any_form(frozenset(anywhere | here))
        leading = self._reach.leading_to(wanted, wanted_here)
        return Relevant(words, leading, self._reach.leading_home(leading, wanted_here), self._reach.knows)

    def _has(self, subject: Subject) -> bool:
        words = self._own if subject.in_own_file else self._spoken
        return (
            not words.isdisjoint(in_any_form(subject.words))
            and not any(self._spoken.isdisjoint(in_any_form(one)) for one in subject.besides)
            and (not subject.itself or re.search(subject.itself, self._text) is not None)
        )


def calls_at_import(project: Project, path: str, depth: int) -> bool:
    """Whether importing a module calls or registers something, in itself or in what it imports up to `depth`."""

    def find() -> bool:
        outline = project.outline_of(path)
        if outline is None or outline.calls_at_import or registers(project, path):
            return True
        imported = (found for one in dict.fromkeys(outline.imports) for found in paths_of(project, path, one))
        return depth > 1 and any(calls_at_import(project, one, depth - 1) for one in imported)

    return project.remembered(("calls", path, depth), find)


class ImportRun(NamedTuple):
    """A module to run for an import. `dotted` is the name by which it is imported, `hops` the number of modules between
    it and the importer."""

    path: str
    dotted: str
    hops: int = 0


def runs_at_import(project: Project, path: str, dotted: str, depth: int) -> tuple[ImportRun, ...]:
    """The modules to run when a module is imported, in order: those that call or register something.

    A module that only defines things is left out, and the modules that it imports are run instead. If one of those
    imports depends on a condition, the module itself is run.
    """

    def find() -> tuple[ImportRun, ...]:
        if not calls_at_import(project, path, depth):
            return ()
        outline = project.outline_of(path)
        if outline is None or calls_at_import(project, path, 1):
            return (ImportRun(path, dotted),)
        found: dict[str, ImportRun] = {}
        for one in outline.imports:
            if one in outline.type_imports:
                continue
            for imported, name in _modules_of(project, path, one):
                runs = runs_at_import(project, imported, name, depth - 1)
                if runs and one in outline.guarded_imports:
                    return (ImportRun(path, dotted),)
                for run in runs:
                    found.setdefault(run.path, run._replace(hops=run.hops + 1))
        return tuple(found.values())

    return project.remembered(("runs", path, dotted, depth), find)


def _modules_of(project: Project, importer: str, imported: Imported) -> Iterator[tuple[str, str]]:
    """Files that an import runs, each with its name: the packages around a module, the module, and modules in it."""
    module, level = imported.module, imported.level
    names = module.split(".") if module else []
    dotted = [".".join(names[:length]) for length in range(1, len(names))] if not level else []
    dotted += [module, *(f"{module}.{name}" if module else name for name in imported.names if name != "*")]
    for name in dotted:
        path = project.find_relative(name, level, importer) if level else project.find(name, importer)
        if path is not None and path != importer:
            yield path, name


def texts(project: Project, source: Source) -> Iterator[str]:
    """Texts of a file, of the packages around it, and of the direct and indirect imports of all of these."""
    yield source.text
    seen = {source.path: None}
    for level in range(1, MAX_PACKAGES + 1):
        package = project.find_relative("", level, source.path)
        if package is not None and package not in seen:
            seen[package] = None
            yield project.text_of(package)
    fresh = [*seen]
    for _ in range(MAX_IMPORT_DEPTH):
        fresh = [path for one in fresh for path in imported_paths(project, one) if path not in seen]
        for path in dict.fromkeys(fresh):
            seen[path] = None
            yield project.text_of(path)
