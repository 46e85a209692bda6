"""Maps the code that a notebook's kernel runs to cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gpulint.probe.agent.places import Places
from gpulint.sources.magics import compiled_rows
from gpulint.sources.notebook import Notebook

TIMED = ("<timed exec>", "<timed eval>", "<magic-timeit>")
"""Names of code compiled by `%%time` and `%%timeit`."""

_TIMED = re.compile(r"(?P<magic>\s*%%time(?:it)?\b.*\n)(?P<body>(?s:.*))")


class Cells:
    """Follows a kernel through the cells of its notebook, which run in order.

    IPython names code by a hash of the cell's text; cells with equal text share a name, which refers to the latest.
    """

    def __init__(self, notebook: Notebook, places: Places) -> None:
        self._path = notebook.path
        self._cells = [(cell.index, cell.text) for cell in notebook.cells if cell.is_code]
        self._places = places
        self._next = 0
        self._current = (0, "")

    def watch(self, compiler: Any, fault: Callable[[str, BaseException], None]) -> None:
        """Observes all code that an IPython compiler names."""
        cache = compiler.cache

        def watched(transformed_code: str, number: int = 0, raw_code: str | None = None) -> Any:
            name = cache(transformed_code, number, raw_code)
            try:
                self.compiled(name, transformed_code if raw_code is None else raw_code)
            except Exception as error:
                fault("cells", error)
            return name

        compiler.cache = watched

    def compiled(self, name: str, text: str) -> None:
        """Assign the name of compiled code to the next cell with its text, or to a part of the running cell."""
        for position in range(self._next, len(self._cells)):
            if self._cells[position][1] == text:
                self._next, self._current = position + 1, self._cells[position]
                self._stands_for(name, compiled_rows(text), 0)
                self._follow_timed(text)
                return
        _, running = self._current
        before, found, _ = running.partition(text.strip("\n"))
        if found and text.strip():
            self._stands_for(name, compiled_rows(text.strip("\n")), before.count("\n"))

    def _follow_timed(self, text: str) -> None:
        timed = _TIMED.fullmatch(text)
        for name in TIMED:
            if timed is None:
                self._places.forget(name)
            else:
                self._stands_for(name, compiled_rows(timed["body"]), timed["magic"].count("\n"))

    def _stands_for(self, name: str, rows: Sequence[int], offset: int) -> None:
        cell, _ = self._current
        self._places.stands_for(name, (self._path, cell, [row + offset for row in rows]))
