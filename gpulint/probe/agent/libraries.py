"""Recognises files of installed packages, wherever they are installed: `pip install --target`, a folder on
PYTHONPATH, archives of Spark or Lambda, Bazel trees."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType

from gpulint.sources.modules import SHARED

_RECORD, _TOP_LEVEL = "RECORD", "top_level.txt"
"""Files of a `.dist-info` folder: all installed files, and the importable names."""


class Libraries:
    """Installed packages according to their installers' records, plus modules added by hand."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[str, ...]] = {}
        """Folder on the path → prefixes of files installed into it."""
        self._known: tuple[str, ...] = ()

    def add(self, module: ModuleType) -> None:
        """Adds a module and everything beside it in its package."""
        if file := getattr(module, "__file__", None):
            self._known += (os.path.join(os.path.dirname(os.path.abspath(file)), ""),)

    def has_added(self, path: str) -> bool:
        """Whether a file belongs to a module added by hand."""
        return path.startswith(self._known)

    def has(self, path: str) -> bool:
        """Whether a file belongs to an installed package."""
        if self.has_added(path) or not SHARED.isdisjoint(path.split(os.sep)):
            return True
        return any(path.startswith(self._installed(folder)) for folder in sys.path if _is_above(folder, path))

    def _installed(self, folder: str) -> tuple[str, ...]:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = tuple(sorted(set(_installed_into(folder))))
        return known


def _is_above(folder: str, path: str) -> bool:
    return os.path.isabs(folder) and path.startswith(os.path.join(folder, ""))


def _installed_into(folder: str) -> Iterator[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if name.endswith(".dist-info"):
            for top in _tops(os.path.join(folder, name)):
                yield os.path.join(folder, top)


def _tops(information: str) -> Iterator[str]:
    """Top-level names that a distribution installs: `keras/`, `six.py`."""
    try:
        with open(os.path.join(information, _RECORD), encoding="utf-8", errors="replace") as record:
            for line in record:
                path = line.partition(",")[0].strip('"')
                top, slash, _ = path.partition("/")
                if top not in ("", "..", ".") and not top.endswith((".dist-info", ".data")):
                    yield top + os.sep if slash else top
        return
    except OSError:
        pass
    try:
        with open(os.path.join(information, _TOP_LEVEL), encoding="utf-8", errors="replace") as names:
            for name in names.read().split():
                yield name + os.sep
                yield f"{name}.py"
    except OSError:
        return
