"""Results of earlier runs, reused while nothing that they were computed from has changed.

There are two kinds of records. One holds the results of a file: files with a current record are not analysed again. The
other holds the result of a whole run: a run in which nothing has changed does not even load the rules. Both list what
they were computed from: the content of each file that was read, its settings, and every module that was looked up,
whether it was found or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from gpulint.caching import records
from gpulint.caching.key import NoKey, secret
from gpulint.caching.present import Present
from gpulint.caching.recalled import RecalledTexts
from gpulint.caching.store import Store
from gpulint.linting.examined import Examined
from gpulint.linting.provenance import Provenance, digest
from gpulint.linting.result import CheckResult
from gpulint.settings import CacheOutside, SettingsError, SettingsFinder

T = TypeVar("T")


class Cache:
    """The records of a run's projects, each below the root of its settings.

    `identity` identifies gpulint itself, its rules and Python. `directory` is for all records, "" for the one in the
    settings of each file. With `edits` the run needs the edits of fixes, which no record has. `given` is the content,
    by path, of files that differ from the disk. No method raises: a record that cannot be read or written is treated as
    missing. Creating a cache raises SettingsError if the settings of a file in `given` are wrong.
    """

    def __init__(
        self,
        finder: SettingsFinder,
        identity: str,
        directory: str = "",
        edits: bool = False,
        given: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        self._finder = finder
        self._identity = identity
        self._directory = directory
        self._edits = edits
        self._stores: dict[str, Store] = {}
        self._given = given
        self._present = Present(finder, given)
        self._key = b""
        self._without_key = ""
        self._outside: dict[str, None] = {}
        try:
            self._key = secret()
        except NoKey as error:
            self._without_key = str(error)

    @property
    def refusals(self) -> list[str]:
        """Directories that must not be used as a cache, one line each."""
        return [*self._outside, *(store.refusal for store in self._stores.values() if store.refusal)]

    @property
    def troubles(self) -> list[str]:
        """Why records could not be written, one line each."""
        written = [store.trouble for store in self._stores.values() if store.trouble]
        return [self._without_key, *written] if self._without_key else written

    def result(self, files: Sequence[str]) -> tuple[CheckResult, RecalledTexts] | None:
        """The result of a run over these files (as the user gave them) and their texts, None if it is not known. Starts
        a check: files are read again, as they may have changed since the last one."""
        self._present = Present(self._finder, self._given)
        texts = RecalledTexts(self._finder)

        def decode(plain: Any, provenance: Provenance) -> CheckResult | None:
            found = records.to_result(plain, files)
            findings = [*found.findings, *(one.finding for one in found.suppressed)]
            if self._edits and any(one.fix is not None for one in findings):
                return None
            return found if texts.hold(findings, provenance) else None

        found = self._current(_here(), self._of_run(files), decode)
        return (found, texts) if found is not None else None

    def examined(self, path: str, shown: Collection[str]) -> Examined | None:
        """The results of a file if the files in `shown` are checked, None if they are not known. Paths are absolute."""

        def decode(plain: Any, provenance: Provenance) -> Examined | None:
            found = records.to_examined(plain, provenance.files)
            found.provenance, found.readings = provenance, provenance.files
            return found

        found = self._current(path, _of_file(path), decode)
        if found is None or found.path != path or not found.elsewhere.isdisjoint(shown):
            return None
        needed = (one for one in found.candidates if one.finding.span.path in shown)
        return None if self._edits and any(one.offer is not None for one in needed) else found

    def keep(
        self, files: Sequence[str], result: CheckResult, provenance: Provenance | None, fresh: Sequence[Examined]
    ) -> None:
        """Store the result of a run and of its `fresh` files; then prune."""
        for part in fresh:
            if part.provenance is not None and not part.errors and all(one.fault is None for one in part.candidates):
                self._put(part.path, _of_file(part.path), part.provenance, records.of_examined, part)
        if provenance is not None:
            self._put(_here(), self._of_run(files), provenance, records.of_result, result)
        for store in self._stores.values():
            store.prune()

    def _current(self, path: str, name: tuple[str, ...], decode: Callable[[Any, Provenance], T | None]) -> T | None:
        """The content of a record of a file's project, None if it is missing or not current."""
        try:
            if (store := self._store(path)) is None or (found := store.get(self._name(path, name))) is None:
                return None
            provenance = records.to_provenance(found[0])
            return decode(found[1], provenance) if self._present.agrees_with(provenance) else None
        except (SettingsError, TypeError, ValueError, LookupError):
            return None  # a malformed record, or wrong settings, which are reported when they are read

    def _put(
        self, path: str, name: tuple[str, ...], provenance: Provenance, encode: Callable[[T], Any], content: T
    ) -> None:
        try:
            if (store := self._store(path)) is not None:
                store.put(self._name(path, name), [records.of_provenance(provenance), encode(content)])
        except (SettingsError, TypeError, ValueError, AttributeError):
            pass  # a plug-in rule reported something that is not text

    def _name(self, path: str, name: tuple[str, ...]) -> str:
        """The name of a record, which depends on the settings."""
        parts = (*name, self._present.states.of_settings(path))
        return digest("\0".join(parts).encode(errors="surrogatepass"))

    def _store(self, path: str) -> Store | None:
        """The store for a file, None if nothing may be cached for it. Raises SettingsError."""
        if not self._key:
            return None
        try:
            directory = self._directory or self._finder.of_file(path).cache_directory
        except CacheOutside as error:
            self._outside[str(error)] = None
            return None
        if directory not in self._stores:
            self._stores[directory] = Store(directory, self._identity, self._key)
        return self._stores[directory]

    def _of_run(self, files: Sequence[str]) -> tuple[str, ...]:
        return "run with edits" if self._edits else "run", os.getcwd(), *files


def _here() -> str:
    """A path in the working directory, whose settings are those of a run."""
    return os.path.abspath("*")


def _of_file(path: str) -> tuple[str, ...]:
    return "file", path
