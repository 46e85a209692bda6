"""`[tool.gpulint]` in pyproject.toml, or gpulint.toml: one frozen `Settings` for each directory."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpulint.settings_values import WrongValue, converted
from gpulint.sources import requirements
from gpulint.sources.described import described
from gpulint.sources.reading import read_file

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


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user wants. Field names are those of the file, with `_` for `-`; those of the table `probe` begin so.

    `root` is the directory that globs and paths of the settings are relative to; `source` the file they came
    from ("" for the defaults). `target_asked` says that somebody asked for the `target_tensorflow`.
    """

    root: str = "."
    source: str = ""
    target_asked: bool = field(default=False, compare=False)
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
    probe_hang_after: float = 600
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
        """The absolute path of the directory in which what was found is remembered."""
        return os.path.abspath(os.path.join(self.root, os.path.expanduser(self.cache_dir)))

    def read(self, path: str) -> bytes:
        """Content of a file that is checked. Raises OSError, also for one larger than `max_file_size` megabytes."""
        return read_file(path, self.max_file_size * 1_000_000, "max-file-size")


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
    Option("rule-paths", "", "strings", "Directories with rules of your own."),
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


def _load(path: str, seen: tuple[str, ...]) -> Settings | None:
    if path in seen:
        raise SettingsError(f"{path}: `extend` goes round in a circle")
    try:
        data = read_file(path)
        document: dict[str, Any] = tomllib.loads(data.decode())
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number too long to convert
        raise SettingsError(f"{path}: {error}") from None
    if os.path.basename(path) == "pyproject.toml":
        tools = document.get("tool", {})
        table = tools.get("gpulint") if isinstance(tools, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise SettingsError(f"{_place(path, data, 'gpulint')}: `tool.gpulint` must be a table, not {table!r}")
    else:
        table = document
    base = Settings()
    if (extended := table.pop("extend", None)) is not None:
        if not isinstance(extended, str):
            raise SettingsError(f"{_place(path, data, 'extend')}: `extend` must be a path")
        parent = os.path.join(os.path.dirname(path), os.path.expanduser(extended))
        base = _load(os.path.abspath(parent), (*seen, path)) or base
    place = _Place(path, data)
    return replace(apply(base, table, place), root=os.path.dirname(path), source=path)


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
            raise SettingsError(f"{place.of(option.key)}: `{full}` must be {wanted}, not {value!r}") from None
    if "target_tensorflow" in values:
        values["target_asked"] = True
    return replace(settings, **values)


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
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"--config {text}: {error}") from None


_Detector = Callable[[str, str, Callable[[str], str]], "str | None"]
"""Release named in a directory, given the directory, the newest release and how to read a file's text."""


class SettingsFinder:
    """The settings of each file: those of the nearest directory that has any.

    `fixed` are used for every file; with `isolated` no file is read. `overrides` are tables put on top. `root` is that
    of settings that come from no file, by default the working directory. Where nobody asks for a TensorFlow it is the
    one that the nearest directory pins in which requirements stand.
    """

    def __init__(
        self,
        fixed: Settings | None = None,
        isolated: bool = False,
        overrides: tuple[Mapping[str, Any], ...] = (),
        root: str = "",
    ) -> None:
        self._root = root or os.getcwd()
        self._isolated = isolated
        self._fixed = fixed or (Settings(root=self._root) if isolated else None)
        self._overrides = overrides
        self._known: dict[str, Settings] = {}
        self._told: dict[tuple[str, str], str | None] = {}
        self._notes: dict[str, None] = {}

    def within(self, root: str, fixed: Settings | None, table: Mapping[str, Any]) -> SettingsFinder:
        """One of the same kind for another root, with `fixed` in place of its own and a table on top of the others."""
        own = None if self._isolated else self._fixed
        return SettingsFinder(fixed or own, self._isolated, (*self._overrides, table), root)

    def of_directory(self, directory: str) -> Settings:
        """Raises SettingsError."""
        directory = os.path.abspath(directory)
        if directory not in self._known:
            settings = self._fixed or self._search(directory)
            for table in self._overrides:
                settings = apply(settings, table)
            if not self._isolated and not settings.target_asked and settings.target_tensorflow == NEWEST_TENSORFLOW:
                settings = replace(settings, target_tensorflow=self._target(directory))
            self._known[directory] = settings
        return self._known[directory]

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
        try:
            return read_file(path).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return ""
        except OSError as error:
            self._notes[f"{path}: ignored: {error.strerror or error}"] = None
            return ""

    def _target(self, directory: str) -> str:
        """The release that a project's requirements pin or, if they leave it open, that it names elsewhere."""
        pinned = self._nearest(requirements.pinned, directory)
        if pinned in (None, requirements.ANY):
            pinned = self._nearest(described, directory)
        return pinned or NEWEST_TENSORFLOW

    def _nearest(self, told: _Detector, directory: str) -> str | None:
        """What a directory tells of the release, or the nearest of those above it in the project."""
        key = (told.__name__, directory)
        if key not in self._told:
            found = told(directory, NEWEST_TENSORFLOW, self.text)
            parent = os.path.dirname(directory)
            is_top = parent == directory or os.path.exists(os.path.join(directory, ".git"))
            self._told[key] = self._nearest(told, parent) if found is None and not is_top else found
        return self._told[key]

    def _search(self, directory: str) -> Settings:
        present = directory
        while True:
            for name in FILE_NAMES:
                path = os.path.join(present, name)
                if os.path.isfile(path) and (settings := load(path)) is not None:
                    return settings
            parent = os.path.dirname(present)
            if parent == present:
                return Settings(root=self._root)
            present = parent
