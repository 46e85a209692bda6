"""Public names that a TensorFlow release no longer has, generated from the wheels (`scripts/removed_api.py`)."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    text = resources.files("gpulint.knowledge").joinpath("removed.json").read_text("utf-8")
    table: dict[str, Any] = json.loads(text)
    return table


@lru_cache(maxsize=1)
def names() -> dict[str, str]:
    """Name → the first release without it. A module that is gone stands for all that was in it."""
    found: dict[str, str] = _table()["names"]
    return found


def since(name: str) -> str | None:
    """The first release without a name, None where the newest has it (or no release ever had)."""
    return names().get(name)


def method_since(library: str, method: str) -> str | None:
    """The first release in which a class has no such method any more."""
    found: str | None = _table()["methods"].get(library, {}).get(method)
    return found


def replacement(name: str) -> str | None:
    """What a name is called now, where it was renamed."""
    found: str | None = _table()["renamed"].get(name)
    return found


def newest() -> str:
    """The newest release that the table knows."""
    releases: list[str] = _table()["releases"]
    return releases[-1]
