"""Which files to check."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

import pathspec

from gpulint.settings import Settings, SettingsFinder


class MissingPath(Exception):
    """A path on the command line that is not there."""


def discover(paths: Sequence[str], finder: SettingsFinder) -> list[str]:
    """The files to check, each once, in the order of their names.

    A file that is named is checked whatever it is called, unless `force-exclude` is set and it is excluded;
    directories and glob patterns are searched. Raises MissingPath and SettingsError.
    """
    found: dict[str, None] = {}
    search = _Search(finder)
    for path in paths:
        for one in _expanded(path):
            if os.path.isdir(one):
                found |= dict.fromkeys(search.walk(one))
            elif not (settings := finder.of_file(one)).force_exclude or not search.is_excluded(one, settings, False):
                found[os.path.normpath(one)] = None
    return sorted(found)


def files_below(directory: str, finder: SettingsFinder) -> Iterator[str]:
    """The files to check below a directory, as they are found. Raises SettingsError."""
    return _Search(finder).walk(directory)


def is_left_out(path: str, finder: SettingsFinder) -> bool:
    """Whether discovery would not come to a file: it is excluded, or a directory above it within the root of its
    settings is. Raises SettingsError."""
    search, settings = _Search(finder), finder.of_file(path)
    path, root = os.path.abspath(path), os.path.abspath(settings.root)
    if not path.startswith(os.path.join(root, "")):
        return search.is_excluded(path, settings, False)
    is_directory = False
    while path != root:
        if search.is_excluded(path, settings, is_directory):
            return True
        path, is_directory = os.path.dirname(path), True
    return False


def _expanded(path: str) -> list[str]:
    if os.path.lexists(path):
        return [path]
    if glob.has_magic(path) and (matches := sorted(glob.glob(path, recursive=True))):
        return matches
    raise MissingPath(path)


class _Search:
    """One run of discovery, with the patterns and ignore files that it has read."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder
        self._patterns: dict[tuple[str, ...], pathspec.GitIgnoreSpec] = {}
        self._ignores: dict[str, tuple[tuple[str, pathspec.GitIgnoreSpec], ...]] = {}

    def walk(self, top: str) -> Iterator[str]:
        """Files below a directory; a directory reached again through a link is not entered again."""
        seen: set[tuple[int, int]] = set()
        pending = [os.path.normpath(top)]
        while pending:
            directory = pending.pop()
            try:
                status = os.stat(directory)
                entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
            except OSError:
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            settings = self._finder.of_directory(directory)
            included = self._spec((*settings.include, *(f"*.{extension}" for extension, _ in settings.extension)))
            for entry in entries:
                path = os.path.normpath(entry.path)
                try:
                    is_directory = entry.is_dir()
                    is_special = not is_directory and not entry.is_file() and os.path.exists(path)
                except OSError:
                    continue
                if is_special:  # to read a pipe or a device is to wait for whoever writes it
                    continue
                if self.is_excluded(path, settings, is_directory):
                    continue
                if is_directory:
                    pending.append(path)
                elif included.match_file(_relative(path, settings.root)):
                    yield path

    def is_excluded(self, path: str, settings: Settings, is_directory: bool) -> bool:
        """Whether the settings or git leave a path out."""
        relative = _relative(path, settings.root)
        if relative.startswith("../"):
            relative = os.path.basename(path)
        name = relative + "/" if is_directory else relative
        if self._spec((*settings.exclude, *settings.extend_exclude)).match_file(name):
            return True
        return settings.respect_gitignore and self._is_ignored(os.path.abspath(path), is_directory)

    def _is_ignored(self, path: str, is_directory: bool) -> bool:
        """Whether git leaves a file out: the nearest .gitignore that speaks of it decides."""
        for directory, spec in self._ignoring(os.path.dirname(path)):
            relative = _relative(path, directory) + ("/" if is_directory else "")
            if (verdict := spec.check_file(relative).include) is not None:
                return verdict
        return False

    def _ignoring(self, directory: str) -> tuple[tuple[str, pathspec.GitIgnoreSpec], ...]:
        """What speaks of the files in a directory, the nearest first, each with the directory that it stands in."""
        if directory not in self._ignores:
            top = os.path.exists(os.path.join(directory, ".git"))
            names = (".gitignore", os.path.join(".git", "info", "exclude")) if top else (".gitignore",)
            own = [(directory, spec) for name in names if (spec := self._ignore_file(os.path.join(directory, name)))]
            parent = os.path.dirname(directory)
            above = () if top or parent == directory else self._ignoring(parent)
            self._ignores[directory] = (*own, *above)
        return self._ignores[directory]

    def _ignore_file(self, path: str) -> pathspec.GitIgnoreSpec | None:
        text = self._finder.text(path)
        return pathspec.GitIgnoreSpec.from_lines(text.splitlines()) if text else None

    def _spec(self, lines: tuple[str, ...]) -> pathspec.GitIgnoreSpec:
        if lines not in self._patterns:
            self._patterns[lines] = pathspec.GitIgnoreSpec.from_lines(lines)
        return self._patterns[lines]


def _relative(path: str, root: str) -> str:
    absolute, below = os.path.abspath(path), os.path.join(root, "")
    relative = absolute[len(below) :] if absolute.startswith(below) else os.path.relpath(path, root)
    return relative.replace(os.sep, "/")
