"""The stacks of all threads are taken without a garbage collection."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from gpulint.probe.agent import stacks


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    yield
    gc.enable()


def test_each_thread_has_its_frame() -> None:
    assert stacks.current_frames()[threading.get_ident()].f_back is sys._getframe()


@pytest.mark.parametrize("is_enabled", [True, False])
def test_no_garbage_is_collected_meanwhile_and_the_programs_choice_is_kept(
    monkeypatch: pytest.MonkeyPatch, is_enabled: bool
) -> None:
    collected = []

    def frames() -> dict[int, FrameType]:
        collected.append(gc.isenabled())
        return {}

    monkeypatch.setattr(stacks, "COLLECTS_ANYWHERE", True)
    monkeypatch.setattr(sys, "_current_frames", frames)
    (gc.enable if is_enabled else gc.disable)()
    stacks.current_frames()
    assert collected == [False]
    assert gc.isenabled() is is_enabled


FORKS = """
import gc, os
from gpulint.probe.agent import stacks

stacks.COLLECTS_ANYWHERE = True
process = os.fork()
stacks.current_frames()
if not process:
    os._exit(0 if gc.isenabled() else 1)
assert os.waitpid(process, 0)[1] == 0
"""


def test_a_fork_can_look_at_stacks_and_collects_garbage() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)
