"""When TensorFlow's profiler is started and stopped, and what is stored for the reader of its trace."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpulint.probe.agent.guard import Guard
from gpulint.probe.agent.hooks import Hooks
from gpulint.probe.agent.profile import ENOUGH, LONGEST, PATIENCE, Profile
from gpulint.probe.agent.steps import Again
from gpulint.probe.tracing.handover import is_left, window_of


class Mark:
    """A span of the profiler."""

    def __init__(self, name: str, **metadata: Any) -> None:
        self.name, self.metadata = name, metadata

    def __enter__(self) -> None: ...

    def __exit__(self, *raised: Any) -> None: ...


class Run:
    """A program whose steps take time, with a profiler that records its calls. `seconds`: the time since its start."""

    def __init__(self, folder: Path, first: int, steps: int, error: Exception | None = None) -> None:
        self.seconds = 0.0
        self.taken, self.ended = 0, 0.0
        self.moments: list[tuple[str, int]] = []
        self.lost: list[str] = []
        self.error = error
        self.profile = Profile(
            str(folder), first, steps, self.lost.append, Guard(self.fail), lambda: (self.taken, self.ended)
        )
        self.hooks = Hooks()
        self.module = ModuleType(Run.start.__module__)
        vars(self.module).update(start=self.start, stop=self.stop, Trace=type("Trace", (Mark,), {}))
        with patch.dict(sys.modules, {Run.start.__module__: self.module}):
            self.profile.watch(self.module, self.hooks)
        self.again = Again(step=0)

    def start(self, directory: str) -> None:
        if self.error is not None:
            if vars(self.module)["_profiler"] is None:
                vars(self.module).update(_profiler="left by the attempt")
            raise self.error
        self.moments.append(("start", self.taken))

    def stop(self) -> None:
        self.moments.append(("stop", self.taken))

    @staticmethod
    def fail(where: str, error: BaseException) -> None:
        raise error

    def step(self, seconds: float = 0.001) -> None:
        self.seconds += seconds
        self.taken, self.ended = self.taken + 1, self.seconds
        if self.taken >= self.again.step or self.seconds >= self.again.time:
            was_running = self.profile.is_running
            self.again = self.profile.stepped(self.taken, self.seconds)
            if was_running and not self.profile.is_running:
                self.profile.end()


@contextmanager
def clock(run: Callable[[], float]) -> Iterator[None]:
    with patch("time.perf_counter", run), patch("time.time", lambda: 1e9 + run()):
        yield


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_profile_of_some_steps(tmp_path_factory: pytest.TempPathFactory, first: int, steps: int) -> None:
    run = Run(tmp_path_factory.mktemp("trace"), first, steps)
    with clock(lambda: run.seconds):
        for _ in range(200):
            run.step()
    first = max(first, 1)
    assert run.moments == [("start", first), ("stop", first + steps)]


def test_the_reader_gets_the_window_and_the_states_in_it(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 20)
    run.profile.places = lambda: {"dense/MatMul": (0, 7)}
    run.profile.on_begin = lambda: run.profile.spent("launch", 3.0, 3.5)
    run.profile.on_end = lambda: run.profile.spent("launch", 3.5, 4.0)
    with clock(lambda: run.seconds):
        for _ in range(2):
            run.step(1.0)
        assert not is_left(str(tmp_path))
        for _ in range(3):
            run.step(1.0)
    window = window_of(str(tmp_path))
    assert (window.began, window.ended, window.steps) == (1e9 + 3, 1e9 + 4, 1)
    assert window.spans == [("launch", 1e9 + 3, 1e9 + 4)]
    assert window.places == {"dense/MatMul": (0, 7)}


def test_long_steps_end_it_after_a_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, 20)
    with clock(lambda: run.seconds):
        for _ in range(10):
            run.step(ENOUGH / 4)
    assert run.moments == [("start", 1), ("stop", 5)]


def test_a_step_that_takes_very_long_is_cut(tmp_path: Path) -> None:
    run = Run(tmp_path, 1, 20)
    with clock(lambda: run.seconds):
        run.step()
        run.seconds += LONGEST + 0.1
        run.profile.look(False)
        run.step()
    assert run.moments == [("start", 1), ("stop", 1)]
    assert json.loads((tmp_path / "window.json").read_text())["steps"] == 0


def test_a_loop_within_a_function_is_profiled_for_a_time(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 20)
    with clock(lambda: run.seconds):
        for _ in range(10):
            run.profile.look(True)
            run.seconds += 1.0
    assert run.moments == [("start", 0), ("stop", 0)]
    window = window_of(str(tmp_path))
    assert window.began >= 1e9 + PATIENCE
    assert ENOUGH <= window.ended - window.began < ENOUGH + 1


def test_without_steps_or_loops_nothing_is_profiled(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 20)
    with clock(lambda: run.seconds):
        for _ in range(10):
            run.profile.look(False)
            run.seconds += 1.0
    run.profile.end()
    assert run.moments == []


@pytest.mark.parametrize("session", [None, "the program's"])
def test_another_profiler_that_runs_is_reported_once(session: str | None, tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 5, RuntimeError("Another profiler is running."))
    vars(run.module).update(_profiler=session)
    with clock(lambda: run.seconds):
        for _ in range(20):
            run.step()
    assert run.lost == ["RuntimeError: Another profiler is running."]
    assert vars(run.module)["_profiler"] == session
    assert not is_left(str(tmp_path))


def test_a_profile_that_is_refused_is_lost(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 50)
    run.profile.refused = lambda: "no"
    with clock(lambda: run.seconds):
        for _ in range(10):
            run.step()
    assert (run.moments, run.lost) == ([], ["no"])


def test_a_profile_of_the_program_has_precedence(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, 50)
    logs: list[bool] = []
    run.profile.on_log = logs.append
    with clock(lambda: run.seconds):
        for _ in range(10):
            run.step()
        own: Any = run.module
        assert logs == [True]
        own.start("mine")
        assert logs == [True, False]
        for _ in range(90):
            run.step()
    assert run.moments == [("start", 3), ("stop", 10), ("start", 10)]
    assert window_of(str(tmp_path)).steps == 7
