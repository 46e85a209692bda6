"""Provenance: the files and module lookups from which a result was computed, to tell whether they have changed."""

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
        *("output_format", "baseline", "max_warnings", "fix", "unsafe_fixes", "cache_dir", "probe"),
    }
)
"""Settings that select files or control output, and do not affect findings."""


def digest(data: bytes) -> str:
    """Digest of bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class States:
    """The states of files by path: digests of their content and settings."""

    def __init__(self, finder: SettingsFinder) -> None:
        self._finder = finder
        self._known: dict[str, str] = {}
        self._settings: dict[int, tuple[Settings, str]] = {}
        """Settings with their digests, by identity: they are long to hash."""

    def of(self, path: str) -> str:
        """The state of a file, read at most once. Raises SettingsError."""
        if path not in self._known:
            self._known[path] = f"unreadable {self.of_settings(path)}"
            with suppress(OSError):
                self.note(path, self._finder.of_file(path).read(path))
        return self._known[path]

    def note(self, path: str, data: bytes) -> None:
        """Record `data` as the content of a file. Raises SettingsError."""
        self._known[path] = f"{digest(data)} {self.of_settings(path)}"

    def of_settings(self, path: str) -> str:
        """Digest of the settings of a file. Raises SettingsError."""
        settings = self._finder.of_file(path)
        if id(settings) not in self._settings:
            values = [(one.name, getattr(settings, one.name)) for one in fields(settings) if one.name not in _OF_OUTPUT]
            self._settings[id(settings)] = settings, digest(repr(values).encode(errors="surrogatepass"))
        return self._settings[id(settings)][1]


Roots = tuple[str, ...]
"""The directories in which the imports of a file are looked for."""


@dataclass(slots=True)
class Provenance:
    """States of files by path, and results of module lookups, None for modules not found, by search directories."""

    files: dict[str, str] = field(default_factory=dict)
    lookups: dict[Roots, dict[Lookup, str | None]] = field(default_factory=dict)

    @classmethod
    def all_of(cls, several: Iterable[Provenance]) -> Provenance | None:
        """The union of several, None if they disagree because something changed in between."""
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
