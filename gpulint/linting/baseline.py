"""Baselines: known findings, which are not reported again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpulint.linting.finding import Finding
from gpulint.linting.own_codes import SYNTAX_ERROR
from gpulint.sources.containment import relative_to
from gpulint.sources.reading import read_file

VERSION = 1
"""Version of the file format."""

MAX_BYTES = 20_000_000
"""Largest baseline that is read: about 80,000 findings."""


class BaselineError(Exception):
    """A baseline that cannot be read or written. The message names the file, and the row if there is one."""


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One known finding. `path` is relative to the baseline's directory, with `/`."""

    path: str
    code: str
    context: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of one file."""

    file: str
    entries: frozenset[Entry] = frozenset()

    def fresh(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings that are not in the baseline. A file that cannot be read is always reported."""
        known = {one.fingerprint for one in self.entries}
        return [one for one in findings if one.code == SYNTAX_ERROR or one.fingerprint not in known]

    def stale(
        self, findings: Iterable[Finding], checked: Collection[str], has_other_importers: Callable[[str], bool]
    ) -> list[Entry]:
        """Entries that are no longer found: of checked files, and of files that no longer exist.

        A file with an importer that was not checked keeps its entries: what that file does with it can cause them.
        """
        found = {one.fingerprint for one in findings}
        unfound = [one for one in self.entries if one.fingerprint not in found]
        named = {self._named(path): path for path in checked}
        decided = {one.path for one in unfound if one.path in named and not has_other_importers(named[one.path])}
        return sorted(
            one for one in unfound if one.path in decided or not os.path.exists(os.path.join(self._directory, one.path))
        )

    def without(self, entries: Iterable[Entry]) -> Baseline:
        return Baseline(self.file, self.entries.difference(entries))

    def renewed(self, findings: Sequence[Finding], stale: Iterable[Entry]) -> Baseline:
        """The baseline with these findings, and without the stale entries."""
        found = {
            one.fingerprint: Entry(self._named(one.span.path), one.code, one.context, one.fingerprint)
            for one in findings
            if one.code != SYNTAX_ERROR
        }
        kept = self.entries.difference(stale)
        return Baseline(self.file, frozenset({one for one in kept if one.fingerprint not in found} | {*found.values()}))

    @property
    def _directory(self) -> str:
        return os.path.dirname(os.path.abspath(self.file))

    def _named(self, path: str) -> str:
        return relative_to(path, self._directory).replace(os.sep, "/")


def read(file: str) -> Baseline:
    """The baseline in a file. Raises BaselineError."""
    try:
        document = json.loads(read_file(file, MAX_BYTES).decode())
    except FileNotFoundError:
        raise BaselineError(f"{file}: does not exist yet: `gpulint check --write-baseline` creates it") from None
    except OSError as error:
        raise BaselineError(f"{file}: {error.strerror or error}") from None
    except json.JSONDecodeError as error:
        raise BaselineError(
            f"{file}:{error.lineno}:{error.colno}: is not a baseline: invalid JSON: {error.msg}"
        ) from None
    except (ValueError, RecursionError):  # no UTF-8, a number or nesting that Python does not take
        raise BaselineError(f"{file}: is not a baseline: not JSON") from None
    if not isinstance(document, dict) or not isinstance(document.get("findings"), list):
        raise BaselineError(f"{file}: is not a baseline: it has no list of `findings`")
    if (version := document.get("version")) != VERSION:
        known = f"version {version}" if isinstance(version, int) and 0 <= version < 1000 else "no known version"
        raise BaselineError(f"{file}: has {known}, this gpulint reads {VERSION}")
    return Baseline(file, frozenset(_entry(file, number, one) for number, one in enumerate(document["findings"])))


def _entry(file: str, number: int, value: Any) -> Entry:
    names = ("path", "code", "context", "fingerprint")
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in names):
        raise BaselineError(f"{file}: findings[{number}]: needs the strings {', '.join(names)}")
    return Entry(*(value[name] for name in names))


def rendered(baseline: Baseline) -> str:
    """The text of the file: sorted, one entry per line, so that version control can merge it."""
    rows = [
        json.dumps({"path": one.path, "code": one.code, "context": one.context, "fingerprint": one.fingerprint})
        for one in sorted(baseline.entries)
    ]
    listed = ",\n    ".join(rows)
    inside = f"\n    {listed}\n  " if rows else ""
    return f'{{\n  "version": {VERSION},\n  "findings": [{inside}]\n}}\n'
