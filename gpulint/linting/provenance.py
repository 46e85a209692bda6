"""What stands for the files and lookups that an answer was made from, so that it can be told whether they changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import TypeVar

from gpulint.settings import Settings, SettingsFinder
from gpulint.sources.modules import Lookup

K = TypeVar("K")

_OF_OUTPUT = frozenset(
    {
        *("include", "exclude", "extend_exclude", "respect_gitignore", "force_exclude"),
        *("output_format", "baseline", "max_warnings", "fix", "unsafe_fixes", "cache_dir"),
    }
)
"""Settings that say which files are checked or what becomes of findings, not which findings there are."""


def digest(data: bytes) -> str:
    """What stands for bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class States:
    """The state of files by path: of their content, and of the settings that they are read with."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder
        self._known: dict[str, str] = {}
        self._settings: dict[Settings, str] = {}

    def of(self, path: str) -> str:
        """The state of a file, read at most once. Raises SettingsError."""
        if path not in self._known:
            self._known[path] = f"unreadable {self.of_settings(path)}"
            with suppress(OSError):
                self.note(path, self._finder.of_file(path).read(path))
        return self._known[path]

    def note(self, path: str, data: bytes) -> None:
        """Take `data` for the content of a file. Raises SettingsError."""
        self._known[path] = f"{digest(data)} {self.of_settings(path)}"

    def of_settings(self, path: str) -> str:
        """What stands for the settings of a file. Raises SettingsError."""
        settings = self._finder.of_file(path)
        if settings not in self._settings:
            values = [
                (one.name, getattr(settings, one.name))
                for one in fields(settings)
                if one.name not in _OF_OUTPUT and not one.name.startswith("probe_")
            ]
            self._settings[settings] = digest(repr(values).encode(errors="surrogatepass"))
        return self._settings[settings]


Roots = tuple[str, ...]


@dataclass(slots=True)
class MadeFrom:
    """What an answer was made from: the states of files by path, and by the directories that modules were looked for
    in which were found where, or were not."""

    files: dict[str, str] = field(default_factory=dict)
    lookups: dict[Roots, dict[Lookup, str | None]] = field(default_factory=dict)

    @classmethod
    def all_of(cls, several: Iterable[MadeFrom]) -> MadeFrom | None:
        """What several answers were made from; None where something changed from one to another."""
        together = cls()
        for one in several:
            if not _agree(together.files, one.files):
                return None
            together.files |= one.files
            for roots, lookups in one.lookups.items():
                known = together.lookups.setdefault(roots, {})
                if not _agree(known, lookups):
                    return None
                known |= lookups
        return together


def _agree(known: Mapping[K, str | None], others: Mapping[K, str | None]) -> bool:
    return all(known.get(key, value) == value for key, value in others.items())
