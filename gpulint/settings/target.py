"""The TensorFlow release that a project is for, where no setting names it."""

from __future__ import annotations

import os
from collections.abc import Callable

from gpulint.settings.model import NEWEST_TENSORFLOW
from gpulint.sources import requirements
from gpulint.sources.described import described

Detector = Callable[[str, str, Callable[[str], str]], "requirements.Named | None"]
"""Finds the release that a directory names, given the directory, the newest release and how to read a file's text."""


class TargetReleases:
    """The release of each directory, from requirements or, if they leave it open, from container files.

    `text` reads a file.
    """

    def __init__(self, text: Callable[[str], str]) -> None:
        self._text = text
        self._known: dict[tuple[str, str], requirements.Named | None] = {}

    def of(self, directory: str) -> requirements.Named | None:
        """The release that the nearest files name, None if they name none or only the oldest."""
        pinned = self._nearest(requirements.pinned, directory)
        if pinned is None or pinned.release == requirements.ANY:
            pinned = self._nearest(described, directory)
        return pinned if pinned is not None and pinned.release else None

    def _nearest(self, detect: Detector, directory: str) -> requirements.Named | None:
        """Release that a detector finds in a directory or, up to the project's root, in the nearest one above it."""
        passed = []
        while (key := (detect.__name__, directory)) not in self._known:
            passed.append(key)
            found = detect(directory, NEWEST_TENSORFLOW, self._text)
            parent = os.path.dirname(directory)
            if found is not None or parent == directory or os.path.exists(os.path.join(directory, ".git")):
                self._known[key] = found
            else:
                directory = parent
        self._known |= dict.fromkeys(passed, self._known[key])
        return self._known[key]
