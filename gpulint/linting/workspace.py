"""Everything that a run reads, each thing once: files, their projects, comments and syntax trees."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from gpulint.analysis import Project
from gpulint.analysis.project.parsed import Parsed
from gpulint.linting.files import Files
from gpulint.linting.provenance import Roots
from gpulint.linting.selection import Catalogue
from gpulint.places import Site, Span
from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.source import Source
from gpulint.sources.suppressions import Comments, comments_in
from gpulint.syntax import ir
from gpulint.syntax.enclosing import Enclosing


class Workspace:
    """The files of one run by absolute path.

    `parsed` has what earlier runs have parsed, `given` the content of files that differ from the disk.
    """

    def __init__(
        self, finder: SettingsFinder, catalogue: Catalogue, parsed: Parsed, given: Mapping[str, bytes]
    ) -> None:
        self.finder = finder
        self.files = Files(finder)
        self.files.given = given
        self.present = ""
        """The file whose programs are being analysed."""
        self.parsing: Callable[[str], None] = lambda path: None
        """Called with the path of each imported file before it is parsed, and with `present` after that."""
        self._catalogue = catalogue
        self._parsed = parsed
        self._projects: dict[Roots, Project] = {}
        self._comments: dict[str, Comments] = {}

    def begin(self, path: str) -> None:
        """Analyse the programs of `path` next, as if no others had been analysed before."""
        self.present = path
        for project in self._projects.values():
            project.forget()

    def project(self, path: str) -> Project:
        """The project that a file belongs to. Raises SettingsError."""
        roots = roots_of(self.finder.of_file(path))
        if roots not in self._projects:
            from pathlib import Path

            self._projects[roots] = Project(
                [Path(root) for root in roots], self.files.read, self.files.written, self._watched, self._parsed
            )
        return self._projects[roots]

    def comments(self, path: str) -> Comments:
        """The suppression comments of a file."""
        if path not in self._comments:
            self._comments[path] = comments_in(self.files.programs(path), self._catalogue)
        return self._comments[path]

    def syntax(self, path: str) -> ir.Module | None:
        """The syntax tree of a program as it was analysed, None if it cannot be read."""
        source = self.files.read(path)
        return self.project(source.file).syntax_of(path) if source is not None else None

    def enclosing(self, path: str) -> Enclosing | None:
        """The functions and classes around the nodes of a program, None if it cannot be read."""
        syntax = self.syntax(path)
        return Enclosing(syntax) if syntax is not None else None

    def spans(self, sites: Iterable[Site]) -> dict[Site, Span]:
        """Where sites are in the text of their programs; those of files that cannot be read are missing."""
        from gpulint.syntax.spans import spans

        wanted: dict[str, set[int]] = defaultdict(set)
        for site in sites:
            wanted[site.path].add(site.node)
        placed: dict[Site, Span] = {}
        for path, nodes in wanted.items():
            source = self.files.read(path)
            if source is not None:
                placed |= {Site(path, node): span for node, span in spans(source, nodes).items()}
        return placed

    @contextmanager
    def _watched(self, source: Source) -> Iterator[None]:
        if source.file == self.present:
            yield
            return
        self.parsing(source.file)
        try:
            yield
        finally:
            self.parsing(self.present)


def roots_of(settings: Settings) -> Roots:
    """The directories in which a file's imports are looked for."""
    return tuple(os.path.join(settings.root, directory) for directory in settings.src)
