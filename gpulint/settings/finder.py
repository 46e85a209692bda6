"""Which settings apply to which file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from gpulint.settings.guarded import GUARDED, as_trusted
from gpulint.settings.loading import FILE_NAMES, Configurations, apply, override
from gpulint.settings.model import NEWEST_TENSORFLOW, Settings
from gpulint.settings.project_texts import ProjectTexts
from gpulint.settings.target import TargetReleases
from gpulint.settings.toml import KeyPlaces
from gpulint.settings.trust import Trust

_OF_EDITOR = "gpulint.settings of the editor"


class SettingsFinder:
    """The settings of each file: those of the nearest directory with a configuration file.

    With `fixed` all files have the same; with `isolated` no file is read. `overrides` are the user's own tables, which
    win. `root` is that of settings that come from no file, by default the working directory. If nothing sets the
    TensorFlow release, the nearest requirements or container files do.

    `trust` decides which `rule-paths`, limits and fixes of configuration files and of `editor` apply; `editor` is the
    table of an editor that has `root` open: it wins over files, and the user's own tables over it.
    """

    def __init__(
        self,
        fixed: Settings | None = None,
        isolated: bool = False,
        overrides: tuple[Mapping[str, Any], ...] = (),
        root: str = "",
        trust: Trust | None = None,
        editor: Mapping[str, Any] | None = None,
    ) -> None:
        self._root = root or os.getcwd()
        self._trust = trust or Trust()
        self._editor = editor or {}
        self._isolated = isolated
        self._default = Settings(root=self._root, src=())
        """Settings that come from no file. Their imports are looked for above each file only: which those of a file are
        must not depend on the working directory."""
        self._fixed = fixed or (self._default if isolated else None)
        self._overrides = overrides
        self._known: dict[str, Settings] = {}
        self._searched: dict[str, Settings] = {}
        self._trusted: dict[str, Settings] = {}
        """The settings of each configuration file, as far as they are trusted."""
        self._configurations = Configurations()
        self._texts = ProjectTexts()
        self._targets = TargetReleases(self._texts.text)

    def within(self, root: str, fixed: Settings | None, table: Mapping[str, Any]) -> SettingsFinder:
        """A finder with the same options for a folder that an editor has open.

        `table` has the editor's settings, `fixed` those of the file that they name.
        """
        if fixed is not None:
            fixed = replace(fixed, folders=(*fixed.folders, root))
        own = None if self._isolated else self._fixed
        return SettingsFinder(fixed or own, self._isolated, self._overrides, root, self._trust, table)

    def trusting(self, folder: str) -> SettingsFinder:
        """A finder with the same options that also trusts a folder."""
        trust = self._trust.accepting(folder)
        return SettingsFinder(self._fixed, self._isolated, self._overrides, self._root, trust, self._editor)

    @property
    def asked(self) -> Settings:
        """The options over the defaults. Raises SettingsError."""
        return reduce(override, self._overrides, Settings())

    def of_directory(self, directory: str) -> Settings:
        """Raises SettingsError."""
        directory = os.path.abspath(directory)
        if directory not in self._known:
            settings = self._within_trust(self._fixed or self._search(directory))
            for table in self._overrides:
                settings = override(settings, table)
            if not (settings.target_asked or self._isolated or settings.target_tensorflow != NEWEST_TENSORFLOW):
                if (found := self._targets.of(directory)) is not None:
                    settings = replace(settings, target_tensorflow=found.release, target_origin=found.file)
            self._known[directory] = settings
        return self._known[directory]

    def of_file(self, path: str) -> Settings:
        """Raises SettingsError."""
        known = self._known.get(os.path.dirname(path))  # keys are absolute paths
        return known or self.of_directory(os.path.dirname(os.path.abspath(path)))

    @property
    def notes(self) -> list[str]:
        """Files and settings of the project that were ignored, one line each with the reason."""
        return self._texts.notes

    def text(self, path: str) -> str:
        """Text of a file that describes the project, "" if it is missing or cannot be read: `notes` says why."""
        return self._texts.text(path)

    def note(self, path: str, reason: str) -> None:
        """Record that a file or a directory is ignored."""
        self._texts.note(f"{path}: ignored: {reason}")

    def _within_trust(self, settings: Settings) -> Settings:
        """Settings of a file with the editor's on top, as far as both are trusted. Raises SettingsError."""
        if settings.source not in self._trusted:
            notes: list[str] = []
            trusted = settings
            if settings.folders:
                trusted, notes = as_trusted(trusted, self._trust, settings.source, settings.folders, GUARDED)
            if self._editor:
                trusted = apply(trusted, self._editor, KeyPlaces(_OF_EDITOR))
                guarded = GUARDED.intersection(key.replace("-", "_") for key in self._editor)
                trusted, more = as_trusted(trusted, self._trust, _OF_EDITOR, [self._root], guarded)
                notes += more
            for line in notes:
                self._texts.note(line)
            self._trusted[settings.source] = replace(trusted, folders=())
        return self._trusted[settings.source]

    def _search(self, directory: str) -> Settings:
        """Settings of the nearest directory that has any. Raises SettingsError."""
        passed = []
        load = self._configurations.load
        while (settings := self._searched.get(directory)) is None:
            passed.append(directory)
            paths = [os.path.join(directory, name) for name in FILE_NAMES]
            settings = next((own for path in paths if os.path.isfile(path) and (own := load(path)) is not None), None)
            parent = os.path.dirname(directory)
            if settings is not None or parent == directory:
                break
            directory = parent
        settings = settings or self._default
        self._searched |= dict.fromkeys(passed, settings)
        return settings
