"""Which lines a program that failed had reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from gpulint.places import Span
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.records import Where
from gpulint.probe.measures.functions import Functions


class _Scope(NamedTuple):
    """A function by its first row, or the statements of a file outside functions (row 0, the cells of a notebook
    together)."""

    path: str
    cell: int | None
    row: int


class Reached:
    """The lines of a capture: those on which something was observed, and those at which the program ended.

    A function was reached if anything in it was observed, a file if it took part in the run. Within the function or
    file at whose line the program ended, lines below the last observed one were not reached.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._functions = Functions(capture)

    def has(self, span: Span) -> bool:
        """Whether the line of a finding was reached, as far as the run shows."""
        start = Where(span.path, span.row, span.cell)
        scope = self._scope(start)
        if scope in self._ended_in:
            return self._last.get(scope, (0, 0)) >= _order(start)
        return scope in self._last if scope.row else True

    def ran(self, span: Span) -> bool:
        """Whether something was observed on the lines of a finding, or a pipeline called the function around them."""
        if any(span.row <= row <= span.end_row for row in self._rows.get((span.path, span.cell), ())):
            return True
        around = self._functions.around(Where(span.path, span.row, span.cell))
        return any(name.endswith(f"_{one.name}") for one in around for name in self._of_pipelines)

    @cached_property
    def _rows(self) -> dict[tuple[str, int | None], set[int]]:
        """The rows on which something was observed, by file and cell."""
        found: dict[tuple[str, int | None], set[int]] = {}
        for where in observed(self._capture):
            found.setdefault((where.path, where.cell), set()).add(where.row)
        return found

    @cached_property
    def _of_pipelines(self) -> frozenset[str]:
        """The functions that tf.data traced, such as `Dataset_map_prepare`."""
        return frozenset(name for name, _, _ in self._capture.traced if name.startswith("Dataset_"))

    @cached_property
    def _ended_in(self) -> frozenset[_Scope]:
        return frozenset(self._scope(where) for where in _ends(self._capture))

    @cached_property
    def _last(self) -> dict[_Scope, tuple[int, int]]:
        """The last line of each scope on which something was observed."""
        found: dict[_Scope, tuple[int, int]] = {}
        for where in {*observed(self._capture), *_ends(self._capture), *self._of_replicas()}:
            scope = self._scope(where)
            found[scope] = max(found.get(scope, (0, 0)), _order(where))
        return found

    def _scope(self, where: Where) -> _Scope:
        around = self._functions.around(where)
        return _Scope(where.path, where.cell, around[-1].first) if around else _Scope(where.path, None, 0)

    def _of_replicas(self) -> Iterator[Where]:
        """The last lines of the functions that `strategy.run` was given: of a cluster, no graph shows their lines."""
        for run in self._capture.runs:
            if run.where is not None:
                for one in self._functions.within(run.where.path, run.where.cell):
                    if one.name == run.function:
                        yield run.where._replace(row=one.last)


def _order(where: Where) -> tuple[int, int]:
    return where.cell or 0, where.row


def _ends(capture: Capture) -> Iterator[Where]:
    """The lines at which the program was when it ended, or when it was last seen."""
    if capture.error_at is not None:
        yield capture.error_at
    yield from (where for where, _ in capture.error_frames)
    yield from (Where(one.path, one.row) for one in capture.stack if one.own)
    if not capture.error_frames and not capture.stack:
        yield from (where for where, _ in capture.position)


def observed(capture: Capture) -> Iterator[Where]:
    """The lines on which something was observed, some more than once."""
    counted: Iterable[Any] = chain(
        capture.executions,
        capture.nodes,
        capture.copies,
        capture.calls,
        capture.strategies,
        capture.variables,
        capture.functions.values(),
        capture.steps.values(),
        capture.runs,
        capture.batches,
        capture.splits,
        capture.reads,
        capture.model_calls,
    )
    yield from (one.where for one in counted if one.where is not None)
    yield from (where for one in capture.variables for where in one.callers)
    yield from (where for where in capture.waits if where is not None)
    yield from (work.where for one in capture.segments for work in one.work if work.where is not None)
