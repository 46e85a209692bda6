"""Loading rules: the shipped pack, folders of the user and installed packs."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

from gpulint.linting.rule import Rule
from gpulint.settings import Settings

SHIPPED = "gpulint.rules"
ENTRY_POINTS = "gpulint.rules"
"""Entry-point group of installed packs: each names a package of rule modules."""

VERSION = 1
"""Version of `gpulint.plugin`."""

CODE = re.compile(r"[A-Z]{1,4}[0-9]{3}\Z")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")

_WITH_METADATA = (".dist-info", ".egg-info")
"""Endings of the folders beside an installed distribution that describe it."""


class PackError(Exception):
    """A rule module that cannot be loaded, or an incomplete rule. The message names the module."""


class NoFolder(PackError):
    """A rule folder that does not exist."""


Pack = tuple[type[Rule], ...]
"""All rules, sorted by code."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Where rules come from besides the shipped pack: `folders`, by absolute path, and `installed` packs.

    With `withheld` the configuration names more folders that the user does not trust.
    """

    folders: tuple[str, ...] = ()
    installed: bool = True
    withheld: bool = False

    @classmethod
    def of(cls, settings: Settings, installed: bool = True) -> Sources:
        """The sources that settings name. Settings from a SettingsFinder name only trusted folders."""
        folders = (os.path.abspath(os.path.join(settings.root, path)) for path in settings.rule_paths)
        return cls(tuple(folders), installed, settings.withheld is not None)


class Loaded(NamedTuple):
    """Rules, sorted by code, and a line for each pack that could not be loaded, with the traceback."""

    rules: Pack
    faults: tuple[tuple[str, str], ...] = ()


def load(rule_paths: Iterable[str] = (), installed: bool = True) -> Pack:
    """The shipped rules, those in `rule_paths` and those of installed packs, sorted by code.

    Raises PackError if one of the packs cannot be loaded.
    """
    loaded = load_each(rule_paths, installed)
    if loaded.faults:
        raise PackError(loaded.faults[0][0])
    return loaded.rules


def load_each(rule_paths: Iterable[str] = (), installed: bool = True) -> Loaded:
    """As `load`, without the packs that cannot be loaded.

    Raises PackError for the shipped rules, and for a folder that does not exist.
    """
    rules = _shipped()
    faults = []
    for pack in [*map(_folder, rule_paths), *map(_package, _entry_points() if installed else ())]:
        try:
            rules = _rules_in(pack, rules)
        except NoFolder:
            raise
        except PackError as error:
            faults.append((f"{error}; the rules of this pack are not used", traceback.format_exc()))
    return Loaded(tuple(rules[code] for code in sorted(rules)), tuple(faults))


@cache
def _shipped() -> dict[str, type[Rule]]:
    """The shipped rules, keyed by code. Raises PackError. Callers do not change the result."""
    return _rules_in(_package(SHIPPED), {})


def _rules_in(modules: Iterable[ModuleType], others: Mapping[str, type[Rule]]) -> dict[str, type[Rule]]:
    """The rules of modules and `others`, keyed by code. Raises PackError."""
    rules = dict(others)
    for module in modules:
        for rule in _rules_of(module):
            _register(rules, rule, module)
    return rules


def _entry_points() -> list[str]:
    if not has_installed():
        return []
    from importlib.metadata import entry_points

    return [point.value for point in entry_points(group=ENTRY_POINTS)]


def has_installed() -> bool:
    """Whether an installed distribution can have a pack. Reading the directories is faster than importing
    `importlib.metadata`."""
    wanted = f"[{ENTRY_POINTS}]".encode()
    for directory in sys.path:
        try:
            names = os.listdir(directory or ".")
        except NotADirectoryError:  # an archive
            return True
        except OSError:
            continue
        for name in names:
            if name.endswith(_WITH_METADATA):
                try:
                    with open(os.path.join(directory, name, "entry_points.txt"), "rb") as file:
                        if wanted in file.read():
                            return True
                except OSError:
                    pass
    return False


def _package(name: str) -> Iterator[ModuleType]:
    package = _imported(name)
    for info in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        if not info.ispkg:
            yield _imported(info.name)


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # any failure of a rule module stops the run, and names the module
        raise PackError(f"rule module {name} cannot be imported: {type(error).__name__}: {error}") from error


def _folder(path: str) -> Iterator[ModuleType]:
    if not os.path.isdir(path):
        raise NoFolder(f"rule-paths: {path} is not a directory")
    for directory, directories, files in os.walk(path):
        directories.sort()
        for file in sorted(files):
            if file.endswith(".py") and not file.startswith("_"):
                yield _from_file(os.path.join(directory, file))


def _from_file(path: str) -> ModuleType:
    name = "gpulint_rules_" + re.sub(r"\W", "_", os.path.abspath(path))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PackError(f"rule module {path} does not import")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # any failure of a rule module stops the run
        raise PackError(f"rule module {path} cannot be imported: {type(error).__name__}: {error}") from error
    return module


@cache
def _events() -> frozenset[str]:
    """Names of all events. Imports the analysis, which a cached run does not need."""
    from gpulint.analysis.plan import events

    return frozenset(
        name for name, value in vars(events).items() if isinstance(value, type) and issubclass(value, events.Event)
    )


def _rules_of(module: ModuleType) -> list[type[Rule]]:
    return [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Rule)
        and value is not Rule
        and value.__module__ == module.__name__
    ]


def _register(rules: dict[str, type[Rule]], rule: type[Rule], module: ModuleType) -> None:
    where = f"{module.__file__}: rule {rule.__name__}"
    for attribute in ("code", "name", "severity", "why", "instead"):
        if not hasattr(rule, attribute):
            raise PackError(f"{where} has no `{attribute}`")
    if not CODE.match(rule.code):
        raise PackError(f"{where}: `{rule.code}` is not a rule code (letters and three digits)")
    if not _NAME.match(rule.name):
        raise PackError(f"{where}: `{rule.name}` is not a rule name (lower-case words joined by -)")
    if rule.api_version > VERSION:
        needs = f"needs version {rule.api_version} of `gpulint.plugin`"
        raise PackError(f"{where} {needs}, and this gpulint has version {VERSION}")
    if not (rule.__doc__ or "").strip():
        raise PackError(f"{where} has no docstring")
    for event, method in rule.subscriptions().items():
        if event not in _events():
            from difflib import get_close_matches

            close = get_close_matches(event, _events(), 1)
            meant = f"; did you mean the method for `{close[0]}`?" if close else ""
            raise PackError(f"{where}: `{method}` receives nothing, because there is no event `{event}`{meant}")
    for other in rules.values():
        if other.code == rule.code or other.name == rule.name:
            raise PackError(f"{where}: {rule.code} ({rule.name}) is taken by {other.__module__}")
    rules[rule.code] = rule
