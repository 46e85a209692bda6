"""Which line of the user's code is running."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import FrameType
from typing import Any

import gpulint

Place = tuple[str, int]
"""A file and a row of it, from 1."""

_GENERATED = "__autograph_generated_file"
_GPULINT = os.path.join(os.path.dirname(os.path.abspath(gpulint.__file__)), "")
"""In the program's own process are also `gpulint.expect`, `gpulint.watch` and the pytest plug-in."""


class Places:
    """Finds the innermost frame that is the user's: in no installed package, not in the standard library.

    Frames of code that AutoGraph has generated stand for the lines it was generated from; TensorFlow's own stack
    traces know these (`extract_stack`, some 60 µs, so that it is asked for such frames only).
    """

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        roots = {os.path.join(paths[name], "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        self._foreign = (*sorted(roots), _GPULINT, "<")
        self._is_foreign: dict[str, bool] = {}
        self._directory = os.getcwd()
        self.extract_stack: Any = None
        """`tensorflow.python.util.tf_stack.extract_stack`, where there is one."""

    def here(self, depth: int = 1) -> Place | None:
        """The place from which the caller's caller was called in the end."""
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None:
            path = frame.f_code.co_filename
            if not self.is_foreign(path):
                return self._original() if _GENERATED in path else self._absolute(path, frame.f_lineno)
            frame = frame.f_back
        return None

    def is_foreign(self, path: str) -> bool:
        """Whether a file is none of the user's."""
        known = self._is_foreign.get(path)
        if known is None:
            known = path.startswith(self._foreign) or f"{os.sep}site-packages{os.sep}" in path
            known = self._is_foreign[path] = known or f"{os.sep}dist-packages{os.sep}" in path
        return known

    def _absolute(self, path: str, row: int) -> Place:
        """A place with the path as it was when the program began, wherever it has gone since."""
        return os.path.join(self._directory, path), row

    def _original(self) -> Place | None:
        if self.extract_stack is None:
            return None
        for frame in reversed(self.extract_stack()):
            if not self.is_foreign(frame.filename) and _GENERATED not in frame.filename:
                return self._absolute(frame.filename, frame.lineno)
        return None
