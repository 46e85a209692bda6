"""The folders of the workspace, each with its settings and rules."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gpulint.linting import pack
from gpulint.linting.selection import Catalogue, Selection
from gpulint.server.buffers import with_usual_drive
from gpulint.server.options import Options
from gpulint.settings import SettingsError, SettingsFinder, load
from gpulint.settings.trust import Withheld
from gpulint.sources.containment import is_below


@dataclass(frozen=True, slots=True)
class Folder:
    """A workspace folder, or the directory of a file outside of all; `withheld` are rules that were not loaded."""

    root: str
    finder: SettingsFinder
    catalogue: Catalogue
    is_workspace: bool
    withheld: Withheld | None = None


class Folders:
    """The folders, read on first use.

    `finder` has the settings of the command line; `installed` says whether installed rule packs are used. Another
    process that receives them reads them itself.
    """

    def __init__(self, finder: SettingsFinder, installed: bool, roots: Sequence[str], options: Options) -> None:
        self._finder = finder
        self._installed = installed
        self._roots = sorted({with_usual_drive(os.path.abspath(root)) for root in roots}, key=len, reverse=True)
        self._options = options
        self._known: dict[str, Folder] = {}

    def __reduce__(self) -> tuple[type[Folders], tuple[object, ...]]:
        return Folders, (self._finder, self._installed, self._roots, self._options)

    @property
    def known(self) -> Sequence[Folder]:
        """The folders read so far."""
        return tuple(self._known.values())

    @property
    def roots(self) -> Sequence[str]:
        return self._roots

    def root_of(self, path: str) -> str:
        """The root of the innermost folder that contains a file; outside of all, the file's directory."""
        inside = (root for root in self._roots if is_below(path, root))
        return next(inside, os.path.dirname(path))

    def at(self, root: str) -> Folder:
        """The folder at a root. Raises SettingsError, also if rules cannot be loaded."""
        if root not in self._known:
            fixed = None
            if self._options.configuration:
                file = os.path.join(root, os.path.expanduser(self._options.configuration))
                fixed = load(file)
                if fixed is None:
                    raise SettingsError(f"{file} has no [tool.gpulint] table")
            finder = self._finder.within(root, fixed, self._options.settings)
            settings = finder.of_directory(root)
            try:
                catalogue = Catalogue.load(pack.Sources.of(settings, self._installed))
            except pack.PackError as error:
                raise SettingsError(str(error)) from None
            Selection(catalogue, settings)
            self._known[root] = Folder(root, finder, catalogue, root in self._roots, settings.withheld)
        return self._known[root]
