"""Records what the trace of TensorFlow's profiler says, after the program has ended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from gpulint.probe import tracing
from gpulint.probe.capture.evidence import PROFILE
from gpulint.probe.capture.recorder import Recorder
from gpulint.probe.tracing.handover import directory_of, is_left

_LIMIT = 120.0
"""Seconds for reading a trace."""


def record_window(recorder: Recorder, capture: str, environment: Mapping[str, str] | None = None, to: str = "") -> None:
    """Appends the `window` record of a run if the agent left a trace, and moves the trace to the directory `to`, or
    deletes it. `environment` is the program's, by default ours."""
    directory = directory_of(capture)
    try:
        if is_left(directory):
            told = _read(directory, environment)
            if reason := told.get("reason"):
                recorder.write("lost", evidence=PROFILE, reason=reason)
            else:
                if rows := told.pop("peaks", None):
                    recorder.write("peaks", rows=rows)
                recorder.write("window", **told)
                for warning in told["warnings"]:
                    recorder.write("lost", evidence=PROFILE, reason=warning)
            plugins = os.path.join(directory, "plugins")
            if to and os.path.isdir(plugins):
                shutil.copytree(plugins, os.path.join(to, "plugins"), dirs_exist_ok=True)
    except OSError as error:
        recorder.write("fault", where=PROFILE, error=str(error))
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _read(directory: str, environment: Mapping[str, str] | None) -> dict[str, Any]:
    main = os.path.join(os.path.dirname(tracing.__file__), "__main__.py")
    try:
        done = subprocess.run(
            [sys.executable, main, directory],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return {"reason": f"the trace was not read within {_LIMIT:g} s"}
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return {"reason": f"the trace could not be read: {lines[-1] if lines else f'exit status {done.returncode}'}"}
    return told
