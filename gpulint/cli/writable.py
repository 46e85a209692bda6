"""Which files a run of `check` may change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from gpulint.settings import SettingsFinder
from gpulint.sources.containment import is_below
from gpulint.sources.writing import NotWritten, folder_of, outside, replace_file


@dataclass(frozen=True, slots=True)
class WritableFiles:
    """The files of a run, and how to change one.

    `folders` are the working directory and those of the command line (named, or with a named file), innermost first;
    `links` are the files that are symbolic links.
    """

    finder: SettingsFinder
    folders: tuple[str, ...]
    links: frozenset[str]

    @classmethod
    def of(cls, finder: SettingsFinder, arguments: Iterable[str], files: Iterable[str]) -> WritableFiles:
        """The files before they are checked."""
        named = (one if os.path.isdir(one) and not os.path.islink(one) else os.path.dirname(one) for one in arguments)
        folders = sorted({os.getcwd(), *map(os.path.abspath, named)}, key=len, reverse=True)
        return cls(finder, tuple(folders), frozenset(filter(os.path.islink, files)))

    def replace(self, path: str, before: bytes, after: bytes) -> None:
        """Change a file from one content to another. Raises NotWritten and SettingsError.

        A link must not lead out of the folder of its settings or, without settings, out of the innermost folder. That
        folder in turn must not be reached through a link that leaves another one.
        """
        settings = self.finder.of_file(path)
        folder = folder_of(path, *([settings.root] if settings.source else []), *self.folders)
        for outer in self.folders:
            if is_below(folder, outer) and not is_below(os.path.realpath(folder), os.path.realpath(outer)):
                raise NotWritten(outside(path))
        replace_file(path, before, after, folder, path in self.links)
