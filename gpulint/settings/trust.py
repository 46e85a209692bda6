"""Trust: the folders whose configuration may run code, lift limits and write fixes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gpulint.sources.containment import is_below
from gpulint.sources.reading import read_file

VARIABLE = "GPULINT_TRUST"
"""Environment variable with trusted folders, separated as in PATH."""


class CannotTrust(Exception):
    """A folder that cannot be added to the user's list. The message is one line."""


@dataclass(frozen=True)
class Trust:
    """The user's trust: in `everything`, or in the folders in `accepted`, in the environment variable and on the list.

    A trusted folder covers all that is below it. Variable and list are read on first use.
    """

    everything: bool = False
    accepted: tuple[str, ...] = ()

    def uncovered(self, folders: Iterable[str]) -> str | None:
        """The first folder that is not trusted, None if all are. Compares real paths."""
        if self.everything:
            return None
        return next((folder for folder in folders if not self._covers(folder)), None)

    def accepting(self, folder: str) -> Trust:
        """A copy that also trusts `folder`."""
        return replace(self, accepted=(*self.accepted, folder))

    def _covers(self, folder: str) -> bool:
        real = _real(folder)
        return bool(real) and any(is_below(real, one) for one in self._folders)

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        named = [*self.accepted, *os.environ.get(VARIABLE, "").split(os.pathsep), *_listed()]
        absolute = [path for one in named if os.path.isabs(path := os.path.expanduser(one))]
        return tuple(real for path in absolute if (real := _real(path)))

    def __getstate__(self) -> dict[str, Any]:
        """Includes the folders as read here: worker processes, also on other machines, must trust the same ones."""
        return {"everything": self.everything, "accepted": self.accepted, "_folders": self._folders}


@dataclass(frozen=True, slots=True)
class Withheld:
    """Rules that are not loaded because the configuration that names them is not trusted.

    `source` is that configuration, `paths` its `rule-paths`, `folder` the first folder that is not trusted. `remedy` is
    the real path of the configuration's own folder if it is enough to trust that, otherwise "".
    """

    source: str
    paths: tuple[str, ...]
    folder: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.source}: rule-paths not loaded: {not_trusted(self.folder)}"


def not_trusted(folder: str) -> str:
    """Message for a folder that is not trusted, with the remedy."""
    return f"{folder} is not a trusted folder; run with --trust, or add it to {list_path()}"


def list_path() -> str:
    """Path of the user's list of trusted folders, one per line. Relative paths are ignored, and thus `#` comments."""
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("gpulint", appauthor=False), "trusted")


def remember(folder: str) -> None:
    """Append a folder to the user's list, created with mode 0600 if it is missing. Raises CannotTrust."""
    from gpulint.sources.writing import NotWritten, replace_file

    path, line = list_path(), os.fsencode(folder)
    if folder != folder.strip() or len(folder.splitlines()) != 1:
        raise CannotTrust(f"{path}: cannot hold the name {folder!r}")
    if not os.path.isabs(path):  # a path relative to the project would not be the user's own file
        raise CannotTrust(f"{path}: is not an absolute path")
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        before = read_file(path)
        replace_file(path, before, before + (b"" if before[-1:] in (b"", b"\n") else b"\n") + line + b"\n")
    except OSError as error:
        raise CannotTrust(f"{path}: {error.strerror or error}") from None
    except NotWritten as error:
        raise CannotTrust(str(error)) from None


def _listed() -> list[str]:
    path = list_path()
    if not os.path.isabs(path):  # HOME or XDG_CONFIG_HOME is relative: the list would be a file of the project
        return []
    try:
        lines = os.fsdecode(read_file(path)).split("\n")
    except OSError:
        return []
    return [line.strip() for line in lines]


def _real(path: str) -> str:
    """The real path, "" if there is none."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a NUL in it
        return ""
