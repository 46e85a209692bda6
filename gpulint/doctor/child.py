"""Runs a query in a child process with a time limit, so that a hang or crash is an answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any

from gpulint.doctor import queries
from gpulint.doctor.answer import Answer, Ended

_LOG = 1 << 20
"""Bytes of standard error that are kept, half from each end."""

_REAP = 2.0
"""Seconds to wait for a killed process. One that hangs inside the driver cannot be killed and is abandoned."""


def ask(
    python: str, question: str, options: Mapping[str, Any], *, deadline: float, environment: Mapping[str, str]
) -> Answer:
    """Runs one of `queries` in an interpreter, until `deadline` (time.monotonic) at the latest. Returns "not asked"
    if the interpreter cannot be started."""
    try:
        return _run(python, question, options, deadline, environment)
    except OSError as error:
        return Answer("not asked", error=error.strerror or str(error))


def _run(
    python: str, question: str, options: Mapping[str, Any], deadline: float, environment: Mapping[str, str]
) -> Answer:
    main = os.path.join(os.path.dirname(os.path.abspath(queries.__file__)), "__main__.py")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpulint-", ignore_cleanup_errors=True) as directory:
        path, log = os.path.join(directory, "answers"), os.path.join(directory, "log")
        with open(log, "wb") as errors:
            process = subprocess.Popen(
                [python, main, question, path, json.dumps(dict(options))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=dict(environment),
            )
        try:
            status: int | None = process.wait(max(0.0, deadline - began))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
        seconds = round(time.monotonic() - began, 2)
        return _answer(status, _rows(path), _log(log), seconds)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        from gpulint.probe.launch.process_tree import ProcessTree  # needs psutil, which `check --python` does without

        ProcessTree(process.pid).kill()
        try:
            process.wait(_REAP)
        except subprocess.TimeoutExpired:
            pass  # it hangs in the kernel


def _answer(status: int | None, rows: list[tuple[str, Any]], log: str, seconds: float) -> Answer:
    lists: dict[str, list[Any]] = {}
    for name, value in rows:
        lists.setdefault(name, []).append(value)
    values = {name: found[-1] for name, found in lists.items()}
    ended: Ended
    error = ""
    if status is None:
        ended = "timeout"
    elif "failed" in values:
        ended, error = "failed", str(values["failed"])
    elif "done" in values:
        ended = "answered"
    else:
        ended, error = "crashed", _reason(status)
    return Answer(
        ended,
        str(values.get("begin", "")),
        error,
        str(values.get("traceback", "")),
        log,
        seconds,
        values,
        {name: tuple(found) for name, found in lists.items()},
    )


def _reason(status: int) -> str:
    """The signal that ended a process, or its exit status, which on Windows is the exception code."""
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    return f"exit status {status:#x}" if status > 255 else f"exit status {status}"


def _rows(path: str) -> list[tuple[str, Any]]:
    found = []
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for row in file:
                try:
                    name, value = json.loads(row)
                except ValueError:  # the process died while writing the row
                    continue
                found.append((str(name), value))
    except OSError:
        pass  # it died before writing anything
    return found


def _log(path: str) -> str:
    with open(path, "rb") as file:
        text = file.read(_LOG // 2)
        rest = os.path.getsize(path) - len(text)
        if rest > _LOG // 2:
            file.seek(-(_LOG // 2), os.SEEK_END)
        text += file.read()
    return text.decode("utf-8", "replace")
