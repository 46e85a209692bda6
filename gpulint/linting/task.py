"""A portion of a run as a value: other processes and machines can examine it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpulint.linting import pack
from gpulint.linting.engine import Checker
from gpulint.linting.examined import Examined
from gpulint.linting.selection import Catalogue
from gpulint.settings import SettingsFinder


@dataclass(frozen=True, slots=True)
class Task:
    """A portion of a run with everything needed to analyse it. Can be pickled."""

    paths: tuple[str, ...]
    finder: SettingsFinder
    rules: pack.Sources
    shown: frozenset[str]
    """Absolute paths of all files that are checked."""
    given: Mapping[str, bytes] = field(default_factory=dict)
    """Content, by absolute path, of files that differ from the disk."""
    edits: bool = True
    """Whether the fixes of findings need their edits."""

    def catalogue(self) -> Catalogue:
        """The rules. Raises PackError."""
        return Catalogue.load(self.rules)


def examine(task: Task) -> list[Examined]:
    """Results for the files of a portion: a pure function of the task and the files. Raises SettingsError,
    PackError."""
    return Checker(task.finder, task.catalogue(), edits=task.edits).examine(task.paths, task.shown, task.given)
