"""Whether what a result was computed from is unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from gpulint.linting.provenance import Provenance, Roots, States
from gpulint.settings import SettingsFinder
from gpulint.sources.modules import ModuleFinder


class Present:
    """The files as they are now: on disk, or as `given` by path where they differ from it."""

    def __init__(self, finder: SettingsFinder, given: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self.states = States(finder)
        self._given = given
        for path, data in given.items():
            self.states.note(path, data)
        self._finders: dict[Roots, ModuleFinder] = {}

    def agrees_with(self, provenance: Provenance) -> bool:
        """Whether nothing has changed since. Raises SettingsError."""
        if any(self.states.of(path) != provenance.files[path] for path in provenance.files.keys() & self._given.keys()):
            return False  # without reading the other files
        return all(self.states.of(path) == state for path, state in provenance.files.items()) and all(
            self._finder(roots).look(*lookup) == found
            for roots, lookups in provenance.lookups.items()
            for lookup, found in lookups.items()
        )

    def _finder(self, roots: Roots) -> ModuleFinder:
        if roots not in self._finders:
            self._finders[roots] = ModuleFinder(roots)
        return self._finders[roots]
