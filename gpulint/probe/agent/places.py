"""Which line of the user's code is running."""

from __future__ import annotations

import itertools
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any, TypeAlias

import gpulint
from gpulint.probe.agent.libraries import Libraries

Place: TypeAlias = "tuple[str, int] | tuple[str, int, int]"
"""A file and a row of it, from 1; in a notebook a row of a cell, and the cell's index, from 0."""

CellRows: TypeAlias = "tuple[str, int, list[int]]"
"""A notebook, the index of a cell and, for each row of its code, the row of the cell."""

MOST_CALLERS = 8
"""Calls of the user's that are told of, from the innermost outwards."""

MOST_FRAMES = 5
"""Frames of the user's that are told of an error."""

_GENERATED = "__autograph_generated_file"
_GPULINT = os.path.join(os.path.dirname(os.path.abspath(gpulint.__file__)), "")
"""In the program's own process are also `gpulint.expect`, `gpulint.watch` and the pytest plug-in."""
REDUCTION, INPUT = "reduction", "tf.data"
"""Parts of a strategy's own work: keeping what is mirrored the same, and dividing a dataset among the replicas."""

_PARTS = {
    os.path.join("tensorflow", "python", "distribute", name): part
    for name, part in (
        ("cross_device_ops.py", REDUCTION),
        ("cross_device_utils.py", REDUCTION),
        ("values_util.py", REDUCTION),
        ("input_lib.py", INPUT),
        ("input_ops.py", INPUT),
    )
}
"""Files of TensorFlow (2.16 and 2.21) whose operations are the strategy's own, wherever the program's line is."""

_TRACED = re.compile(r'^ +File "([^"\n]+)", line (\d+), in (\S*)', re.MULTILINE)
"""Frames of the user's code in the message of an error that was raised while a function was traced."""


class Places:
    """Finds the innermost frame that is the user's: in no installed package, not in the standard library.

    Frames of code that AutoGraph has generated stand for the lines it was generated from; TensorFlow's own stack
    traces know these (`extract_stack`, some 60 µs, so that it is asked for such frames only).
    """

    def __init__(self) -> None:
        paths = sysconfig.get_paths()
        roots = {os.path.join(paths[name], "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
        self._foreign = (*sorted(roots), _GPULINT, "<")
        self._libraries = Libraries()
        self._is_foreign: dict[str, bool | str] = {}
        """File → whether it is none of the user's; the part for one of a strategy's own."""
        self._cells: dict[str, CellRows] = {}
        self._directory = os.getcwd()
        self._whole: dict[str, str] = {}
        """Path as code has it → path from the root."""
        self.extract_stack: Any = None
        """`tensorflow.python.util.tf_stack.extract_stack`, where there is one."""

    def here(self, depth: int = 1) -> Place | None:
        """The place from which the caller's caller was called in the end."""
        return self.here_for(depth + 1)[0]

    def here_for(self, depth: int = 1) -> tuple[Place | None, str]:
        """The place from which the caller's caller was called in the end, and the part of a strategy's own work that
        it was called for, "" for none."""
        frame: FrameType | None = sys._getframe(depth)
        known = self._is_foreign  # this is asked for several times in each training step
        part = ""
        while frame is not None:
            path = frame.f_code.co_filename
            foreign = known.get(path)
            if foreign is None:
                self.is_foreign(path)
                foreign = known[path]
            if not foreign:
                return self._original() if _GENERATED in path else self.at(path, frame.f_lineno), part
            if foreign is not True:
                part = foreign
            frame = frame.f_back
        return None, part

    def callers(self, depth: int = 1) -> list[Place]:
        """The places of the user's, from the innermost outwards, that led to `here(depth)`, which is not among them."""
        found: list[Place] = []
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None and len(found) <= MOST_CALLERS:
            path = frame.f_code.co_filename
            if not self.is_foreign(path):
                if _GENERATED in path:
                    return list(itertools.islice(self._originals(), 1, 1 + MOST_CALLERS))
                found.append(self.at(path, frame.f_lineno))
            frame = frame.f_back
        return found[1:]

    def of(self, error: BaseException) -> Place | None:
        """The place from which an exception came: what TensorFlow says of traced code, or the innermost frame of the
        user's in its traceback."""
        for path, row, _ in reversed(_TRACED.findall(str(error))):
            if not self.is_foreign(path) and _GENERATED not in path:
                return self.at(path, int(row))
        place, traceback = None, error.__traceback__
        while traceback is not None:
            path = traceback.tb_frame.f_code.co_filename
            if not self.is_foreign(path) and _GENERATED not in path:
                place = self.at(path, traceback.tb_lineno)
            traceback = traceback.tb_next
        return place

    def frames_of(self, error: BaseException) -> list[tuple[Place, str]]:
        """The last frames of the user's that led to an exception, with the names of their functions, the innermost
        last: those of the traceback, and of traced code as TensorFlow lists them."""
        found: list[tuple[Place, str]] = []
        traceback = error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if not self.is_foreign(code.co_filename) and _GENERATED not in code.co_filename:
                found.append((self.at(code.co_filename, traceback.tb_lineno), code.co_name))
            traceback = traceback.tb_next
        for path, row, function in _TRACED.findall(str(error)):
            if not self.is_foreign(path) and _GENERATED not in path:
                found.append((self.at(path, int(row)), function))
        return list(dict.fromkeys(found))[-MOST_FRAMES:]

    def modules(self) -> list[str]:
        """Files of the modules that were imported from below the directory of the program, or from where it began."""
        roots = tuple(os.path.join(self._directory, root, "") for root in ("", *sys.path[:1]))
        paths = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        own = {os.path.join(self._directory, path) for path in paths if path and not self.is_foreign(path)}
        return sorted(path for path in own if path.startswith(roots))

    def is_foreign(self, path: str) -> bool:
        """Whether a file is none of the user's."""
        known = self._is_foreign.get(path)
        if known is None:
            known = path.startswith(self._foreign) or self._libraries.has(path)
            part = next((part for end, part in _PARTS.items() if path.endswith(end)), None) if known else None
            known = self._is_foreign[path] = part or known
        return bool(known)

    def is_library(self, module: ModuleType) -> None:
        """A module is none of the user's, wherever it lies."""
        self._libraries.add(module)
        self._is_foreign = {path: known for path, known in self._is_foreign.items() if path in self._cells}

    def stands_for(self, name: str, cell: CellRows) -> None:
        """Code of this name is that of a cell, from now on."""
        self._cells[name] = cell
        self._is_foreign[name] = False

    def forget(self, name: str) -> None:
        """Code of this name is no longer that of a cell."""
        if self._cells.pop(name, None) is not None:
            del self._is_foreign[name]

    def at(self, path: str, row: int) -> Place:
        """A place with the path as it was when the program began, wherever it has gone since."""
        if (of_cell := self._cells.get(path)) is not None:
            notebook, cell, rows = of_cell
            return notebook, rows[min(row, len(rows)) - 1], cell
        whole = self._whole.get(path)
        if whole is None:
            whole = self._whole[path] = os.path.join(self._directory, path)
        return whole, row

    def _original(self) -> Place | None:
        return next(self._originals(), None)

    def _originals(self) -> Iterator[Place]:
        """The places of the user's as TensorFlow knows them, from the innermost outwards."""
        for frame in reversed(self.extract_stack() if self.extract_stack is not None else ()):
            if not self.is_foreign(frame.filename) and _GENERATED not in frame.filename:
                yield self.at(frame.filename, frame.lineno)
