"""Programs that watch themselves, each in a separate process, as TensorFlow can be configured only once per process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import warm

DEVICES = """
import json
import sys
import threading

import gpulint
import tensorflow as tf

cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


def told(run):
    def row(one):
        return one.where and one.where.row
    return [[one.id, one.status.value, one.subject, one.observed, row(one)] for one in run.expectations]
"""


def environment() -> dict[str, str]:
    """Environment without GPUs and without TensorFlow's messages."""
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def run(tmp_path: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program."""
    (tmp_path / "prog.py").write_text(text)
    return warm.python().run([sys.executable, "prog.py", *arguments], cwd=tmp_path)


def said(tmp_path: Path, text: str, *arguments: str) -> Any:
    """The last line of a program's output, as JSON."""
    done = run(tmp_path, text, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def row_of(text: str, part: str) -> int:
    """The row of a text that contains some words."""
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)
