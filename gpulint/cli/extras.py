"""The packages that a command needs beyond gpulint's own."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement


def install(extra: str) -> str:
    """The command that installs the packages of one of gpulint's extras, wherever gpulint itself came from."""
    try:
        needed = [Requirement(text) for text in requires("gpulint") or ()]
    except PackageNotFoundError:  # a copy without metadata
        needed = []
    names = [
        one.name
        for one in needed
        if one.marker is not None and one.marker.evaluate({"extra": extra}) and not one.marker.evaluate({"extra": ""})
    ]
    return f"pip install {' '.join(names)}" if names else f'pip install "gpulint[{extra}]"'
