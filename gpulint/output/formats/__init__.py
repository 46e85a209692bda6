"""The output formats of `check`, one module each: `render(result, view)` gives the text.

A new format is a new module here. Its name, with `-` for `_`, is the name of the format, and the first line of its
docstring what `check --help` and the documentation say of it. One that shows the edits of fixes has
`CARRIES_EDITS = True`: for the others no edits are computed.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

_DEFAULT = "text"

NAMES: tuple[str, ...] = tuple(
    sorted(
        (info.name.replace("_", "-") for info in pkgutil.iter_modules(__path__)),
        key=lambda name: (name != _DEFAULT, name),
    )
)
"""Names of the output formats, the default first."""


def module_of(name: str) -> ModuleType:
    """The module of a format. Raises KeyError for a format that does not exist."""
    if name not in NAMES:
        raise KeyError(name)
    return import_module(f"{__name__}.{name.replace('-', '_')}")


def carries_edits(name: str) -> bool:
    """Whether a format shows the edits of fixes."""
    return bool(getattr(module_of(name), "CARRIES_EDITS", False))


def summary_of(name: str) -> str:
    """Purpose of a format, in one line."""
    return (module_of(name).__doc__ or "").strip().partition("\n")[0]
