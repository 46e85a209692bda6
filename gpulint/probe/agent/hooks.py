"""What the agent has put before functions and methods of TensorFlow and Keras, to be taken back."""

from __future__ import annotations

from typing import Any


class Hooks:
    """Replaces attributes, and puts back what was there."""

    def __init__(self) -> None:
        self._placed: list[tuple[Any, str, Any, bool, Any]] = []
        """(owner, name, what was there, whether that was the owner's own and not inherited, what is there now)."""

    def replace(self, owner: Any, name: str, hook: Any) -> None:
        """Put something before an attribute of a module or a class. Raises AttributeError where there is none."""
        is_own = name in vars(owner)
        original = vars(owner)[name] if is_own else getattr(owner, name)
        setattr(owner, name, hook)
        self._placed.append((owner, name, original, is_own, hook))

    def put_back(self) -> None:
        """Put back what was there, but for what somebody has replaced since."""
        for owner, name, original, is_own, hook in reversed(self._placed):
            if vars(owner).get(name) is hook:
                if is_own or not isinstance(owner, type):  # modules may load their members when these are asked for
                    setattr(owner, name, original)
                else:
                    delattr(owner, name)
        self._placed.clear()
