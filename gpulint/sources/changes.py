"""Changes since a revision: git's objects compared with the present files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping

from gpulint.sources.containment import relative_to
from gpulint.sources.git import LIMITS, Blob, GitError, Limits, Repository, TooLarge
from gpulint.sources.reading import read_file
from gpulint.sources.row_diff import EVERYWHERE, Places, new_places


class NoChanges(Exception):
    """git cannot tell what changed. The message is one line."""


class Changes:
    """Rows of the working tree that a revision lacks.

    Files are compared by row on first use, without git's filters. A file that the revision lacks is entirely new,
    unless the index records a rename. Every method raises NoChanges.
    """

    def __init__(self, repository: Repository, before: Mapping[str, Blob], read: Callable[[str], bytes]) -> None:
        self._repository = repository
        self._before = before
        self._read = read
        self._places: dict[str, Places] = {}

    def has_file(self, path: str) -> bool:
        """Whether anything in a file changed."""
        return bool(self._new(path))

    def has_rows(self, path: str, first: int, last: int) -> bool:
        """Whether one of the rows is new or changed, or rows between them were deleted."""
        return any(start <= 2 * last and 2 * first <= end for start, end in self._new(path))

    def _new(self, path: str) -> Places:
        if path not in self._places:
            try:
                self._places[path] = self._compared(path)
            except GitError as error:
                raise NoChanges(f"{path}: {error}") from None
        return self._places[path]

    def _compared(self, path: str) -> Places:
        # As git does: follow links to directories, but not one that is the file itself.
        directory, name = os.path.split(os.path.abspath(path))
        path = os.path.join(os.path.realpath(directory), name)
        before = self._before.get(relative_to(path, self._repository.top).replace(os.sep, "/"))
        if before is None:
            return EVERYWHERE
        is_link = os.path.islink(path)
        try:
            content = os.fsencode(os.readlink(path)) if is_link else self._read(path)
        except OSError:
            return EVERYWHERE
        if _is(before, content):
            return ()
        if is_link or before.is_link:
            return EVERYWHERE
        try:
            return new_places(self._repository.content(before), content)
        except TooLarge:
            return EVERYWHERE


def changes_since(
    revision: str, directory: str = ".", read: Callable[[str], bytes] = read_file, limits: Limits = LIMITS
) -> Changes:
    """The changes since a revision in the repository around a directory; `read` gives the content of a file.

    Raises NoChanges.
    """
    try:
        repository = Repository(directory, limits)
        commit = repository.commit(revision)
        before = repository.files(commit)
        return Changes(repository, {**repository.renamed(commit), **before}, read)
    except GitError as error:
        raise NoChanges(str(error)) from None


def _is(blob: Blob, content: bytes) -> bool:
    """Whether the name of a blob is that of this content."""
    kind = "sha1" if len(blob.name) == 40 else "sha256"
    digest = hashlib.new(kind, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.hexdigest() == blob.name
