"""What changed since a revision, according to git."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)


class NoChanges(Exception):
    """git cannot say what changed. The message is one line."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What the working tree has that a revision had not: rows of files, and files that git does not track.

    A place between two rows, where something was deleted, is halfway: row 3 is 6, between 3 and 4 is 7.
    """

    top: str
    touched: dict[str, tuple[tuple[int, int], ...]]
    tracked: frozenset[str]

    def has_file(self, path: str) -> bool:
        """Whether anything in a file changed."""
        name = self._named(path)
        return name in self.touched or name not in self.tracked

    def has_rows(self, path: str, first: int, last: int) -> bool:
        """Whether one of the rows is new or changed, or something between them is gone."""
        name = self._named(path)
        if name not in self.touched:
            return name not in self.tracked
        return any(start <= 2 * last and 2 * first <= end for start, end in self.touched[name])

    def _named(self, path: str) -> str:
        """As git names it: from the top of the repository. Only the directory's links are followed, as git does."""
        directory, name = os.path.split(os.path.abspath(path))
        return os.path.relpath(os.path.join(os.path.realpath(directory), name), self.top).replace(os.sep, "/")


def changes_since(revision: str, directory: str = ".") -> Changes:
    """What changed in the repository around a directory since a revision. Raises NoChanges."""
    top = os.fsdecode(_git(directory, "rev-parse", "--show-toplevel").removesuffix(b"\n"))
    try:
        commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except NoChanges:
        raise NoChanges(f"git knows no commit `{revision}`") from None
    # Both lists are of the same files in the same order; only the names end in NUL and can hold anything.
    common = ("diff", "--find-renames", "--ignore-submodules=all", os.fsdecode(commit.strip()))
    names = [new for _, new in _renamed(_git(top, *common, "--name-status", "-z"))]
    form = ("--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--patch")
    patch = _git(top, *common, *form)
    starts = [match.start() for match in _FILE.finditer(patch)]
    sections = [patch[start:end] for start, end in pairwise([*starts, len(patch)])]
    if len(sections) != len(names):
        raise NoChanges("git lists other files than it compares; is a merge unfinished?")
    touched = {name: tuple(_touched(section)) for name, section in zip(names, sections, strict=True)}
    tracked = frozenset(os.fsdecode(name) for name in _git(top, "ls-files", "-z").split(b"\0") if name)
    return Changes(os.path.realpath(top), touched, tracked)


def _renamed(listed: bytes) -> Iterator[tuple[str, str]]:
    """(old name, new name) of each file of `--name-status -z`."""
    fields = iter(listed.split(b"\0"))
    for status in fields:
        if status:
            old = os.fsdecode(next(fields))
            yield old, os.fsdecode(next(fields)) if status[:1] in (b"R", b"C") else old


def _touched(section: bytes) -> Iterator[tuple[int, int]]:
    for start, count in _HUNK.findall(section):
        first, number = int(start), int(count) if count else 1
        yield (2 * first, 2 * (first + number - 1)) if number else (2 * first + 1, 2 * first + 1)


def _git(directory: str, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", directory, *arguments],
            capture_output=True,
            check=False,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
        )
    except OSError as error:
        raise NoChanges(f"git does not run: {error.strerror or error}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise NoChanges(said.removeprefix("fatal: ") or f"git ends with {done.returncode}")
    return done.stdout
