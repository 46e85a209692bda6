"""Commands with a limit of processor time, which does not depend on the load of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import warm

if sys.platform != "win32":
    import resource

PATIENCE = 600
"""Seconds on the clock after which a command counts as hung on any machine."""


def run_within(seconds: float, command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a command; fail the test if it and its child processes use more than `seconds` of processor time."""
    before = _used()
    done = subprocess.run(command, timeout=PATIENCE, check=False, **options)
    assert _used() - before < seconds, command
    return done


def gpulint_within(seconds: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run gpulint; a process of it that uses more than `seconds` of processor time is killed."""
    limits = [] if sys.platform == "win32" else [(resource.RLIMIT_CPU, seconds)]
    return warm.gpulint().run([sys.executable, "-m", "gpulint", *arguments], cwd=cwd, limits=limits)


def _used() -> float:
    """Processor time of the processes that this one has waited for."""
    times = os.times()
    return times.children_user + times.children_system
