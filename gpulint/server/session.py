"""One editor's session: its current state and the result of checking it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gpulint.server.analyst import Analyst, SnapshotResult, Superseded
from gpulint.server.buffers import Snapshot
from gpulint.server.file_predictions import FilePredictions

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Session:
    """Keeps the result for the editor's latest state up to date.

    Its methods are called on the event loop; the analysis runs on one other thread. `snapshot` returns the state with a
    number, `publish` receives each result that is still wanted when it is ready.
    """

    def __init__(
        self, analyst: Analyst, snapshot: Callable[[int], Snapshot], publish: Callable[[SnapshotResult], None]
    ) -> None:
        self.analyst = analyst
        self._snapshot = snapshot
        self._publish = publish
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="gpulint-analyst")
        self._number = 0
        self._everything = False
        self._task: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        self._report = SnapshotResult(Snapshot(0, {}))
        self._predictions: dict[str, tuple[int, asyncio.Task[FilePredictions | None]]] = {}

    def changed(self, delay: float = 0.0, everything: bool = False) -> None:
        """The editor's state has changed: check it in `delay` seconds, unless it changes again before.

        Cancels the check of an earlier state. With `everything` files that are not open are checked, too.
        """
        self._number += 1
        self._everything |= everything
        self._settled.clear()
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._check(self._number, delay))

    async def report(self) -> SnapshotResult:
        """The result for the present state, once it is ready."""
        while not self._settled.is_set():
            await self._settled.wait()
        return self._report

    async def predictions(self, path: str) -> FilePredictions | None:
        """The predictions for a file in its present state."""
        known = self._predictions.get(path)
        if known is None or known[0] != self._number:
            snapshot = self._snapshot(self._number)
            self._predictions = {one: kept for one, kept in self._predictions.items() if one in snapshot.buffers}
            work = self._on_thread(lambda: self.analyst.predictions(snapshot, path))
            known = self._number, asyncio.get_running_loop().create_task(work)
            self._predictions[path] = known
        return await asyncio.shield(known[1])

    async def fixed(self, snapshot: Snapshot, path: str) -> Mapping[int | None, str]:
        """The changed texts of a file, or of its cells, after its safe fixes."""
        return await self._on_thread(lambda: self.analyst.fixed(snapshot, path))

    def close(self) -> None:
        """Cancel running checks; nothing more is published."""
        self._number += 1
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _check(self, number: int, delay: float) -> None:
        await asyncio.sleep(delay)
        snapshot, everything = self._snapshot(number), self._everything
        try:
            report = await self._on_thread(
                lambda: self.analyst.check(snapshot, lambda: number == self._number, everything)
            )
        except Superseded:
            return
        except Exception as error:  # a fault is reported, and does not prevent checks of later states
            logger.exception("the check failed")
            report = SnapshotResult(snapshot, self._report.findings, faults=((str(error), ""),))
        if number == self._number:
            self._report, self._everything = report, False
            self._settled.set()
            self._publish(report)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
