"""One editor's session: which state it is in, and what that came to."""

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
    """Keeps the report on the editor's latest state up to date.

    Its methods are called on the event loop; the analysis runs on one other thread. `snapshot` gives the state with
    a number, `publish` receives each report that is still wanted when it is done.
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
        """The editor's state is another one: check it in `delay` seconds, unless it changes again until then.

        What runs for an earlier state is given up. `everything`: files that are not open are to be checked, too.
        """
        self._number += 1
        self._everything |= everything
        self._settled.clear()
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._check(self._number, delay))

    async def report(self) -> SnapshotResult:
        """The report on the present state, once there is one."""
        while not self._settled.is_set():
            await self._settled.wait()
        return self._report

    async def predictions(self, path: str) -> FilePredictions | None:
        """What is predicted of a file in its present state."""
        known = self._predictions.get(path)
        if known is None or known[0] != self._number:
            snapshot = self._snapshot(self._number)
            self._predictions = {one: kept for one, kept in self._predictions.items() if one in snapshot.buffers}
            work = self._on_thread(lambda: self.analyst.predictions(snapshot, path))
            known = self._number, asyncio.get_running_loop().create_task(work)
            self._predictions[path] = known
        return await asyncio.shield(known[1])

    async def fixed(self, snapshot: Snapshot, path: str) -> Mapping[int | None, str]:
        """The texts of a file, or of its cells, that its safe fixes change, as they are after those."""
        return await self._on_thread(lambda: self.analyst.fixed(snapshot, path))

    def close(self) -> None:
        """Give up what runs; nothing is published any more."""
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
        except Exception as error:  # the edge of the server: one state's fault is said, and the next is checked
            logger.exception("the check failed")
            report = SnapshotResult(snapshot, self._report.findings, faults=((str(error), ""),))
        if number == self._number:
            self._report, self._everything = report, False
            self._settled.set()
            self._publish(report)

    async def _on_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
