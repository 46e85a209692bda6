"""The TensorFlow release that a notebook installs."""

from __future__ import annotations

import re

from gpulint.sources.requirements import PACKAGE

_PIN = rf"{PACKAGE}[ \t]*[=~]=[ \t]*(?P<release>\d+\.\d+)"
_PIP, _INSTALL, _PINNED = map(re.compile, (r"\bpip3?\b", r"\binstall\b", rf"[\s'\"]{_PIN}"))
_GOES_ON = re.compile(rf"\n(?={_PIN})")
"""Behind a backslash, before a row that begins with the package."""
_CHOSEN = re.compile(r"^[ \t]*%tensorflow_version[ \t]+1\b", re.MULTILINE)

LAST_1 = "1.15"
"""The release that `%tensorflow_version 1.x` selected in Colab."""


def pinned(text: str) -> str | None:
    """The release, such as "2.3", that a cell installs; None if it installs none or does not name one."""
    for line in _GOES_ON.sub(" ", text).split("\n"):
        if (release := _installed(line.partition("#")[0])) is not None:
            return release
    return LAST_1 if _CHOSEN.search(text) else None


def _installed(command: str) -> str | None:
    """The first release after the last `install` that is followed by one."""
    pins = list(_PINNED.finditer(command))
    pip = _PIP.search(command) if pins else None
    if pip is None:
        return None
    asked = [one.end() for one in _INSTALL.finditer(command, pip.end()) if one.end() <= pins[-1].start()]
    return next((pin["release"] for pin in pins if pin.start() >= asked[-1]), None) if asked else None
