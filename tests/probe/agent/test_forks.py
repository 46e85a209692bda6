"""Forks that another program replaces are harmless."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from gpulint.probe.agent import active
from gpulint.probe.agent.forks import Forks

pty = pytest.importorskip("pty")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


class Session:
    def __init__(self, capture: Path) -> None:
        self.seen = Forks(str(capture))
        self.harmless: list[bool] = []

    def forks(self) -> None:
        self.harmless.append(self.seen.becomes_another)

    def forked(self) -> None: ...


def forks() -> None:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)


def executes() -> None:
    process, terminal = pty.fork()
    if not process:
        os.execv(sys.executable, [sys.executable, "-c", ""])
    os.waitpid(process, 0)
    os.close(terminal)


def prepares() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True, preexec_fn=os.getpid)


@pytest.mark.parametrize(("run", "harmless"), [(forks, False), (executes, True), (prepares, True)])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_fork_becomes_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[[], None], harmless: bool
) -> None:
    monkeypatch.setattr(active, "SESSIONS", [])
    session = Session(tmp_path / "run.jsonl")
    active.add(cast(Any, session))
    run()
    assert session.harmless == [harmless]
