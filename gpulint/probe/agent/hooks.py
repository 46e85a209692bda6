"""Reversible wrappers of TensorFlow's and Keras's functions and methods."""

from __future__ import annotations

from typing import Any


class Hooks:
    """Replaces attributes and restores them."""

    def __init__(self) -> None:
        self._placed: list[tuple[Any, str, Any, bool, Any]] = []
        """(owner, name, original, whether the owner itself defined it, replacement)."""

    def replace(self, owner: Any, name: str, hook: Any) -> None:
        """Replaces an attribute of a module or class. Raises AttributeError if it does not exist."""
        is_own = name in vars(owner)
        original = vars(owner)[name] if is_own else getattr(owner, name)
        setattr(owner, name, hook)
        self._placed.append((owner, name, original, is_own, hook))

    def add(self, owner: type, name: str, hook: Any) -> None:
        """Adds an attribute that a class does not define itself."""
        self._placed.append((owner, name, None, False, hook))
        setattr(owner, name, hook)

    def put_back(self) -> None:
        """Restores the originals, except where the attribute has been replaced since."""
        for owner, name, original, is_own, hook in reversed(self._placed):
            if vars(owner).get(name) is hook:
                if is_own or not isinstance(owner, type):  # modules may load members lazily
                    setattr(owner, name, original)
                else:
                    delattr(owner, name)
        self._placed.clear()
