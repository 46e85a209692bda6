"""Reading configuration files: `[tool.gpulint]` in pyproject.toml, or gpulint.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from gpulint._version import __version__
from gpulint.settings.kinds import WrongValue, converted
from gpulint.settings.model import Settings, SettingsError
from gpulint.settings.options import OPTIONS, OPTIONS_BY_KEY, TABLES
from gpulint.settings.toml import KeyPlaces, parsed
from gpulint.sources.reading import read_file

FILE_NAMES = (".gpulint.toml", "gpulint.toml", "pyproject.toml")
"""Configuration files of a directory: the first one that exists counts."""

MAX_EXTENDED = 50
"""Maximum length of a chain of configuration files that extend each other."""


class _Document(NamedTuple):
    """The content of a configuration file: its table, None for a pyproject.toml without one, and what it extends."""

    table: Mapping[str, Any] | None
    extended: str | None


class Configurations:
    """Reads configuration files, each once: thousands of folders can have links to one file."""

    def __init__(self) -> None:
        self._documents: dict[tuple[Any, ...], _Document] = {}
        """Content, keyed by the file and whether it is read as a pyproject.toml."""
        self._settings: dict[tuple[Any, ...], Settings] = {}
        """Settings whatever their folder, keyed by a file and those that it extends."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes read the files that they need."""
        return Configurations, ()

    def load(self, path: str) -> Settings | None:
        """The settings of a file and of those that it extends; None for a pyproject.toml without `[tool.gpulint]`.

        Raises SettingsError.
        """
        found = self._load(os.path.abspath(path), ())
        return found[0] if found is not None else None

    def _load(self, path: str, seen: tuple[str, ...]) -> tuple[Settings, tuple[Any, ...]] | None:
        """Settings of a file, and their key."""
        if path in seen:
            raise SettingsError(f"{path}: `extend` forms a cycle")
        if len(seen) == MAX_EXTENDED:
            raise SettingsError(f"{seen[0]}: `extend` leads through more than {MAX_EXTENDED} files")
        key, document, places = self._read(path)
        if document.table is None:
            return None
        base = None
        if document.extended is not None:
            parent = os.path.join(os.path.dirname(path), os.path.expanduser(document.extended))
            base = self._load(os.path.abspath(parent), (*seen, path))
        inherited, parents = base or (Settings(), ())
        chain = (key, *parents)
        if chain not in self._settings:
            self._settings[chain] = apply(inherited, document.table, places)
        folder = os.path.dirname(path)
        folders = dict.fromkeys((folder, os.path.dirname(os.path.realpath(path)), *inherited.folders))
        origin = path if "target-tensorflow" in document.table else inherited.target_origin
        own = replace(self._settings[chain], root=folder, source=path, folders=tuple(folders), target_origin=origin)
        return own, chain

    def _read(self, path: str) -> tuple[tuple[Any, ...], _Document, KeyPlaces]:
        is_project = os.path.basename(path) == "pyproject.toml"
        try:
            status = os.stat(path)
            key = (status.st_dev, status.st_ino, is_project)
            if key in self._documents:
                return key, self._documents[key], KeyPlaces(path)
            data = read_file(path)
            document = parsed(data.decode())
        except OSError as error:
            raise SettingsError(f"{path}: {error.strerror or error}") from None
        except ValueError as error:  # not TOML, or not UTF-8
            raise SettingsError(f"{path}: {error}") from None
        places = KeyPlaces(path, data)
        if is_project:
            tools = document.get("tool", {})
            table = tools.get("gpulint") if isinstance(tools, dict) else None
            if table is not None and not isinstance(table, dict):
                raise SettingsError(f"{places.of('gpulint')}: `tool.gpulint` must be a table, not {_shown(table)}")
        else:
            table = document
        extended = table.pop("extend", None) if table is not None else None
        if extended is not None and not isinstance(extended, str):
            raise SettingsError(f"{places.of('extend')}: `extend` must be a path")
        self._documents[key] = _Document(table, extended)
        return key, self._documents[key], places


def load(path: str) -> Settings | None:
    """The result of `Configurations.load`, for one file."""
    return Configurations().load(path)


def apply(settings: Settings, table: Mapping[str, Any], places: KeyPlaces | None = None) -> Settings:
    """Settings overridden by a table as it is in a configuration file. Raises SettingsError."""
    places = places or KeyPlaces("--config")
    values: dict[str, dict[str, Any]] = {"": {}, **{table: {} for table in TABLES}}
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in TABLES and isinstance(value, dict):
            flat |= {f"{key}.{inner}": part for inner, part in value.items()}
        elif key in OPTIONS_BY_KEY and not OPTIONS_BY_KEY[key].table:
            flat[key] = value
        else:
            raise SettingsError(_unknown(key, places))
    for full, value in flat.items():
        option = OPTIONS_BY_KEY.get(full)
        if option is None:
            raise SettingsError(_unknown(full, places))
        try:
            values[option.table][option.field] = converted(option.kind, value)
        except WrongValue as wanted:
            raise SettingsError(f"{places.of(option.key)}: `{full}` must be {wanted}, not {_shown(value)}") from None
    own = values.pop("")
    if required := own.get("required_version"):
        from packaging.specifiers import SpecifierSet

        if not SpecifierSet(required).contains(__version__, prereleases=True):
            where = places.of("required-version")
            raise SettingsError(f"{where}: needs gpulint {required}, and this is {__version__}")
    if "target_tensorflow" in own:
        own["target_asked"], own["target_origin"] = True, places.path
    if "rule_paths" in own:
        own["withheld"] = None
    tables = {table: replace(getattr(settings, table), **given) for table, given in values.items()}
    return replace(settings, **own, **tables)


def override(settings: Settings, table: Mapping[str, Any]) -> Settings:
    """Settings overridden by a table of the user's own; its `extend-…` keys add to theirs. Raises SettingsError."""
    changed = apply(settings, table)
    given = {*table, *(f"{name}.{key}" for name in TABLES for key in table.get(name, ()))}
    for option in OPTIONS:
        if option.key.startswith("extend-") and option.full in given:
            whole: Any = {option.field: (*option.value(settings), *option.value(changed))}
            if option.table:
                whole = {option.table: replace(getattr(changed, option.table), **whole)}
            changed = replace(changed, **whole)
    return changed


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with thousands of digits, or tables nested thousands deep
        return "a value too long to show"
    return text if len(text) <= 80 else f"{text[:80]}…"


MAX_KEY = 100
"""Maximum length of a key for which a similar one is suggested."""


def _unknown(full: str, places: KeyPlaces) -> str:
    from difflib import get_close_matches

    key = full.rpartition(".")[2]
    near = get_close_matches(full[:MAX_KEY], OPTIONS_BY_KEY, 1, 0.5) or [
        name for name in OPTIONS_BY_KEY if name.rpartition(".")[2] == key
    ]
    hint = f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(OPTIONS_BY_KEY)}"
    return f"{places.of(key)}: unknown key `{full}`{hint}"


def parse_override(text: str) -> Mapping[str, Any]:
    """A `--config KEY=VALUE` as a table; dotted keys name tables. Raises SettingsError."""
    try:
        return parsed(text)
    except ValueError as error:
        raise SettingsError(f"--config {_shown(text)}: {error}") from None
