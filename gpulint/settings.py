"""`[tool.gpulint]` in pyproject.toml, or gpulint.toml: one frozen `Settings` for each directory."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from gpulint.settings_values import WrongValue, converted
from gpulint.sources import requirements
from gpulint.sources.containment import is_below
from gpulint.sources.described import described
from gpulint.sources.reading import read_file
from gpulint.trust import Trust, Withheld, not_trusted

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAMES = (".gpulint.toml", "gpulint.toml", "pyproject.toml")
"""Configuration files, the first that is there wins."""

NEWEST_TENSORFLOW = "2.21"
"""The newest TensorFlow that the knowledge tables were checked against."""

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".gpulint_cache", ".hg", ".ipynb_checkpoints", ".mypy_cache",
    ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode",
    "__pypackages__", "_build", "buck-out", "build", "node_modules", "site-packages", "venv",
)  # fmt: skip
"""What discovery leaves out unless `exclude` says otherwise: ruff's defaults but for `dist`, which has sources only
where it is short for "distributed"."""


class SettingsError(Exception):
    """A configuration that gpulint does not understand. The message names file, place and remedy."""


class CacheOutside(Exception):
    """A cache directory that a configuration file puts outside its own folder. The message is one line."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user wants. Field names are those of the file, with `_` for `-`; those of the table `probe` begin so.

    `root` is the directory that globs and paths of the settings are relative to; `source` the file they came
    from ("" for the defaults). `target_asked` says that somebody asked for the `target_tensorflow`. `folders` are those
    of the configuration files, that of `source` first: what runs code or lifts limits counts if all are trusted. A
    SettingsFinder has applied that; it leaves rules that it must not load in `withheld`.
    """

    root: str = "."
    source: str = ""
    target_asked: bool = field(default=False, compare=False)
    folders: tuple[str, ...] = field(default=(), compare=False)
    withheld: Withheld | None = None
    include: tuple[str, ...] = ("*.py", "*.ipynb")
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    extension: tuple[tuple[str, str], ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    src: tuple[str, ...] = (".", "src")
    rule_paths: tuple[str, ...] = ()
    target_tensorflow: str = NEWEST_TENSORFLOW
    output_format: str = "text"
    baseline: str = ""
    max_warnings: int = -1
    cache_dir: str = ".gpulint_cache"
    max_file_seconds: int = 120
    max_file_memory: int = 8000
    max_file_size: int = 50
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    fix: bool = False
    unsafe_fixes: bool = False
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()
    probe_expect: tuple[str, ...] = ()
    probe_level: tuple[tuple[str, str], ...] = ()
    probe_timeout: float = 0
    probe_hang_after: float = 0
    probe_steps: int = 0
    probe_warmup: int = 3
    probe_strict: bool = False
    probe_without_gpu: str = "fail"
    probe_max_traces: int = 5
    probe_leak: float = 0.05
    probe_imbalance: float = 1.2
    probe_headroom: float = 0.9

    @property
    def cache_directory(self) -> str:
        """Absolute path of the directory that keeps results. Raises CacheOutside for one that is not below `root`."""
        directory = os.path.abspath(os.path.join(self.root, os.path.expanduser(self.cache_dir)))
        real, root = os.path.realpath(directory), os.path.realpath(self.root)
        if real == root or not is_below(real, root):
            raise CacheOutside(
                f"cache-dir: {directory} is not below {os.path.abspath(self.root)}; nothing is cached there, "
                "unless --cache-dir names it"
            )
        return directory

    def read(self, path: str) -> bytes:
        """Content of a file that is checked. Raises OSError, also for one larger than `max_file_size` megabytes."""
        return read_file(path, self.max_file_size * 1_000_000, "max-file-size")


LIMITS = ("max_file_seconds", "max_file_memory", "max_file_size")
"""Fields with what a file may take, 0 for any amount."""

_GUARDED = frozenset({"rule_paths", *LIMITS})
_DEFAULTS = Settings()
_OF_EDITOR = "gpulint.settings of the editor"


@dataclass(frozen=True, slots=True)
class Option:
    """One key of the configuration file: where it stands, its type and what it is for."""

    key: str
    table: str
    kind: str
    help: str

    @property
    def field(self) -> str:
        key = self.key.replace("-", "_")
        return f"probe_{key}" if self.table == "probe" else key

    @property
    def full(self) -> str:
        return f"{self.table}.{self.key}" if self.table else self.key


OPTIONS = (
    Option("include", "", "strings", "Glob patterns of the files that discovery picks up."),
    Option("exclude", "", "strings", "Patterns that discovery leaves out; replaces the defaults."),
    Option("extend-exclude", "", "strings", "Patterns to leave out in addition to `exclude`."),
    Option("extension", "", "language by extension", "Extensions that mean python, ipynb or markdown."),
    Option("respect-gitignore", "", "bool", "Leave out what git ignores."),
    Option("force-exclude", "", "bool", "Leave out excluded files even when they are named on the command line."),
    Option("src", "", "strings", "Directories that the project's imports are looked for in."),
    Option("rule-paths", "", "strings", "Directories with rules of your own; loaded only from trusted folders."),
    Option(
        "target-tensorflow",
        "",
        "version",
        'The TensorFlow release the program runs on, such as "2.16"; else what the project pins or names.',
    ),
    Option("output-format", "", "format", "The form of the output."),
    Option("baseline", "", "string", "File with the findings that are known, as with `--baseline`."),
    Option("cache-dir", "", "string", "Directory of what was found before, from that of this file."),
    Option("max-warnings", "", "int", "Exit with 1 only when there are more warnings than this (-1: any)."),
    Option("max-file-seconds", "", "count", "Processor time that one file may take before it is given up (0: any)."),
    Option("max-file-memory", "", "count", "Megabytes that checking a file may take before it is given up (0: any)."),
    Option("max-file-size", "", "count", "Megabytes of the largest file that is read (0: any)."),
    Option("fix", "", "bool", "Fix what can be fixed, as with `--fix`."),
    Option("unsafe-fixes", "", "bool", "Apply unsafe fixes, too, as with `--unsafe-fixes`."),
    Option("select", "lint", "rules", "Rules to turn on: codes, prefixes, names or ALL."),
    Option("ignore", "lint", "rules", "Rules to turn off."),
    Option("extend-select", "lint", "rules", "Rules to turn on in addition to `select`."),
    Option("per-file-ignores", "lint", "rules by pattern", "Rules to turn off in files that match a pattern."),
    Option("fixable", "lint", "rules", "Rules whose findings may be fixed."),
    Option("unfixable", "lint", "rules", "Rules whose findings are never fixed."),
    Option("severity", "lint", "severity by rule", "Another severity for a rule: error, warning, info or off."),
    Option("expect", "probe", "expectations", 'What a run is held against, such as "ops.on_gpu >= 90%".'),
    Option("level", "probe", "level by check", "Another level for a check of the probe: error, warn or off."),
    Option("timeout", "probe", "number", "Seconds after which the program is stopped (0: never)."),
    Option("hang-after", "probe", "number", "Seconds without a sign of life after which it is stopped (0: never)."),
    Option("steps", "probe", "count", "Training steps after the warm-up after which it is ended (0: none)."),
    Option("warmup", "probe", "count", "Training steps before those that count."),
    Option("strict", "probe", "bool", "Exit with 3 where something stays inconclusive."),
    Option("without-gpu", "probe", "fail or skip", "What becomes of expectations of GPUs where there is none."),
    Option("max-traces", "probe", "count", "Traces of one function that are no sign of trouble."),
    Option("leak", "probe", "number", "Share of a device's memory that it may fill steadily over the steps."),
    Option("imbalance", "probe", "number", "Greatest peak by least peak of the devices of a strategy."),
    Option("headroom", "probe", "number", "Share of a device's memory above which it is nearly full."),
)
"""Every key, once: read by the loader, by `gpulint config` and by the documentation."""

TABLES = ("lint", "probe")
_OPTIONS = {option.full: option for option in OPTIONS}


def load(path: str) -> Settings | None:
    """The settings in a file, with those it extends; None for a pyproject.toml without the table.

    Raises SettingsError.
    """
    return _load(os.path.abspath(path), ())


MAX_EXTENDED = 50
"""Configuration files that extend each other."""

MAX_DOTS = 1_000
"""Dots in a key of a configuration file: the time that tomllib takes grows with their square."""


def _has_endless_key(text: str) -> bool:
    rows = (row.split("=") for row in text.split("\n"))
    return any(part.count(".") > MAX_DOTS for parts in rows for part in parts[:-1] or parts)


def _parsed(text: str) -> dict[str, Any]:
    """A document of TOML. Raises ValueError."""
    if _has_endless_key(text):
        raise ValueError(f"a key has more than {MAX_DOTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("arrays or tables are nested too deeply") from None


def _load(path: str, seen: tuple[str, ...]) -> Settings | None:
    if path in seen:
        raise SettingsError(f"{path}: `extend` goes round in a circle")
    if len(seen) == MAX_EXTENDED:
        raise SettingsError(f"{seen[0]}: `extend` leads through more than {MAX_EXTENDED} files")
    try:
        data = read_file(path)
        document = _parsed(data.decode())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise SettingsError(f"{path}: {error}") from None
    if os.path.basename(path) == "pyproject.toml":
        tools = document.get("tool", {})
        table = tools.get("gpulint") if isinstance(tools, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise SettingsError(f"{_place(path, data, 'gpulint')}: `tool.gpulint` must be a table, not {_shown(table)}")
    else:
        table = document
    base = Settings()
    if (extended := table.pop("extend", None)) is not None:
        if not isinstance(extended, str):
            raise SettingsError(f"{_place(path, data, 'extend')}: `extend` must be a path")
        parent = os.path.join(os.path.dirname(path), os.path.expanduser(extended))
        base = _load(os.path.abspath(parent), (*seen, path)) or base
    place = _Place(path, data)
    folder = os.path.dirname(path)
    folders = dict.fromkeys((folder, os.path.dirname(os.path.realpath(path)), *base.folders))
    return replace(apply(base, table, place), root=folder, source=path, folders=tuple(folders))


class _Place:
    """Where a key stands, for messages."""

    def __init__(self, path: str, data: bytes = b"") -> None:
        self.path = path
        self.data = data

    def of(self, key: str) -> str:
        return _place(self.path, self.data, key)


def _place(path: str, data: bytes, key: str) -> str:
    pattern = re.compile(rf"""^\s*(\[.*\b{re.escape(key)}\]|["']?{re.escape(key)}["']?\s*=)""")
    for number, line in _own_lines(path, data):
        if pattern.match(line):
            return f"{path}:{number}"
    return path


def _own_lines(path: str, data: bytes) -> Iterator[tuple[int, str]]:
    """The numbered lines of a file that may be gpulint's: in pyproject.toml other tools have keys of the same names."""
    is_own = True
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        if line.startswith("[") and os.path.basename(path) == "pyproject.toml":
            is_own = line.startswith(("[tool.gpulint", "[tool]"))
        if is_own:
            yield number, line


def row_of(path: str, *parts: str) -> int:
    """The row of a configuration file on which all of some texts stand, 0 for none."""
    try:
        data = read_file(path)
    except OSError:
        return 0
    return next((row for row, line in _own_lines(path, data) if all(part in line for part in parts)), 0)


def apply(settings: Settings, table: Mapping[str, Any], place: _Place | None = None) -> Settings:
    """Settings changed by a table of the file's form. Raises SettingsError."""
    place = place or _Place("--config")
    values: dict[str, Any] = {}
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if key in TABLES and isinstance(value, dict):
            flat |= {f"{key}.{inner}": part for inner, part in value.items()}
        elif key in _OPTIONS and not _OPTIONS[key].table:
            flat[key] = value
        else:
            raise SettingsError(_unknown(key, place))
    for full, value in flat.items():
        option = _OPTIONS.get(full)
        if option is None:
            raise SettingsError(_unknown(full, place))
        try:
            values[option.field] = converted(option.kind, value)
        except WrongValue as wanted:
            raise SettingsError(f"{place.of(option.key)}: `{full}` must be {wanted}, not {_shown(value)}") from None
    if "target_tensorflow" in values:
        values["target_asked"] = True
    if "rule_paths" in values:
        values["withheld"] = None
    return replace(settings, **values)


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of tables in each other
        return "a value too long to show"
    return text if len(text) <= 80 else f"{text[:80]}…"


def _unknown(full: str, place: _Place) -> str:
    key = full.rpartition(".")[2]
    near = difflib.get_close_matches(full, _OPTIONS, 1, 0.5) or [
        name for name in _OPTIONS if name.rpartition(".")[2] == key
    ]
    hint = f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(_OPTIONS)}"
    return f"{place.of(key)}: unknown key `{full}`{hint}"


def parse_override(text: str) -> Mapping[str, Any]:
    """A `--config KEY=VALUE` as a table; dotted keys name tables. Raises SettingsError."""
    try:
        return _parsed(text)
    except ValueError as error:
        raise SettingsError(f"--config {_shown(text)}: {error}") from None


_Detector = Callable[[str, str, Callable[[str], str]], "str | None"]
"""Release named in a directory, given the directory, the newest release and how to read a file's text."""


MAX_DESCRIBED = 50_000_000
"""Bytes of the files that describe a project which are read in a run: thousands of names can be links to one file."""


class SettingsFinder:
    """The settings of each file: those of the nearest directory that has any.

    `fixed` are used for every file; with `isolated` no file is read. `overrides` are the user's own tables, put on top.
    `root` is that of settings that come from no file, by default the working directory. Where nobody asks for a
    TensorFlow it is the one that the nearest directory pins in which requirements stand.

    What configuration files and `editor` say of `rule-paths` and limits counts as far as the user's `trust` goes;
    `editor` is a table of an editor that has `root` open, between the files and the user's own.
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
        self._fixed = fixed or (Settings(root=self._root) if isolated else None)
        self._overrides = overrides
        self._known: dict[str, Settings] = {}
        self._searched: dict[str, Settings] = {}
        self._trusted: dict[str, Settings] = {}
        """What counts of the settings of each configuration file."""
        self._told: dict[tuple[str, str], str | None] = {}
        self._notes: dict[str, None] = {}
        self._described = 0
        """Bytes of the files that describe the project."""

    def within(self, root: str, fixed: Settings | None, table: Mapping[str, Any]) -> SettingsFinder:
        """One of the same kind for a folder that an editor has open, and whose settings of that editor name a file with
        `fixed`, in place of its own, and have a table."""
        if fixed is not None:
            fixed = replace(fixed, folders=(*fixed.folders, root))
        own = None if self._isolated else self._fixed
        return SettingsFinder(fixed or own, self._isolated, self._overrides, root, self._trust, table)

    def trusting(self, folder: str) -> SettingsFinder:
        """One of the same kind for a user who trusts a folder, too."""
        trust = self._trust.accepting(folder)
        return SettingsFinder(self._fixed, self._isolated, self._overrides, self._root, trust, self._editor)

    @property
    def asked(self) -> Settings:
        """What the user's own tables say, over the defaults. Raises SettingsError."""
        return reduce(apply, self._overrides, Settings(source="command line"))

    def of_directory(self, directory: str) -> Settings:
        """Raises SettingsError."""
        directory = os.path.abspath(directory)
        if directory not in self._known:
            settings = self._within_trust(self._fixed or self._search(directory))
            for table in self._overrides:
                settings = apply(settings, table)
            if not self._isolated and not settings.target_asked and settings.target_tensorflow == NEWEST_TENSORFLOW:
                settings = replace(settings, target_tensorflow=self._target(directory))
            self._known[directory] = settings
        return self._known[directory]

    def _within_trust(self, settings: Settings) -> Settings:
        """Settings of a file with the editor's on top, as far as the user trusts both. Raises SettingsError."""
        if settings.source not in self._trusted:
            trusted = settings
            if settings.folders:
                trusted = self._as_trusted(trusted, settings.source, settings.folders, _GUARDED)
            if self._editor:
                trusted = apply(trusted, self._editor, _Place(_OF_EDITOR))
                guarded = _GUARDED.intersection(key.replace("-", "_") for key in self._editor)
                trusted = self._as_trusted(trusted, _OF_EDITOR, [self._root], guarded)
            self._trusted[settings.source] = replace(trusted, folders=())
        return self._trusted[settings.source]

    def _as_trusted(
        self, settings: Settings, source: str, folders: Sequence[str], guarded: Collection[str]
    ) -> Settings:
        """Settings as far as the user trusts where their `guarded` fields come from: `folders` and those of rules."""
        changes: dict[str, Any] = {}
        for name in LIMITS:
            default, value = getattr(_DEFAULTS, name), getattr(settings, name)
            if name in guarded and not 0 < value <= default and (folder := self._trust.uncovered(folders)) is not None:
                changes[name] = default
                key = name.replace("_", "-")
                self._notes[f"{source}: {key} = {value} not applied, it stays {default}: {not_trusted(folder)}"] = None
        if "rule_paths" in guarded and settings.rule_paths:
            needed = [*folders, *(os.path.join(settings.root, path) for path in settings.rule_paths)]
            if (folder := self._trust.uncovered(needed)) is not None:
                is_enough = self._trust.accepting(folders[0]).uncovered(needed) is None
                remedy = os.path.realpath(folders[0]) if is_enough else ""
                changes |= {"rule_paths": (), "withheld": Withheld(source, settings.rule_paths, folder, remedy)}
        return replace(settings, **changes)

    def of_file(self, path: str) -> Settings:
        """Raises SettingsError."""
        known = self._known.get(os.path.dirname(path))  # whose keys are absolute
        return known or self.of_directory(os.path.dirname(os.path.abspath(path)))

    @property
    def notes(self) -> list[str]:
        """Files of the project, beside those that are checked, that were ignored, one line each with the reason."""
        return list(self._notes)

    def text(self, path: str) -> str:
        """Text of a file that describes the project, "" for one that is missing or cannot be read: `notes` says why."""
        if self._described > MAX_DESCRIBED:
            limit = f"only {MAX_DESCRIBED // 1_000_000} MB of .gitignore files, requirements and READMEs are read"
            self._notes[f"{limit}; the others are ignored"] = None
            return ""
        try:
            data = read_file(path)
            self._described += len(data)
            return data.decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ""
        except OSError as error:
            self.note(path, error.strerror or str(error))
            return ""

    def note(self, path: str, reason: str) -> None:
        """Record that a file or a directory is ignored."""
        self._notes[f"{path}: ignored: {reason}"] = None

    def _target(self, directory: str) -> str:
        """The release that a project's requirements pin or, if they leave it open, that it names elsewhere."""
        pinned = self._nearest(requirements.pinned, directory)
        if pinned in (None, requirements.ANY):
            pinned = self._nearest(described, directory)
        return pinned or NEWEST_TENSORFLOW

    def _nearest(self, told: _Detector, directory: str) -> str | None:
        """What a directory tells of the release, or the nearest of those above it in the project."""
        passed = []
        while (key := (told.__name__, directory)) not in self._told:
            passed.append(key)
            found = told(directory, NEWEST_TENSORFLOW, self.text)
            parent = os.path.dirname(directory)
            if found is not None or parent == directory or os.path.exists(os.path.join(directory, ".git")):
                self._told[key] = found
            else:
                directory = parent
        self._told |= dict.fromkeys(passed, self._told[key])
        return self._told[key]

    def _search(self, directory: str) -> Settings:
        """Settings of the nearest directory that has any. Raises SettingsError."""
        passed = []
        while (settings := self._searched.get(directory)) is None:
            passed.append(directory)
            paths = [os.path.join(directory, name) for name in FILE_NAMES]
            settings = next((own for path in paths if os.path.isfile(path) and (own := load(path)) is not None), None)
            parent = os.path.dirname(directory)
            if settings is not None or parent == directory:
                break
            directory = parent
        settings = settings or Settings(root=self._root)
        self._searched |= dict.fromkeys(passed, settings)
        return settings
