"""Discovery of the files to check."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from gpulint.settings import Settings, SettingsError, SettingsFinder
from gpulint.sources.globs import MAX_WEIGHT, TOO_HEAVY, Globs

MAX_IGNORE_FILES = 20
"""Maximum number of ignore files that apply to one path."""


class MissingPath(Exception):
    """A path on the command line that does not exist."""


def discover(paths: Sequence[str], finder: SettingsFinder) -> list[str]:
    """The files to check, without duplicates, sorted by name.

    A file in `paths` is checked under any name, unless `force-exclude` is set and it is excluded; directories and glob
    patterns are searched. Raises MissingPath and SettingsError.
    """
    found: dict[str, None] = {}
    search = _Search(finder)
    for path in paths:
        for one in _expanded(path):
            if os.path.isdir(one):
                found |= dict.fromkeys(search.walk(one))
            elif not finder.of_file(one).force_exclude or not search.is_left_out(one):
                found[os.path.normpath(one)] = None
            else:
                search.left_out.append(one)
    search.note_links()
    if not found:
        search.note_left_out()
    return sorted(found)


def files_below(directory: str, finder: SettingsFinder) -> Iterator[str]:
    """The files to check below a directory, as they are found. Raises SettingsError."""
    return _Search(finder).walk(directory)


def is_left_out(path: str, finder: SettingsFinder) -> bool:
    """Whether discovery skips a file: it or a directory above it is excluded. Raises SettingsError."""
    return _Search(finder).is_left_out(path)


def _expanded(path: str) -> list[str]:
    if os.path.lexists(path):
        return [path]
    if _MAGIC.search(path) and (matches := _glob(path)):
        return matches
    raise MissingPath(path)


_MAGIC = re.compile(r"[*?[]")


def _glob(pattern: str) -> list[str]:
    """As `glob.glob`, sorted, but no step lists a directory twice, and `**` does not follow links."""
    drive, below = os.path.splitdrive(pattern.replace(os.altsep, os.sep) if os.altsep else pattern)
    *folders, last = below.split(os.sep)
    found = [drive + os.sep if below.startswith(os.sep) else drive]
    for name in filter(None, folders):
        found = list(_step(found, name, True))
    return sorted(filter(None, _step(found, last, False)))


def _step(directories: Iterable[str], pattern: str, only_directories: bool) -> Iterator[str]:
    """The paths that match one part of a glob pattern."""
    if not _MAGIC.search(pattern):
        exists = os.path.isdir if only_directories or not pattern else os.path.lexists
        yield from filter(exists, (os.path.join(directory, pattern) for directory in directories))
        return
    seen: set[tuple[int, int]] = set()
    pending = list(directories)[::-1]
    while pending:
        directory = pending.pop()
        try:
            entries = _entries(directory or os.curdir, seen)
        except (OSError, ValueError):  # a NUL in the path
            continue
        if entries is None:
            continue
        if pattern == "**":
            yield directory
        for entry in entries:
            if entry.name.startswith(".") and not pattern.startswith("."):
                continue
            path, is_directory = os.path.join(directory, entry.name), _is_directory(entry)
            if pattern == "**" and is_directory:
                if not entry.is_symlink():
                    pending.append(path)
            elif fnmatch.fnmatch(entry.name, pattern) and (is_directory or not only_directories):
                yield path


def _entries(directory: str, seen: set[tuple[int, int]]) -> list[os.DirEntry[str]] | None:
    """The sorted entries of a directory, None if it is in `seen`, to which it is added. Raises OSError."""
    if (identity := _identity(directory)) in seen:
        return None
    seen.add(identity)
    with os.scandir(directory) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _identity(path: str) -> tuple[int, int]:
    """Raises OSError."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _is_special(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a pipe or a device, which must not be opened."""
    try:
        return not entry.is_file() and os.path.exists(entry.path)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory with the patterns of what git ignores in it.

    `prefix` is its absolute path, with "/" at the end. `rules` are the patterns that apply to its entries, nearest
    first, each with the length of the prefix of its own directory; `weight` is their total weight.
    """

    prefix: str = ""
    rules: tuple[tuple[int, Globs], ...] = ()
    weight: int = 0
    is_ignored: bool = False

    def ignores(self, name: str) -> bool:
        """Whether git ignores an entry, given its name, with "/" after that of a directory."""
        path = self.prefix + name
        for length, globs in self.rules:
            if (verdict := globs.verdict(path[length:])) is not None:
                return verdict
        return self.is_ignored


class _Search:
    """One run of discovery, with the patterns and ignore files read so far. Enters each directory once."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder
        self._seen: set[tuple[int, int]] = set()
        self._patterns: dict[tuple[tuple[str, ...], ...], Globs] = {}
        self._folders: dict[str, _Folder] = {}
        self._links: list[str] = []
        self.left_out: list[str] = []
        """The first path that patterns of the project exclude, if any."""

    def walk(self, top: str) -> Iterator[str]:
        """Files below a directory. Links to directories are not followed, as one can lead to the whole disk."""
        pending = [os.path.normpath(top)]
        if self.is_left_out(top, is_directory=True):
            self.left_out.append(pending.pop())
        while pending:
            directory = pending.pop()
            try:
                entries = _entries(directory, self._seen)
            except OSError as error:
                self._finder.note(directory, error.strerror or str(error))
                continue
            settings = self._finder.of_directory(directory)
            excluded, included = self._excluded(settings), self._included(settings)
            folder = self._folder(directory) if settings.respect_gitignore else _Folder()
            inside, outside = _relative(directory, settings)
            takes_all = included.covers(outside + inside)
            prefix = os.path.join(directory, "") if directory != os.curdir else ""
            for entry in entries or ():
                path, is_directory = prefix + entry.name, _is_directory(entry)
                name = entry.name + "/" if is_directory else entry.name
                if excluded.verdict(inside + name) or folder.ignores(name):
                    is_checked = is_directory or takes_all or included.verdict(outside + inside + name)
                    if not self.left_out and is_checked and not self._usually_excluded.verdict(name):
                        self.left_out.append(path)
                    continue
                if not is_directory:
                    if (takes_all or included.verdict(outside + inside + name)) and not _is_special(entry):
                        yield path
                elif entry.is_symlink():
                    self._links.append(path)
                else:
                    pending.append(path)

    def note_links(self) -> None:
        """Note the links to directories that were not reached by another path."""
        for path in self._links:
            try:
                if _identity(path) not in self._seen:
                    self._finder.note(path, "a link to a directory outside the search; name it to check it")
            except OSError:  # deleted in the meantime
                continue

    def note_left_out(self) -> None:
        """Note a path that patterns exclude, lest a project that excludes everything looks checked."""
        for path in self.left_out[:1]:
            self._finder.note(path, "excluded by the settings or .gitignore, and there is no other file to check")

    def is_left_out(self, path: str, is_directory: bool = False) -> bool:
        """Whether the settings or git exclude a path or a directory above it."""
        directory, name = (path, "") if is_directory else os.path.split(path)
        settings = self._finder.of_directory(directory)
        if self._excluded(settings).covers(_relative(directory, settings)[0] + name):
            return True
        folder = self._folder(directory) if settings.respect_gitignore else _Folder()
        return folder.is_ignored or (not is_directory and folder.ignores(name))

    @cached_property
    def _usually_excluded(self) -> Globs:
        return Globs(Settings().exclude)

    def _excluded(self, settings: Settings) -> Globs:
        return self._globs(settings, "exclude", settings.exclude, settings.extend_exclude)

    def _included(self, settings: Settings) -> Globs:
        by_extension = tuple(f"*.{extension}" for extension, _ in settings.extension)
        return self._globs(settings, "include", settings.include, by_extension)

    def _globs(self, settings: Settings, key: str, *patterns: tuple[str, ...]) -> Globs:
        if patterns not in self._patterns:
            globs = Globs(chain(*patterns))
            if globs.weight > MAX_WEIGHT:
                raise SettingsError(f"{settings.source or 'settings'}: {key}: {TOO_HEAVY}")
            self._patterns[patterns] = globs
        return self._patterns[patterns]

    def _folder(self, directory: str) -> _Folder:
        """A directory with the patterns that apply in it; those above the repository do not.

        Only the directories above the latest one are cached: each can have a megabyte of patterns.
        """
        directory = os.path.abspath(directory)
        passed = []
        while (folder := self._folders.get(directory)) is None:
            passed.append(directory)
            parent = os.path.dirname(directory)
            if parent == directory or os.path.exists(os.path.join(directory, ".git")):
                break
            directory = parent
        while self._folders and next(reversed(self._folders)) != directory:
            self._folders.popitem()
        for directory in reversed(passed):
            folder = self._folders[directory] = self._folder_in(folder, directory)
        assert folder is not None
        return folder

    def _folder_in(self, above: _Folder | None, directory: str) -> _Folder:
        prefix = _absolute(directory)
        names: tuple[str, ...] = (".gitignore",)
        if above is None:
            above, names = _Folder(), (os.path.join(".git", "info", "exclude"), ".gitignore")
        elif above.ignores(os.path.basename(directory) + "/"):
            return _Folder(prefix, is_ignored=True)
        rules, weight = above.rules, above.weight
        for name in names:
            path = os.path.join(directory, name)
            if text := self._finder.text(path).removeprefix("\ufeff"):
                globs = Globs(line.removesuffix("\r") for line in text.split("\n"))
                if len(rules) == MAX_IGNORE_FILES:
                    self._finder.note(path, f"there are {MAX_IGNORE_FILES} such files above it")
                elif weight + globs.weight > MAX_WEIGHT:
                    self._finder.note(path, f"{TOO_HEAVY}, with the files above it")
                else:
                    rules, weight = ((len(prefix), globs), *rules), weight + globs.weight
        return _Folder(prefix, rules, weight)


def _relative(directory: str, settings: Settings) -> tuple[str, str]:
    """Where a directory is below the root of its settings, with "/" at the end; "" and "../" if it is elsewhere."""
    path, root = _absolute(directory), _absolute(settings.root)
    return (path[len(root) :], "") if path.startswith(root) else ("", "../")


def _absolute(directory: str) -> str:
    return os.path.join(os.path.abspath(directory), "").replace(os.sep, "/")
