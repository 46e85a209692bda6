"""What was found before and is found again without looking, as long as nothing that it was made from has changed.

There are two kinds of records. One holds what the programs in a file gave: files whose record is current are not
analysed again. The other holds what a whole run found, so that one in which nothing has changed need not even know the
rules. Both hold what they were made from: the content of each file that was looked into, the settings that it was read
with, and every module that was looked for, whether it was there or not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from gpulint.caching import records
from gpulint.caching.present import Present
from gpulint.caching.store import Store
from gpulint.linting.examined import Examined
from gpulint.linting.result import CheckResult
from gpulint.settings import SettingsError, SettingsFinder
from gpulint.sources.states import MadeFrom, digest

T = TypeVar("T")


class Cache:
    """The records of a run's projects, each below the root of its settings.

    `identity` stands for gpulint itself, its rules and Python. `directory` is that of all records, "" for the one that
    the settings of each file name. No method raises: what cannot be read or written is not there.
    """

    def __init__(self, finder: SettingsFinder, identity: str, directory: str = "") -> None:
        self._finder = finder
        self._identity = identity
        self._directory = directory
        self._stores: dict[str, Store] = {}
        self._present = Present(finder)

    @property
    def troubles(self) -> list[str]:
        """Why records could not be written, one line each."""
        return [store.trouble for store in self._stores.values() if store.trouble]

    def result(self, files: Sequence[str]) -> CheckResult | None:
        """What a run over these files, named as they are shown, would find. It begins the check: files are looked at
        anew, as some may have been written since the one before."""
        self._present = Present(self._finder)
        return self._current(_here(), _of_run(files), records.to_result)

    def examined(self, path: str, shown: Collection[str]) -> Examined | None:
        """What the programs in a file would give where the files in `shown` are checked. Paths are absolute."""
        found = self._current(path, _of_file(path), records.to_examined)
        if found is None or found.path != path or not found.elsewhere.isdisjoint(shown):
            return None
        return found

    def keep(
        self, files: Sequence[str], result: CheckResult, made_from: MadeFrom | None, fresh: Sequence[Examined]
    ) -> None:
        """Remember what a run came to, and what the files gave that were not known; then prune."""
        for part in fresh:
            if part.made_from is not None and part.analysed and not part.errors:  # the others are read as fast
                self._put(part.path, _of_file(part.path), part.made_from, records.of_examined, part)
        if made_from is not None:
            self._put(_here(), _of_run(files), made_from, records.of_result, result)
        for store in self._stores.values():
            store.prune()

    def _current(self, path: str, name: tuple[str, ...], decode: Callable[[Any], T]) -> T | None:
        """What a record of a file's project holds where that is current."""
        try:
            found = self._store(path).get(self._name(path, name))
            made_from, content = found if found is not None else (None, None)
            if made_from is not None and self._present.agrees_with(records.to_made_from(made_from)):
                return decode(content)
        except (SettingsError, TypeError, ValueError, AttributeError):
            pass  # a foreign record, or settings that are wrong, which is said where they are read
        return None

    def _put(
        self, path: str, name: tuple[str, ...], made_from: MadeFrom, encode: Callable[[T], Any], content: T
    ) -> None:
        try:
            self._store(path).put(self._name(path, name), [records.of_made_from(made_from), encode(content)])
        except (SettingsError, TypeError, ValueError, AttributeError):
            pass  # a rule of the user's reports what is no text

    def _name(self, path: str, name: tuple[str, ...]) -> str:
        """The name of a record: different settings have different ones."""
        parts = (*name, self._present.states.of_settings(path))
        return digest("\0".join(parts).encode(errors="surrogatepass"))

    def _store(self, path: str) -> Store:
        settings = self._finder.of_file(path)
        directory = self._directory or settings.cache_directory
        if directory not in self._stores:
            self._stores[directory] = Store(directory, self._identity)
        return self._stores[directory]


def _here() -> str:
    """A path in the working directory, the settings of which are those of a run."""
    return os.path.abspath("*")


def _of_run(files: Sequence[str]) -> tuple[str, ...]:
    return "run", os.getcwd(), *files


def _of_file(path: str) -> tuple[str, ...]:
    return "file", path
