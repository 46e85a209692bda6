"""`with gpulint.watch() as run:` watches TensorFlow in this process, for notebooks and tests."""

from __future__ import annotations

import html
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from importlib.abc import MetaPathFinder
from types import TracebackType

from gpulint.probe.agent.arming import arm, disarm
from gpulint.probe.agent.options import Options
from gpulint.probe.agent.session import Session
from gpulint.probe.agent.threads import OWN
from gpulint.probe.capture.contents import Capture
from gpulint.probe.capture.reader import read
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.checks.verify import CHECKS, Check, exit_status, verify
from gpulint.probe.expectations import levels
from gpulint.probe.expectations.expectation import Expectation, Level, Run, Status
from gpulint.probe.expectations.requested import requested_expectations
from gpulint.probe.launch.process_tree import ProcessTree
from gpulint.probe.launch.start_record import write_start
from gpulint.probe.launch.window import record_window
from gpulint.probe.measures.cards import Cards
from gpulint.probe.report import RunReport, located, page, render
from gpulint.settings import Settings, SettingsFinder

PROFILED = 20
"""Training steps that are traced, as of `gpulint probe`."""

_HEIGHT = 800
"""Pixels of a report in a notebook, which scrolls."""

_SAMPLE = 1.0
"""Seconds between two samples of the process and the cards."""


class Broken(AssertionError):
    """A violated expectation of a watched block. The message has a line for each."""

    def __init__(self, expectations: Sequence[Expectation]) -> None:
        super().__init__("\n".join(map(one_line, expectations)))
        self.expectations = tuple(expectations)


def watch(
    *,
    expect: Iterable[str] = (),
    warmup: int | None = None,
    strict: bool | None = None,
    capture: str | os.PathLike[str] | None = None,
) -> Watch:
    """Watches TensorFlow in this process while a `with` block runs.

    `expect` are expressions such as "ops.on_gpu >= 90%". Thresholds, levels, `warmup` and `strict` default to
    `[tool.gpulint.probe]` for the working directory; its `expect` is for whole programs and does not apply to a block.
    `capture` is a file to keep for `gpulint probe --replay`.

    TensorFlow may already be imported. If it is in use, earlier activity is not observed, and expectations that depend
    on it are inconclusive. When the block ends all hooks are removed. Raises gpulint.settings.SettingsError for an
    unreadable expression or setting.
    """
    settings = SettingsFinder().of_directory(".")
    return Watch(settings, expect, warmup=warmup, strict=strict, capture=capture)


class Watch:
    """One watched block and its results. Each block needs its own Watch; blocks may be nested."""

    def __init__(
        self,
        settings: Settings,
        expect: Iterable[str] = (),
        *,
        warmup: int | None = None,
        strict: bool | None = None,
        capture: str | os.PathLike[str] | None = None,
        checks: Iterable[Check] = CHECKS,
        profile_steps: int = PROFILED,
    ) -> None:
        """`profile_steps`: training steps after the warm-up that TensorFlow's profiler traces, 0 for none. Raises
        SettingsError."""
        levels.validate(settings)
        self._settings = settings
        self._requested = requested_expectations(Settings(), expect, "expect")
        self._checks = tuple(checks)
        self._warmup = settings.probe.warmup if warmup is None else warmup
        self._strict = settings.probe.strict if strict is None else strict
        self._profile_steps = profile_steps
        self._path = os.path.abspath(capture) if capture is not None else ""
        self._session: Session | None = None
        self._sampler: _Sampler | None = None
        self._finders: list[MetaPathFinder] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._recorder: Recorder | None = None
        self._began = 0.0
        self._capture: Capture | None = None
        self._expectations: list[Expectation] | None = None

    def __enter__(self) -> Watch:
        if self._began:
            raise RuntimeError("this watch has been used: create another one with gpulint.watch()")
        self._began = time.monotonic()
        if not self._path:
            self._folder = tempfile.TemporaryDirectory(prefix="gpulint-")
            self._path = os.path.join(self._folder.name, "capture.jsonl")
        self._recorder = recorder = Recorder(self._path, fresh=True)
        write_start(recorder, sys.argv, os.environ)
        options = Options(self._path, warmup=self._warmup, log=False, profile_steps=self._profile_steps)
        self._session = session = Session(options)
        session.started("")  # sys.argv may belong to pytest, or to a notebook's kernel
        self._finders = arm(session.awaited, session.not_imported)
        self._sampler = _Sampler(recorder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop(error)

    def stop(self, error: BaseException | None = None) -> None:
        """Stops watching, as the end of the block does; `error` is the exception that ended it. Later calls do
        nothing."""
        session, recorder, sampler = self._session, self._recorder, self._sampler
        if session is None or recorder is None or sampler is None:
            return
        self._session = None
        disarm(self._finders)
        session.ended(error)
        session.disarm()
        sampler.stop()
        seconds = round(time.monotonic() - self._began, 6)
        recorder.write("end", status=int(error is not None), signal=None, reason="exit", seconds=seconds)
        record_window(recorder, self._path)
        recorder.close()
        if recorder.error:
            self._capture = Capture(faults=[recorder.error])
        else:
            self._capture = read(self._path)
        if self._folder is not None:
            self._folder.cleanup()

    @property
    def is_over(self) -> bool:
        """Whether the block has ended."""
        return self._capture is not None

    @property
    def capture(self) -> Capture:
        """The observations. Raises RuntimeError before the block has ended."""
        if self._capture is None:
            raise RuntimeError("the watched block has not ended")
        return self._capture

    @property
    def expectations(self) -> list[Expectation]:
        """Expected and observed behaviour. Raises RuntimeError before the block has ended."""
        if self._expectations is None:
            self._expectations = verify(Run(self.capture, (), self._requested, self._settings), self._checks)
        return self._expectations

    @property
    def broken(self) -> list[Expectation]:
        """Violated expectations of level error; with `strict` also inconclusive ones."""
        fails = {Status.FAIL, Status.INCONCLUSIVE} if self._strict else {Status.FAIL}
        return [one for one in self.expectations if one.status in fails and one.level is Level.ERROR]

    @property
    def ok(self) -> bool:
        """Whether there are no violations."""
        return not self.broken

    def check(self) -> None:
        """Raises Broken if there are violations."""
        if self.broken:
            raise Broken(self.broken)

    def report(self, color: bool = False) -> str:
        """The report of `gpulint probe`, for a terminal."""
        return render("text", self._run_report, color)

    @property
    def _run_report(self) -> RunReport:
        status = exit_status(self.expectations, self.capture.end, self._strict, self.capture.faults)
        return RunReport.of(self.capture, self.expectations, status, (), self._settings.probe.ignore)

    def __str__(self) -> str:
        return self.report() if self.is_over else repr(self)

    def __repr__(self) -> str:
        if not self.is_over:
            return "<gpulint.watch: running>" if self._session is not None else "<gpulint.watch: not begun>"
        counts = (f"{sum(one.status is status for one in self.expectations)} {status.value}" for status in Status)
        return f"<gpulint.watch: {', '.join(one for one in counts if not one.startswith('0 ')) or 'nothing to check'}>"

    def _repr_html_(self) -> str:
        """The page that `gpulint probe --html` writes, in a frame of its own; notebooks show this."""
        if not self.is_over:
            return f"<pre>{html.escape(repr(self))}</pre>"
        written = html.escape(page.render(self._run_report))
        return f'<iframe srcdoc="{written}" title="gpulint" width="100%" height="{_HEIGHT}" style="border:0"></iframe>'


def one_line(one: Expectation) -> str:
    """An expectation on one line: expected, observed, evidence, location."""
    where = f" ({located(one.where)})" if one.where is not None else ""
    evidence = f": {'; '.join(one.evidence)}" if one.evidence else ""
    return f"{one.status.value}: {one.subject}: expected {one.expected}, observed {one.observed}{evidence}{where}"


class _Sampler:
    """Samples the process and the cards at intervals, and at the start and end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._tree = ProcessTree(os.getpid())
        cards = Cards.open()
        self._cards = cards if isinstance(cards, Cards) else None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=OWN, daemon=True)
        self._look()
        self._thread.start()

    def stop(self) -> None:
        """Stops after a last sample."""
        self._over.set()
        self._thread.join()
        self._look()
        if self._cards is not None:
            self._cards.close()

    def _run(self) -> None:
        while not self._over.wait(_SAMPLE):
            self._look()

    def _look(self) -> None:
        resident, _ = self._tree.sample()
        if resident:
            self._recorder.write("host", resident=resident)
        if self._cards is not None and (rows := self._cards.sample(self._tree.pids)):
            self._recorder.write("cards", rows=rows)
