"""The settings of a run: one frozen `Settings` for each directory that has a configuration file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from gpulint.settings.trust import Withheld
from gpulint.sources.containment import is_below
from gpulint.sources.reading import read_file

NEWEST_TENSORFLOW = "2.21"
"""The newest TensorFlow release that the tables in `gpulint/knowledge` were checked against."""

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".gpulint_cache", ".hg", ".ipynb_checkpoints", ".mypy_cache",
    ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode",
    "__pypackages__", "_build", "buck-out", "build", "node_modules", "site-packages", "venv",
)  # fmt: skip
"""Default of `exclude`: ruff's without `dist`, which in TensorFlow projects is short for "distributed"."""


class SettingsError(Exception):
    """A configuration that gpulint does not understand. The message names file, place and remedy."""


class CacheOutside(Exception):
    """A configuration file names a cache directory outside its own folder. The message is one line."""


@dataclass(frozen=True, slots=True)
class LintSettings:
    """The table `lint`: which rules are on, how severe they are, and which fixes are applied."""

    preview: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    ignore_noqa: bool = False
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    fixable: tuple[str, ...] = ("ALL",)
    unfixable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """The table `probe`: how long a run lasts, and what it is checked against."""

    expect: tuple[str, ...] = ()
    level: tuple[tuple[str, str], ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: float = 0
    hang_after: float = 0
    steps: int = 0
    warmup: int = 3
    strict: bool = False
    without_gpu: str = "fail"
    max_traces: int = 5
    leak: float = 0.05
    imbalance: float = 1.2
    headroom: float = 0.9


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of every key of the configuration file: `extend-exclude` is `extend_exclude`, `lint.extend-select` is
    `lint.extend_select`.

    `root` is the directory to which globs and paths are relative, `source` the configuration file ("" for the
    defaults). `target_asked` tells a `target_tensorflow` that the user set from one that was found in the project's
    files; `target_origin` names the file or option that either comes from, "" for the default. `folders` are the
    folders of the configuration files, that of `source` first: keys that run code, lift limits or write fixes apply
    only if all of them are trusted. A SettingsFinder has applied that, and keeps the rules that it did not load in
    `withheld`.
    """

    root: str = "."
    source: str = ""
    target_asked: bool = field(default=False, compare=False)
    target_origin: str = ""
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
    required_version: str = ""
    output_format: str = "text"
    baseline: str = ""
    max_warnings: int = -1
    cache_dir: str = ".gpulint_cache"
    max_file_seconds: int = 120
    max_file_memory: int = 8000
    max_file_size: int = 50
    fix: bool = False
    fix_only: bool = False
    show_fixes: bool = False
    unsafe_fixes: bool = False
    lint: LintSettings = LintSettings()
    probe: ProbeSettings = ProbeSettings()

    @property
    def knows_release(self) -> bool:
        """Whether somebody named the targeted TensorFlow release: it is not only the default."""
        return bool(self.target_origin) or self.target_tensorflow != NEWEST_TENSORFLOW

    @property
    def cache_directory(self) -> str:
        """Absolute path of the cache directory. Raises CacheOutside if it is not below `root`."""
        directory = os.path.abspath(os.path.join(self.root, os.path.expanduser(self.cache_dir)))
        real, root = os.path.realpath(directory), os.path.realpath(self.root)
        if real == root or not is_below(real, root):
            raise CacheOutside(
                f"cache-dir: {directory} is not below {os.path.abspath(self.root)}; nothing is cached there, "
                "unless --cache-dir names it"
            )
        return directory

    def read(self, path: str) -> bytes:
        """Content of a file to check. Raises OSError, also if it is larger than `max_file_size` megabytes."""
        return read_file(path, self.max_file_size * 1_000_000, "max-file-size")


LIMITS = ("max_file_seconds", "max_file_memory", "max_file_size")
"""Fields that limit what one file may take; 0 means no limit."""
