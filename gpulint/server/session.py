"""One editor's session: its current state and the results of checking it, narrow ones first."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from gpulint.linting.finding import Finding
from gpulint.server.analyst import Analyst, Found, Order, Scope
from gpulint.server.buffers import Snapshot
from gpulint.server.carrying import Baseline, carried
from gpulint.server.file_predictions import FilePredictions
from gpulint.server.folders import Folders
from gpulint.server.messages import Superseded
from gpulint.server.process import AnalysisProcess, Died

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_DEATHS = 2
"""Number of processes that may die of a file: the first death can have had another cause."""


@dataclass(frozen=True, slots=True)
class SnapshotResult:
    """Results for a snapshot: the findings of the checked files, by path. A file whose text has changed since is
    missing until it is checked again.

    `problems` are errors in the user's settings, `faults` those of gpulint or a rule with their tracebacks; each is one
    line.
    """

    snapshot: Snapshot
    findings: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


class Predicted(NamedTuple):
    """Predictions for a file, and the snapshot that they are for."""

    snapshot: Snapshot
    predictions: FilePredictions | None


class Session:
    """Keeps the result for the editor's latest state up to date.

    Its methods are called on the event loop. `snapshot` returns the state with a number, `publish` receives each result
    when it is ready, and `predicted` is called when predictions have changed.
    """

    def __init__(
        self,
        folders: Folders,
        snapshot: Callable[[int], Snapshot],
        publish: Callable[[SnapshotResult], None],
        predicted: Callable[[], None],
    ) -> None:
        self._process = AnalysisProcess(folders)
        self._snapshot = snapshot
        self._publish = publish
        self._predicted = predicted
        self._present = Snapshot(0, {})
        self._wanted = Scope.OPEN
        self._stale: set[str] = set()
        """Open files whose present text was not checked yet."""
        self._is_whole = False
        """Whether findings of files that are not open are shown."""
        self._listing = 0
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._report = SnapshotResult(self._present)
        self._baselines: dict[tuple[str, Scope], Baseline] = {}
        self._predictions: dict[str, Predicted] = {}
        self._deaths: Counter[tuple[str, int]] = Counter()
        self._lost: dict[tuple[str, int], str] = {}

    def configure(self, folders: Folders) -> None:
        """Check everything again with other settings."""
        self._process.configure(folders)
        self._baselines.clear()
        self._stale.update(self._present.buffers)

    @property
    def present(self) -> Snapshot:
        """The editor's state."""
        return self._present

    def list_again(self) -> None:
        """Search for files again: some were created or deleted."""
        self._listing += 1

    def changed(self, scope: Scope, delay: float = 0.0, typed: bool = False) -> None:
        """The editor's state, or the disk, has changed: check it in `delay` seconds, unless it changes again before.

        Cancels the check of an earlier state. What a wider scope gives is lost if the user has typed since: it is
        checked when the file is saved. The workspace is checked in any case.
        """
        before, self._present = self._present, self._snapshot(self._present.number + 1)
        buffers = self._present.buffers
        self._stale = {path for path in buffers if path in self._stale or before.buffers.get(path) != buffers[path]}
        keeps = not typed or self._wanted is Scope.WORKSPACE
        self._wanted = max(scope, self._wanted) if keeps else scope
        if scope >= Scope.IMPORTERS:
            self._is_whole = scope is Scope.WORKSPACE
            self._lost = {key: why for key, why in self._lost.items() if key[0] in buffers}
        closed = {path for path in before.buffers if path not in buffers}
        self._predictions = {path: one for path, one in self._predictions.items() if path not in closed}
        self._baselines = {key: one for key, one in self._baselines.items() if key[0] not in closed}
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._check(delay))

    async def checked(self, path: str) -> SnapshotResult:
        """The result once it has the present text of an open file."""
        while path in self._stale:
            self._news.clear()
            await self._news.wait()
        return self._report

    async def settled(self) -> SnapshotResult:
        """The result once nothing more is to be checked."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])
        return self._report

    async def predictions(self, path: str) -> Predicted:
        """The predictions for a file, of an earlier state if there are any. Raises SettingsError."""
        if path not in self._predictions:
            await self._predict(path, self._process.urgent)
        return self._predictions.get(path, Predicted(self._present, None))

    async def latest_predictions(self, path: str) -> Predicted:
        """The predictions for a file in its present state. Raises SettingsError."""
        while (known := self._predictions.get(path)) is None or known.snapshot is not self._present:
            await self._predict(path, self._process.urgent)
        return known

    async def fixed(self, path: str) -> Mapping[int | None, str]:
        """The changed texts of a file, or of its cells, after its safe fixes. Raises SettingsError."""
        order = self._order(self._report.snapshot, Scope.FILE, [path])
        return await self._surviving(lambda: self._process.urgent(Analyst.fixed, order))

    async def close(self) -> None:
        """Cancel running checks; nothing more is published."""
        if self._task is not None:
            self._task.cancel()
        await self._process.close()

    # -------------------------------------------------------------------------------- checks

    async def _check(self, delay: float) -> None:
        await asyncio.sleep(delay)
        snapshot = self._present
        self._report = replace(self._report, snapshot=snapshot, findings=self._kept_findings())
        try:
            pending = [path for path in snapshot.buffers if path in self._stale]
            for path in pending:
                await self._check_scope(snapshot, Scope.FILE, [path])
                self._stale.discard(path)
                self._tell()
            if self._wanted > Scope.OPEN or pending != [*snapshot.buffers] or len(pending) > 1:
                await self._check_scope(snapshot, self._wanted, snapshot.buffers)
                self._tell()
            self._wanted = Scope.OPEN
            for path, known in list(self._predictions.items()):
                if known.snapshot is not snapshot:
                    await self._predict(path, self._process.call)
        except Exception as error:  # a fault is reported, and does not prevent checks of later states
            logger.exception("the check failed")
            self._report = replace(self._report, faults=((str(error), ""),))
            self._stale.clear()
            self._tell()

    def _kept_findings(self) -> dict[str, tuple[Finding, ...]]:
        """The findings of files that are as they were, and still shown."""
        buffers = self._present.buffers
        return {
            path: found
            for path, found in self._report.findings.items()
            if (path not in self._stale if path in buffers else self._is_whole)
        }

    async def _check_scope(self, snapshot: Snapshot, scope: Scope, paths: Iterable[str]) -> None:
        paths = tuple(paths)
        found = await self._surviving(
            lambda: self._process.call(Analyst.check, self._order(snapshot, scope, paths)), again=True
        )
        shown = {path: self._shown(snapshot, scope, path, found) for path in paths}
        if scope is Scope.WORKSPACE:
            shown |= found.findings[scope]
        kept = self._report.findings if scope is not Scope.WORKSPACE else {}
        before = self._report.problems if scope is Scope.FILE else ()
        self._report = SnapshotResult(
            snapshot, {**kept, **shown}, tuple(dict.fromkeys((*before, *found.problems))), found.faults
        )

    def _shown(self, snapshot: Snapshot, scope: Scope, path: str, found: Found) -> tuple[Finding, ...]:
        """Findings to show for an open file that was checked. Keeps the baselines for narrower checks."""
        narrow = {one: found.findings[one].get(path, ()) for one in (Scope.FILE, Scope.OPEN) if one in found.findings}
        shown = found.findings[scope].get(path, ())
        buffer = snapshot.buffers[path]
        if buffer.is_notebook:  # nothing imports it
            return shown
        text = buffer.documents[0].text
        if (baseline := self._baselines.get((path, scope))) is not None and scope in narrow:
            shown = carried(baseline, text, shown)
        for one, findings in narrow.items():
            self._baselines[path, one] = Baseline(text, findings, shown)
        return shown

    def _tell(self) -> None:
        self._news.set()
        self._publish(self._report)

    async def _predict(self, path: str, call: Callable[..., Awaitable[FilePredictions | None]]) -> None:
        snapshot = self._present
        found = await self._surviving(lambda: call(Analyst.predictions, snapshot, path), again=True)
        if path in snapshot.buffers:
            before = self._predictions.get(path)
            self._predictions[path] = Predicted(snapshot, found)
            if before is not None:
                self._predicted()

    def _order(self, snapshot: Snapshot, scope: Scope, paths: Iterable[str]) -> Order:
        lost = {path: why for (path, number), why in self._lost.items() if number == self._content(path)}
        return Order(snapshot, scope, tuple(paths), lost, self._listing)

    async def _surviving(self, call: Callable[[], Awaitable[T]], again: bool = False) -> T:
        """The result of a call, which is repeated if its process dies, without the file that killed it.

        With `again` it is also repeated if a more urgent call came first.
        """
        while True:
            try:
                return await call()
            except Superseded:
                if not again:
                    raise
            except Died as death:
                key = death.path, self._content(death.path)
                self._deaths[key] += 1
                if self._deaths[key] >= MAX_DEATHS:
                    if key in self._lost or not death.path:
                        raise
                    self._lost[key] = death.reason

    def _content(self, path: str) -> int:
        """Identifies the content of an open file; those on disk are given up until the server ends."""
        buffer = self._present.buffers.get(path)
        return hash(buffer.documents) if buffer is not None else 0
